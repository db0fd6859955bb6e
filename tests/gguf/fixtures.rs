//! The files in `fixtures/`, which other programs wrote.

use std::path::Path;

use redlite::gguf::Gguf;
use redlite::quant::Type;

use crate::raw::read_all;

fn open(name: &str) -> Gguf {
    Gguf::open(&Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name)).unwrap()
}

#[test]
fn files_of_both_layouts_open_and_every_tensor_can_be_read() {
    for (name, present, absent) in [
        ("zoo.gguf", "blk.0.attn_qkv.weight", "blk.0.ssm_in.weight"),
        ("legacy.gguf", "blk.0.ssm_in.weight", "blk.0.attn_qkv.weight"),
    ] {
        let model = open(name);
        assert_eq!(model.metadata().str("general.architecture").unwrap(), Some("qwen3next"));
        assert!(model.tensor(present).is_some() && model.tensor(absent).is_none(), "{name}");
        assert_eq!(model.tensor("output_norm.weight").unwrap().kind, Type::F32);
        let bytes: usize = read_all(&model).unwrap().iter().map(Vec::len).sum();
        assert!(bytes as u64 <= model.file_bytes() && bytes > 5_000_000, "{name}: {bytes} bytes");
    }
}

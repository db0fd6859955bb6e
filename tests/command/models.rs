//! Model files: those of the repository, and variations of them.

use redlite::gguf::writer::Writer;
use redlite::gguf::{Gguf, TensorInfo, Value};
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};

/// A file of the repository's `fixtures/`.
pub fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name)
}

/// The embedded model's file.
pub fn embedded() -> PathBuf {
    fixture("model").join(redlite::embedded::FILE_NAME)
}

/// A small model with random weights, which has every type of tensor.
pub fn zoo() -> PathBuf {
    fixture("zoo.gguf")
}

/// Unpacks the vocabulary-only file of Qwen2.
pub fn vocabulary_only(directory: &Path) -> PathBuf {
    let packed = fs::read(fixture("ggml-vocab-qwen2.gguf.xz")).unwrap();
    let path = directory.join("ggml-vocab-qwen2.gguf");
    let mut bytes = Vec::new();
    lzma_rs::xz_decompress(&mut packed.as_slice(), &mut bytes).unwrap();
    fs::write(&path, bytes).unwrap();
    path
}

/// [`zoo`] with some keys changed, or removed where the value is `None`.
pub fn zoo_with(path: &Path, changes: &[(&str, Option<Value>)]) {
    let zoo = Gguf::open(&zoo()).unwrap();
    let keys = zoo.metadata().iter().map(|(key, value)| (key.to_owned(), value.clone()));
    let mut keys: Vec<(String, Value)> = keys.filter(|(key, _)| changes.iter().all(|(name, _)| key != name)).collect();
    keys.extend(changes.iter().filter_map(|(key, value)| Some((key.to_string(), value.clone()?))));
    write(path, &zoo, keys, zoo.tensors());
}

/// [`zoo`] as a split set of two files, of which the second is returned.
pub fn split_zoo(directory: &Path) -> PathBuf {
    let zoo = Gguf::open(&zoo()).unwrap();
    let path = |number: u16| directory.join(format!("zoo-{number:05}-of-00002.gguf"));
    let (first, second) = zoo.tensors().split_at(zoo.tensors().len() / 2);
    for (number, tensors) in [(1u16, first), (2, second)] {
        let model = zoo.metadata().iter().map(|(key, value)| (key.to_owned(), value.clone()));
        let mut keys: Vec<(String, Value)> = model.filter(|_| number == 1).collect();
        keys.push(("split.no".into(), (number - 1).into()));
        keys.push(("split.count".into(), 2u16.into()));
        keys.push(("split.tensors.count".into(), (zoo.tensors().len() as i32).into()));
        write(&path(number), &zoo, keys, tensors);
    }
    path(2)
}

fn write(path: &Path, from: &Gguf, keys: Vec<(String, Value)>, tensors: &[TensorInfo]) {
    let mut writer = Writer::new("test");
    for (key, value) in keys {
        writer.set(&key, value).unwrap();
    }
    for tensor in tensors {
        writer.tensor(&tensor.name, &tensor.shape, tensor.kind).unwrap();
    }
    let mut body = writer.begin(BufWriter::new(File::create(path).unwrap())).unwrap();
    for tensor in tensors {
        let mut bytes = vec![0; tensor.bytes as usize];
        from.read(tensor, 0, &mut bytes).unwrap();
        body.tensor_bytes(&tensor.name, &bytes).unwrap();
    }
    body.finish().unwrap();
}

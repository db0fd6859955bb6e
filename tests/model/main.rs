//! Files that are no model that can be run are refused, by the name of what is wrong.

#[path = "../support/mod.rs"]
mod support;

use redlite::gguf::{Gguf, Value};
use redlite::memory::{self, KvType, Request};
use redlite::model::Model;
use redlite::quant::Type;
use std::sync::Arc;
use support::{Blueprint, Tensor, fixture};

/// What opening the file as a model says.
fn open(blueprint: &Blueprint) -> Result<Model, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.gguf");
    blueprint.write(&path);
    let file = Gguf::open(&path).map_err(|error| error.to_string())?;
    Model::open(Arc::new(file)).map_err(|error| error.to_string())
}

fn refusal(blueprint: &Blueprint) -> String {
    match open(blueprint) {
        Ok(_) => panic!("the file was accepted"),
        Err(message) => message,
    }
}

/// A sound model, to be damaged.
fn zoo() -> Blueprint {
    Blueprint::of("zoo.gguf")
}

fn assert_mentions(message: &str, words: &[&str]) {
    for word in words {
        assert!(message.contains(word), "no `{word}` in: {message}");
    }
}

#[test]
fn both_layouts_and_the_trained_model_are_accepted() {
    for name in ["zoo.gguf", "legacy.gguf", "model/redlite-mini-rust-68m-IQ2_XXS.gguf"] {
        let model = Model::open(Arc::new(Gguf::open(&fixture(name)).unwrap())).unwrap();
        assert!(model.next_token.is_some(), "{name}");
    }
}

#[test]
fn a_file_without_a_next_token_block_is_accepted() {
    let mut blueprint = zoo();
    blueprint.tensors.retain(|tensor| !tensor.name.starts_with("blk.4."));
    blueprint.unset("qwen3next.nextn_predict_layers").set("qwen3next.block_count", 4u32);
    let model = open(&blueprint).unwrap();
    assert!(model.next_token.is_none());
    assert_eq!((model.config.layers, model.config.kv_layers()), (4, 1));
}

#[test]
fn the_memory_plan_counts_the_next_token_block_only_where_it_is_loaded() {
    let model = open(&zoo()).unwrap();
    let plan =
        |next_token| memory::plan(&model, &Request { context: 100, batch: 10, kv_type: KvType::F16, next_token });
    let (trunk, whole) = (plan(false), plan(true));
    // The zoo's trunk has one attention layer, and its next-token block is another of the same size.
    assert_eq!(trunk.kv, 100 * memory::kv_bytes_per_token(&model, KvType::F16, false));
    assert_eq!(whole.kv, 2 * trunk.kv);
    assert!(whole.dense > trunk.dense && whole.experts > trunk.experts);
    let file: u64 = model.file.tensors().iter().map(|tensor| tensor.bytes).sum();
    assert_eq!(whole.dense + whole.experts, file);

    let mut without = zoo();
    without.tensors.retain(|tensor| !tensor.name.starts_with("blk.4."));
    without.unset("qwen3next.nextn_predict_layers").set("qwen3next.block_count", 4u32);
    let without = open(&without).unwrap();
    assert_eq!(memory::kv_bytes_per_token(&without, KvType::F16, true), trunk.kv / 100, "there is none to load");
}

#[test]
fn every_missing_tensor_is_named_with_the_shape_it_would_have() {
    let whole = zoo();
    // Without these a file is still whole: the output matrix may be tied, the block's norm may be the trunk's.
    let dispensable = ["output.weight", "blk.4.nextn.shared_head_norm.weight"];
    for tensor in &whole.tensors {
        let mut blueprint = whole.clone();
        blueprint.take(&tensor.name);
        match open(&blueprint) {
            Ok(_) => assert!(dispensable.contains(&tensor.name.as_str()), "accepted without {}", tensor.name),
            Err(message) => assert_mentions(&message, &[&tensor.name, "is missing", "expected shape ["]),
        }
    }
}

#[test]
fn all_missing_tensors_are_told_at_once() {
    let mut blueprint = zoo();
    blueprint.take("blk.0.attn_norm.weight");
    blueprint.take("blk.3.attn_k.weight");
    let message = refusal(&blueprint);
    assert_mentions(&message, &["blk.0.attn_norm.weight", "[256]", "blk.3.attn_k.weight", "[256, 256]", "model.gguf"]);
}

#[test]
fn a_misshapen_tensor_is_named_with_both_shapes() {
    let whole = zoo();
    let names: Vec<String> = whole.tensors.iter().map(|tensor| tensor.name.clone()).collect();
    for name in names.iter().filter(|name| *name != "token_embd.weight") {
        let mut blueprint = whole.clone();
        let tensor = blueprint.tensor(name);
        let right = tensor.shape.clone();
        // One more row, or of a vector one more block of values.
        match tensor.shape.len() {
            1 => tensor.shape[0] += 256,
            dimensions => tensor.shape[dimensions - 1] += 1,
        }
        let wrong = tensor.shape.clone();
        let elements: u64 = wrong.iter().product();
        let block = tensor.kind.block_length() as u64;
        tensor.bytes = vec![0; (elements / block) as usize * tensor.kind.block_bytes()];
        let found = format!("`{name}` has shape {wrong:?}; expected {right:?}");
        assert_mentions(&refusal(&blueprint), &[&found]);
    }
}

#[test]
fn an_embedding_of_another_width_is_named_with_both_shapes() {
    let mut blueprint = zoo();
    let embedding = blueprint.tensor("token_embd.weight");
    embedding.shape = vec![512, 256];
    assert_mentions(&refusal(&blueprint), &["token_embd.weight", "[512, 256]", "[256, 256]"]);
}

#[test]
fn a_transposed_matrix_is_not_taken_for_the_right_one() {
    let mut blueprint = zoo();
    let matrix = blueprint.tensor("blk.3.attn_output.weight");
    assert_eq!(matrix.shape, [512, 256]);
    matrix.shape = vec![256, 512];
    assert_mentions(&refusal(&blueprint), &["`blk.3.attn_output.weight` has shape [256, 512]; expected [512, 256]"]);
}

#[test]
fn a_norm_in_a_quantised_type_is_refused_by_both() {
    let mut blueprint = zoo();
    let norm = blueprint.tensor("output_norm.weight");
    (norm.kind, norm.bytes) = (Type::Q8_0, vec![0; 8 * 34]);
    assert_mentions(&refusal(&blueprint), &["output_norm.weight", "Q8_0", "F32"]);
}

#[test]
fn neither_layout_matching_is_refused_by_both_names() {
    let mut blueprint = Blueprint::of("legacy.gguf");
    blueprint.take("blk.0.ssm_in.weight");
    assert_mentions(&refusal(&blueprint), &["blk.0.attn_qkv.weight", "blk.0.ssm_in.weight"]);
}

#[test]
fn every_required_key_that_is_missing_is_named() {
    for key in [
        "embedding_length",
        "block_count",
        "context_length",
        "attention.layer_norm_rms_epsilon",
        "attention.head_count",
        "ssm.group_count",
        "ssm.time_step_rank",
        "ssm.state_size",
        "ssm.inner_size",
        "ssm.conv_kernel",
        "expert_count",
        "expert_used_count",
    ] {
        let key = format!("qwen3next.{key}");
        let mut blueprint = zoo();
        assert!(blueprint.metadata.iter().any(|(name, _)| *name == key), "{key}");
        blueprint.unset(&key);
        assert_mentions(&refusal(&blueprint), &[&format!("the key `{key}` is missing (")]);
    }
}

#[test]
fn a_key_with_an_impossible_value_is_named_with_what_was_found_and_expected() {
    let cases: [(&str, Value, &[&str]); 20] = [
        ("block_count", 0u32.into(), &["is 0", "from 1"]),
        ("block_count", 1u32.into(), &["is 1", "more layers"]),
        ("block_count", u32::MAX.into(), &["4294967295"]),
        ("embedding_length", 0u32.into(), &["is 0"]),
        ("embedding_length", u32::MAX.into(), &["4294967295"]),
        ("embedding_length", "wide".to_owned().into(), &["string"]),
        ("attention.head_count", 0u32.into(), &["is 0"]),
        ("attention.head_count_kv", 3u32.into(), &["is 3", "divisor of the 2"]),
        ("attention.key_length", 16u32.into(), &["head of 16"]),
        ("attention.value_length", 128u32.into(), &["128", "256"]),
        ("attention.layer_norm_rms_epsilon", f32::NAN.into(), &["NaN"]),
        ("rope.dimension_count", 65u32.into(), &["is 65", "even"]),
        ("rope.freq_base", 0f32.into(), &["is 0"]),
        ("ssm.time_step_rank", 3u32.into(), &["is 3", "multiple of the 2"]),
        ("ssm.inner_size", 513u32.into(), &["is 513", "4 value heads of 128"]),
        ("ssm.conv_kernel", 1u32.into(), &["is 1", "from 2"]),
        ("expert_used_count", 9u32.into(), &["is 9", "at most the 8"]),
        ("expert_used_count", 33u32.into(), &["is 33", "32"]),
        ("nextn_predict_layers", 2u32.into(), &["= 2"]),
        ("attention.recurrent_layers", vec![true, false].into(), &["array of 2", "one of 5"]),
    ];
    for (key, value, words) in cases {
        let key = format!("qwen3next.{key}");
        let mut blueprint = zoo();
        blueprint.set(&key, value);
        let message = refusal(&blueprint);
        assert_mentions(&message, words);
        assert_mentions(&message, &[&key]);
    }
}

#[test]
fn unknown_rotary_scaling_is_refused_by_name() {
    let mut blueprint = zoo();
    blueprint.set("qwen3next.rope.scaling.type", "longrope".to_owned());
    assert_mentions(&refusal(&blueprint), &["longrope", "yarn"]);
}

#[test]
fn sibling_architectures_and_others_are_refused_by_name() {
    for (architecture, words) in
        [("qwen35moe", "yet"), ("qwen35", "yet"), ("qwen3moe", "yet"), ("llama", "not supported")]
    {
        let mut blueprint = zoo();
        blueprint.set("general.architecture", architecture.to_owned());
        assert_mentions(&refusal(&blueprint), &[&format!("architecture `{architecture}`"), words, "qwen3next"]);
    }
    let mut blueprint = zoo();
    blueprint.unset("general.architecture");
    assert_mentions(&refusal(&blueprint), &["architecture"]);
}

#[test]
fn scale_tensors_are_refused_by_name() {
    let mut blueprint = zoo();
    let name = "blk.0.ffn_down_exps.scale";
    blueprint.add(Tensor { name: name.into(), shape: vec![8], kind: Type::F32, bytes: vec![0; 32] });
    assert_mentions(&refusal(&blueprint), &[name, "not supported"]);
}

#[test]
fn a_file_without_tensors_is_called_a_vocabulary() {
    let mut blueprint = zoo();
    blueprint.tensors.clear();
    assert_mentions(&refusal(&blueprint), &["holds a vocabulary and no tensors"]);
}

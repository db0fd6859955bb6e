//! `redlite inspect`.

use crate::command::run;
use crate::models::{vocabulary_only, zoo, zoo_with};
use crate::support::Blueprint;

#[test]
fn the_embedded_model_is_described_where_none_is_named() {
    let ended = run(&["inspect"]);
    let text = ended.text();
    for line in [
        ("architecture", "qwen3next"),
        ("runs here", "yes"),
        ("qwen3next.block_count", "9"),
        ("layers", "8 (2 attention, 6 delta net) and a next-token block"),
        ("one expert", "49.50 KiB"),
        ("experts", "32 a layer, 4 used for a token"),
        ("tokens", "8192 (8185 normal, 3 control, 4 user-defined)"),
        ("chat template", "yes"),
    ] {
        let found = text.lines().any(|found| found.trim_start().starts_with(line.0) && found.ends_with(line.1));
        assert!(found, "no line {line:?} in\n{text}");
    }
}

#[test]
fn the_model_is_an_argument_or_an_option() {
    let zoo = zoo();
    let zoo = zoo.to_str().unwrap();
    assert_eq!(run(&["inspect", "-m", zoo, "--json"]).json()["file"], run(&["inspect", zoo, "--json"]).json()["file"]);
    run(&["inspect", "-m", zoo, zoo]).refusal(2);
}

#[test]
fn json_gives_bytes_by_type_and_the_memory_plan() {
    let report = run(&["inspect", "--json"]).json();
    assert_eq!(report["architecture"], "qwen3next");
    assert_eq!(report["cannot_run"], serde_json::Value::Null);
    assert_eq!(report["metadata"]["qwen3next.expert_count"], 32);
    assert_eq!(report["metadata"]["tokenizer.ggml.tokens"]["length"], 8192);
    assert_eq!(report["chat_template"], true);
    assert!(report.get("tensors").is_none(), "the list was not asked for");

    let types = report["tensors_by_type"].as_array().unwrap();
    let total = |key: &str| types.iter().map(|entry| entry[key].as_u64().unwrap()).sum::<u64>();
    assert_eq!(Some(total("bytes")), report["tensor_bytes"].as_u64());
    assert_eq!(Some(total("tensors")), report["tensor_count"].as_u64());

    let needs = &report["needs"];
    // Gate, up and down of 256 x 256 values at 66 bytes for 256 of them.
    assert_eq!(needs["expert_bytes"], serde_json::json!(vec![3 * 256 * 66; 9]));
    // Six layers of 4 heads of 128 x 128, and 3 taps of 2 x 256 + 512 channels, in f32.
    assert_eq!(needs["state_bytes"], 6 * 4 * (4 * 128 * 128 + 3 * 1024));
    let kv = &needs["kv_bytes_per_token"];
    // Keys and values of the trunk's two attention layers: the next-token block's are not kept to generate text.
    let values = 2
        * 2
        * report["metadata"]["qwen3next.attention.head_count_kv"].as_u64().unwrap()
        * report["metadata"]["qwen3next.attention.key_length"].as_u64().unwrap();
    assert_eq!(kv, &serde_json::json!({"f16": 2 * values, "f32": 4 * values}));
    let plan = &needs["plan"];
    assert_eq!(plan["kv_bytes"].as_u64().unwrap(), 2 * values * plan["context"].as_u64().unwrap());
    let parts = ["dense_bytes", "expert_bytes", "kv_bytes", "state_bytes", "scratch_bytes"];
    let sum: u64 = parts.iter().map(|part| plan[part].as_u64().unwrap()).sum();
    assert_eq!(plan["total_bytes"].as_u64(), Some(sum));
}

#[test]
fn tensors_are_listed_where_asked_for() {
    let report = run(&["inspect", "--json", "--tensors"]).json();
    let tensors = report["tensors"].as_array().unwrap();
    assert_eq!(tensors.len() as u64, report["tensor_count"].as_u64().unwrap());
    let find = |name: &str| tensors.iter().find(|tensor| tensor["name"] == name).unwrap();
    let gate = find("blk.0.ffn_gate_exps.weight");
    assert_eq!((&gate["shape"], &gate["type"]), (&serde_json::json!([256, 256, 32]), &"IQ2_XXS".into()));
    assert_eq!(gate["bytes"], 32 * 256 * 66);
    let text = run(&["inspect", "--tensors"]);
    assert!(text.text().contains("blk.0.ffn_gate_exps.weight"));
}

#[test]
fn a_split_set_is_one_model_from_any_of_its_files() {
    let directory = tempfile::tempdir().unwrap();
    let parts = Blueprint::of("zoo.gguf").write_split(directory.path(), "zoo", 2);
    let split = run(&["inspect", "--json", "--tensors", parts[1].to_str().unwrap()]).json();
    let whole = run(&["inspect", "--json", "--tensors", zoo().to_str().unwrap()]).json();
    for key in ["tensors", "tensors_by_type", "parameters", "name", "cannot_run", "tokenizer"] {
        assert_eq!(split[key], whole[key], "{key}");
    }
}

#[test]
fn a_vocabulary_without_a_model_is_described_all_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let path = vocabulary_only(directory.path());
    let report = run(&["inspect", "--json", path.to_str().unwrap()]).json();
    assert!(report["cannot_run"].is_string());
    assert_eq!((&report["needs"], &report["tensor_count"]), (&serde_json::Value::Null, &0.into()));
    assert_eq!(report["tokenizer"]["tokens"], 151_936);
    let ended = run(&["inspect", path.to_str().unwrap()]);
    assert!(ended.text().contains("151936") && ended.text().contains("runs here"));
}

#[test]
fn another_architecture_is_described_and_said_not_to_run() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("other.gguf");
    zoo_with(&path, &[("general.architecture", Some("llama".into())), ("tokenizer.ggml.model", Some("llama".into()))]);
    let report = run(&["inspect", "--json", path.to_str().unwrap()]).json();
    assert!(report["cannot_run"].as_str().unwrap().contains("`llama` is not supported"));
    assert!(report["tokenizer_problem"].as_str().unwrap().contains("tokenizer.ggml.model"));
    assert_eq!(report["tensor_count"], 93);
}

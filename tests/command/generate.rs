//! `redlite generate` on the embedded model.

use crate::adapter::adapter;
use crate::command::{run, run_with_input};
use crate::models::{self, zoo, zoo_with};
use crate::support::fixture;
use redlite::gguf::Value;
use std::fs;

/// Greedy, as the reference continuations were made.
const GREEDY: [&str; 8] = ["generate", "--temp", "0", "--repeat-penalty", "1", "--kv-type", "f32", "--special"];

fn greedy<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&GREEDY[..], more].concat()
}

/// The first of the recorded prompts, and the first `characters` of its continuation.
fn reference() -> (String, String) {
    let recorded: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(fixture("oracle/mini-greedy.json")).unwrap()).unwrap();
    let text = |key: &str| recorded[0][key].as_str().unwrap().to_owned();
    (text("prompt"), text("text"))
}

#[test]
fn one_command_without_a_model_writes_text_from_any_directory() {
    let ended = run(&["generate", "The Rust compiler", "--seed", "1", "-n", "12"]);
    assert!(!ended.text().trim().is_empty());
    let line = ended.error.trim_end();
    assert!(line.starts_with("redlite: prompt 3 tokens (") && line.ends_with("reached the limit of -n"), "{line}");
    assert!(line.contains("tok/s), text 12 tokens ("), "{line}");
}

#[test]
fn greedy_text_is_the_references_to_the_letter() {
    let (prompt, text) = reference();
    assert_eq!(run(&greedy(&["-n", "64", "-q", &prompt])).text(), text);
}

#[test]
fn greedy_text_of_a_gpu_is_the_references_to_the_letter() {
    let Some(adapter) = adapter() else { return };
    let (prompt, text) = reference();
    let ended = run(&greedy(&["--backend", "wgsl", "--adapter", &adapter, "-n", "64", "-q", &prompt]));
    assert_eq!(ended.text(), text);
}

#[test]
fn the_embedded_model_is_its_file() {
    let path = models::embedded();
    let arguments = greedy(&["-n", "8", "-q", "fn main", "-m", path.to_str().unwrap()]);
    assert_eq!(run(&arguments).text(), run(&greedy(&["-n", "8", "-q", "fn main"])).text());
}

#[test]
fn a_prompt_may_be_an_option_an_argument_a_file_or_standard_input() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("prompt.txt");
    fs::write(&file, "fn main").unwrap();
    let expected = run(&greedy(&["-n", "6", "-q", "fn main"]));
    let expected = expected.text();
    assert_eq!(run(&greedy(&["-n", "6", "-q", "-p", "fn main"])).text(), expected);
    assert_eq!(run(&greedy(&["-n", "6", "-q", "-f", file.to_str().unwrap()])).text(), expected);
    assert_eq!(run_with_input(&greedy(&["-n", "6", "-q", "-"]), b"fn main").text(), expected);
}

#[test]
fn json_says_all_that_is_needed_to_repeat_a_run() {
    let first = run(&["generate", "--json", "-n", "10", "fn main"]).json();
    assert_eq!(first["finish_reason"], "length");
    assert_eq!(first["tokens"].as_array().unwrap().len(), 10);
    assert_eq!(first["prompt_tokens"].as_array().unwrap().len(), 2);
    assert_eq!((&first["model"], &first["backend"]), (&"qwen3-next-rust-68m".into(), &"reference".into()));
    let sampling = &first["sampling"];
    assert_eq!((&sampling["temperature"], &sampling["top_p"]), (&0.6.into(), &0.9.into()));
    assert_eq!(sampling["repeat_penalty"], 1.1);
    assert!(first["timings"]["prompt_tokens_per_second"].as_f64().unwrap() > 0.0);

    let seed = first["seed"].to_string();
    let second = run(&["generate", "--json", "-n", "10", "--seed", &seed, "fn main"]).json();
    assert_eq!((&first["text"], &first["tokens"]), (&second["text"], &second["tokens"]));
}

#[test]
fn the_same_seed_gives_the_same_text_on_any_number_of_threads() {
    let text = |threads, seed| {
        let arguments = ["generate", "-q", "-n", "16", "--threads", threads, "--seed", seed, "pub fn"];
        run(&arguments).text().to_owned()
    };
    assert_eq!(text("1", "5"), text("3", "5"));
    assert_ne!(text("1", "5"), text("1", "6"));
}

#[test]
fn without_a_seed_every_run_has_its_own() {
    let seed = || run(&["generate", "--json", "-n", "0", "pub fn"]).json()["seed"].clone();
    assert_ne!(seed(), seed());
}

#[test]
fn verbose_runs_show_the_seed_on_standard_error() {
    let ended = run(&["generate", "-v", "--seed", "77", "-n", "1", "pub fn"]);
    assert!(ended.error.contains("seed 77; temperature 0.6, top-k"), "{}", ended.error);
    assert!(!ended.text().contains("seed 77"));
}

#[test]
fn more_threads_than_are_of_use_are_not_started() {
    let text = |threads| run(&["generate", "-v", "-n", "3", "--temp", "0", "--threads", threads, "pub fn"]);
    let most = 4 * std::thread::available_parallelism().unwrap().get();
    let many = text("1024");
    if most < 1024 {
        assert!(many.error.contains(&format!("{most} threads instead of 1024")), "{}", many.error);
    }
    assert_eq!(many.text(), text("1").text());
}

#[test]
fn a_prompt_may_begin_with_a_hyphen() {
    let text = |prompt: &[&str]| run(&[&["generate", "-q", "-n", "3", "--temp", "0"], prompt].concat());
    assert_eq!(text(&["--", "-hello"]).text(), text(&["-p", "-hello"]).text());
}

#[test]
fn one_token_is_no_tokens() {
    let ended = run(&["generate", "-n", "1", "fn"]);
    assert!(ended.error.contains("prompt 1 token (") && ended.error.contains("text 1 token:"), "{}", ended.error);
}

#[test]
fn a_stop_string_ends_the_text_before_its_first_character() {
    let (prompt, text) = reference();
    let stop = "runtime difference";
    let ended = run(&greedy(&["-n", "64", &prompt, "--stop", "nowhere", "--stop", stop]));
    assert_eq!(ended.text(), &text[..text.find(stop).unwrap()]);
    assert!(ended.error.contains("came to the stop string \"runtime difference\""), "{}", ended.error);

    let report = run(&greedy(&["--json", "-n", "64", &prompt, "--stop", stop])).json();
    assert_eq!((&report["finish_reason"], &report["stop"]), (&"stop".into(), &stop.into()));
    assert_eq!(report["text"], text[..text.find(stop).unwrap()]);
}

#[test]
fn text_held_back_for_a_stop_string_that_never_comes_is_given_out_at_the_end() {
    let (prompt, text) = reference();
    let whole = run(&greedy(&["-q", "-n", "64", &prompt]));
    let stop = format!("{}never", &text[text.len() - 3..]);
    assert_eq!(run(&greedy(&["-q", "-n", "64", &prompt, "--stop", &stop])).text(), whole.text());
}

#[test]
fn the_text_ends_where_the_model_ends_it() {
    let prompt = "<|im_start|>user\nWrite a Rust function that adds two numbers.<|im_end|>\n<|im_start|>assistant";
    let report = run(&greedy(&["--json", prompt])).json();
    assert_eq!((&report["finish_reason"], &report["end_token"]), (&"end_token".into(), &8187.into()));
    assert_eq!(report["text"], "\n```rust\nfn add(a: i32, b: i32) -> i32 {\n    a + b\n}\n```");
}

#[test]
fn prompt_and_text_are_never_longer_than_the_context() {
    let report = run(&greedy(&["--json", "-n", "-1", "-c", "8", "The Rust compiler"])).json();
    assert_eq!(report["finish_reason"], "context_full");
    assert_eq!((report["prompt_tokens"].as_array().unwrap().len(), report["tokens"].as_array().unwrap().len()), (3, 5));
}

#[test]
fn a_prompt_that_fills_the_context_leaves_no_room_for_text() {
    let report = run(&greedy(&["--json", "-c", "3", "The Rust compiler"])).json();
    assert_eq!((&report["finish_reason"], report["tokens"].as_array().unwrap().len()), (&"context_full".into(), 0));
}

#[test]
fn control_tokens_in_a_prompt_are_text_unless_asked_for() {
    let tokens = |more: &[&str]| {
        let arguments = [&["generate", "--json", "-n", "0", "<|im_end|>"], more].concat();
        run(&arguments).json()["prompt_tokens"].clone()
    };
    assert_eq!(tokens(&["--special"]), serde_json::json!([8187]));
    assert!(tokens(&[]).as_array().unwrap().len() > 1);
}

#[test]
fn chat_applies_the_template_and_a_user_cannot_end_the_turn() {
    let report = run(&["generate", "--json", "-n", "0", "--chat", "a <|im_end|>"]).json();
    let tokens: Vec<u64> = report["prompt_tokens"].as_array().unwrap().iter().map(|id| id.as_u64().unwrap()).collect();
    let count = |id| tokens.iter().filter(|token| **token == id).count();
    assert_eq!((count(8186), count(8187)), (2, 1), "{tokens:?}");
    assert_eq!(tokens[0], 8186);
}

#[test]
fn a_prompt_may_be_token_ids() {
    let text = run(&greedy(&["-q", "-n", "6", "The Rust compiler"]));
    let ids = ["generate", "--temp", "0", "--repeat-penalty", "1", "--kv-type", "f32", "-q", "-n", "6", "--raw-tokens"];
    assert_eq!(run_with_input(&[&ids[..], &["-"]].concat(), b"807, 504\n1444\n").text(), text.text());
}

#[test]
fn sampling_is_as_the_file_recommends_and_flags_overrule_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("model.gguf");
    let (temp, top_k) = (Value::F32(0.25), Value::I32(7));
    zoo_with(&path, &[("general.sampling.temp", Some(temp)), ("general.sampling.top_k", Some(top_k))]);
    let path = path.to_str().unwrap();
    let report = run(&["generate", "-m", path, "--json", "-n", "0", "--top-k", "9", "a"]).json();
    let sampling = &report["sampling"];
    assert_eq!((&sampling["temperature"], &sampling["top_k"]), (&0.25.into(), &9.into()));
    assert_eq!(sampling["top_p"], 0.95);
    assert_eq!(sampling["repeat_penalty"], 1.0);
}

#[test]
fn text_is_the_same_whatever_the_chunk() {
    let prompt = "fn largest(values: &[i32]) -> Option<i32> {\n    let mut largest = ";
    let text = |batch| run(&greedy(&["-q", "-n", "12", "--batch", batch, prompt])).text().to_owned();
    assert_eq!(text("1"), text("7"));
    assert_eq!(text("1"), text("512"));
}

#[test]
fn quiet_runs_say_nothing_beside_the_text() {
    let zoo = zoo();
    let ended = run(&["generate", "-q", "-n", "2", "-m", zoo.to_str().unwrap(), "a"]);
    assert_eq!((ended.code, &*ended.error), (Some(0), ""));
}

//! What cannot be done is refused in a sentence: with exit code 2 where the command line is wrong, else with 1.

use crate::command::{Ended, run, run_with_input};
use crate::models::{self, vocabulary_only, zoo_with};
use std::fs;
use std::path::Path;

#[track_caller]
fn wrong_usage(arguments: &[&str], reason: &str) {
    let ended = run(arguments);
    let told = ended.refusal(2);
    assert!(told.contains(reason), "{arguments:?}: {told}");
    assert!(told.contains("Usage: redlite "), "{arguments:?}: {told}");
}

#[track_caller]
fn failed(ended: &Ended, reasons: &[&str]) {
    let told = ended.refusal(1);
    assert!(reasons.iter().all(|reason| told.contains(reason)), "{told}");
    assert_eq!(told.lines().count(), 1, "{told}");
}

fn generate_with(model: &Path) -> Ended {
    run(&["generate", "-m", model.to_str().unwrap(), "a"])
}

#[test]
fn wrong_command_lines_are_refused_with_the_usage() {
    wrong_usage(&["generate"], "PROMPT");
    wrong_usage(&["generate", "a", "-p", "b"], "cannot be used with");
    wrong_usage(&["generate", "a", "-f", "b"], "cannot be used with");
    wrong_usage(&["generate", "a", "b"], "unexpected argument 'b'");
    wrong_usage(&["generate", "a", "--no-such-flag"], "--no-such-flag");
    wrong_usage(&["generate", "a", "--chat", "--special"], "cannot be used with");
    wrong_usage(&["generate", "a", "--chat", "--raw-tokens"], "cannot be used with");
    wrong_usage(&["generate", "a", "--special", "--raw-tokens"], "cannot be used with");
    wrong_usage(&["generate", "a", "-n", "-2"], "-1 or more");
    wrong_usage(&["generate", "a", "-n", "many"], "many");
    wrong_usage(&["generate", "a", "-c", "0"], "--ctx-size");
    wrong_usage(&["generate", "a", "--batch", "0"], "--batch");
    wrong_usage(&["generate", "a", "--threads", "0"], "--threads");
    wrong_usage(&["generate", "a", "--threads", "1025"], "from 1 to 1024");
    wrong_usage(&["generate", "a", "--temp", "-1"], "--temp is -1; expected 0 or more");
    wrong_usage(&["generate", "a", "--temp", "hot"], "expected a number");
    wrong_usage(&["generate", "a", "--temp", "nan"], "--temp");
    wrong_usage(&["generate", "a", "--top-p", "0"], "--top-p");
    wrong_usage(&["generate", "a", "--min-p", "2"], "--min-p");
    wrong_usage(&["generate", "a", "--repeat-penalty", "0"], "--repeat-penalty");
    wrong_usage(&["generate", "a", "--top-k", "-1"], "expected a whole number, 0 or more");
    wrong_usage(&["generate", "a", "--seed", "x"], "expected a whole number");
    wrong_usage(&["generate", "a", "--stop", ""], "--stop");
    wrong_usage(&["generate", "a", "--backend", "cuda"], "reference");
    wrong_usage(&["generate", "a", "--kv-type", "q8"], "f32");
    wrong_usage(&["inspect", "a", "b"], "unexpected argument");
    wrong_usage(&["tokenize"], "<TEXT>");
    wrong_usage(&["detokenize"], "<IDS>");
    wrong_usage(&["summon"], "unrecognized subcommand");
}

#[test]
fn the_command_alone_shows_its_help_and_counts_as_wrong_usage() {
    let ended = run(&[""; 0]);
    assert_eq!((ended.code, &*ended.out), (Some(2), &b""[..]));
    assert!(ended.error.contains("redlite generate \"The Rust compiler\""), "{}", ended.error);
}

#[test]
fn help_and_version_go_to_standard_output() {
    assert!(run(&["--version"]).text().starts_with("redlite 0."));
    for subcommand in ["generate", "inspect", "tokenize", "detokenize"] {
        assert!(run(&[subcommand, "--help"]).text().contains("Usage: redlite "));
    }
    let help = run(&["generate", "--help"]);
    assert!(help.text().contains("Examples:") && help.text().lines().all(|line| line.len() <= 100));
}

#[test]
fn what_is_no_model_file_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    failed(&generate_with(&path("absent.gguf")), &["absent.gguf", "no such file"]);
    failed(&generate_with(directory.path()), &["is a directory"]);
    fs::write(path("text.gguf"), "This is no model.").unwrap();
    failed(&generate_with(&path("text.gguf")), &["text.gguf"]);
    fs::write(path("empty.gguf"), "").unwrap();
    failed(&generate_with(&path("empty.gguf")), &["is empty"]);
}

#[test]
fn a_model_file_that_is_cut_short_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("cut.gguf");
    let whole = fs::read(models::zoo()).unwrap();
    for length in [whole.len() - 40, whole.len() / 2, 1000, 7] {
        fs::write(&path, &whole[..length]).unwrap();
        failed(&generate_with(&path), &["cut.gguf", "cut short"]);
    }
}

#[test]
fn models_that_cannot_run_are_refused_by_name() {
    let directory = tempfile::tempdir().unwrap();
    failed(&generate_with(&vocabulary_only(directory.path())), &["ggml-vocab-qwen2.gguf"]);
    let path = directory.path().join("other.gguf");
    zoo_with(&path, &[("general.architecture", Some("llama".into()))]);
    failed(&generate_with(&path), &["architecture `llama` is not supported"]);
    zoo_with(&path, &[("tokenizer.ggml.pre", Some("gpt-9".into()))]);
    failed(&generate_with(&path), &["tokenizer.ggml.pre", "gpt-9"]);
}

#[test]
fn chat_without_a_template_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("plain.gguf");
    zoo_with(&path, &[("tokenizer.chat_template", None)]);
    let ended = run(&["generate", "--chat", "-m", path.to_str().unwrap(), "a"]);
    failed(&ended, &["plain.gguf has no chat template", "leave out --chat"]);
    zoo_with(&path, &[("tokenizer.chat_template", Some("{% for".into()))]);
    failed(&run(&["generate", "--chat", "-m", path.to_str().unwrap(), "a"]), &["chat template is not valid"]);
}

#[test]
fn a_prompt_that_does_not_fit_is_refused_with_both_numbers() {
    let ended = run(&["generate", "-c", "2", "The Rust compiler"]);
    failed(&ended, &["the prompt is 3 tokens long and the context holds 2", "raise --ctx-size", "32768"]);
    let ended = run_with_input(&["generate", "-"], "word ".repeat(40_000).as_bytes());
    failed(&ended, &["the context holds 32768", "shorten it"]);
    assert!(!ended.error.contains("raise --ctx-size"));
}

#[test]
fn a_context_beyond_the_models_is_refused() {
    failed(&run(&["generate", "-c", "32769", "a"]), &["32769", "1 to 32768"]);
}

#[test]
fn an_empty_prompt_is_refused() {
    failed(&run(&["generate", ""]), &["is empty", "at least one token"]);
    failed(&run_with_input(&["generate", "-"], b""), &["standard input is empty"]);
    failed(&run(&["generate", "--chat", ""]), &["is empty"]);
    failed(&run(&["generate", "--raw-tokens", " , "]), &["is empty"]);
}

#[test]
fn a_prompt_that_is_no_text_is_refused_at_its_offset() {
    let ended = run_with_input(&["generate", "-"], b"fn main\xff()");
    failed(&ended, &["standard input is not UTF-8 text", "offset 7", "0xff"]);
    failed(&run_with_input(&["tokenize", "-"], b"\xc3("), &["offset 0", "0xc3"]);
}

#[test]
fn a_prompt_file_that_cannot_be_read_is_named() {
    failed(&run(&["generate", "-f", "no-such-prompt.txt"]), &["no-such-prompt.txt: cannot be read"]);
}

#[test]
fn token_ids_that_are_none_are_refused() {
    failed(&run(&["generate", "--raw-tokens", "1 two"]), &["\"two\", which is not a token id"]);
    failed(&run(&["generate", "--raw-tokens", "8192"]), &["8192 is not in the vocabulary of 8192"]);
    failed(&run(&["detokenize", "8192"]), &["8192 is not in the vocabulary of 8192"]);
}

#[test]
fn the_backend_that_is_not_there_yet_says_so() {
    let ended = run(&["generate", "--backend", "msl", "a"]);
    failed(&ended, &["msl", "not in this version yet", "--backend reference"]);
}

#[test]
fn an_adapter_that_is_not_there_is_refused_by_its_name() {
    let ended = run(&["generate", "--adapter", "no such adapter", "a"]);
    failed(&ended, &["no GPU adapter matches `no such adapter`"]);
}

#[test]
fn a_model_beyond_the_memory_limit_is_refused_with_both_numbers() {
    let ended = run(&["generate", "--backend", "reference", "--memory-limit", "10MiB", "a"]);
    failed(&ended, &["the model needs", "10.00 MiB is available"]);
}

#[test]
fn nothing_from_a_hostile_file_reaches_the_terminal_unescaped() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("hostile.gguf");
    let hostile = "ll\u{1b}[2Jama\r\n\u{202e}";
    zoo_with(&path, &[("general.architecture", Some(hostile.into())), ("general.name", Some(hostile.into()))]);
    failed(&generate_with(&path), &["ll\\u{1b}[2Jama\\r\\n\\u{202e}"]);
    let ended = run(&["inspect", "--tensors", path.to_str().unwrap()]);
    assert!(ended.text().contains("ll\\u{1b}[2Jama"));
    assert!(ended.text().chars().all(|c| c == '\n' || !c.is_control() && c != '\u{202e}'));
}

//! Closed pipes, full disks and Ctrl-C.
#![cfg(unix)]

use crate::command::{Ended, redlite};
use crate::models;
use crate::support::fixture;
use std::io::Read;
use std::process::{Child, Command, Stdio};

/// A generation that goes on until it is stopped.
const ENDLESS: [&str; 9] =
    ["generate", "-n", "-1", "--temp", "0", "--repeat-penalty", "1", "--special", "The Rust compiler"];

fn start(arguments: &[&str]) -> Child {
    redlite(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command starts")
}

fn interrupt(child: &Child) {
    let command = format!("kill -INT {}", child.id());
    assert!(Command::new("sh").args(["-c", &command]).status().expect("a shell").success());
}

fn end(child: Child) -> Ended {
    child.wait_with_output().expect("the command ends").into()
}

/// Waits for the first bytes of text.
fn first_text(child: &mut Child) -> Vec<u8> {
    let mut bytes = vec![0; 16];
    child.stdout.as_mut().expect("standard output is piped").read_exact(&mut bytes).expect("some text");
    bytes
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let mut child = start(&ENDLESS);
    first_text(&mut child);
    drop(child.stdout.take());
    let ended = end(child);
    assert_eq!((ended.code, &*ended.error), (Some(0), ""));
}

#[test]
fn every_subcommand_bears_a_closed_pipe() {
    for arguments in [
        &["inspect", "--tensors"][..],
        &["tokenize", "a b"],
        &["detokenize", "5"],
        &["--help"],
        &["generate", "--help"],
    ] {
        let mut child = start(arguments);
        drop(child.stdout.take());
        let ended = end(child);
        assert_eq!((ended.code, &*ended.error), (Some(0), ""), "{arguments:?}");
    }
}

#[test]
fn a_closed_standard_error_does_not_disturb_the_text() {
    let mut child = start(&["generate", "-n", "3", "fn main"]);
    drop(child.stderr.take());
    let ended = end(child);
    assert_eq!(ended.code, Some(0));
    assert!(!ended.out.is_empty());
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    for arguments in [&["generate", "-n", "3", "fn main"][..], &["generate", "--json", "-n", "3", "a"], &["inspect"]] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let ended: Ended = redlite(arguments).stdout(full).output().unwrap().into();
        assert_eq!(ended.code, Some(1), "{arguments:?}");
        assert!(ended.error.contains("redlite: cannot write to standard output"), "{}", ended.error);
    }
}

#[test]
fn a_file_beyond_the_size_limit_is_an_error_of_both_programs() {
    let directory = tempfile::tempdir().unwrap();
    let (zoo, ids) = (models::zoo(), fixture("oracle/toks300.txt"));
    let line = format!(
        "ulimit -f 1; '{}' inspect --json > out.json; echo $?; '{}' logits -m '{}' --tokens '{}' --out out.npy; echo $?",
        env!("CARGO_BIN_EXE_redlite"),
        env!("CARGO_BIN_EXE_redlite-engine"),
        zoo.display(),
        ids.display()
    );
    let ended: Ended = Command::new("sh").args(["-c", &line]).current_dir(&directory).output().unwrap().into();
    assert_eq!(ended.text(), "1\n1\n", "{}", ended.error);
    assert!(ended.error.contains("redlite: cannot write to standard output"), "{}", ended.error);
    assert!(ended.error.contains("redlite-engine: "), "{}", ended.error);
}

#[test]
fn ctrl_c_keeps_what_was_made_and_says_so() {
    let mut child = start(&ENDLESS);
    let first = first_text(&mut child);
    interrupt(&child);
    let ended = end(child);
    assert_eq!(ended.code, Some(0));
    assert_eq!(first, b" assumes that th");
    assert!(ended.error.trim_end().ends_with("interrupted"), "{}", ended.error);
}

#[test]
fn ctrl_c_while_the_prompt_is_read_ends_between_two_chunks() {
    let prompt = "fn main() { println!(\"Hello\"); }\n".repeat(200);
    let arguments = ["generate", "--json", "-v", "--batch", "1", "-n", "1", &prompt];
    let mut child = start(&arguments);
    // Thousands of tokens take far longer than it takes to notice Ctrl-C.
    wait_for(&mut child, "reading the prompt");
    interrupt(&child);
    let ended = end(child);
    let explained = "redlite: stopping after this chunk; Ctrl-C again ends at once\n";
    assert!(ended.error.contains(explained), "{}", ended.error);
    let report = ended.json();
    assert_eq!((&report["finish_reason"], &report["text"]), (&"interrupted".into(), &"".into()));
}

/// Reads standard error up to a line that contains `text`.
fn wait_for(child: &mut Child, text: &str) {
    let mut told = Vec::new();
    let error = child.stderr.as_mut().expect("standard error is piped");
    let mut byte = [0];
    while !String::from_utf8_lossy(&told).contains(text) {
        error.read_exact(&mut byte).expect("the command goes on");
        told.push(byte[0]);
    }
}

//! The command `redlite-engine`, as it is typed.

use crate::recording::{MINI, Recording, bits, exact, load, tokens};
use crate::support::{Blueprint, fixture};
use redlite::engine::LoadOptions;
use redlite::npy::Array;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

pub struct Run {
    pub code: i32,
    pub out: String,
    pub error: String,
}

pub fn engine(arguments: &[&str]) -> Run {
    let output = Command::new(env!("CARGO_BIN_EXE_redlite-engine")).args(arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Run { code: output.status.code().unwrap(), out: text(output.stdout), error: text(output.stderr) }
}

pub fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn logits_writes_what_the_engine_computes_and_parity_finds_them_equal() {
    let folder = tempfile::tempdir().unwrap();
    let (model, ids) = (fixture("zoo.gguf"), fixture("oracle/toks300.txt"));
    let (out, routing) = (folder.path().join("a.npy"), folder.path().join("routing.npy"));
    let run = engine(&[
        "logits",
        "--model",
        path(&model),
        "--tokens",
        path(&ids),
        "--out",
        path(&out),
        "--kv-type",
        "f32",
        "--batch",
        "64",
        "--routing",
        path(&routing),
    ]);
    assert_eq!(run.code, 0, "{}", run.error);
    assert!(run.error.starts_with("redlite-engine: 300 positions written to "), "{}", run.error);
    assert_eq!(run.error.lines().count(), 1);
    let recording =
        Recording::of(&mut load(&model, &LoadOptions { next_token: true, ..exact() }), &tokens("toks300.txt"));
    let written = Array::<f32>::read(&out).unwrap();
    assert_eq!(written.shape, [300, 512]);
    assert!(bits(&written.values) == bits(&recording.logits));

    let ids = Array::<i32>::read(&routing).unwrap();
    assert_eq!(ids.shape, [4, 300, 2]);
    let expected: Vec<i32> = recording.ids.concat().iter().map(|id| *id as i32).collect();
    assert_eq!(ids.values, expected);
    let logits = Array::<f32>::read(&folder.path().join("routing.logits.npy")).unwrap();
    assert_eq!(logits.shape, [4, 300, 3]);
    for (row, (logits, ids)) in logits.values.chunks(3).zip(ids.values.chunks(2)).enumerate() {
        let all = &recording.router[row / 300][row % 300 * 8..][..8];
        assert_eq!(logits[..2], [all[ids[0] as usize], all[ids[1] as usize]]);
        assert_eq!(recording.router_gap(row / 300, row % 300), logits[1] - logits[2]);
    }

    let same = engine(&["parity", path(&fixture("oracle/zoo-deq.npy")), path(&out)]);
    assert_eq!(same.code, 0, "{}", same.error);
    assert!(same.out.contains("argmax equal 300 of 300"), "{}", same.out);
    assert!(same.out.contains("PARITY: YES (limits: max abs at most 1e-3, mean KL at most 3e-3)"), "{}", same.out);
}

#[test]
fn a_range_of_positions_has_the_bytes_of_the_whole_run_in_both_blocks() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("a.npy");
    let (model, ids) = (fixture("zoo.gguf"), fixture("oracle/toks300.txt"));
    let recording =
        Recording::of(&mut load(&model, &LoadOptions { next_token: true, ..exact() }), &tokens("toks300.txt"));
    for (extra, all) in [(None, &recording.logits), (Some("--mtp"), &recording.next_token)] {
        let mut arguments = vec!["logits", "--model", path(&model), "--tokens", path(&ids), "--out", path(&out)];
        arguments.extend(["--kv-type", "f32", "--batch", "32", "--positions", "70..135"]);
        arguments.extend(extra);
        let run = engine(&arguments);
        assert_eq!(run.code, 0, "{}", run.error);
        let written = Array::<f32>::read(&out).unwrap();
        assert_eq!(written.shape, [65, 512]);
        assert!(bits(&written.values) == bits(&all[70 * 512..135 * 512]), "{extra:?}");
    }
}

/// The fixture with a weight that is no number.
fn model_of_nan(path: &Path) {
    let mut blueprint = Blueprint::of("zoo.gguf");
    blueprint.tensor("output_norm.weight").bytes[..4].copy_from_slice(&f32::NAN.to_le_bytes());
    blueprint.write(path);
}

#[test]
fn a_run_that_is_refused_removes_nothing_and_one_that_fails_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let results = folder.path().join("results");
    fs::create_dir(&results).unwrap();
    let names = ["a.npy", "r.npy", "r.logits.npy"].map(|name| results.join(name));
    for name in &names {
        fs::write(name, "older").unwrap();
    }
    let ids = fixture("oracle/toks300.txt");
    let (missing, nan) = (folder.path().join("missing.gguf"), folder.path().join("nan.gguf"));
    model_of_nan(&nan);
    let run = |model: &Path| {
        let arguments = ["logits", "--model", path(model), "--tokens", path(&ids), "--out", path(&names[0])];
        engine(&[&arguments[..], &["--routing", path(&names[1])]].concat())
    };
    let refused = run(&missing);
    assert_eq!(refused.code, 1);
    assert!(
        refused.error.starts_with("redlite-engine: ") && refused.error.contains("missing.gguf"),
        "{}",
        refused.error
    );
    assert!(names.iter().all(|name| fs::read_to_string(name).unwrap() == "older"));
    let failed = run(&nan);
    assert_eq!(failed.code, 1);
    assert!(failed.error.starts_with("redlite-engine: the model's output is not a number"), "{}", failed.error);
    assert_eq!(fs::read_dir(&results).unwrap().count(), 0);
}

#[test]
fn the_perplexity_of_logits_that_are_no_numbers_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("nan.gguf");
    model_of_nan(&model);
    let ids = fixture("oracle/toks300.txt");
    let run = engine(&["perplexity", "-m", path(&model), "--tokens", path(&ids), "--window", "100"]);
    assert_eq!((run.code, run.out.as_str()), (1, ""));
    assert!(run.error.starts_with("redlite-engine: the model's output is not a number"), "{}", run.error);
}

#[test]
fn no_file_of_a_split_model_is_taken_for_an_output() {
    let folder = tempfile::tempdir().unwrap();
    let parts = Blueprint::of("zoo.gguf").write_split(folder.path(), "zoo", 3);
    let ids = fixture("oracle/toks300.txt");
    let before = fs::read(&parts[2]).unwrap();
    let run = engine(&["logits", "-m", path(&parts[0]), "--tokens", path(&ids), "--out", path(&parts[2])]);
    assert_eq!(run.code, 2);
    assert!(run.error.contains("named twice"), "{}", run.error);
    assert!(fs::read(&parts[2]).unwrap() == before);
}

#[cfg(unix)]
#[test]
fn what_is_no_regular_file_is_not_written_and_what_is_endless_not_read() {
    let (model, ids) = (fixture("zoo.gguf"), fixture("oracle/toks300.txt"));
    let device = engine(&["logits", "-m", path(&model), "--tokens", path(&ids), "--out", "/dev/null"]);
    assert_eq!(device.code, 2);
    assert!(device.error.contains("/dev/null is not a regular file"), "{}", device.error);
    let array = engine(&["parity", "/dev/zero", "/dev/zero"]);
    assert_eq!(array.code, 1);
    assert!(array.error.contains("/dev/zero: not a regular file"), "{}", array.error);
    let endless = engine(&["perplexity", "-m", path(&model), "--tokens", "/dev/zero"]);
    assert_eq!(endless.code, 1);
    assert!(endless.error.contains("/dev/zero is longer than 256 MiB"), "{}", endless.error);
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_logits_between_two_chunks_and_leaves_no_part_of_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let results = folder.path().join("results");
    fs::create_dir(&results).unwrap();
    let (ids, out) = (folder.path().join("ids.txt"), results.join("a.npy"));
    fs::write(&ids, "1 ".repeat(3000)).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_redlite-engine"));
    command.args(["logits", "--tokens", path(&ids), "--out", path(&out), "--batch", "1", "--threads", "1"]);
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    // A file of another name is there from the first position on, long before thousands have been computed.
    while fs::read_dir(&results).unwrap().count() == 0 {
        assert!(child.try_wait().unwrap().is_none(), "it ended before its first position");
        std::thread::yield_now();
    }
    let interrupt = format!("kill -INT {}", child.id());
    assert!(Command::new("sh").args(["-c", &interrupt]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "redlite-engine: cancelled\n");
    assert_eq!(fs::read_dir(&results).unwrap().count(), 0);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_and_a_closed_pipe_is_none() {
    let (a, ids, model) = (fixture("oracle/zoo-deq.npy"), fixture("oracle/toks300.txt"), fixture("zoo.gguf"));
    for arguments in [
        &["--help"][..],
        &["-V"],
        &["parity", "-v", path(&a), path(&a)],
        &["perplexity", "-m", path(&model), "--tokens", path(&ids), "--window", "100"],
    ] {
        let command = || {
            let mut command = Command::new(env!("CARGO_BIN_EXE_redlite-engine"));
            command.args(arguments).stderr(Stdio::piped());
            command
        };
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = command().stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(error.starts_with("redlite-engine: cannot write to standard output: "), "{error}");

        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = command().stdout(writer).output().unwrap();
        assert_eq!((output.status.code(), &output.stderr[..]), (Some(0), &b""[..]), "{arguments:?}");
    }
}

#[test]
fn control_characters_of_a_file_do_not_reach_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let ids = folder.path().join("ids\u{1b}[2J.txt");
    fs::write(&ids, "1\u{1b}[31m").unwrap();
    for arguments in [&["perplexity", "--tokens", path(&ids)][..], &["parity", path(&ids), path(&ids)]] {
        let run = engine(arguments);
        assert_eq!(run.code, 1);
        assert!(run.error.contains("\\u{1b}") && !run.error.contains('\u{1b}'), "{:?}", run.error);
    }
}

#[test]
fn logits_says_what_is_wrong_with_its_arguments() {
    let folder = tempfile::tempdir().unwrap();
    let (model, ids) = (fixture("zoo.gguf"), folder.path().join("ids.txt"));
    let out = folder.path().join("a.npy");
    let run = |text: &str, extra: &[&str]| {
        fs::write(&ids, text).unwrap();
        let arguments = ["logits", "--model", path(&model), "--tokens", path(&ids), "--out", path(&out)];
        let run = engine(&[&arguments[..], extra].concat());
        assert!(run.error.starts_with("redlite-engine: "), "{}", run.error);
        assert!(!out.exists());
        (run.code, run.error)
    };
    let expect = |(code, error): (i32, String), expected_code: i32, words: &str| {
        assert!(code == expected_code && error.contains(words), "{code}: {error}");
    };
    expect(run("1 2 x3", &[]), 1, "\"x3\", which is not a token id");
    expect(run(" \n", &[]), 1, "holds no token ids");
    expect(run("1 512", &[]), 1, "token id 512 is not in the vocabulary of 512");
    expect(run("1 2 3", &["--positions", "1..4"]), 2, "--positions 1..4 of 3 tokens");
    expect(run("1 2 3", &["--positions", "2..2"]), 2, "expected two numbers A..B");
    expect(run("1 2 3", &["--batch", "0"]), 2, "--batch");
    expect(run("1 2 3", &["--backend", "msl"]), 1, "msl");
    expect(run("1 2 3", &["--routing", path(&out)]), 2, "named twice");
    expect(run("1 2 3", &["--routing", path(&ids)]), 2, "named twice");
    expect(run("1 2 3", &["--routing", path(&model)]), 2, "named twice");
    assert_eq!(fs::read_to_string(&ids).unwrap(), "1 2 3", "an input is never removed");
    let [comma, space] = ["1, 2,3", "1 2 3"].map(|text| {
        fs::write(&ids, text).unwrap();
        let run = engine(&["logits", "--model", path(&model), "--tokens", path(&ids), "--out", path(&out)]);
        assert_eq!(run.code, 0, "{}", run.error);
        fs::read(&out).unwrap()
    });
    assert!(comma == space);
}

#[test]
fn the_embedded_model_is_taken_where_none_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let (ids, named, embedded) =
        (folder.path().join("ids.txt"), folder.path().join("named.npy"), folder.path().join("embedded.npy"));
    fs::write(&ids, "1 2 3").unwrap();
    let model = fixture(MINI);
    for (out, model) in [(&named, &["-m", path(&model)][..]), (&embedded, &[])] {
        let run = engine(&[&["logits", "--tokens", path(&ids), "--out", path(out)], model].concat());
        assert_eq!(run.code, 0, "{}", run.error);
    }
    let logits = |out| Array::<f32>::read(out).unwrap();
    let (named, embedded) = (logits(&named), logits(&embedded));
    assert_eq!(embedded.shape, [3, 8192]);
    assert!(bits(&named.values) == bits(&embedded.values));
}

#[test]
fn a_model_without_a_next_token_block_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let (model, out) = (folder.path().join("model.gguf"), folder.path().join("a.npy"));
    let mut blueprint = Blueprint::of("zoo.gguf");
    blueprint.tensors.retain(|tensor| !tensor.name.starts_with("blk.4."));
    blueprint.unset("qwen3next.nextn_predict_layers").set("qwen3next.block_count", 4u32).write(&model);
    let ids = fixture("oracle/toks300.txt");
    let run = engine(&["logits", "-m", path(&model), "--tokens", path(&ids), "--out", path(&out), "--mtp"]);
    assert_eq!(run.code, 1);
    assert!(run.error.contains("no next-token-prediction block"), "{}", run.error);
    assert!(!out.exists());
}

#[test]
fn parity_exits_with_1_where_logits_differ_and_refuses_what_cannot_be_compared() {
    let (a, b) = (fixture("oracle/zoo-deq.npy"), fixture("oracle/zoo-q512.npy"));
    let far = engine(&["parity", "-v", path(&a), path(&b)]);
    assert_eq!((far.code, far.error.as_str()), (1, ""));
    assert!(far.out.contains("PARITY: NO"), "{}", far.out);
    assert_eq!(far.out.lines().filter(|line| line.starts_with("position ")).count(), 300);

    let near = engine(&["parity", path(&b), path(&a), "--mean-kl", "3e-3"]);
    assert_eq!(near.code, 0);
    assert!(near.out.contains("PARITY: YES (limits: max abs not limited, mean KL at most 3e-3)"), "{}", near.out);

    let shapes = engine(&["parity", path(&a), path(&fixture("oracle/mini-deq-every-10th.npy"))]);
    assert_eq!(shapes.code, 1);
    assert!(shapes.error.contains("[300, 512] and the candidate [10, 8192]"), "{}", shapes.error);

    let folder = tempfile::tempdir().unwrap();
    let nan = folder.path().join("nan.npy");
    let mut bytes = fs::read(&a).unwrap();
    let end = bytes.len();
    bytes[end - 4..].copy_from_slice(&f32::NAN.to_le_bytes());
    fs::write(&nan, bytes).unwrap();
    let refused = engine(&["parity", path(&a), path(&nan)]);
    assert_eq!((refused.code, refused.out.as_str()), (1, ""));
    assert!(refused.error.contains("NaN at position 299, token 511"), "{}", refused.error);

    assert_eq!(engine(&["parity", path(&a)]).code, 2);
    assert_eq!(engine(&["parity", path(&a), path(&b), "--max-abs", "-1"]).code, 2);
}

#[test]
fn the_trained_models_perplexity_is_that_of_llama_cpp() {
    let run = engine(&[
        "perplexity",
        "--model",
        path(&fixture(MINI)),
        "--file",
        path(&fixture("oracle/mini-text.txt")),
        "--kv-type",
        "f32",
    ]);
    assert_eq!((run.code, run.error.as_str()), (0, ""));
    let last = run.out.lines().last().unwrap();
    assert!(last.contains("4599 predictions in 9 windows of 1024 tokens"), "{last}");
    let perplexity: f64 = last.split_whitespace().nth(1).unwrap().parse().unwrap();
    // llama.cpp on the exact weights: 16.79.
    assert!((perplexity / 16.79 - 1.0).abs() <= 0.005, "{last}");
}

#[test]
fn perplexity_takes_tokens_too_and_refuses_a_text_shorter_than_a_window() {
    let (model, ids) = (fixture("zoo.gguf"), fixture("oracle/toks300.txt"));
    let run = engine(&["perplexity", "-m", path(&model), "--tokens", path(&ids), "--window", "100"]);
    assert_eq!(run.code, 0, "{}", run.error);
    assert!(run.out.contains("(147 predictions in 3 windows of 100 tokens)"), "{}", run.out);
    let short = engine(&["perplexity", "-m", path(&model), "--tokens", path(&ids)]);
    assert_eq!(short.code, 1);
    assert!(short.error.contains("300 tokens; a window takes 1024"), "{}", short.error);
    assert_eq!(engine(&["perplexity", "-m", path(&model)]).code, 2);
}

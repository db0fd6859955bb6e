//! `redlite synthesize`, and `redlite bench` on what it writes.

use crate::command::{redlite, run};
use std::fs;
use std::path::Path;

fn arguments<'a>(path: &'a Path, extra: &[&'a str]) -> Vec<&'a str> {
    [&["synthesize", "--layers", "2", "-o", path.to_str().unwrap()], extra].concat()
}

#[test]
fn a_file_is_written_once_and_again_only_by_force() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.gguf");
    let line = run(&arguments(&path, &[])).text().to_owned();
    let bytes = fs::metadata(&path).unwrap().len();
    assert!(line.contains(&format!("model.gguf: {bytes} bytes")), "{line}");
    assert!(line.contains("tensors") && line.contains("GB/s"), "{line}");

    let refused = run(&arguments(&path, &["--seed", "2"]));
    assert!(refused.refusal(1).contains("exists already; --force writes over it"), "{}", refused.error);
    let before = fs::read(&path).unwrap();
    assert_eq!(run(&arguments(&path, &["--force", "--quiet", "--seed", "2"])).text(), "");
    assert!(fs::read(&path).unwrap() != before);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_dry_run_states_the_sizes_of_the_80b_model_without_writing() {
    let sizes = |extra: &[&str]| {
        let ended = run(&[&["synthesize", "--preset", "qwen3-next-80b", "--dry-run"], extra].concat());
        ended.text().to_owned()
    };
    let bytes = |text: &str, row: &str| -> u64 {
        let line = text.lines().find(|line| line.starts_with(row)).expect(row);
        line.split_whitespace().nth(3).unwrap().parse().unwrap()
    };
    let whole = sizes(&[]);
    // 48 layers of 512 experts: gate and up of 512 x 2048 values and down of 2048 x 512, of 66 bytes for 256 values,
    // and in the first six layers down of 84.
    let expert = |down: u64| 2048 * 512 / 256 * (66 + 66 + down);
    assert_eq!(bytes(&whole, "experts"), 512 * (42 * expert(66) + 6 * expert(84)));
    assert!((20_000_000_000..23_000_000_000).contains(&bytes(&whole, "file")), "{whole}");
    let four = sizes(&["--layers", "4"]);
    assert_eq!(bytes(&four, "experts"), 512 * 4 * expert(66));
    assert!(bytes(&four, "file") > bytes(&four, "experts"));
    for types in ["iq1_m", "q4_k_m"] {
        assert!(bytes(&sizes(&["--types", types]), "file") > 10_000_000_000, "{types}");
    }
}

#[test]
fn dimensions_that_cannot_be_are_wrong_usage() {
    for (arguments, reason) in [
        (&["--kv-heads", "3"][..], "--kv-heads is 3; expected a divisor of the 4 heads"),
        (&["--top-k", "40"], "--top-k is 40; expected a number from 1 to 32"),
        (&["--layers", "0"], "--layers is 0"),
        (&["--layers", "4294967296"], "--layers"),
        (&["--router-scale", "-1"], "--router-scale"),
        (&["--types", "q9"], "iq2_xxs"),
        (&["--preset", "none"], "qwen3-next-80b"),
    ] {
        let ended = run(&[&["synthesize", "--dry-run"], arguments].concat());
        assert!(ended.refusal(2).contains(reason), "{}", ended.error);
    }
    assert!(run(&["synthesize"]).refusal(2).contains("--output"));
}

#[test]
fn a_file_that_cannot_be_written_is_named_and_nothing_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("no-such-folder").join("model.gguf");
    assert!(run(&arguments(&missing, &[])).refusal(1).contains("model.gguf: cannot be written"));
    let ended = run(&arguments(folder.path(), &["--force"]));
    assert!(ended.refusal(1).contains("not a regular file"), "{}", ended.error);
}

#[cfg(target_os = "linux")]
#[test]
fn ctrl_c_leaves_nothing_of_the_file() {
    use std::process::Command;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.gguf");
    // Some hundred megabytes, which take longer than it takes to see the first of them.
    let extra = ["--layers", "64", "--experts", "256", "--hidden", "512"];
    let line: Vec<&str> = ["synthesize", "-o", path.to_str().unwrap()].into_iter().chain(extra).collect();
    let mut child = redlite(&line).spawn().unwrap();
    let partial = folder.path().join("model.gguf.partial");
    while fs::metadata(&partial).map_or(0, |found| found.len()) == 0 {
        assert!(child.try_wait().unwrap().is_none(), "it ended before anything could be seen");
    }
    let signal = format!("kill -INT {}", child.id());
    assert!(Command::new("sh").args(["-c", &signal]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_synthetic_file_is_inspected_benched_and_continues_a_text() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.gguf");
    run(&arguments(&path, &["--seed", "5"])).text();
    let model = path.to_str().unwrap();
    assert!(run(&["inspect", model]).text().contains("runs here"));
    let report = run(&["generate", "--json", "-n", "5", "-m", model, "hello"]).json();
    assert_eq!(report["finish_reason"], "length");
}

#[test]
fn a_file_without_a_tokenizer_says_so_to_those_who_need_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.gguf");
    run(&arguments(&path, &["--vocab", "100"])).text();
    let model = path.to_str().unwrap();
    let refused = run(&["generate", "-m", model, "hello"]);
    assert!(refused.refusal(1).contains("tokenizer"), "{}", refused.error);
    run(&["bench", "-m", model, "-p", "4", "-n", "2", "--reps", "1"]).text();
}

#[test]
fn bench_runs_backends_in_turn_and_reports_each() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.gguf");
    run(&arguments(&path, &[])).text();
    let model = path.to_str().unwrap();
    let line = ["bench", "-m", model, "-p", "16", "-n", "3", "--reps", "3", "--threads", "2"];
    let report = run(&[&line[..], &["--json", "--backend", "reference,auto", "--kv-type", "f32"]].concat()).json();
    assert_eq!((&report["prompt_tokens"], &report["decode_tokens"]), (&16.into(), &3.into()));
    assert_eq!((&report["threads"], &report["kv_type"], &report["batch"]), (&2.into(), &"f32".into(), &512.into()));
    assert_eq!(report["file_bytes"], fs::metadata(&path).unwrap().len());
    let backends = report["backends"].as_array().unwrap();
    assert_eq!(backends.len(), 2);
    assert_eq!(backends[0]["backend"], "reference");
    for backend in backends {
        for rates in [&backend["prefill_tokens_per_second"], &backend["decode_tokens_per_second"]] {
            let runs: Vec<f64> = serde_json::from_value(rates["runs"].clone()).unwrap();
            assert_eq!(runs.len(), 3);
            let value = |key: &str| rates[key].as_f64().unwrap();
            assert!(value("min") > 0.0 && value("min") <= value("median") && value("median") <= value("max"));
        }
    }
    let table = run(&line);
    assert!(table.text().contains("prefill tok/s") && table.text().contains("\nreference "), "{}", table.text());
    let half = run(&["bench", "-m", model, "-p", "4", "-n", "0", "--reps", "1"]);
    assert!(half.text().contains("not measured"), "{}", half.text());
}

#[test]
fn bench_refuses_what_it_cannot_measure() {
    assert!(run(&["bench", "-p", "0", "-n", "0"]).refusal(2).contains("nothing to measure"));
    assert!(run(&["bench", "--reps", "0"]).refusal(2).contains("--reps"));
    assert!(run(&["bench", "--backend", "cuda"]).refusal(2).contains("reference"));
    assert!(run(&["bench", "-p", "40000"]).refusal(1).contains("context of 40064"));
}

#[test]
fn a_model_whose_logits_are_no_numbers_fails_the_bench_instead_of_being_timed() {
    use redlite::gguf::Gguf;
    use std::io::{Seek, SeekFrom, Write};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.gguf");
    run(&arguments(&path, &[])).text();
    // The weights of the last norm are found by their bytes.
    let file = Gguf::open(&path).unwrap();
    let norm = file.tensor("output_norm.weight").unwrap();
    let mut weights = vec![0; norm.bytes as usize];
    file.read(norm, 0, &mut weights).unwrap();
    let bytes = fs::read(&path).unwrap();
    let at = bytes.windows(weights.len()).position(|window| window == weights).unwrap();
    let mut file = fs::File::options().write(true).open(&path).unwrap();
    file.seek(SeekFrom::Start(at as u64)).unwrap();
    file.write_all(&f32::NAN.to_le_bytes()).unwrap();
    let ended = run(&["bench", "-m", path.to_str().unwrap(), "-p", "4", "-n", "2", "--reps", "1"]);
    assert!(ended.refusal(1).contains("not a number"), "{}", ended.error);
}

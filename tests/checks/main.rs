//! `ci/quick_parity.sh` and `ci/regress.sh` say PASS of what is right and FAIL of what is not.
#![cfg(unix)]

#[path = "../support/mod.rs"]
mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::Blueprint;

struct Checked {
    code: Option<i32>,
    lines: Vec<String>,
}

impl Checked {
    /// `PASS` or `FAIL` of a check.
    fn word(&self, name: &str) -> &str {
        let line = self.lines.iter().find(|line| line.contains(&format!(" {name}: ")));
        line.unwrap_or_else(|| panic!("no line of {name} in {:#?}", self.lines)).split(' ').next().unwrap()
    }

    fn last(&self) -> &str {
        self.lines.last().unwrap()
    }
}

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Runs a script with the programs of this test and a folder for its results.
fn script(name: &str, arguments: &[&str], results: &Path) -> Checked {
    let programs = Path::new(env!("CARGO_BIN_EXE_redlite")).parent().unwrap();
    let mut command = Command::new(repository(name));
    command.args(arguments).env("REDLITE_BIN", programs).env("REDLITE_CHECKS", results).env_remove("BACKEND");
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    Checked { code: output.status.code(), lines: text.lines().map(str::to_owned).collect() }
}

fn zoo() -> PathBuf {
    repository("fixtures/zoo.gguf")
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn a_sound_model_passes_with_figures() {
    let folder = tempfile::tempdir().unwrap();
    let checked = script("ci/quick_parity.sh", &[path(&zoo()), "--batch", "64"], folder.path());
    assert_eq!((checked.code, checked.last()), (Some(0), "3/3 PASS"), "{:#?}", checked.lines);
    for name in ["logits.vs_llama", "logits.vs_llama_q512", "prefill.parity.batch-64"] {
        assert_eq!(checked.word(name), "PASS");
    }
    assert!(checked.lines[..3].iter().all(|line| line.contains("max abs")), "{:#?}", checked.lines);
}

#[test]
fn a_model_with_other_weights_fails_against_the_recordings_and_agrees_with_itself() {
    let folder = tempfile::tempdir().unwrap();
    let broken = folder.path().join("zoo.gguf");
    let mut blueprint = Blueprint::of("zoo.gguf");
    // The last weight becomes 2, where all are about 1.
    let weights = &mut blueprint.tensor("output_norm.weight").bytes;
    let end = weights.len();
    weights[end - 4..].copy_from_slice(&2f32.to_le_bytes());
    blueprint.write(&broken);
    let checked = script("ci/quick_parity.sh", &[path(&broken), "--batch", "64"], &folder.path().join("results"));
    assert_eq!((checked.code, checked.word("logits.vs_llama")), (Some(1), "FAIL"), "{:#?}", checked.lines);
    assert_eq!((checked.word("prefill.parity.batch-64"), checked.last()), ("PASS", "1/3 FAIL"));
}

#[test]
fn results_of_an_earlier_run_do_not_pass_for_those_of_a_run_that_fails() {
    let folder = tempfile::tempdir().unwrap();
    let results = folder.path().join("results");
    let sound = script("ci/quick_parity.sh", &[path(&zoo())], &results);
    assert_eq!(sound.code, Some(0), "{:#?}", sound.lines);
    assert!(results.join("logits.vs_llama.npy").exists());
    let cut = folder.path().join("zoo.gguf");
    fs::write(&cut, &fs::read(zoo()).unwrap()[..100_000]).unwrap();
    let checked = script("ci/quick_parity.sh", &[path(&cut)], &results);
    assert_eq!((checked.code, checked.last()), (Some(1), "0/3 FAIL"), "{:#?}", checked.lines);
    assert!(!results.join("logits.vs_llama.npy").exists(), "what an earlier run left is gone");
}

#[test]
fn a_backend_that_is_not_there_fails_every_check() {
    let folder = tempfile::tempdir().unwrap();
    let checked = script("ci/quick_parity.sh", &[path(&zoo()), "--backend", "msl"], folder.path());
    assert_eq!((checked.code, checked.last()), (Some(1), "0/3 FAIL"), "{:#?}", checked.lines);
}

#[test]
fn the_trained_models_texts_and_long_context_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    let model = repository("fixtures/model").join(redlite::embedded::FILE_NAME);
    let checked = script("ci/quick_parity.sh", &[path(&model), "--batch", "96"], folder.path());
    assert_eq!((checked.code, checked.last()), (Some(0), "4/4 PASS"), "{:#?}", checked.lines);
    for name in ["logits.long_context_vs_llama", "generate.vs_llama", "prefill.parity.batch-96"] {
        assert_eq!(checked.word(name), "PASS");
    }
}

#[test]
fn the_regression_checks_of_one_model_end_with_synthetic_ones() {
    let folder = tempfile::tempdir().unwrap();
    let checked = script("ci/regress.sh", &[path(&zoo())], folder.path());
    assert_eq!((checked.code, checked.last()), (Some(0), "6/6 PASS"), "{:#?}", checked.lines);
    for types in ["iq2_xxs", "iq1_m", "q4_k_m"] {
        assert_eq!(checked.word(&format!("synthesize.{types}")), "PASS");
    }
}

#[test]
fn wrong_usage_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for arguments in [&[][..], &["a", "b"], &["a", "--batch"], &["a", "--none"]] {
        assert_eq!(script("ci/quick_parity.sh", arguments, folder.path()).code, Some(2), "{arguments:?}");
    }
    assert_eq!(script("ci/regress.sh", &["a", "b"], folder.path()).code, Some(2));
}

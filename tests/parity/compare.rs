//! `redlite-engine prefill` and `parity` of two backends, as they are typed.

use crate::command::{engine, path};
use crate::support::fixture;
use redlite::npy::Array;

#[test]
fn prefill_compares_chunks_with_single_tokens_and_with_the_reference() {
    let (model, ids) = (fixture("zoo.gguf"), fixture("oracle/toks300.txt"));
    let line = ["prefill", "--model", path(&model), "--tokens", path(&ids), "--batch", "33", "--max-abs", "0"];
    let run = engine(&[&line[..], &["--reference"]].concat());
    assert_eq!((run.code, run.error.as_str()), (0, ""), "{}", run.out);
    for words in [
        "300 tokens in chunks of 33: ",
        "300 tokens one by one: ",
        "last position against token by token: argmax equal, max abs 0.000e0",
        "all positions against token by token: argmax equal 300 of 300, worst max abs 0.000e0",
        "last position against the reference: argmax equal",
        "all positions against the reference: argmax equal 300 of 300",
        "PARITY: YES (limits: max abs at most 0e0, mean KL not limited)",
    ] {
        assert!(run.out.contains(words), "no {words:?} in\n{}", run.out);
    }
    let missing = engine(&[&line[..], &["--backend", "msl"]].concat());
    assert_eq!(missing.code, 1);
    assert!(missing.error.contains("msl"), "{}", missing.error);
}

#[test]
fn parity_compares_two_backends_directly() {
    let (model, ids) = (fixture("zoo.gguf"), fixture("oracle/toks300.txt"));
    let line = ["parity", "--model", path(&model), "--tokens", path(&ids), "--backends"];
    let run = engine(&[&line[..], &["reference,auto"]].concat());
    assert_eq!((run.code, run.error.as_str()), (0, ""));
    assert!(run.out.contains("argmax equal 300 of 300") && run.out.contains("PARITY: YES"), "{}", run.out);
    let missing = engine(&[&line[..], &["reference,msl"]].concat());
    assert_eq!(missing.code, 1);
    assert!(missing.error.contains("msl"), "{}", missing.error);

    let usage = |arguments: &[&str], words: &str| {
        let run = engine(arguments);
        assert!(run.code == 2 && run.error.contains(words), "{arguments:?}: {}", run.error);
    };
    usage(&[&line[..], &["reference"]].concat(), "names 1 backends; expected two");
    usage(&[&line[..], &["reference,cuda"]].concat(), "cuda");
    usage(&["parity", "--backends", "reference,auto"], "--tokens");
    usage(&["parity", "a.npy", "b.npy", "--backends", "reference,auto"], "cannot be used with");
    usage(&["parity"], "REF.npy");
}

#[test]
fn every_tenth_position_can_be_written_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (model, ids) = (fixture("zoo.gguf"), fixture("oracle/toks300.txt"));
    let (out, routing) = (folder.path().join("a.npy"), folder.path().join("r.npy"));
    let line = ["logits", "-m", path(&model), "--tokens", path(&ids), "--kv-type", "f32", "--out", path(&out)];
    let extra = ["--positions", "100..121", "--every", "10", "--routing", path(&routing)];
    assert_eq!(engine(&[&line[..], &extra].concat()).code, 0);
    let found = Array::<f32>::read(&out).unwrap();
    assert_eq!(found.shape, [3, 512]);
    assert_eq!(Array::<i32>::read(&routing).unwrap().shape, [4, 3, 2]);
    let expected = Array::<f32>::read(&fixture("oracle/zoo-deq.npy")).unwrap();
    for (row, position) in [100, 110, 120].into_iter().enumerate() {
        let rows = found.values[row * 512..][..512].iter().zip(&expected.values[position * 512..][..512]);
        assert!(rows.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max) <= 1e-3, "position {position}");
    }
}

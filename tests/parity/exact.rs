//! Small random models against llama.cpp, position by position.

use crate::recording::{Recording, assert_exact, differences, everywhere, exact, load, oracle, tokens};
use crate::support::fixture;
use redlite::engine::LoadOptions;
use redlite::parity::Summary;

/// Mean divergence from llama.cpp as it runs: it rounds activations to 8 bits, which this engine does not.
const AS_IT_RUNS: f64 = 3e-3;

fn record(model: &str, options: &LoadOptions) -> Recording {
    let mut engine = load(&fixture(model), &LoadOptions { next_token: true, ..options.clone() });
    Recording::of(&mut engine, &tokens("toks300.txt"))
}

fn assert_close_to_llama_cpp(name: &str, recording: &Recording, noise_floor: &str) {
    let summary = Summary::of(&differences(&oracle(name), &recording.logits));
    let report = format!("{name}: {summary:?}, at most {AS_IT_RUNS:e} on average; {noise_floor}");
    println!("{report}");
    assert!(summary.mean_kl <= AS_IT_RUNS, "{report}");
}

#[test]
fn every_quantisation_type_gives_the_logits_of_llama_cpp_in_the_trunk_and_the_next_token_block() {
    for options in everywhere(&exact()) {
        println!("{}", options.backend);
        let recording = record("zoo.gguf", &options);
        assert_exact("zoo-deq.npy", &recording.logits);
        assert_exact("zoo-deq-mtp.npy", &recording.next_token);
        assert_close_to_llama_cpp(
            "zoo-q512.npy",
            &recording,
            "llama.cpp in one batch against itself token by token (its noise floor): 1.6e-4",
        );
    }
}

#[test]
fn half_precision_keys_and_values_give_the_logits_of_llama_cpp_with_the_same() {
    for options in everywhere(&LoadOptions::default()) {
        println!("{}", options.backend);
        assert_exact("zoo-deq-kv16.npy", &record("zoo.gguf", &options).logits);
    }
}

#[test]
fn the_first_generation_layout_gives_the_logits_of_llama_cpp() {
    for options in everywhere(&exact()) {
        println!("{}", options.backend);
        let recording = record("legacy.gguf", &options);
        assert_exact("legacy-deq.npy", &recording.logits);
        assert_close_to_llama_cpp(
            "legacy-q512.npy",
            &recording,
            "no noise floor was recorded for this file; that of the other small model is 1.6e-4",
        );
    }
}

#[test]
fn chunks_of_any_size_give_the_logits_of_llama_cpp() {
    for batch in [1, 3, 33] {
        for options in everywhere(&LoadOptions { batch, ..exact() }) {
            println!("{}, chunks of {batch}", options.backend);
            let recording = record("zoo.gguf", &options);
            assert_exact("zoo-deq.npy", &recording.logits);
            assert_exact("zoo-deq-mtp.npy", &recording.next_token);
        }
    }
}

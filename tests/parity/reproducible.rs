//! The same input gives the same bytes.

use crate::recording::{MINI, Recording, bits, everywhere, exact, load, on_gpu, tokens};
use crate::support::fixture;
use redlite::engine::LoadOptions;

#[test]
fn the_number_of_threads_changes_no_bit() {
    for (model, count) in [("zoo.gguf", 300), (MINI, 100)] {
        let tokens = tokens(if model == MINI { "mini-toks1200.txt" } else { "toks300.txt" });
        let with_threads = |threads| {
            let options = LoadOptions { threads: Some(threads), next_token: true, ..LoadOptions::default() };
            Recording::of(&mut load(&fixture(model), &options), &tokens[..count])
        };
        let one = with_threads(1);
        for threads in [2, 5] {
            let more = with_threads(threads);
            assert!(bits(&more.logits) == bits(&one.logits), "{model}: {threads} threads");
            assert!(bits(&more.next_token) == bits(&one.next_token), "{model}: next-token block, {threads} threads");
            assert!(more.ids == one.ids, "{model}: routing, {threads} threads");
        }
    }
}

#[test]
fn a_session_opened_after_another_was_closed_starts_from_nothing() {
    for options in everywhere(&LoadOptions { next_token: true, ..exact() }) {
        let mut engine = load(&fixture("zoo.gguf"), &options);
        let tokens = tokens("toks300.txt");
        let first = Recording::of(&mut engine, &tokens[..100]);
        Recording::of(&mut engine, &tokens[100..300]);
        let again = Recording::of(&mut engine, &tokens[..100]);
        assert!(bits(&again.logits) == bits(&first.logits), "{}", options.backend);
        assert!(bits(&again.next_token) == bits(&first.next_token), "{}", options.backend);
    }
}

#[test]
fn two_open_sessions_do_not_touch_each_other() {
    for options in everywhere(&exact()) {
        let mut engine = load(&fixture("zoo.gguf"), &options);
        let tokens = tokens("toks300.txt");
        let mut alone = engine.open(100).unwrap();
        let expected: Vec<Vec<u32>> =
            tokens[..40].iter().map(|token| bits(&engine.step(&mut alone, *token).unwrap())).collect();
        engine.close(alone);
        let (mut first, mut second) = (engine.open(100).unwrap(), engine.open(100).unwrap());
        for (position, expected) in expected.iter().enumerate() {
            let found = bits(&engine.step(&mut first, tokens[position]).unwrap());
            assert!(&found == expected, "{}, position {position}", options.backend);
            engine.step(&mut second, tokens[299 - position]).unwrap();
        }
    }
}

#[test]
fn a_gpu_gives_the_same_bits_in_ten_runs_and_with_buffers_of_one_mebibyte() {
    let Some(options) = on_gpu(&LoadOptions { next_token: true, batch: 64, ..LoadOptions::default() }) else { return };
    for (model, text) in [("zoo.gguf", "toks300.txt"), (MINI, "mini-toks1200.txt")] {
        let tokens = &tokens(text)[..150];
        let first = Recording::of(&mut load(&fixture(model), &options), tokens);
        let mut engine = load(&fixture(model), &LoadOptions { slab_bytes: Some(1 << 20), ..options.clone() });
        for run in 0..10 {
            let again = Recording::of(&mut engine, tokens);
            assert!(bits(&again.logits) == bits(&first.logits), "{model}, run {run}");
            assert!(bits(&again.next_token) == bits(&first.next_token), "{model}, next-token block, run {run}");
        }
    }
}

#[test]
fn a_prompt_taken_in_by_parts_gives_the_bits_of_one_taken_in_whole_on_every_backend() {
    for options in everywhere(&LoadOptions { batch: 32, ..exact() }) {
        let mut engine = load(&fixture("zoo.gguf"), &options);
        let tokens = &tokens("toks300.txt")[..128];
        let mut whole = engine.open(200).unwrap();
        let expected = bits(&engine.ingest(&mut whole, tokens, &mut |_| true).unwrap());
        let mut parts = engine.open(200).unwrap();
        let found = [&tokens[..50], &tokens[50..64], &tokens[64..]]
            .map(|part| bits(&engine.ingest(&mut parts, part, &mut |_| true).unwrap()));
        assert!(found[2] == expected, "{}", options.backend);
        let (a, b) = (engine.step(&mut whole, 7).unwrap(), engine.step(&mut parts, 7).unwrap());
        assert!(bits(&a) == bits(&b), "{}", options.backend);
    }
}

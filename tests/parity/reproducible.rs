//! The same input gives the same bytes.

use crate::recording::{MINI, Recording, bits, exact, load, tokens};
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
    let mut engine = load(&fixture("zoo.gguf"), &LoadOptions { next_token: true, ..exact() });
    let tokens = tokens("toks300.txt");
    let first = Recording::of(&mut engine, &tokens[..100]);
    Recording::of(&mut engine, &tokens[100..300]);
    let again = Recording::of(&mut engine, &tokens[..100]);
    assert!(bits(&again.logits) == bits(&first.logits));
    assert!(bits(&again.next_token) == bits(&first.next_token));
}

#[test]
fn two_open_sessions_do_not_touch_each_other() {
    let mut engine = load(&fixture("zoo.gguf"), &exact());
    let tokens = tokens("toks300.txt");
    let mut alone = engine.open(100).unwrap();
    let expected: Vec<Vec<u32>> =
        tokens[..40].iter().map(|token| bits(&engine.step(&mut alone, *token).unwrap())).collect();
    engine.close(alone);
    let (mut first, mut second) = (engine.open(100).unwrap(), engine.open(100).unwrap());
    for (position, expected) in expected.iter().enumerate() {
        assert_eq!(&bits(&engine.step(&mut first, tokens[position]).unwrap()), expected, "position {position}");
        engine.step(&mut second, tokens[299 - position]).unwrap();
    }
}

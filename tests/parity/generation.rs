//! Greedy text, and what must not change it.

use crate::recording::{MINI, bits, everywhere, exact, load, tokens};
use crate::support::fixture;
use redlite::backend::Logits;
use redlite::engine::{Engine, LoadOptions, Wanted};
use redlite::parity::argmax;
use redlite::tokenizer::{Special, Tokenizer};
use std::fs;
use std::path::Path;

/// The likeliest continuation, up to an end token.
fn greedy(engine: &mut Engine, prompt: &[u32], count: usize, is_end: impl Fn(u32) -> bool) -> Vec<u32> {
    let mut session = engine.open((prompt.len() + count) as u32).unwrap();
    let mut logits = engine.ingest(&mut session, prompt, &mut |_| true).unwrap();
    let mut continuation = Vec::new();
    while continuation.len() < count {
        let token = argmax(&logits) as u32;
        if is_end(token) {
            break;
        }
        continuation.push(token);
        logits = engine.step(&mut session, token).unwrap();
    }
    engine.close(session);
    continuation
}

#[test]
fn six_recorded_texts_come_out_to_the_letter_on_every_backend() {
    for options in everywhere(&exact()) {
        six_recorded_texts(&mut load(&fixture(MINI), &options));
    }
}

fn six_recorded_texts(engine: &mut Engine) {
    let tokenizer = Tokenizer::from_metadata(engine.model().file.metadata()).unwrap();
    let text = fs::read_to_string(fixture("oracle/mini-greedy.json")).unwrap();
    let recorded: serde_json::Value = serde_json::from_str(&text).unwrap();
    let recorded = recorded.as_array().unwrap();
    assert_eq!(recorded.len(), 6);
    for case in recorded {
        let prompt = case["prompt"].as_str().unwrap();
        let ids = tokenizer.encode(prompt, Special::Parse).unwrap();
        let expected: Vec<u32> = serde_json::from_value(case["prompt_ids"].clone()).unwrap();
        assert_eq!(ids, expected, "{prompt:?}");
        let count = case["max_tokens"].as_u64().unwrap() as usize;
        let continuation = greedy(engine, &ids, count, |token| tokenizer.is_end(token));
        let text = String::from_utf8(tokenizer.decode(&continuation, false)).unwrap();
        assert_eq!(text, case["text"].as_str().unwrap(), "{prompt:?}");
        assert_eq!(continuation.len() < count, case["ended"].as_bool().unwrap(), "{prompt:?}");
    }
}

/// All logits of a prompt and a greedy continuation, with chunks of `batch` tokens.
fn in_chunks(model: &Path, tokens: &[u32], batch: u32) -> (Vec<u32>, Vec<u32>) {
    let mut engine = load(model, &LoadOptions { batch, ..exact() });
    let mut all = Vec::new();
    let mut show = |_: u32, chunk: &Logits| all.extend(bits(&chunk.values));
    let mut session = engine.open(tokens.len() as u32).unwrap();
    engine.run(&mut session, tokens, Wanted { logits: Some(&mut show), ..Wanted::default() }).unwrap();
    engine.close(session);
    (all, greedy(&mut engine, tokens, 24, |_| false))
}

#[test]
fn chunks_of_1_7_64_and_all_at_once_give_the_same_bits_and_the_same_continuation() {
    for (model, tokens) in [("zoo.gguf", tokens("toks300.txt")), (MINI, tokens("mini-toks1200.txt")[..150].to_vec())] {
        let whole = in_chunks(&fixture(model), &tokens, 512);
        for batch in [1, 7, 64] {
            let (logits, continuation) = in_chunks(&fixture(model), &tokens, batch);
            assert!(logits == whole.0, "{model}: logits with chunks of {batch}");
            assert_eq!(continuation, whole.1, "{model}: continuation with chunks of {batch}");
        }
    }
}

#[test]
fn a_prompt_taken_in_by_parts_equals_one_taken_in_whole() {
    let mut engine = load(&fixture("zoo.gguf"), &LoadOptions { batch: 64, ..exact() });
    let tokens = tokens("toks300.txt");
    let mut whole = engine.open(300).unwrap();
    let expected = engine.ingest(&mut whole, &tokens, &mut |_| true).unwrap();
    let mut parts = engine.open(300).unwrap();
    engine.ingest(&mut parts, &tokens[..50], &mut |_| true).unwrap();
    engine.step(&mut parts, tokens[50]).unwrap();
    let found = engine.ingest(&mut parts, &tokens[51..], &mut |_| true).unwrap();
    assert_eq!(bits(&found), bits(&expected));
}

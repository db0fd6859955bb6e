//! Encodings recorded with the Hugging Face library (`ci/make_tokenizer_fixtures.py`).

use redlite::tokenizer::{Special, Tokenizer, Vocabulary};
use serde::Deserialize;

use super::{fixture, mini, mini_vocabulary, qwen2, qwen2_vocabulary, tokenizer};

#[derive(Deserialize)]
struct Recording {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    split: String,
    text: String,
    plain: Vec<u32>,
    special: Vec<u32>,
}

/// Compares the recorded cases of one splitting rule; there must be `expected` of them.
#[track_caller]
fn compare(name: &str, tokenizer: &Tokenizer, expected: usize) {
    let file = std::fs::read(fixture(&format!("tokenizer/{name}.json"))).expect("the fixture is readable");
    let recording: Recording = serde_json::from_slice(&file).expect("the fixture is as its script writes it");
    let split = tokenizer.summary().pre;
    let cases: Vec<_> = recording.cases.iter().filter(|case| case.split == split).collect();
    assert_eq!(cases.len(), expected);
    for case in cases {
        for (special, ids) in [(Special::Text, &case.plain), (Special::Parse, &case.special)] {
            let found = tokenizer.encode(&case.text, special).expect("every byte has a token");
            assert_eq!(&found, ids, "{split}, {special:?}, {:?}", case.text);
            assert_eq!(tokenizer.decode(&found, true), case.text.as_bytes(), "{split}, {special:?}");
        }
    }
}

#[test]
fn the_embedded_model_encodes_as_recorded() {
    compare("mini", mini(), 97);
}

#[test]
fn the_embedded_vocabulary_under_the_newer_rule_encodes_as_recorded() {
    compare("mini", &tokenizer(Vocabulary { pre: "qwen35".to_owned(), ..mini_vocabulary() }), 55);
}

#[test]
fn the_large_vocabulary_encodes_as_recorded() {
    compare("qwen2", qwen2(), 79);
}

#[test]
fn the_large_vocabulary_under_the_newer_rule_encodes_as_recorded() {
    compare("qwen2", &tokenizer(Vocabulary { pre: "qwen35".to_owned(), ..qwen2_vocabulary() }), 55);
}

#[test]
fn typed_text_never_becomes_a_special_token() {
    for id in [8185, 8186, 8187, 8188, 8189, 8190, 8191] {
        let text = mini().text(id).expect("an entry of the vocabulary");
        let ids = mini().encode(text, Special::Text).expect("every byte has a token");
        assert!(ids.len() > 1 && ids.iter().all(|&id| id < 8185), "{text}: {ids:?}");
        assert_eq!(mini().encode(text, Special::Parse).expect("every byte has a token"), [id]);
    }
}

#[test]
fn a_run_of_millions_of_equal_characters_is_encoded_like_a_short_one() {
    // Runs beyond a million overflow the usual expression's limit on backtracking.
    let longest = |text: &str| {
        let ids = mini().encode(text, Special::Text).expect("every byte has a token");
        assert_eq!(mini().decode(&ids, false), text.as_bytes());
        ids.len()
    };
    for character in [" ", "a", "\n"] {
        let ends = longest(&character.repeat(1 << 11));
        assert!(longest(&character.repeat(1 << 21)) <= ends << 10, "{character:?}");
    }
    let (blank, word) = (1 << 21, "x");
    let ids = mini().encode(&format!("{}{word}", " ".repeat(blank)), Special::Text).expect("every byte has a token");
    let last = mini().encode(&format!(" {word}"), Special::Text).expect("every byte has a token");
    assert!(ids.ends_with(&last), "the last blank belongs to the word");
}

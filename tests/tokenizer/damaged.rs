//! Vocabularies that contradict themselves or that are of another sort.

use redlite::gguf::writer::Writer;
use redlite::gguf::{Array, Gguf, Value};
use redlite::tokenizer::{Error, Special, TokenKind, Tokenizer, Vocabulary};

/// A small vocabulary: `a`, `b`, `ab`, a control token.
fn small() -> Vocabulary {
    Vocabulary {
        tokens: ["a", "b", "ab", "<|im_end|>"].map(str::to_owned).to_vec(),
        kinds: vec![TokenKind::Normal, TokenKind::Normal, TokenKind::Normal, TokenKind::Control],
        merges: vec!["a b".to_owned()],
        pre: "qwen2".to_owned(),
        ..Vocabulary::default()
    }
}

#[track_caller]
fn refusal(vocabulary: Vocabulary) -> String {
    Tokenizer::new(vocabulary).err().expect("the vocabulary is damaged").to_string()
}

#[track_caller]
fn ids(vocabulary: Vocabulary, text: &str) -> Vec<u32> {
    let tokenizer = Tokenizer::new(vocabulary).expect("a sound vocabulary");
    tokenizer.encode(text, Special::Text).expect("every byte has a token")
}

#[test]
fn an_empty_vocabulary_is_refused() {
    assert_eq!(refusal(Vocabulary { pre: "qwen2".to_owned(), ..Vocabulary::default() }), "the vocabulary is empty");
}

#[test]
fn an_unknown_splitting_rule_is_refused_with_those_that_are_supported() {
    let message = refusal(Vocabulary { pre: "llama-bpe".to_owned(), ..small() });
    assert_eq!(message, r#"tokenizer.ggml.pre is "llama-bpe"; supported are "qwen2" and "qwen35""#);
}

#[test]
fn a_rule_with_an_endless_name_is_shown_shortened() {
    let message = refusal(Vocabulary { pre: "x".repeat(100_000), ..small() });
    assert!(message.len() < 200 && message.contains("xxx…"), "{message}");
}

#[test]
fn a_list_of_kinds_of_another_length_is_refused() {
    let message = refusal(Vocabulary { kinds: vec![TokenKind::Normal; 3], ..small() });
    assert_eq!(message, "the vocabulary has 4 tokens but states the kind of 3 (tokenizer.ggml.token_type)");
}

#[test]
fn two_tokens_with_one_text_are_refused() {
    let mut vocabulary = small();
    vocabulary.tokens[2] = "b".to_owned();
    assert_eq!(refusal(vocabulary), r#"tokens 1 and 2 have the same text "b""#);
}

#[test]
fn a_merge_of_an_unknown_token_is_refused_by_name() {
    let message = refusal(Vocabulary { merges: vec!["a b".to_owned(), "a c".to_owned()], ..small() });
    assert_eq!(message, r#"merge 1, "a c", names "c", which is not an ordinary token of the vocabulary"#);
}

#[test]
fn a_merge_of_a_control_token_is_refused() {
    let message = refusal(Vocabulary { merges: vec!["a <|im_end|>".to_owned()], ..small() });
    assert!(message.contains(r#"names "<|im_end|>""#), "{message}");
}

#[test]
fn a_merge_without_a_space_is_refused() {
    let message = refusal(Vocabulary { merges: vec!["ab".repeat(50)], ..small() });
    assert!(message.starts_with("merge 0 is \"abab") && message.contains('…'), "{message}");
}

#[test]
fn a_named_token_beyond_the_vocabulary_is_refused() {
    let message = refusal(Vocabulary { end: Some(4), ..small() });
    assert_eq!(message, "the end-of-sequence token is 4, but the vocabulary has only 4 tokens");
    assert!(refusal(Vocabulary { further_ends: vec![u32::MAX], ..small() }).contains("4294967295"));
}

#[test]
fn a_byte_without_a_token_is_an_error_and_not_left_out() {
    let tokenizer = Tokenizer::new(small()).expect("a sound vocabulary");
    let error = tokenizer.encode("abc", Special::Text).expect_err("there is no token for c");
    assert!(matches!(error, Error::ByteWithoutToken { byte: b'c' }), "{error}");
}

#[test]
fn a_merge_into_no_token_is_emitted_byte_by_byte() {
    let merges = ["a b", "b a"].map(str::to_owned).to_vec();
    assert_eq!(ids(Vocabulary { merges, ..small() }, "abba"), [2, 1, 0]);
}

#[test]
fn merging_never_makes_a_control_token() {
    let mut vocabulary = small();
    vocabulary.kinds[2] = TokenKind::Control;
    assert_eq!(ids(vocabulary, "ab"), [0, 1]);
}

#[test]
fn of_two_equal_merges_the_stronger_one_counts() {
    let vocabulary = Vocabulary {
        tokens: ["a", "b", "c", "ab", "bc"].map(str::to_owned).to_vec(),
        kinds: vec![TokenKind::Normal; 5],
        merges: ["a b", "b c", "a b"].map(str::to_owned).to_vec(),
        ..small()
    };
    assert_eq!(ids(vocabulary, "abc"), [3, 2]);
}

/// A model file with these keys, opened.
fn file(keys: &[(&str, Value)]) -> Gguf {
    let mut writer = Writer::new("vocabulary.gguf");
    for (key, value) in keys {
        writer.set(key, value.clone()).expect("a key of this file");
    }
    let body = writer.begin(Vec::new()).expect("memory takes what is written");
    let bytes = body.finish().expect("memory takes what is written");
    Gguf::from_static("vocabulary.gguf", bytes.leak()).expect("the writer writes what the reader reads")
}

fn sound_keys() -> Vec<(&'static str, Value)> {
    let strings = |texts: &[&str]| Value::Array(Array::String(texts.iter().map(|&text| text.to_owned()).collect()));
    vec![
        ("tokenizer.ggml.model", Value::String("gpt2".to_owned())),
        ("tokenizer.ggml.pre", Value::String("qwen2".to_owned())),
        ("tokenizer.ggml.tokens", strings(&["a", "b", "ab"])),
        ("tokenizer.ggml.token_type", Value::Array(Array::I32(vec![1, 1, 1]))),
        ("tokenizer.ggml.merges", strings(&["a b"])),
    ]
}

#[track_caller]
fn refusal_of(keys: &[(&str, Value)]) -> String {
    Tokenizer::from_metadata(file(keys).metadata()).err().expect("the metadata is damaged").to_string()
}

#[test]
fn a_file_that_names_no_end_token_has_none() {
    let tokenizer = Tokenizer::from_metadata(file(&sound_keys()).metadata()).expect("the keys are sound");
    assert_eq!((tokenizer.end(), tokenizer.begin(), tokenizer.add_begin()), (None, None, false));
    assert!(tokenizer.end_tokens().is_empty());
}

#[test]
fn a_missing_key_is_named() {
    for missing in 0..sound_keys().len() {
        let mut keys = sound_keys();
        let (key, _) = keys.remove(missing);
        assert!(refusal_of(&keys).contains(key), "{key}");
    }
}

#[test]
fn a_tokenizer_of_another_sort_is_refused_with_what_is_supported() {
    let mut keys = sound_keys();
    keys[0].1 = Value::String("llama".to_owned());
    assert_eq!(refusal_of(&keys), r#"tokenizer.ggml.model is "llama"; supported is "gpt2" (byte-level BPE)"#);
}

#[test]
fn a_kind_that_the_format_does_not_define_is_refused() {
    let mut keys = sound_keys();
    keys[3].1 = Value::Array(Array::I32(vec![1, 9, 1]));
    assert_eq!(refusal_of(&keys), "token 1 is of kind 9 (tokenizer.ggml.token_type); kinds are 1 to 6");
}

#[test]
fn a_key_of_another_type_is_refused() {
    let mut keys = sound_keys();
    keys[2].1 = Value::U32(3);
    assert!(refusal_of(&keys).contains("tokenizer.ggml.tokens"));
}

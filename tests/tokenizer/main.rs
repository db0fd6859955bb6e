//! The tokenizer against encodings another implementation recorded, and against damaged vocabularies.

mod damaged;
mod recorded;
mod streaming;

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use redlite::gguf::Gguf;
use redlite::tokenizer::{Special, TokenKind, Tokenizer, Vocabulary};

/// A file of the repository's `fixtures/`.
fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name)
}

/// The embedded model's vocabulary of 8,192 entries.
fn mini_vocabulary() -> Vocabulary {
    let file = Gguf::open(&fixture("model/redlite-mini-rust-68m-IQ2_XXS.gguf")).expect("the fixture opens");
    Vocabulary::from_metadata(file.metadata()).expect("the fixture has a vocabulary")
}

/// The Qwen2 vocabulary of 151,936 entries.
fn qwen2_vocabulary() -> Vocabulary {
    static FILE: LazyLock<Gguf> = LazyLock::new(|| {
        let packed = std::fs::read(fixture("ggml-vocab-qwen2.gguf.xz")).expect("the fixture is readable");
        let mut bytes = Vec::new();
        lzma_rs::xz_decompress(&mut packed.as_slice(), &mut bytes).expect("the fixture unpacks");
        Gguf::from_static("ggml-vocab-qwen2.gguf", bytes.leak()).expect("the fixture opens")
    });
    Vocabulary::from_metadata(FILE.metadata()).expect("the fixture has a vocabulary")
}

fn tokenizer(vocabulary: Vocabulary) -> Tokenizer {
    Tokenizer::new(vocabulary).expect("a sound vocabulary")
}

fn mini() -> &'static Tokenizer {
    static MINI: LazyLock<Tokenizer> = LazyLock::new(|| tokenizer(mini_vocabulary()));
    &MINI
}

fn qwen2() -> &'static Tokenizer {
    static QWEN2: LazyLock<Tokenizer> = LazyLock::new(|| tokenizer(qwen2_vocabulary()));
    &QWEN2
}

#[test]
fn the_summary_counts_what_the_file_holds() {
    let summary = mini().summary();
    assert_eq!(summary.pre, "qwen2");
    assert_eq!(summary.tokens, 8192);
    assert_eq!(summary.merges, 7929);
    assert_eq!(summary.kinds, [(TokenKind::Normal, 8185), (TokenKind::Control, 3), (TokenKind::UserDefined, 4)]);
    assert_eq!((summary.begin, summary.end, summary.padding), (Some(8185), Some(8187), Some(8185)));
    assert!(!summary.add_begin);
    assert_eq!(qwen2().summary().kinds[2], (TokenKind::UserDefined, 290));
    assert_eq!(qwen2().len(), 151_936);
}

#[test]
fn a_generation_ends_at_the_token_the_file_names_and_at_those_known_by_their_text() {
    assert_eq!(mini().end_tokens(), [8185, 8187]);
    assert_eq!(mini().summary().end_tokens, [(8185, "<|endoftext|>".to_owned()), (8187, "<|im_end|>".to_owned())]);
    assert!(mini().is_end(8187) && !mini().is_end(8186) && !mini().is_end(u32::MAX));
}

#[test]
fn an_ordinary_token_with_the_text_of_an_end_token_does_not_end_a_generation() {
    assert_eq!((qwen2().text(128_247), qwen2().kind(128_247)), (Some("</s>"), Some(TokenKind::Normal)));
    assert_eq!(qwen2().end_tokens(), [151_643, 151_645]);
}

#[test]
fn further_end_tokens_that_the_file_names_end_a_generation_too() {
    let vocabulary = Vocabulary { further_ends: vec![7, 8191], ..mini_vocabulary() };
    assert_eq!(tokenizer(vocabulary).end_tokens(), [7, 8185, 8187, 8191]);
}

#[test]
fn control_tokens_are_shown_on_request_only_and_user_defined_ones_always() {
    let ids = [8186, 8190, 8187, 999_999];
    assert_eq!(mini().decode(&ids, false), b"<think>");
    assert_eq!(mini().decode(&ids, true), b"<|im_start|><think><|im_end|>");
    assert_eq!(mini().piece(8187), Some(&b"<|im_end|>"[..]));
}

#[test]
fn nothing_is_known_of_ids_beyond_the_vocabulary() {
    let beyond = mini().len();
    assert_eq!((mini().piece(beyond), mini().text(beyond), mini().kind(beyond)), (None, None, None));
    assert_eq!(mini().kind(beyond - 1), Some(TokenKind::UserDefined));
}

#[test]
fn pieces_are_bytes_and_texts_are_in_the_byte_level_alphabet() {
    let ids = mini().encode(" let", Special::Text).expect("every byte has a token");
    let [id] = ids[..] else { panic!("` let` is one token of this vocabulary, not {ids:?}") };
    assert_eq!(mini().piece(id), Some(&b" let"[..]));
    assert_eq!(mini().text(id), Some("Ġlet"));
}

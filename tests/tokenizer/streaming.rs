//! Text from tokens that arrive one by one.

use proptest::prelude::*;
use redlite::tokenizer::Special;

use super::{mini, qwen2};

/// The texts the stream gives for each token, and the text at its end.
fn streamed(ids: &[u32], show_special: bool) -> (Vec<String>, String) {
    let mut stream = mini().stream(show_special);
    let texts = ids.iter().map(|&id| stream.push(id)).collect();
    (texts, stream.finish())
}

#[test]
fn a_character_of_several_tokens_appears_when_its_last_byte_has_arrived() {
    let mut stream = qwen2().stream(false);
    let ids = qwen2().encode("a𐍈b", Special::Text).expect("every byte has a token");
    let texts: Vec<String> = ids.iter().map(|&id| stream.push(id)).collect();
    assert!(texts.iter().filter(|text| text.is_empty()).count() >= 1, "{texts:?}");
    assert_eq!(texts.concat(), "a𐍈b");
    assert_eq!(stream.finish(), "");
}

#[test]
fn a_character_that_is_never_completed_is_replaced_at_the_end() {
    let ids = mini().encode("𐍈", Special::Text).expect("every byte has a token");
    let (texts, rest) = streamed(&ids[..ids.len() - 1], false);
    assert_eq!((texts.concat(), rest), (String::new(), "\u{fffd}".to_owned()));
}

#[test]
fn a_hidden_control_token_leaves_a_begun_character_alone() {
    let mut ids = mini().encode("𐍈", Special::Text).expect("every byte has a token");
    ids.insert(1, 8187);
    let (texts, rest) = streamed(&ids, false);
    assert_eq!((texts.concat(), rest), ("𐍈".to_owned(), String::new()));
}

proptest! {
    #[test]
    fn the_stream_gives_what_decoding_at_once_gives(
        ids in prop::collection::vec(prop_oneof![0..256u32, 0..8200u32, 8185..8192u32], 0..60),
        show_special: bool,
    ) {
        let (texts, rest) = streamed(&ids, show_special);
        let bytes = mini().decode(&ids, show_special);
        prop_assert_eq!(texts.concat() + &rest, String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn valid_text_is_streamed_without_replacement_characters(text in "[^\u{fffd}]{0,40}") {
        let ids = mini().encode(&text, Special::Text).expect("every byte has a token");
        let (texts, rest) = streamed(&ids, false);
        prop_assert_eq!(texts.concat(), text);
        prop_assert_eq!(rest, "");
    }

    #[test]
    fn whatever_is_encoded_decodes_to_the_same_bytes(text: String) {
        for special in [Special::Text, Special::Parse] {
            let ids = mini().encode(&text, special).expect("every byte has a token");
            prop_assert_eq!(&mini().decode(&ids, true), text.as_bytes());
        }
    }
}

//! Finding the texts of special tokens.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::Vocabulary;

/// A part of a text, see [`Tokenizer::fragments`](super::Tokenizer::fragments).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fragment<'t> {
    /// The text of a special token.
    Token(u32),
    /// Plain text, not empty.
    Text(&'t str),
}

/// The texts of a vocabulary's special tokens.
pub(super) struct SpecialTexts {
    ids: HashMap<Box<[u8]>, u32>,
    /// For each first byte the lengths of the texts that begin with it.
    lengths: Vec<Vec<usize>>,
}

/// A place where the text of a special token stands.
struct Occurrence {
    start: usize,
    length: usize,
    id: u32,
}

impl SpecialTexts {
    pub(super) fn new(vocabulary: &Vocabulary) -> SpecialTexts {
        let mut ids = HashMap::new();
        let mut lengths = vec![Vec::new(); 256];
        for (id, (text, kind)) in (0..).zip(vocabulary.tokens.iter().zip(&vocabulary.kinds)) {
            if let Some(&first) = text.as_bytes().first()
                && kind.is_special()
            {
                ids.insert(text.as_bytes().into(), id);
                lengths[usize::from(first)].push(text.len());
            }
        }
        for lengths in &mut lengths {
            lengths.sort_unstable();
            lengths.dedup();
        }
        SpecialTexts { ids, lengths }
    }

    /// Cuts the texts out of `text`, the longest first wherever it stands, then from left to right.
    pub(super) fn cut<'t>(&self, text: &'t str) -> Vec<Fragment<'t>> {
        let mut fragments = Vec::new();
        let mut plain = 0;
        for Occurrence { start, length, id } in self.disjoint(text) {
            if plain < start {
                fragments.push(Fragment::Text(&text[plain..start]));
            }
            fragments.push(Fragment::Token(id));
            plain = start + length;
        }
        if plain < text.len() {
            fragments.push(Fragment::Text(&text[plain..]));
        }
        fragments
    }

    /// The occurrences that become tokens, from left to right.
    fn disjoint(&self, text: &str) -> Vec<Occurrence> {
        let mut occurrences = self.all(text.as_bytes());
        if occurrences.is_empty() {
            return occurrences;
        }
        occurrences.sort_unstable_by_key(|o| (Reverse(o.length), o.start));
        let mut taken = vec![false; text.len()];
        // What was taken before is at least as long, so an overlap covers the first byte or the last.
        occurrences.retain(|o| {
            let bytes = o.start..o.start + o.length;
            let free = !taken[bytes.start] && !taken[bytes.end - 1];
            if free {
                taken[bytes].fill(true);
            }
            free
        });
        occurrences.sort_unstable_by_key(|o| o.start);
        occurrences
    }

    /// Every occurrence, overlapping ones too. UTF-8 keeps a match from beginning or ending inside a character.
    fn all(&self, text: &[u8]) -> Vec<Occurrence> {
        let mut occurrences = Vec::new();
        for (start, &first) in text.iter().enumerate() {
            for &length in &self.lengths[usize::from(first)] {
                let Some(candidate) = text.get(start..start + length) else { break };
                if let Some(&id) = self.ids.get(candidate) {
                    occurrences.push(Occurrence { start, length, id });
                }
            }
        }
        occurrences
    }
}

#[cfg(test)]
mod tests {
    use super::super::TokenKind;
    use super::*;

    fn cut(specials: &[&str], text: &str) -> Vec<String> {
        let vocabulary = Vocabulary {
            tokens: specials.iter().map(|&text| text.to_owned()).collect(),
            kinds: vec![TokenKind::Control; specials.len()],
            ..Vocabulary::default()
        };
        let fragments = SpecialTexts::new(&vocabulary).cut(text).into_iter();
        fragments
            .map(|fragment| match fragment {
                Fragment::Token(id) => format!("[{id}]"),
                Fragment::Text(text) => text.to_owned(),
            })
            .collect()
    }

    #[test]
    fn a_text_that_begins_with_another_one_wins() {
        assert_eq!(cut(&["<a", "<ab>", "<ab"], "x<ab>y<abz<a"), ["x", "[1]", "y", "[2]", "z", "[0]"]);
    }

    #[test]
    fn the_longest_text_is_cut_out_first_even_where_a_shorter_one_begins_before_it() {
        assert_eq!(cut(&["<x>", ">long>"], "<x>long>"), ["<x", "[1]"]);
    }

    #[test]
    fn equal_texts_side_by_side_are_tokens_each_and_overlapping_ones_count_from_the_left() {
        assert_eq!(cut(&["aa"], "aaaaa"), ["[0]", "[0]", "a"]);
    }

    #[test]
    fn an_empty_text_is_never_found() {
        assert_eq!(cut(&["", "<|中|>"], "a<|中|>中"), ["a", "[1]", "中"]);
        assert!(cut(&[""], "").is_empty());
    }
}

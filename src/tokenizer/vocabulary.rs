//! A vocabulary as a model file states it.

use std::collections::HashMap;
use std::fmt;

use super::Error;

/// A vocabulary as a model file states it; [`Tokenizer::new`](super::Tokenizer::new) checks it.
#[derive(Clone, Debug, Default)]
pub struct Vocabulary {
    /// The tokens' texts, in the byte-level alphabet; a token's id is its index.
    pub tokens: Vec<String>,
    /// What sort of token each is.
    pub kinds: Vec<TokenKind>,
    /// Pairs of tokens that are joined, separated by a space, the strongest first.
    pub merges: Vec<String>,
    /// The name of the rule that splits text before merging: `qwen2` or `qwen35`.
    pub pre: String,
    /// The begin-of-sequence token.
    pub begin: Option<u32>,
    /// The end-of-sequence token.
    pub end: Option<u32>,
    /// Other tokens the file names as the end of a turn, a message or a file.
    pub further_ends: Vec<u32>,
    /// The padding token.
    pub padding: Option<u32>,
    /// Whether the file wants `begin` before every prompt.
    pub add_begin: bool,
}

impl Vocabulary {
    /// Finds what contradicts itself, apart from merges.
    pub(super) fn check(&self) -> Result<(), Error> {
        if self.tokens.is_empty() {
            return Err(Error::EmptyVocabulary);
        }
        // Half the range of ids is left for symbols that only merging knows.
        if self.tokens.len() + self.merges.len() > (u32::MAX / 2) as usize {
            return Err(Error::TooLarge { tokens: self.tokens.len(), merges: self.merges.len() });
        }
        if self.kinds.len() != self.tokens.len() {
            return Err(Error::KindsOfAnotherLength { tokens: self.tokens.len(), kinds: self.kinds.len() });
        }
        let mut ids = HashMap::with_capacity(self.tokens.len());
        for (id, text) in (0u32..).zip(&self.tokens) {
            if let Some(first) = ids.insert(text.as_str(), id) {
                return Err(Error::duplicate_token(text, first, id));
            }
        }
        let named = [("begin-of-sequence", self.begin), ("end-of-sequence", self.end), ("padding", self.padding)];
        let further = self.further_ends.iter().map(|&id| ("end-of-generation", Some(id)));
        for (role, id) in named.into_iter().chain(further) {
            if let Some(id) = id
                && id as usize >= self.tokens.len()
            {
                return Err(Error::NamedTokenOutside { role, id, tokens: self.tokens.len() });
            }
        }
        Ok(())
    }
}

/// The two sides of a merge. They are separated by the first space that is not the first character.
pub(super) fn merge_sides(merge: &str) -> Option<(&str, &str)> {
    let first = merge.chars().next()?.len_utf8();
    let space = first + merge[first..].find(' ')?;
    Some((&merge[..space], &merge[space + 1..]))
}

/// What sort of token an entry of the vocabulary is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TokenKind {
    /// A piece of text.
    Normal,
    /// Stands for text the vocabulary cannot express.
    Unknown,
    /// Directs the model, as turn markers do; not shown as output.
    Control,
    /// Added to the vocabulary as a whole, as `<think>` is; shown as output.
    UserDefined,
    /// Fills up the vocabulary.
    Unused,
    /// One byte.
    Byte,
}

impl TokenKind {
    /// Every kind.
    pub const ALL: [TokenKind; 6] = [
        TokenKind::Normal,
        TokenKind::Unknown,
        TokenKind::Control,
        TokenKind::UserDefined,
        TokenKind::Unused,
        TokenKind::Byte,
    ];

    /// The kind of this number in a GGUF file (`tokenizer.ggml.token_type`).
    pub fn from_number(number: i32) -> Option<TokenKind> {
        let index = usize::try_from(number).ok()?.checked_sub(1)?;
        TokenKind::ALL.get(index).copied()
    }

    /// Is a token of this kind recognised by its text alone, outside merging?
    pub fn is_special(self) -> bool {
        matches!(self, TokenKind::Unknown | TokenKind::Control | TokenKind::UserDefined)
    }
}

impl fmt::Display for TokenKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TokenKind::Normal => "normal",
            TokenKind::Unknown => "unknown",
            TokenKind::Control => "control",
            TokenKind::UserDefined => "user-defined",
            TokenKind::Unused => "unused",
            TokenKind::Byte => "byte",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_merge_is_split_at_the_first_space_after_its_first_character() {
        assert_eq!(merge_sides("a b"), Some(("a", "b")));
        assert_eq!(merge_sides("  b"), Some((" ", "b")));
        assert_eq!(merge_sides("Ġ Ġ Ġ"), Some(("Ġ", "Ġ Ġ")));
        assert_eq!(merge_sides("ab"), None);
        assert_eq!(merge_sides(" b"), None);
        assert_eq!(merge_sides(""), None);
    }

    #[test]
    fn the_numbers_of_kinds_are_those_of_the_format() {
        let kinds: Vec<_> = (0..=7).map(TokenKind::from_number).collect();
        let expected = [None].into_iter().chain(TokenKind::ALL.map(Some)).chain([None]);
        assert_eq!(kinds, expected.collect::<Vec<_>>());
        assert_eq!(TokenKind::from_number(3), Some(TokenKind::Control));
        assert_eq!(TokenKind::from_number(-1), None);
    }
}

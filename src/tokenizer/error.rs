//! What can be wrong with a vocabulary.

use super::split;
use crate::gguf;

/// What is wrong with a vocabulary, or what it cannot express.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file without this metadata key has no usable tokenizer.
    #[error("the file has no {key}: it does not say how text becomes tokens")]
    Missing {
        /// The key.
        key: &'static str,
    },
    /// A metadata key has another type.
    #[error(transparent)]
    Metadata(#[from] gguf::Error),
    /// A tokenizer of another sort.
    #[error("tokenizer.ggml.model is {:?}; supported is \"gpt2\" (byte-level BPE)", shortened(found, SHOWN))]
    UnsupportedModel {
        /// What the file says.
        found: String,
    },
    /// An unknown rule for splitting text.
    #[error("tokenizer.ggml.pre is {:?}; supported are {}", shortened(found, SHOWN), split::supported())]
    UnsupportedSplit {
        /// What the file says.
        found: String,
    },
    /// No tokens.
    #[error("the vocabulary is empty")]
    EmptyVocabulary,
    /// More tokens and merges than ids.
    #[error("the vocabulary has {tokens} tokens and {merges} merges; together at most 2147483647 are supported")]
    TooLarge {
        /// Tokens in the file.
        tokens: usize,
        /// Merges in the file.
        merges: usize,
    },
    /// The list of kinds does not match the list of tokens.
    #[error("the vocabulary has {tokens} tokens but states the kind of {kinds} (tokenizer.ggml.token_type)")]
    KindsOfAnotherLength {
        /// Tokens in the file.
        tokens: usize,
        /// Kinds in the file.
        kinds: usize,
    },
    /// A kind the format does not define.
    #[error("token {id} is of kind {number} (tokenizer.ggml.token_type); kinds are 1 to 6")]
    UnknownKind {
        /// The token.
        id: usize,
        /// What the file says.
        number: i32,
    },
    /// Two tokens with one text.
    #[error("tokens {first} and {second} have the same text {text:?}")]
    DuplicateToken {
        /// The text, shortened.
        text: String,
        /// The first token.
        first: u32,
        /// The second one.
        second: u32,
    },
    /// A token the file names is none.
    #[error("the {role} token is {id}, but the vocabulary has only {tokens} tokens")]
    NamedTokenOutside {
        /// What the token is for.
        role: &'static str,
        /// The id the file states.
        id: u32,
        /// Tokens in the file.
        tokens: usize,
    },
    /// A merge that does not name two tokens.
    #[error("merge {index} is {merge:?}; expected are two tokens with a space between them")]
    MergeWithoutSpace {
        /// The merge's place in the list.
        index: usize,
        /// The merge, shortened.
        merge: String,
    },
    /// A merge of something that is no ordinary token.
    #[error("merge {index}, {merge:?}, names {token:?}, which is not an ordinary token of the vocabulary")]
    MergeOfUnknown {
        /// The merge's place in the list.
        index: usize,
        /// The merge, shortened.
        merge: String,
        /// The side of it that is unknown, shortened.
        token: String,
    },
    /// The text cannot be encoded with this vocabulary.
    #[error("the text contains the byte 0x{byte:02x}, for which the vocabulary has no token")]
    ByteWithoutToken {
        /// The byte.
        byte: u8,
    },
    /// The BPE library refused what had been checked before.
    #[error("internal error in the tokenizer: {0}")]
    Internal(String),
}

impl Error {
    pub(super) fn duplicate_token(text: &str, first: u32, second: u32) -> Error {
        Error::DuplicateToken { text: shortened(text, SHOWN), first, second }
    }

    pub(super) fn merge_without_space(index: usize, merge: &str) -> Error {
        Error::MergeWithoutSpace { index, merge: shortened(merge, SHOWN) }
    }

    pub(super) fn merge_of_unknown(index: usize, merge: &str, token: &str) -> Error {
        Error::MergeOfUnknown { index, merge: shortened(merge, SHOWN), token: shortened(token, SHOWN) }
    }

    pub(super) fn library(error: tokenizers::Error) -> Error {
        Error::Internal(error.to_string())
    }
}

/// Characters of a text from a file that are shown.
const SHOWN: usize = 60;

/// The beginning of a text that may be of any length: so many characters of it.
pub(crate) fn shortened(text: &str, shown: usize) -> String {
    match text.char_indices().nth(shown) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

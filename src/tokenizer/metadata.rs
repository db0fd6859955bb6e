//! The vocabulary in a model file's metadata.

use super::{Error, TokenKind, Tokenizer, Vocabulary};
use crate::gguf::Metadata;

/// Keys beside the end-of-sequence token that name tokens at which a generation ends.
const FURTHER_ENDS: [&str; 5] = [
    "tokenizer.ggml.eot_token_id",
    "tokenizer.ggml.eom_token_id",
    "tokenizer.ggml.fim_pad_token_id",
    "tokenizer.ggml.fim_rep_token_id",
    "tokenizer.ggml.fim_sep_token_id",
];

impl Tokenizer {
    /// The tokenizer a model file describes (keys `tokenizer.ggml.*`).
    ///
    /// # Errors
    /// As [`Vocabulary::from_metadata`] and [`Tokenizer::new`].
    pub fn from_metadata(metadata: &Metadata) -> Result<Tokenizer, Error> {
        Tokenizer::new(Vocabulary::from_metadata(metadata)?)
    }
}

impl Vocabulary {
    /// The vocabulary a model file states. A file that names no end-of-sequence token has none: the format's
    /// default of 11 is a comma in these vocabularies.
    ///
    /// # Errors
    /// Keys that are missing or of another type, and tokenizers of another sort.
    pub fn from_metadata(metadata: &Metadata) -> Result<Vocabulary, Error> {
        let required = |key: &'static str| move || Error::Missing { key };

        let key = "tokenizer.ggml.model";
        let model = metadata.str(key)?.ok_or_else(required(key))?;
        if model != "gpt2" {
            return Err(Error::UnsupportedModel { found: model.to_owned() });
        }
        let key = "tokenizer.ggml.pre";
        let pre = metadata.str(key)?.ok_or_else(required(key))?;
        let key = "tokenizer.ggml.tokens";
        let tokens = metadata.strings(key)?.ok_or_else(required(key))?;
        let key = "tokenizer.ggml.merges";
        let merges = metadata.strings(key)?.ok_or_else(required(key))?;
        let key = "tokenizer.ggml.token_type";
        let kinds = metadata.i32s(key)?.ok_or_else(required(key))?.into_iter().enumerate();
        let kinds = kinds.map(|(id, number)| TokenKind::from_number(number).ok_or(Error::UnknownKind { id, number }));

        let mut further_ends = Vec::new();
        for key in FURTHER_ENDS {
            further_ends.extend(metadata.u32(key)?);
        }
        Ok(Vocabulary {
            tokens: tokens.to_vec(),
            kinds: kinds.collect::<Result<_, _>>()?,
            merges: merges.to_vec(),
            pre: pre.to_owned(),
            begin: metadata.u32("tokenizer.ggml.bos_token_id")?,
            end: metadata.u32("tokenizer.ggml.eos_token_id")?,
            further_ends,
            padding: metadata.u32("tokenizer.ggml.padding_token_id")?,
            add_begin: metadata.bool("tokenizer.ggml.add_bos_token")?.unwrap_or(false),
        })
    }
}

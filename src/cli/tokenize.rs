//! `redlite tokenize` and `redlite detokenize`.

use super::prompt::{Source, token_ids_of};
use super::{Failure, model, output};
use crate::error::RequestError;
use crate::tokenizer::{Special, Tokenizer};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What `tokenize` is asked to do.
#[derive(Clone, Debug)]
pub struct TokenizeOptions {
    /// The model file; the embedded model where absent.
    pub model: Option<PathBuf>,
    /// The text.
    pub text: Source,
    /// Whether the texts of control tokens in it become these tokens.
    pub special: Special,
    /// Print bare ids, on one line.
    pub ids_only: bool,
}

/// What `detokenize` is asked to do.
#[derive(Clone, Debug)]
pub struct DetokenizeOptions {
    /// The model file; the embedded model where absent.
    pub model: Option<PathBuf>,
    /// Token ids, separated by spaces or commas, or `-` alone for standard input.
    pub ids: Vec<OsString>,
}

/// Prints the tokens of a text.
///
/// # Errors
/// The model or the text cannot be read, or the output not written.
pub fn tokenize(options: &TokenizeOptions) -> Result<(), Failure> {
    let tokenizer = tokenizer(options.model.as_deref())?;
    let ids = tokenizer.encode(&options.text.read()?, options.special)?;
    if options.ids_only {
        let ids: Vec<String> = ids.iter().map(u32::to_string).collect();
        return output::print(ids.join(" ") + "\n");
    }
    let line = |id: &u32| format!("{id:>7}  {}\n", output::quoted(tokenizer.piece(*id).unwrap_or_default()));
    output::print(ids.iter().map(line).collect::<String>())
}

/// Prints the bytes that tokens stand for: what [`tokenize`] was given.
///
/// # Errors
/// The model or the ids cannot be read, an id is not in the vocabulary, or the output cannot be written.
pub fn detokenize(options: &DetokenizeOptions) -> Result<(), Failure> {
    let tokenizer = tokenizer(options.model.as_deref())?;
    let ids = token_ids_of(&options.ids)?;
    if let Some(&id) = ids.iter().find(|id| **id >= tokenizer.len()) {
        return Err(RequestError::UnknownToken { id, vocabulary: tokenizer.len() as usize }.into());
    }
    output::print(tokenizer.decode(&ids, true))
}

fn tokenizer(path: Option<&Path>) -> Result<Tokenizer, Failure> {
    Ok(Tokenizer::from_metadata(model::open(path)?.metadata())?)
}

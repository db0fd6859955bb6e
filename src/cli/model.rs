//! The model that a command works on.

use super::Failure;
use crate::embedded;
use crate::gguf::Gguf;
use std::path::Path;

/// Opens the model file that was named, or the embedded one.
pub(super) fn open(path: Option<&Path>) -> Result<Gguf, Failure> {
    Ok(match path {
        Some(path) => Gguf::open(path)?,
        None => embedded::open()?,
    })
}

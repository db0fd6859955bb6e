//! The small trained model that comes with the program, so that it can be tried without a download.
//!
//! With the cargo feature `embedded-model` (the default) it is part of the program. Without it, a file of the same
//! name is looked for beside the executable. What it is and what it was trained on: `fixtures/model/README.md` and
//! `fixtures/model/DATA.md`.

use crate::engine::sampling::SamplingOptions;
use crate::error::Result;
use crate::gguf::Gguf;

/// The file's name.
pub const FILE_NAME: &str = "redlite-mini-rust-68m-IQ2_XXS.gguf";

/// Opens the embedded model.
///
/// # Errors
/// In a program built without it: there is no such file beside the executable, or it is damaged.
#[cfg(feature = "embedded-model")]
pub fn open() -> Result<Gguf> {
    const BYTES: &[u8] = include_bytes!("../fixtures/model/redlite-mini-rust-68m-IQ2_XXS.gguf");
    Ok(Gguf::from_static(FILE_NAME, BYTES)?)
}

/// Opens the embedded model.
///
/// # Errors
/// In a program built without it: there is no such file beside the executable, or it is damaged.
#[cfg(not(feature = "embedded-model"))]
pub fn open() -> Result<Gguf> {
    use crate::error::Error;
    use std::path::Path;

    let executable = std::env::current_exe().unwrap_or_default();
    let path = executable.parent().unwrap_or(Path::new("")).join(FILE_NAME);
    match Gguf::open(&path) {
        Err(crate::gguf::Error::Missing { file }) => Err(Error::NoEmbeddedModel { looked_for: file }),
        opened => Ok(opened?),
    }
}

/// The sampling options that show it best: greedy text of so small a model runs in circles.
pub fn sampling() -> SamplingOptions {
    SamplingOptions { temperature: 0.6, top_p: 0.9, repeat_penalty: 1.1, ..SamplingOptions::default() }
}

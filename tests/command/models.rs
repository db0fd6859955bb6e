//! Model files: those of the repository, and variations of them.

use crate::support::{Blueprint, fixture};
use redlite::gguf::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// The embedded model's file.
pub fn embedded() -> PathBuf {
    fixture("model").join(redlite::embedded::FILE_NAME)
}

/// A small model with random weights, which has every type of tensor.
pub fn zoo() -> PathBuf {
    fixture("zoo.gguf")
}

/// Unpacks the vocabulary-only file of Qwen2.
pub fn vocabulary_only(directory: &Path) -> PathBuf {
    let packed = fs::read(fixture("ggml-vocab-qwen2.gguf.xz")).unwrap();
    let path = directory.join("ggml-vocab-qwen2.gguf");
    let mut bytes = Vec::new();
    lzma_rs::xz_decompress(&mut packed.as_slice(), &mut bytes).unwrap();
    fs::write(&path, bytes).unwrap();
    path
}

/// [`zoo`] with some keys changed, or removed where the value is `None`.
pub fn zoo_with(path: &Path, changes: &[(&str, Option<Value>)]) {
    let mut zoo = Blueprint::of("zoo.gguf");
    for (key, value) in changes {
        match value {
            Some(value) => zoo.set(key, value.clone()),
            None => zoo.unset(key),
        };
    }
    zoo.write(path);
}

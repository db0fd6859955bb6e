//! What can be wrong with a model file whose container is sound.

use crate::gguf;
use crate::quant::Type;
use std::fmt;

/// A model file that Red Lite cannot run. Who can mend it: whoever made or chose the file.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The container could not be read.
    #[error(transparent)]
    File(#[from] gguf::Error),
    /// Another architecture.
    #[error(
        "{file}: architecture `{found}` is not supported{hint}; this version runs `qwen3next` \
         (Qwen3-Next, Qwen3-Coder-Next)"
    )]
    Architecture {
        /// The file.
        file: String,
        /// `general.architecture`.
        found: String,
        /// What is known of that architecture, starting with a space, or nothing.
        hint: &'static str,
    },
    /// A vocabulary-only file where a model was asked for.
    #[error("{file} holds a vocabulary and no tensors: it can be used with `tokenize`, not to generate text")]
    VocabularyOnly {
        /// The file.
        file: String,
    },
    /// A required key is absent.
    #[error("{file}: the key `{key}` is missing ({meaning})")]
    MissingKey {
        /// The file.
        file: String,
        /// The key.
        key: String,
        /// What it would say.
        meaning: &'static str,
    },
    /// A key has a value that cannot be.
    #[error("{file}: `{key}` is {found}; expected {expected}")]
    BadKey {
        /// The file.
        file: String,
        /// The key.
        key: String,
        /// What the file says.
        found: String,
        /// What would have been right.
        expected: String,
    },
    /// Something the format allows and this version does not run.
    #[error("{file}: {what} is not supported")]
    Unsupported {
        /// The file.
        file: String,
        /// What is not supported, by its name in the file.
        what: String,
    },
    /// Missing and misshapen tensors.
    #[error("{file}: {}", list(.problems))]
    Tensors {
        /// The file.
        file: String,
        /// All that was found.
        problems: Vec<TensorProblem>,
    },
}

/// What is wrong with one tensor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TensorProblem {
    /// It is not in the file.
    Missing {
        /// Its name, or the names either of which would do.
        name: String,
        /// The shape it would have, contiguous dimension first.
        expected: Vec<u64>,
    },
    /// Its shape is not what the hyper-parameters ask for.
    Shape {
        /// Its name.
        name: String,
        /// The file's shape.
        found: Vec<u64>,
        /// The shape the hyper-parameters ask for.
        expected: Vec<u64>,
    },
    /// It is of a type that cannot be used there.
    Kind {
        /// Its name.
        name: String,
        /// Its type.
        found: Type,
        /// The types that can be used.
        expected: &'static str,
    },
}

impl fmt::Display for TensorProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TensorProblem::Missing { name, expected } => {
                write!(f, "tensor `{name}` is missing (expected shape {expected:?})")
            }
            TensorProblem::Shape { name, found, expected } => {
                write!(f, "tensor `{name}` has shape {found:?}; expected {expected:?}")
            }
            TensorProblem::Kind { name, found, expected } => {
                write!(f, "tensor `{name}` is of type {found}; expected {expected}")
            }
        }
    }
}

/// The problems in one line, the first few of them in full.
fn list(problems: &[TensorProblem]) -> String {
    const SHOWN: usize = 6;
    let mut text: Vec<String> = problems.iter().take(SHOWN).map(ToString::to_string).collect();
    if problems.len() > SHOWN {
        text.push(format!("and {} more", problems.len() - SHOWN));
    }
    text.join("; ")
}

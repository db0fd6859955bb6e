//! One error type, sorted by who can mend it. A bug is none of these: it panics in tests and is reported as internal.

use crate::{chat, gguf, memory, model, tokenizer};

/// Why something could not be done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file: it cannot be read, or it is damaged.
    #[error(transparent)]
    File(#[from] gguf::Error),
    /// The file: it is sound, but no model that can be run.
    #[error(transparent)]
    Model(#[from] model::Error),
    /// The file: its vocabulary cannot be used, or cannot express a text.
    #[error(transparent)]
    Tokenizer(#[from] tokenizer::Error),
    /// The file: its chat template fails.
    #[error(transparent)]
    ChatTemplate(#[from] chat::Error),
    /// A program built without the embedded model, which does not stand beside it either.
    #[error("this program was built without its small model, and there is no {looked_for}; name a model by --model")]
    NoEmbeddedModel {
        /// The file that was looked for.
        looked_for: String,
    },
    /// The machine: not enough memory.
    #[error(transparent)]
    Memory(#[from] memory::DoesNotFit),
    /// The machine: a backend that it does not have.
    #[error("{0}")]
    Backend(String),
    /// The device failed.
    #[error("the GPU `{adapter}` failed: {failure}")]
    Device {
        /// The adapter's name.
        adapter: String,
        /// What it said.
        failure: String,
    },
    /// The request: what was asked for cannot be done with this model.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The model's output is no number, so that nothing can be chosen from it.
    #[error(
        "the model's output is not a number: its file may be damaged; please report it if another program runs the \
         file well"
    )]
    NotANumber,
    /// Somebody asked to stop.
    #[error("cancelled")]
    Cancelled,
    /// A pass failed half-way, so that the sequence's state is lost.
    #[error("an earlier error left this session without its state; start a new one")]
    SessionLost,
}

/// A request that this model or session cannot serve.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// The text does not fit the context.
    #[error(
        "{tokens} tokens do not fit the context of {context}, of which {used} are in use; \
         shorten the text or raise --ctx-size"
    )]
    ContextFull {
        /// Tokens to be added.
        tokens: usize,
        /// Tokens already there.
        used: usize,
        /// The context.
        context: u32,
    },
    /// A context that cannot be.
    #[error("a context of {asked} tokens is not possible; give a number from 1 to {limit}")]
    BadContext {
        /// What was asked for.
        asked: u32,
        /// The model's own context.
        limit: u32,
    },
    /// A token id that the model does not have.
    #[error("token id {id} is not in the vocabulary of {vocabulary}")]
    UnknownToken {
        /// The id.
        id: u32,
        /// Entries of the vocabulary.
        vocabulary: usize,
    },
    /// An option out of its range.
    #[error("--{name} is {found}; expected {expected}")]
    BadOption {
        /// Its command-line name, without the dashes.
        name: String,
        /// What was given.
        found: String,
        /// What can be given.
        expected: String,
    },
    /// A file that would be lost.
    #[error("{file} exists already; --force writes over it")]
    FileExists {
        /// The file.
        file: String,
    },
    /// Nothing to go on.
    #[error("the prompt is empty: the model needs at least one token to continue")]
    EmptyPrompt,
    /// The model has no next-token-prediction block, or it was not loaded.
    #[error("this model has no next-token-prediction block, or it was not loaded")]
    NoNextTokenBlock,
}

/// Short for a result with [`enum@Error`].
pub type Result<T> = std::result::Result<T, Error>;

//! The engine: a loaded model, its sessions, and the one loop over layers.
//!
//! An [`Engine`] is a model on a backend. A [`Session`] is one timeline of tokens on it; prompts go in by
//! [`Engine::ingest`] in chunks, single tokens by [`Engine::step`].

mod choice;
mod load;
mod pass;
pub mod sampling;
mod session;

pub use choice::{BackendKind, Choice, UnknownBackend};
pub use load::{LoadOptions, Progress};
pub use session::{Session, ShowLogits, ShowRouting, Wanted};

use crate::backend::{Backend, SlotTable};
use crate::model::Model;
use std::sync::Arc;

/// A model on a backend.
pub struct Engine {
    model: Arc<Model>,
    backend: Box<dyn Backend>,
    /// Where each layer's experts are, the next-token block's last.
    slots: Vec<SlotTable>,
    /// Rows of a chunk.
    batch: u32,
    /// Whether the next-token block is loaded.
    next_token: bool,
}

impl Engine {
    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Whether the next-token block is loaded.
    pub fn drafts(&self) -> bool {
        self.next_token
    }

    /// What the backend is and can do.
    pub fn capabilities(&self) -> &crate::backend::Capabilities {
        self.backend.capabilities()
    }
}

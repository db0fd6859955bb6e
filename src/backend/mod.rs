//! The seam between scheduler and device.
//!
//! What crosses it: rows, expert ids, slot tables, logits, checkpoints. What never does: activations, files, the
//! order of eviction, text. The scheduler above ([`crate::engine`]) is written once; a backend runs one block at a
//! time and knows nothing of chunks, pools or prompts.
//!
//! A pass over the trunk is
//!
//! ```text
//! begin(batch)
//! for each layer: mix(layer), experts(layer, slots)
//! head(rows)                       where logits are wanted
//! commit(keep)
//! ```

mod expert_memory;
pub mod gpu;
pub mod reference;
mod row;

pub use expert_memory::{ExpertMemory, Part, Slot, SlotClass, SlotTable};
pub use row::{Batch, Block, Hidden, Phase, Row, RowInput, SequenceId};

use crate::error::Result;
use std::any::Any;
use std::sync::Arc;

/// What a backend is and can do.
#[derive(Clone, Debug)]
pub struct Capabilities {
    /// The backend's name, as `--backend` takes it.
    pub name: &'static str,
    /// The device in words.
    pub device: String,
    /// Most rows of one batch; `None` where there is no bound.
    pub rows: Option<u32>,
    /// Most rows of one provisional batch.
    pub provisional_rows: usize,
}

/// A pass under way. Handed out by [`Backend::begin`], taken back by [`Backend::commit`]; one is under way at a time.
#[derive(Debug)]
pub struct Pass {
    /// How many rows it has.
    pub rows: usize,
    /// The block it runs through.
    pub block: Block,
}

/// A result that a device may still be working on.
pub struct Pending<T>(Box<dyn FnOnce() -> Result<T> + Send>);

impl<T: Send + 'static> Pending<T> {
    /// A result that is there.
    pub fn ready(value: T) -> Pending<T> {
        Pending(Box::new(move || Ok(value)))
    }

    /// A result that `wait` will fetch.
    pub fn new(wait: impl FnOnce() -> Result<T> + Send + 'static) -> Pending<T> {
        Pending(Box::new(wait))
    }

    /// Waits for the result.
    ///
    /// # Errors
    /// The device failed.
    pub fn wait(self) -> Result<T> {
        (self.0)()
    }
}

/// Logits of some rows of a pass, (rows, vocabulary).
#[derive(Clone, Debug, Default)]
pub struct Logits {
    /// Entries of the vocabulary.
    pub vocabulary: usize,
    /// Row after row.
    pub values: Vec<f32>,
}

impl Logits {
    /// The rows in order.
    pub fn rows(&self) -> impl Iterator<Item = &[f32]> {
        self.values.chunks_exact(self.vocabulary)
    }

    /// The logits of the last row.
    pub fn last(&self) -> &[f32] {
        &self.values[self.values.len() - self.vocabulary..]
    }
}

/// The experts that the rows of a pass chose in one layer, for diagnosis.
#[derive(Clone, Debug, Default)]
pub struct Routing {
    /// Expert ids, (rows, experts used), each row in descending order of its router logit.
    pub ids: Vec<u32>,
    /// Router logits of all experts, (rows, experts).
    pub logits: Vec<f32>,
}

/// The state of a sequence at one position, in host memory.
pub struct Checkpoint {
    /// Tokens the sequence held.
    pub position: u32,
    /// Bytes it takes.
    pub bytes: usize,
    state: Box<dyn Any + Send + Sync>,
}

/// A device that can run the model.
pub trait Backend: Send {
    /// What it is and can do.
    fn capabilities(&self) -> &Capabilities;

    /// Where experts land.
    fn expert_memory(&self) -> Arc<dyn ExpertMemory>;

    /// Opens an empty sequence of at most `capacity` tokens.
    ///
    /// # Errors
    /// No memory for it.
    fn open(&mut self, capacity: u32) -> Result<SequenceId>;

    /// Frees a sequence.
    fn close(&mut self, sequence: SequenceId);

    /// Starts a pass: takes the rows' positions and inputs. Rows of one sequence must follow its last position.
    ///
    /// # Errors
    /// [`SessionLost`](crate::error::Error::SessionLost) where an earlier pass of one of the sequences was never
    /// committed.
    fn begin(&mut self, batch: &Batch) -> Result<Pass>;

    /// Runs a layer up to its experts: norms, mixer, shared expert, router and selection.
    ///
    /// # Errors
    /// The device failed.
    fn mix(&mut self, pass: &mut Pass, layer: usize) -> Result<()>;

    /// The experts that [`mix`](Backend::mix) just chose in `layer`.
    ///
    /// # Errors
    /// The device failed.
    fn routing(&mut self, pass: &Pass, layer: usize) -> Result<Pending<Routing>>;

    /// Runs the routed experts of a layer, each from the slot that the table names.
    ///
    /// # Errors
    /// The device failed.
    fn experts(&mut self, pass: &mut Pass, layer: usize, slots: &SlotTable) -> Result<()>;

    /// Final norm and output matrix of the chosen rows, given by their index in the pass.
    ///
    /// # Errors
    /// The device failed.
    fn head(&mut self, pass: &mut Pass, rows: &[u32]) -> Result<Pending<Logits>>;

    /// Ends a pass. Of a provisional one, the first `n` rows of each sequence in `keep` happened and the others did
    /// not; of any other, all rows happened and `keep` is empty.
    ///
    /// # Errors
    /// The device failed.
    fn commit(&mut self, pass: Pass, keep: &[(SequenceId, u32)]) -> Result<()>;

    /// Copies a sequence's state to host memory.
    ///
    /// # Errors
    /// The device failed.
    fn save(&mut self, sequence: SequenceId) -> Result<Checkpoint>;

    /// Puts a sequence into a saved state, which may come from another sequence of this backend.
    ///
    /// # Errors
    /// The device failed.
    fn restore(&mut self, sequence: SequenceId, checkpoint: &Checkpoint) -> Result<()>;
}

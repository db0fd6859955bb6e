//! The loop over layers. It serves ingest, step and verify, on every backend.

use super::Engine;
use crate::backend::{Batch, Block, Logits, Routing, SequenceId};
use crate::error::Result;

/// Is shown a layer's choice of experts.
pub type ShowLayerRouting<'a> = &'a mut dyn FnMut(usize, &Routing);

/// What a pass is to give besides a new state.
pub struct PassOutput<'a> {
    /// Rows of the batch whose logits are wanted, by index.
    pub head: &'a [u32],
    /// Is shown each layer's choice of experts.
    pub routing: Option<ShowLayerRouting<'a>>,
    /// Of a provisional batch, how many rows of each sequence to keep.
    pub keep: &'a [(SequenceId, u32)],
}

impl Engine {
    /// Runs a batch through its block.
    pub(super) fn pass(&mut self, batch: &Batch, mut output: PassOutput) -> Result<Logits> {
        let trunk = self.model.config.layers;
        let layers = match batch.block {
            Block::Trunk => 0..trunk,
            Block::NextToken => trunk..trunk + 1,
        };
        let mut pass = self.backend.begin(batch)?;
        for layer in layers {
            self.backend.mix(&mut pass, layer)?;
            if let Some(show) = &mut output.routing {
                show(layer, &self.backend.routing(&pass, layer)?.wait()?);
            }
            self.backend.experts(&mut pass, layer, &self.slots[layer])?;
        }
        let logits = match output.head {
            [] => Logits { vocabulary: self.model.config.vocabulary, values: Vec::new() },
            rows => self.backend.head(&mut pass, rows)?.wait()?,
        };
        self.backend.commit(pass, output.keep)?;
        Ok(logits)
    }
}

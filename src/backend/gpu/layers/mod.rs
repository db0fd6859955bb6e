//! The layer program: which kernels a layer launches, in what order, on which buffers.

mod attention;
mod delta_net;
mod ends;
mod experts;

use super::kernels::{MATMUL, MATMUL_INPUTS, MATMUL_ROWS, MATVEC, MATVEC_ROWS, NORM, RESIDUAL_NORM};
use super::launcher::{Launcher, View};
use super::scratch::Scratch;
use super::sequence::Sequence;
use super::slots::GpuSlots;
use super::weights::{Layer, Matrix, Mixer, Weights};
use crate::backend::{Block, Phase, Row, SequenceId};
use crate::error::Result;
use crate::memory::KvType;
use crate::model::Model;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// What the layer program works with.
pub struct Program {
    pub model: Arc<Model>,
    pub launcher: Launcher,
    pub weights: Weights,
    pub slots: Arc<GpuSlots>,
    /// All codebooks of the quantisation types.
    pub codebook: View,
    pub scratch: Scratch,
    /// Partial sums of a split attention; grows with the context.
    pub partials: Option<View>,
    pub sequences: HashMap<SequenceId, Sequence>,
    /// Slot entries of each layer's experts, and the slabs they lie in; made when a layer first runs.
    pub slot_entries: HashMap<usize, (View, Vec<u32>)>,
    pub kv_type: KvType,
    /// Most bytes of one binding.
    pub slab_bytes: u64,
}

/// The rows of the pass under way.
pub struct Rows {
    pub rows: Vec<Row>,
    pub phase: Phase,
    pub block: Block,
    pub provisional: bool,
}

impl Rows {
    /// How many.
    pub fn count(&self) -> u32 {
        self.rows.len() as u32
    }

    /// The rows of each sequence.
    pub fn runs(&self) -> impl Iterator<Item = (SequenceId, Range<u32>)> {
        let mut start = 0;
        self.rows.chunk_by(|a, b| a.sequence == b.sequence).map(move |rows| {
            let range = start..start + rows.len() as u32;
            start = range.end;
            (rows[0].sequence, range)
        })
    }

    /// The position of a row.
    pub fn position(&self, row: u32) -> u32 {
        self.rows[row as usize].position
    }
}

impl Program {
    /// `x += mixer(rms(x))`, then, of `h = rms(x)`, the shared expert, the router and the choice of experts.
    pub fn mix(&mut self, rows: &Rows, index: usize) -> Result<()> {
        let (hidden, epsilon) = (self.model.config.hidden as u32, self.model.config.norm_epsilon.to_bits());
        let count = rows.count();
        let Program { launcher, weights, scratch, .. } = self;
        let layer = weights.layer(index);
        let bindings = [&scratch.x, &layer.mixer_norm, &scratch.h];
        launcher.launch(&NORM.variant(&[], &[]), &bindings, &[count, hidden, epsilon], [count, 1], 0)?;
        match &layer.mixer {
            Mixer::Attention(_) => self.attention(rows, index)?,
            Mixer::DeltaNet(_) => self.delta_net(rows, index)?,
        }
        let Program { launcher, weights, scratch, .. } = self;
        let layer = weights.layer(index);
        let bindings = [&scratch.x, &scratch.mixed, &layer.experts_norm, &scratch.h];
        launcher.launch(&RESIDUAL_NORM.variant(&[], &[]), &bindings, &[count, hidden, epsilon], [count, 1], 0)?;
        self.shared_expert(rows, index)?;
        self.route(rows, index)
    }

    /// The layer's weights and what else a product needs.
    fn products(&mut self, index: usize) -> (&Layer, &Scratch, Products<'_>) {
        let Program { launcher, weights, scratch, codebook, .. } = self;
        (weights.layer(index), scratch, Products { launcher, codebook })
    }
}

/// Launches products with quantised matrices.
pub struct Products<'a> {
    pub launcher: &'a mut Launcher,
    pub codebook: &'a View,
}

impl Products<'_> {
    /// `y[t][o] = sum over i of W[o][i] x[t][i]` for `inputs` rows of `x`.
    pub fn multiply(&mut self, matrix: &Matrix, x: &View, y: &View, inputs: u32, phase: Phase) -> Result<()> {
        for piece in &matrix.pieces {
            let parameters = [inputs, piece.rows, matrix.columns, matrix.row_bytes, piece.first_row, matrix.rows];
            let bindings = [self.codebook, &piece.view, x, y];
            let work = u64::from(piece.rows) * u64::from(matrix.columns) * u64::from(inputs);
            let (variant, grid) = match phase {
                Phase::Decode => {
                    let together = inputs.next_power_of_two().min(8);
                    let grid = [piece.rows.div_ceil(MATVEC_ROWS), inputs.div_ceil(together)];
                    (MATVEC.variant(&[matrix.kind], &[together]), grid)
                }
                Phase::Ingest => {
                    let grid = [piece.rows.div_ceil(MATMUL_ROWS), inputs.div_ceil(MATMUL_INPUTS)];
                    (MATMUL.variant(&[matrix.kind], &[]), grid)
                }
            };
            self.launcher.launch(&variant, &bindings, &parameters, grid, work)?;
        }
        Ok(())
    }
}

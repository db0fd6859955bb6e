//! What comes before the first layer of a block and after its last.

use super::{Program, Rows};
use crate::backend::gpu::kernels::{CONCAT, EMBED, GATHER, NORM};
use crate::backend::gpu::launcher::View;
use crate::backend::gpu::weights::Matrix;
use crate::backend::{Block, Hidden, Pending, Phase, RowInput};
use crate::error::Result;

/// Most bytes of logits that are read back at once.
const LOGIT_BYTES: u64 = 64 << 20;

impl Program {
    /// The rows' tokens, positions and angles, and the input of the first layer.
    pub fn begin(&mut self, rows: &Rows) -> Result<()> {
        let tokens: Vec<u32> = rows.rows.iter().map(|row| row.input.token()).collect();
        let positions: Vec<u32> = rows.rows.iter().map(|row| row.position).collect();
        let (mut cosines, mut sines) = (Vec::new(), Vec::new());
        for position in &positions {
            self.model.config.attention.rotary.append(*position, &mut cosines, &mut sines);
        }
        let Program { launcher, scratch, .. } = self;
        launcher.write(&scratch.tokens, bytemuck::cast_slice(&tokens));
        launcher.write(&scratch.positions, bytemuck::cast_slice(&positions));
        launcher.write(&scratch.cosines, bytemuck::cast_slice(&cosines));
        launcher.write(&scratch.sines, bytemuck::cast_slice(&sines));
        match rows.block {
            Block::Trunk => {
                let Program { launcher, scratch, weights, codebook, .. } = self;
                embed(launcher, codebook, &weights.embedding, &scratch.tokens, &scratch.x, rows.count())
            }
            Block::NextToken => self.join(rows),
        }
    }

    /// Input of the next-token block: `x = projection . [rms(embedding), rms(hidden)]`.
    fn join(&mut self, rows: &Rows) -> Result<()> {
        let count = rows.count();
        let (hidden, epsilon) = (self.model.config.hidden as u32, self.model.config.norm_epsilon.to_bits());
        let row_bytes = u64::from(hidden) * 4;
        let Program { launcher, scratch, weights, codebook, sequences, .. } = self;
        let block = weights.next_token.as_ref().expect("the next-token block was loaded");
        let (embedding, _) = weights.next_token_ends(block);
        embed(launcher, codebook, embedding, &scratch.tokens, &scratch.x, count)?;
        let norm = NORM.variant(&[], &[]);
        let parameters = [count, hidden, epsilon];
        let bindings = [&scratch.x, &block.embedding_norm, &scratch.h];
        launcher.launch(&norm, &bindings, &parameters, [count, 1], 0)?;
        for (row, at) in rows.rows.iter().zip(0..) {
            let kept = sequences[&row.sequence].hidden.as_ref().expect("hidden rows are kept for the block");
            let index = match row.input {
                RowInput::Draft { hidden: Hidden::Trunk { position }, .. } => position + 1 - kept.start,
                RowInput::Draft { hidden: Hidden::Zeros, .. } | RowInput::Token(_) => 0,
            };
            launcher.copy(&kept.rows, u64::from(index) * row_bytes, &scratch.x, at * row_bytes, row_bytes);
        }
        let bindings = [&scratch.x, &block.hidden_norm, &scratch.mixed];
        launcher.launch(&norm, &bindings, &parameters, [count, 1], 0)?;
        let bindings = [&scratch.h, &scratch.mixed, &scratch.joined];
        launcher.launch(&CONCAT.variant(&[], &[]), &bindings, &[count, hidden], [count, 1], 0)?;
        let mut products = super::Products { launcher, codebook };
        products.multiply(&block.projection, &scratch.joined, &scratch.x, count, rows.phase)
    }

    /// Logits of the chosen rows, in groups that one binding can hold.
    pub fn head(&mut self, rows: &Rows, chosen: &[u32]) -> Result<Vec<Pending<Vec<u8>>>> {
        let (hidden, epsilon) = (self.model.config.hidden as u32, self.model.config.norm_epsilon.to_bits());
        let row_bytes = 4 * self.model.config.vocabulary as u64;
        let group = (LOGIT_BYTES.min(self.slab_bytes) / row_bytes).max(1) as usize;
        let mut pending = Vec::new();
        for chosen in chosen.chunks(group) {
            let count = chosen.len() as u32;
            let logits = self.launcher.buffer("logits", u64::from(count) * row_bytes)?;
            let Program { launcher, scratch, weights, codebook, .. } = self;
            let (norm, output) = match (rows.block, &weights.next_token) {
                (Block::NextToken, Some(block)) => (&block.head_norm, weights.next_token_ends(block).1),
                _ => (&weights.output_norm, weights.output()),
            };
            launcher.write(&scratch.head_rows, bytemuck::cast_slice(chosen));
            let bindings = [&scratch.x, &scratch.head_rows, &scratch.mixed];
            launcher.launch(&GATHER.variant(&[], &[]), &bindings, &[count, hidden], [count, 1], 0)?;
            let bindings = [&scratch.mixed, norm, &scratch.h];
            launcher.launch(&NORM.variant(&[], &[]), &bindings, &[count, hidden, epsilon], [count, 1], 0)?;
            // A row's logits are those of a step: how many others are wanted must not change them.
            let mut products = super::Products { launcher, codebook };
            products.multiply(output, &scratch.h, &logits, count, Phase::Decode)?;
            pending.push(launcher.read(&logits)?);
        }
        Ok(pending)
    }

    /// Keeps the hidden rows of a committed trunk pass for the next-token block: of each sequence the first `kept`.
    pub fn keep_hidden(&mut self, rows: &Rows, kept: impl Fn(crate::backend::SequenceId, u32) -> u32) -> Result<()> {
        let (hidden, epsilon) = (self.model.config.hidden as u32, self.model.config.norm_epsilon.to_bits());
        let row_bytes = u64::from(hidden) * 4;
        let count = rows.count();
        let Program { launcher, scratch, weights, sequences, .. } = self;
        let bindings = [&scratch.x, &weights.output_norm, &scratch.h];
        launcher.launch(&NORM.variant(&[], &[]), &bindings, &[count, hidden, epsilon], [count, 1], 0)?;
        for (id, run) in rows.runs() {
            let kept = kept(id, run.end - run.start);
            let sequence = sequences.get_mut(&id).expect("the sequence is open");
            let rows = sequence.hidden.as_mut().expect("hidden rows are kept for the block");
            let last = u64::from(rows.count) * row_bytes;
            launcher.copy(&rows.rows, last, &rows.other, 0, row_bytes);
            let first = u64::from(run.start) * row_bytes;
            launcher.copy(&scratch.h, first, &rows.other, row_bytes, u64::from(kept) * row_bytes);
            std::mem::swap(&mut rows.rows, &mut rows.other);
            rows.start = sequence.position;
            rows.count = kept;
        }
        Ok(())
    }
}

fn embed(
    launcher: &mut super::Launcher,
    codebook: &View,
    embedding: &Matrix,
    tokens: &View,
    x: &View,
    count: u32,
) -> Result<()> {
    let variant = EMBED.variant(&[embedding.kind], &[]);
    for piece in &embedding.pieces {
        let parameters = [count, embedding.columns, embedding.row_bytes, piece.first_row, piece.rows];
        launcher.launch(&variant, &[codebook, &piece.view, tokens, x], &parameters, [count, 1], 0)?;
    }
    Ok(())
}

//! Gated DeltaNet.

use super::{Program, Rows};
use crate::backend::SequenceId;
use crate::backend::gpu::kernels::{CONVOLUTION, DELTA_PREPARE, DELTA_RULE, GATED_NORM};
use crate::backend::gpu::sequence::{LayerState, RecurrentState};
use crate::backend::gpu::weights::Mixer;
use crate::error::Result;
use std::ops::Range;

impl Program {
    pub(super) fn delta_net(&mut self, rows: &Rows, index: usize) -> Result<()> {
        let count = rows.count();
        let (layer, scratch, mut products) = self.products(index);
        let Mixer::DeltaNet(weights) = &layer.mixer else { unreachable!("a DeltaNet layer") };
        for (matrix, y) in [
            (&weights.qkv, &scratch.qkv),
            (&weights.gate, &scratch.output_gate),
            (&weights.beta_alpha, &scratch.beta_alpha),
        ] {
            products.multiply(matrix, &scratch.h, y, count, rows.phase)?;
        }
        for (sequence, run) in rows.runs() {
            self.convolve(rows, sequence, index, &run)?;
        }
        self.prepare(count, index)?;
        for (sequence, run) in rows.runs() {
            self.scan(rows, sequence, index, &run)?;
        }
        let config = &self.model.config;
        let (value_heads, head) = (config.delta_net.value_heads as u32, config.delta_net.head_size as u32);
        let epsilon = config.norm_epsilon.to_bits();
        let Program { launcher, weights, scratch, .. } = self;
        let Mixer::DeltaNet(layer) = &weights.layer(index).mixer else { unreachable!("a DeltaNet layer") };
        let heads = count * value_heads;
        let bindings = [&scratch.delta_out, &scratch.output_gate, &layer.norm];
        launcher.launch(&GATED_NORM.variant(&[], &[head]), &bindings, &[heads, epsilon], [heads, 1], 0)?;
        let (layer, scratch, mut products) = self.products(index);
        let Mixer::DeltaNet(weights) = &layer.mixer else { unreachable!("a DeltaNet layer") };
        products.multiply(&weights.output, &scratch.delta_out, &scratch.mixed, count, rows.phase)
    }

    /// The convolution over the rows of one sequence.
    fn convolve(&mut self, rows: &Rows, sequence: SequenceId, index: usize, run: &Range<u32>) -> Result<()> {
        let delta = self.model.config.delta_net;
        let channels = delta.conv_size() as u32;
        let variant = CONVOLUTION.variant(&[], &[delta.conv_kernel as u32]);
        let Program { launcher, weights, scratch, sequences, .. } = self;
        let Mixer::DeltaNet(layer) = &weights.layer(index).mixer else { unreachable!("a DeltaNet layer") };
        let state = recurrent(sequences.get_mut(&sequence).map(|sequence| &mut sequence.layers[index]));
        for (first, count) in steps(rows, run) {
            if rows.provisional {
                state.conv_before.push(launcher.duplicate(&state.conv)?);
            }
            let bindings = [&scratch.qkv, &layer.taps, &state.conv, &scratch.convolved];
            let grid = [channels.div_ceil(CONVOLUTION.workgroup), 1];
            let work = u64::from(count * channels) * delta.conv_kernel as u64;
            launcher.launch(&variant, &bindings, &[first, count, channels], grid, work)?;
        }
        Ok(())
    }

    /// Unit queries and keys, and the gates.
    fn prepare(&mut self, count: u32, index: usize) -> Result<()> {
        let config = &self.model.config;
        let delta = config.delta_net;
        let (key_heads, value_heads) = (delta.key_heads as u32, delta.value_heads as u32);
        let parameters = [count, key_heads, value_heads, delta.conv_size() as u32, config.norm_epsilon.to_bits()];
        let variant = DELTA_PREPARE.variant(&[], &[delta.head_size as u32]);
        let Program { launcher, weights, scratch, .. } = self;
        let Mixer::DeltaNet(layer) = &weights.layer(index).mixer else { unreachable!("a DeltaNet layer") };
        let bindings = [&scratch.convolved, &scratch.beta_alpha, &layer.decay, &layer.alpha_bias, &scratch.gates];
        launcher.launch(&variant, &bindings, &parameters, [count, 1], 0)
    }

    /// The delta rule over the rows of one sequence.
    fn scan(&mut self, rows: &Rows, sequence: SequenceId, index: usize, run: &Range<u32>) -> Result<()> {
        let delta = self.model.config.delta_net;
        let (head, channels) = (delta.head_size as u32, delta.conv_size() as u32);
        let (key_heads, value_heads) = (delta.key_heads as u32, delta.value_heads as u32);
        let variant = DELTA_RULE.variant(&[], &[head]);
        let Program { launcher, scratch, sequences, .. } = self;
        let state = recurrent(sequences.get_mut(&sequence).map(|sequence| &mut sequence.layers[index]));
        for (first, count) in steps(rows, run) {
            if rows.provisional {
                state.delta_before.push(launcher.duplicate(&state.delta)?);
            }
            let bindings = [&scratch.convolved, &scratch.gates, &state.delta, &scratch.delta_out];
            let parameters = [first, count, key_heads, value_heads, channels];
            let grid = [value_heads * head.div_ceil(DELTA_RULE.workgroup), 1];
            let work = u64::from(count) * 4 * delta.state_size() as u64;
            launcher.launch(&variant, &bindings, &parameters, grid, work)?;
        }
        Ok(())
    }
}

/// The rows of a run that go through one dispatch: all, or in a provisional pass one by one, because the state before
/// each of its rows is kept.
fn steps(rows: &Rows, run: &Range<u32>) -> impl Iterator<Item = (u32, u32)> {
    let step = if rows.provisional { 1 } else { run.end - run.start };
    run.clone().step_by(step as usize).map(move |first| (first, step))
}

fn recurrent(state: Option<&mut LayerState>) -> &mut RecurrentState {
    match state {
        Some(LayerState::Recurrent(state)) => state,
        _ => unreachable!("a DeltaNet layer of an open sequence has a recurrent state"),
    }
}

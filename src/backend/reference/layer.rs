//! One layer, from the operations.

use super::Activations;
use super::operations::attention::HeadAttention;
use super::operations::convolution::convolve;
use super::operations::delta_rule::{self, Inputs};
use super::operations::elementwise::{add, sigmoid, silu, softplus, swiglu};
use super::operations::experts::{self, ExpertGuard, PairsByExpert};
use super::operations::matmul::matmul;
use super::operations::norm::{l2_norm_in_place, rms_norm, rms_norm_in_place};
use super::operations::rotary::rotate;
use super::operations::select::select;
use super::sequence::{KV_BLOCK, KvCache, LayerState, RecurrentState, Sequence};
use super::weights::{Attention, DeltaNet, Layer, Mixer};
use crate::backend::{Routing, Row, SequenceId};
use crate::model::{AttentionConfig, Config, DeltaNetConfig, Model};
use crate::quant::simd::Level;
use rayon::prelude::*;
use std::collections::HashMap;

/// `x += mixer(rms(x, mixer_norm))`, then, of `h = rms(x, experts_norm)`, the shared expert and the choice of experts.
pub fn mix(
    model: &Model,
    layer: &Layer,
    index: usize,
    pass: &mut Activations,
    sequences: &mut HashMap<SequenceId, Sequence>,
) {
    let config = &model.config;
    let h = rms_norm(&pass.x, &layer.mixer_norm, config.norm_epsilon);
    let rows = MixerRows { config, layer: index, pass, h: &h, sequences };
    let mixed = match &layer.mixer {
        Mixer::Attention(weights) => attention(weights, rows),
        Mixer::DeltaNet(weights) => delta_net(weights, rows),
    };
    add(&mut pass.x, &mixed);

    let h = rms_norm(&pass.x, &layer.experts_norm, config.norm_epsilon);
    let mut activation = matmul(layer.shared_gate.view(), &h);
    swiglu(&mut activation, &matmul(layer.shared_up.view(), &h));
    pass.shared = matmul(layer.shared_down.view(), &activation);
    let weights = matmul(layer.shared_weight.view(), &h);
    for (row, weight) in pass.shared.chunks_exact_mut(config.hidden).zip(weights) {
        let weight = sigmoid(weight);
        row.iter_mut().for_each(|x| *x *= weight);
    }
    route(model, layer, &h, pass);
    pass.experts_input = h;
}

/// `x += sum over k of weight[k] expert[k](h) + shared`.
pub fn experts<G: ExpertGuard>(model: &Model, pass: &mut Activations, lend: impl Fn(u32) -> G + Sync) {
    let (hidden, used) = (model.config.hidden, model.config.experts.used);
    let pairs = PairsByExpert::new(&pass.routing.ids, model.config.experts.count);
    let outputs = experts::run(&pass.experts_input, hidden, used, &pairs, lend);
    let mut sum = vec![0.0; pass.x.len()];
    experts::add_weighted(&mut sum, &outputs, &pass.expert_weights, used, hidden);
    add(&mut sum, &pass.shared);
    add(&mut pass.x, &sum);
}

/// Router logits and the choice of experts.
fn route(model: &Model, layer: &Layer, h: &[f32], pass: &mut Activations) {
    let experts = &model.config.experts;
    let logits = matmul(layer.router.view(), h);
    // Blocks of rows over the cores; a row's choice is that of the single-row routine.
    let chosen: Vec<(Vec<u32>, Vec<f32>)> =
        logits.par_chunks_exact(experts.count).with_min_len(32).map(|logits| select(logits, experts.used)).collect();
    pass.expert_weights = chosen.iter().flat_map(|(_, weights)| weights).copied().collect();
    pass.routing = Routing { ids: chosen.into_iter().flat_map(|(ids, _)| ids).collect(), logits };
}

/// What a mixer works on: the rows of a pass, in one layer.
struct MixerRows<'a> {
    config: &'a Config,
    /// The layer's number.
    layer: usize,
    pass: &'a Activations,
    /// Its input, (rows, hidden).
    h: &'a [f32],
    sequences: &'a mut HashMap<SequenceId, Sequence>,
}

/// Gated full attention of all rows, (rows, hidden).
fn attention(weights: &Attention, mut rows: MixerRows) -> Vec<f32> {
    let query_gate = project(weights, &mut rows);
    let MixerRows { config: Config { attention: config, .. }, layer, pass, sequences, .. } = rows;
    let sequences = &*sequences;
    let tasks = attention_tasks(&pass.rows, config.kv_heads);
    let attend = |task: &AttentionTask| {
        let rows = &pass.rows[task.first..][..task.count];
        let LayerState::Kv(cache) = &sequences[&rows[0].sequence].layers[layer] else {
            unreachable!("an attention layer keeps keys and values")
        };
        attend(config, task, rows, &query_gate, cache)
    };
    let outputs: Vec<Vec<f32>> = tasks.par_iter().map(attend).collect();
    matmul(weights.output.view(), &gate_outputs(config, &tasks, &outputs, &query_gate))
}

/// Queries and gates of all rows, (rows, queries then gates); the rows' keys and values go to their caches. Queries and
/// keys are normed and turned.
fn project(weights: &Attention, rows: &mut MixerRows) -> Vec<f32> {
    let (config, pass) = (&rows.config.attention, rows.pass);
    let (query_size, kv_size) = (config.query_size(), config.kv_size());
    let half = config.rotary.dimensions() / 2;
    let mut query_gate = matmul(weights.query_gate.view(), rows.h);
    let mut keys = matmul(weights.key.view(), rows.h);
    let values = matmul(weights.value.view(), rows.h);
    for (r, row) in pass.rows.iter().enumerate() {
        let angles = r * half..(r + 1) * half;
        let (cosines, sines) = (&pass.cosines[angles.clone()], &pass.sines[angles]);
        let queries = &mut query_gate[r * 2 * query_size..][..query_size];
        let keys = &mut keys[r * kv_size..][..kv_size];
        for (heads, norm) in [(queries, &weights.query_norm), (&mut *keys, &weights.key_norm)] {
            rms_norm_in_place(heads, norm, rows.config.norm_epsilon);
            rotate(heads, config.head_size, cosines, sines);
        }
        let cache = kv_cache(rows.sequences, row.sequence, rows.layer);
        cache.write(row.position, keys, &values[r * kv_size..][..kv_size]);
    }
    query_gate
}

/// Rows of one attention task.
const ATTENTION_ROWS: usize = 16;

/// A few rows of one sequence and one KV head, so that a block of keys is converted once for all of them.
struct AttentionTask {
    /// The first of its rows in the pass.
    first: usize,
    count: usize,
    kv_head: usize,
}

fn attention_tasks(rows: &[Row], kv_heads: usize) -> Vec<AttentionTask> {
    let mut tasks = Vec::new();
    let mut start = 0;
    for rows in rows.chunk_by(|a, b| a.sequence == b.sequence) {
        for first in (0..rows.len()).step_by(ATTENTION_ROWS) {
            let count = ATTENTION_ROWS.min(rows.len() - first);
            tasks.extend((0..kv_heads).map(|kv_head| AttentionTask { first: start + first, count, kv_head }));
        }
        start += rows.len();
    }
    tasks
}

/// What the heads of a task see in the cache, (rows of the task, heads of its KV head, head size). `rows` are the
/// task's, `query_gate` has those of the whole pass.
fn attend(
    config: &AttentionConfig,
    task: &AttentionTask,
    rows: &[Row],
    query_gate: &[f32],
    cache: &KvCache,
) -> Vec<f32> {
    let (size, ratio) = (config.head_size, config.heads / config.kv_heads);
    let scale = 1.0 / (size as f32).sqrt();
    let mut states: Vec<HeadAttention> = (0..rows.len() * ratio).map(|_| HeadAttention::new(size)).collect();
    let positions = rows[rows.len() - 1].position as usize + 1;
    for block in (0..positions).step_by(KV_BLOCK) {
        let (keys, values) = cache.read_head(block, KV_BLOCK.min(positions - block), task.kv_head, size);
        for (i, state) in states.iter_mut().enumerate() {
            let (row, head) = (i / ratio, task.kv_head * ratio + i % ratio);
            let seen = (rows[row].position as usize + 1).saturating_sub(block).min(keys.len() / size);
            if seen > 0 {
                let query = &query_gate[(task.first + row) * 2 * config.query_size() + head * size..][..size];
                state.attend(query, &keys[..seen * size], &values[..seen * size], scale);
            }
        }
    }
    let mut out = vec![0.0; states.len() * size];
    for (state, out) in states.into_iter().zip(out.chunks_exact_mut(size)) {
        state.finish(out);
    }
    out
}

/// The tasks' outputs, each times the sigmoid of its gate, (rows, heads, head size).
fn gate_outputs(
    config: &AttentionConfig,
    tasks: &[AttentionTask],
    outputs: &[Vec<f32>],
    query_gate: &[f32],
) -> Vec<f32> {
    let (size, ratio, query_size) = (config.head_size, config.heads / config.kv_heads, config.query_size());
    let mut gated = vec![0.0; query_gate.len() / 2];
    for (task, output) in tasks.iter().zip(outputs) {
        for (i, output) in output.chunks_exact(size).enumerate() {
            let (row, head) = (task.first + i / ratio, task.kv_head * ratio + i % ratio);
            let gate = &query_gate[row * 2 * query_size + query_size + head * size..][..size];
            let gated = &mut gated[row * query_size + head * size..][..size];
            for ((gated, output), gate) in gated.iter_mut().zip(output).zip(gate) {
                *gated = output * sigmoid(*gate);
            }
        }
    }
    gated
}

fn kv_cache(sequences: &mut HashMap<SequenceId, Sequence>, id: SequenceId, layer: usize) -> &mut KvCache {
    match sequences.get_mut(&id).map(|sequence| &mut sequence.layers[layer]) {
        Some(LayerState::Kv(cache)) => cache,
        _ => unreachable!("an attention layer keeps keys and values"),
    }
}

/// Gated DeltaNet of all rows, (rows, hidden).
fn delta_net(weights: &DeltaNet, rows: MixerRows) -> Vec<f32> {
    let MixerRows { config, layer, pass, h, sequences } = rows;
    let (config, epsilon) = (&config.delta_net, config.norm_epsilon);
    let qkv = matmul(weights.qkv.view(), h);
    let gate = matmul(weights.gate.view(), h);
    let beta_alpha = matmul(weights.beta_alpha.view(), h);
    let (conv_size, value_size) = (config.conv_size(), config.value_size());
    let mut out = vec![0.0; pass.rows.len() * value_size];
    let mut start = 0;
    for rows in pass.rows.chunk_by(|a, b| a.sequence == b.sequence) {
        let state = match sequences.get_mut(&rows[0].sequence).map(|sequence| &mut sequence.layers[layer]) {
            Some(LayerState::Recurrent(state)) => state,
            _ => unreachable!("a DeltaNet layer has a recurrent state"),
        };
        // A provisional pass goes row by row, because the state before each of its rows is kept.
        let step = if pass.provisional { 1 } else { rows.len() };
        for first in (start..start + rows.len()).step_by(step) {
            if pass.provisional {
                state.before.push((state.delta.clone(), state.conv.clone()));
            }
            scan(
                config,
                epsilon,
                weights,
                &qkv[first * conv_size..][..step * conv_size],
                &beta_alpha[first * 2 * config.value_heads..][..step * 2 * config.value_heads],
                state,
                &mut out[first * value_size..][..step * value_size],
            );
        }
        start += rows.len();
    }
    rms_norm_in_place(&mut out, &weights.norm, epsilon);
    for (out, gate) in out.iter_mut().zip(&gate) {
        *out *= silu(*gate);
    }
    matmul(weights.output.view(), &out)
}

/// Convolution and delta rule over rows of one sequence; `out` is (rows, value heads, head).
fn scan(
    config: &DeltaNetConfig,
    epsilon: f32,
    weights: &DeltaNet,
    qkv: &[f32],
    beta_alpha: &[f32],
    state: &mut RecurrentState,
    out: &mut [f32],
) {
    let size = config.head_size;
    let (key_size, conv_size, value_heads) = (config.key_size(), config.conv_size(), config.value_heads);
    let mut mixed = convolve(qkv, &weights.taps, conv_size, &mut state.conv);
    mixed.par_chunks_exact_mut(conv_size).with_min_len(8).for_each(|row| {
        for head in row[..2 * key_size].chunks_exact_mut(size) {
            l2_norm_in_place(head, epsilon);
        }
    });
    let rows = mixed.len() / conv_size;
    // Value head `v` reads key head `v / ratio`.
    let ratio = value_heads / config.key_heads;
    let heads: Vec<Vec<f32>> = state
        .delta
        .par_chunks_exact_mut(size * size)
        .enumerate()
        .map(|(v, state)| {
            let mut out = vec![0.0; rows * size];
            for ((row, gates), out) in mixed
                .chunks_exact(conv_size)
                .zip(beta_alpha.chunks_exact(2 * value_heads))
                .zip(out.chunks_exact_mut(size))
            {
                let query = &row[v / ratio * size..][..size];
                let key = &row[key_size + v / ratio * size..][..size];
                let value = &row[2 * key_size + v * size..][..size];
                let beta = sigmoid(gates[v]);
                let decay = (weights.decay[v] * softplus(gates[value_heads + v] + weights.alpha_bias[v])).exp();
                delta_rule::step(Level::best(), state, Inputs { query, key, value, decay, beta }, out);
            }
            out
        })
        .collect();
    for (v, head) in heads.iter().enumerate() {
        for (row, head) in head.chunks_exact(size).enumerate() {
            out[row * value_heads * size + v * size..][..size].copy_from_slice(head);
        }
    }
}

//! Gated full attention.

use super::{Program, Rows};
use crate::backend::gpu::kernels::{
    APPEND, ATTENTION_CHUNK, ATTENTION_FINISH, ATTENTION_MERGE, ATTENTION_ROWS, ATTENTION_SPLIT, ATTENTION_START,
    QUERY, Variant,
};
use crate::backend::gpu::launcher::View;
use crate::backend::gpu::sequence::{KV_BLOCK, KvCache, LayerState};
use crate::backend::gpu::weights::Mixer;
use crate::backend::{Phase, SequenceId};
use crate::error::Result;
use crate::memory::KvType;
use std::ops::Range;

/// Estimated multiplications of one dispatch of a chunk's attention: a long context is split over several.
const DISPATCH_WORK: u64 = 1 << 29;

impl Program {
    pub(super) fn attention(&mut self, rows: &Rows, index: usize) -> Result<()> {
        let count = rows.count();
        let (layer, scratch, mut products) = self.products(index);
        let Mixer::Attention(weights) = &layer.mixer else { unreachable!("an attention layer") };
        for (matrix, y) in [
            (&weights.query_gate, &scratch.query_gate),
            (&weights.key, &scratch.keys),
            (&weights.value, &scratch.values),
        ] {
            products.multiply(matrix, &scratch.h, y, count, rows.phase)?;
        }
        let config = &self.model.config;
        let (heads, half) = (config.attention.heads as u32, (config.attention.rotary.dimensions() / 2) as u32);
        let epsilon = config.norm_epsilon.to_bits();
        let head_size = config.attention.head_size as u32;
        let Program { launcher, weights, scratch, .. } = self;
        let Mixer::Attention(layer) = &weights.layer(index).mixer else { unreachable!("an attention layer") };
        let bindings = [&scratch.query_gate, &layer.query_norm, &scratch.cosines, &scratch.sines];
        let query = QUERY.variant(&[], &[head_size]);
        launcher.launch(&query, &bindings, &[count, heads, half, epsilon], [count * heads, 1], 0)?;
        for (sequence, run) in rows.runs() {
            self.append(rows, index, sequence, &run)?;
            match rows.phase {
                Phase::Decode => self.attend_split(rows, index, sequence, &run)?,
                Phase::Ingest => self.attend_chunk(rows, index, sequence, &run)?,
            }
        }
        let (layer, scratch, mut products) = self.products(index);
        let Mixer::Attention(weights) = &layer.mixer else { unreachable!("an attention layer") };
        products.multiply(&weights.output, &scratch.attended, &scratch.mixed, count, rows.phase)
    }

    fn attention_variant(&self, kernel: &crate::backend::gpu::kernels::Kernel) -> Variant {
        let f16 = u32::from(self.kv_type == KvType::F16);
        kernel.variant(&[], &[self.model.config.attention.head_size as u32, f16])
    }

    /// Writes the keys and values of a sequence's rows.
    fn append(&mut self, rows: &Rows, index: usize, sequence: SequenceId, run: &Range<u32>) -> Result<()> {
        let variant = self.attention_variant(&APPEND);
        let config = &self.model.config;
        let (kv_heads, half) = (config.attention.kv_heads as u32, (config.attention.rotary.dimensions() / 2) as u32);
        let epsilon = config.norm_epsilon.to_bits();
        let Program { launcher, weights, scratch, sequences, .. } = self;
        let Mixer::Attention(layer) = &weights.layer(index).mixer else { unreachable!("an attention layer") };
        let cache = kv_cache(sequences.get_mut(&sequence).map(|sequence| &mut sequence.layers[index]));
        cache.reserve(launcher, rows.position(run.end - 1) + 1)?;
        let count = run.end - run.start;
        let first_slab = rows.position(run.start) / cache.slab_positions;
        let last_slab = rows.position(run.end - 1) / cache.slab_positions;
        for slab in first_slab..=last_slab {
            let (keys, values) = &cache.slabs[slab as usize];
            let bindings = [
                &scratch.keys,
                &scratch.values,
                &layer.key_norm,
                &scratch.cosines,
                &scratch.sines,
                &scratch.positions,
                keys,
                values,
            ];
            let slab_first = slab * cache.slab_positions;
            let parameters = [run.start, count, kv_heads, half, slab_first, cache.slab_positions, epsilon];
            launcher.launch(&variant, &bindings, &parameters, [count * kv_heads, 1], 0)?;
        }
        Ok(())
    }

    /// Decode: every KV block of 256 positions by itself, then merged in order.
    fn attend_split(&mut self, rows: &Rows, index: usize, sequence: SequenceId, run: &Range<u32>) -> Result<()> {
        let (split, merge) = (self.attention_variant(&ATTENTION_SPLIT), self.model.config.attention.head_size as u32);
        let merge = ATTENTION_MERGE.variant(&[], &[merge]);
        let config = &self.model.config.attention;
        let (heads, kv_heads) = (config.heads as u32, config.kv_heads as u32);
        let count = run.end - run.start;
        let positions = rows.position(run.end - 1) + 1;
        let total_blocks = positions.div_ceil(KV_BLOCK);
        let values = u64::from(count * heads * total_blocks) * (config.head_size as u64 + 2);
        let partials = self.partials(4 * values)?;
        let head_size = self.model.config.attention.head_size as u64;
        let Program { launcher, scratch, sequences, .. } = self;
        let cache = kv_cache(sequences.get_mut(&sequence).map(|sequence| &mut sequence.layers[index]));
        let blocks_a_slab = cache.slab_positions / KV_BLOCK;
        for (slab, (keys, values)) in cache.slabs.iter().enumerate() {
            let first_block = slab as u32 * blocks_a_slab;
            if first_block >= total_blocks {
                break;
            }
            let blocks = blocks_a_slab.min(total_blocks - first_block);
            let bindings = [&scratch.query_gate, &scratch.positions, keys, values, &partials];
            let slab_first = slab as u32 * cache.slab_positions;
            let parameters = [run.start, count, heads, kv_heads, slab_first, first_block, total_blocks];
            let work = u64::from(count * heads * blocks * KV_BLOCK) * 2 * head_size;
            launcher.launch(&split, &bindings, &parameters, [count * heads, blocks], work)?;
        }
        let bindings = [&scratch.query_gate, &scratch.positions, &partials, &scratch.attended];
        launcher.launch(&merge, &bindings, &[run.start, count, heads, total_blocks], [count * heads, 1], 0)
    }

    /// Room for partial sums of a split attention.
    fn partials(&mut self, bytes: u64) -> Result<View> {
        if self.partials.as_ref().is_none_or(|view| view.size < bytes) {
            self.partials = Some(self.launcher.buffer("attention partials", bytes.next_power_of_two())?);
        }
        Ok(self.partials.clone().expect("it was just made"))
    }

    /// Ingest: rows of the chunk over the keys in order, a bounded range of keys a dispatch.
    fn attend_chunk(&mut self, rows: &Rows, index: usize, sequence: SequenceId, run: &Range<u32>) -> Result<()> {
        let variant = self.attention_variant(&ATTENTION_CHUNK);
        let config = &self.model.config.attention;
        let (heads, kv_heads, head_size) = (config.heads as u32, config.kv_heads as u32, config.head_size as u64);
        let count = run.end - run.start;
        let positions = rows.position(run.end - 1) + 1;
        let Program { launcher, scratch, sequences, .. } = self;
        let cache = kv_cache(sequences.get_mut(&sequence).map(|sequence| &mut sequence.layers[index]));
        let position_work = u64::from(count * heads) * 2 * head_size;
        let most_blocks = (DISPATCH_WORK / (position_work * u64::from(KV_BLOCK))).max(1);
        let step = u32::try_from(most_blocks).unwrap_or(u32::MAX).min(cache.slab_positions / KV_BLOCK) * KV_BLOCK;
        let mut first = 0;
        while first < positions {
            let slab = first / cache.slab_positions;
            let slab_first = slab * cache.slab_positions;
            let last = (first + step).min(slab_first + cache.slab_positions).min(positions);
            let flags =
                if first == 0 { ATTENTION_START } else { 0 } | if last == positions { ATTENTION_FINISH } else { 0 };
            let (keys, values) = &cache.slabs[slab as usize];
            let bindings =
                [&scratch.query_gate, &scratch.positions, keys, values, &scratch.attention_state, &scratch.attended];
            let parameters = [run.start, count, heads, kv_heads, slab_first, first, last, flags];
            let grid = [count.div_ceil(ATTENTION_ROWS), heads];
            launcher.launch(&variant, &bindings, &parameters, grid, position_work * u64::from(last - first))?;
            first = last;
        }
        Ok(())
    }
}

fn kv_cache(state: Option<&mut LayerState>) -> &mut KvCache {
    match state {
        Some(LayerState::Kv(cache)) => cache,
        _ => unreachable!("an attention layer of an open sequence keeps keys and values"),
    }
}

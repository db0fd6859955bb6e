//! Shared expert, router, and routed experts.

use super::{Program, Rows};
use crate::backend::gpu::kernels::{
    DOWN_MATMUL, DOWN_MATVEC, EXPERT_TILE, EXPERTS_SUM, EXPERTS_SUM_VALUES, GATE_UP_MATMUL, GATE_UP_MATVEC, GROUP,
    MATMUL_ROWS, MATVEC_ROWS, SELECT, SWIGLU, SWIGLU_VALUES, most_tiles,
};
use crate::backend::gpu::slots::part_offsets;
use crate::backend::{Phase, SlotTable};
use crate::error::Result;

impl Program {
    /// `shared = down . (silu(gate . h) (up . h))`, and the logit that weighs it.
    pub(super) fn shared_expert(&mut self, rows: &Rows, index: usize) -> Result<()> {
        let count = rows.count();
        let values = count * self.model.config.experts.shared_feed_forward as u32;
        let (layer, scratch, mut products) = self.products(index);
        products.multiply(&layer.shared_gate, &scratch.h, &scratch.shared_gate, count, rows.phase)?;
        products.multiply(&layer.shared_up, &scratch.h, &scratch.shared_up, count, rows.phase)?;
        let bindings = [&scratch.shared_gate, &scratch.shared_up];
        let grid = [values.div_ceil(SWIGLU_VALUES), 1];
        products.launcher.launch(&SWIGLU.variant(&[], &[]), &bindings, &[values], grid, 0)?;
        products.multiply(&layer.shared_down, &scratch.shared_gate, &scratch.shared, count, rows.phase)?;
        products.multiply(&layer.shared_weight, &scratch.h, &scratch.shared_weight, count, rows.phase)
    }

    /// Router logits, the choice of experts, and for a chunk its pairs sorted by expert.
    pub(super) fn route(&mut self, rows: &Rows, index: usize) -> Result<()> {
        let count = rows.count();
        let experts = self.model.config.experts;
        let (all, used) = (experts.count as u32, experts.used as u32);
        let (layer, scratch, mut products) = self.products(index);
        products.multiply(&layer.router, &scratch.h, &scratch.router, count, rows.phase)?;
        let bindings = [&scratch.router, &scratch.ids, &scratch.expert_weights];
        products.launcher.launch(&SELECT.variant(&[], &[]), &bindings, &[count, all, used], [count, 1], 0)?;
        if rows.phase == Phase::Ingest {
            let pairs = count * used;
            let bindings = [&scratch.ids, &scratch.order, &scratch.tiles];
            let parameters = [pairs, all, most_tiles(pairs, all, EXPERT_TILE)];
            products.launcher.launch(&GROUP.variant(&[], &[EXPERT_TILE]), &bindings, &parameters, [1, 1], 0)?;
        }
        Ok(())
    }

    /// `x += sum over k of weight[k] expert[k](h) + shared`.
    pub fn experts(&mut self, rows: &Rows, index: usize, table: &SlotTable) -> Result<()> {
        let config = &self.model.config;
        let (all, used) = (config.experts.count as u32, config.experts.used as u32);
        let (hidden, width) = (config.hidden as u32, config.experts.feed_forward as u32);
        let layer = &self.model.layer(index).experts;
        let matrices = [&layer.gate, &layer.up, &layer.down];
        let kinds = matrices.map(|matrix| matrix.kind);
        let row_bytes = matrices.map(|matrix| (matrix.expert_bytes() / matrix.rows) as u32);
        let offsets = part_offsets(matrices.map(|matrix| matrix.expert_bytes())).map(|offset| offset as u32);
        let (entries, slabs) = self.slot_entries(index, table, all)?;
        let count = rows.count();
        let pairs = count * used;
        let tiles = most_tiles(pairs, all, EXPERT_TILE);
        let Program { launcher, scratch, slots, codebook, .. } = self;
        let work = u64::from(pairs) * u64::from(hidden) * u64::from(width) / slabs.len() as u64;
        for slab in &slabs {
            let view = &slots.slabs()[*slab as usize];
            let parameters = [pairs, used, width, hidden, row_bytes[0], row_bytes[1], offsets[0], offsets[1], *slab];
            let (ids, h, activation) = (&scratch.ids, &scratch.h, &scratch.activation);
            match rows.phase {
                Phase::Decode => {
                    let variant = GATE_UP_MATVEC.variant(&kinds[..2], &[]);
                    let bindings = [codebook, view, &entries, ids, h, activation];
                    launcher.launch(
                        &variant,
                        &bindings,
                        &parameters,
                        [width.div_ceil(MATVEC_ROWS), pairs],
                        2 * work,
                    )?;
                }
                Phase::Ingest => {
                    let variant = GATE_UP_MATMUL.variant(&kinds[..2], &[]);
                    let bindings = [codebook, view, &entries, &scratch.order, &scratch.tiles, h, activation];
                    launcher.launch(
                        &variant,
                        &bindings,
                        &parameters,
                        [width.div_ceil(MATMUL_ROWS), tiles],
                        2 * work,
                    )?;
                }
            }
        }
        for slab in &slabs {
            let view = &slots.slabs()[*slab as usize];
            let parameters = [pairs, used, hidden, width, row_bytes[2], offsets[2], *slab];
            let (ids, activation, outputs) = (&scratch.ids, &scratch.activation, &scratch.outputs);
            match rows.phase {
                Phase::Decode => {
                    let variant = DOWN_MATVEC.variant(&kinds[2..], &[]);
                    let bindings = [codebook, view, &entries, ids, activation, outputs];
                    launcher.launch(&variant, &bindings, &parameters, [hidden.div_ceil(MATVEC_ROWS), pairs], work)?;
                }
                Phase::Ingest => {
                    let variant = DOWN_MATMUL.variant(&kinds[2..], &[]);
                    let bindings = [codebook, view, &entries, &scratch.order, &scratch.tiles, activation, outputs];
                    launcher.launch(&variant, &bindings, &parameters, [hidden.div_ceil(MATMUL_ROWS), tiles], work)?;
                }
            }
        }
        let bindings = [&scratch.outputs, &scratch.expert_weights, &scratch.shared, &scratch.shared_weight, &scratch.x];
        let grid = [(count * hidden).div_ceil(EXPERTS_SUM_VALUES), 1];
        launcher.launch(&EXPERTS_SUM.variant(&[], &[]), &bindings, &[count, hidden, used], grid, 0)
    }

    /// The slot entries of a layer in GPU memory, and the slabs they lie in.
    fn slot_entries(
        &mut self,
        index: usize,
        table: &SlotTable,
        experts: u32,
    ) -> Result<(crate::backend::gpu::launcher::View, Vec<u32>)> {
        if let Some((view, slabs)) = self.slot_entries.get(&index) {
            return Ok((view.clone(), slabs.clone()));
        }
        let (entries, slabs) = self.slots.entries(table, experts);
        let view = self.launcher.upload("slot entries", bytemuck::cast_slice(&entries))?;
        self.slot_entries.insert(index, (view.clone(), slabs.clone()));
        Ok((view, slabs))
    }
}

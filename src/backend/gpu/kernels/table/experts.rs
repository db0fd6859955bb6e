//! Kernels around the routed experts.

use super::{read, u32, write};
use crate::backend::gpu::kernels::Kernel;

/// The choice of experts and their weights. Grid: rows. `used` is at most `experts`.
pub static SELECT: Kernel = Kernel {
    name: "experts/select",
    bindings: &[read("logits", "f32"), write("ids", "u32"), write("weights", "f32")],
    parameters: &[u32("rows"), u32("experts"), u32("used")],
    decoders: &[],
    constants: &[],
    workgroup: 32,
};

/// Pairs sorted by expert, and tiles of them. Grid: one group. `experts` is at most [`MOST_GROUPED_EXPERTS`].
pub static GROUP: Kernel = Kernel {
    name: "experts/group",
    bindings: &[read("ids", "u32"), write("order", "u32"), write("tiles", "u32")],
    parameters: &[u32("pairs"), u32("experts"), u32("most_tiles")],
    decoders: &[],
    constants: &["TILE"],
    workgroup: 256,
};

/// Experts that [`GROUP`] has counters for in workgroup memory. Models with more must be refused.
pub const MOST_GROUPED_EXPERTS: u32 = 4096;

/// The most tiles of up to `tile` pairs that `pairs` pairs over `experts` experts can make: every expert with a pair
/// has at most one tile that is not full.
pub fn most_tiles(pairs: u32, experts: u32, tile: u32) -> u32 {
    let (pairs, tile) = (u64::from(pairs), u64::from(tile));
    let tiles = (pairs + pairs.min(u64::from(experts)) * (tile - 1)) / tile;
    // There are at most as many tiles as pairs.
    tiles as u32
}

/// The experts' outputs and the shared expert's into the residual stream. Grid: a group every [`EXPERTS_SUM_VALUES`].
pub static EXPERTS_SUM: Kernel = Kernel {
    name: "experts/sum",
    bindings: &[
        read("outputs", "f32"),
        read("weights", "f32"),
        read("shared_output", "f32"),
        read("shared_gate", "f32"),
        write("x", "f32"),
    ],
    parameters: &[u32("rows"), u32("hidden"), u32("used")],
    decoders: &[],
    constants: &[],
    workgroup: 256,
};

/// Values of a workgroup of [`EXPERTS_SUM`].
pub const EXPERTS_SUM_VALUES: u32 = EXPERTS_SUM.workgroup;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_on_tiles_is_that_of_one_expert_with_nearly_all_pairs() {
        for (pairs, experts, tile) in
            [(5110u32, 512u32, 16u32), (10, 512, 16), (1, 1, 8), (100, 4, 1), (64, 2, 32), (65, 2, 32)]
        {
            let others = experts.min(pairs) - 1;
            let worst = (pairs - others).div_ceil(tile) + others;
            assert_eq!(most_tiles(pairs, experts, tile), worst, "{pairs} pairs, {experts} experts, tiles of {tile}");
        }
        assert_eq!(most_tiles(0, 512, 16), 0);
        assert_eq!(most_tiles(u32::MAX, 1, 1), u32::MAX);
    }
}

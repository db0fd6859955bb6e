//! What the quantisation decoders in shaders are given: block sizes, and the grids of the IQ types.

use crate::quant::Type;
use crate::quant::grids::{self, Grid};

/// The grids in the order of the codebook, under the names that shaders know their first entries by.
static GRIDS: [(&str, &Grid); 6] = [
    ("IQ2_XXS_GRID", &grids::IQ2_XXS_GRID),
    ("IQ2_XS_GRID", &grids::IQ2_XS_GRID),
    ("IQ2_S_GRID", &grids::IQ2_S_GRID),
    ("IQ3_XXS_GRID", &grids::IQ3_XXS_GRID),
    ("IQ3_S_GRID", &grids::IQ3_S_GRID),
    ("IQ1_GRID", &grids::IQ1_GRID),
];

/// The content of the `codebook` binding: all packed grids one behind the other, two entries a word.
pub fn codebook() -> Vec<u32> {
    let entries: Vec<u16> = GRIDS.iter().flat_map(|(_, grid)| grid.packed).copied().collect();
    entries.as_chunks().0.iter().map(|[low, high]| u32::from(*low) | u32::from(*high) << 16).collect()
}

/// Name and first entry of each grid in the codebook.
pub(super) fn grid_starts() -> impl Iterator<Item = (&'static str, usize)> {
    GRIDS.iter().scan(0, |next, (name, grid)| {
        let first = *next;
        *next += grid.packed.len();
        Some((*name, first))
    })
}

/// Values that a shader's decoder takes as a block: those of the type, or 8 where the type's block is one value.
pub fn block_values(kind: Type) -> usize {
    kind.block_length().max(8)
}

/// Bytes of [`block_values`].
pub fn block_bytes(kind: Type) -> usize {
    block_values(kind) / kind.block_length() * kind.block_bytes()
}

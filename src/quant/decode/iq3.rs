//! IQ3: blocks of 256 values; 8 values are two entries of a grid of 4 and a byte of signs.

use bytemuck::{Pod, Zeroable};

use super::{
    super::grids,
    apart, f32_from_f16,
    iq2::{EVEN_SIGNS, signed},
};

/// 8 bits of index per 4 values; a word per 32 values of four times 7 sign bits and 4 bits of scale.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub(super) struct Iq3Xxs {
    scale: [u8; 2],
    indices: [[[u8; 2]; 4]; 8],
    signs_and_scale: [[u8; 4]; 8],
}

#[inline(always)]
pub(super) fn iq3_xxs(block: &Iq3Xxs, values: &mut [[[[f32; 4]; 2]; 4]; 8]) {
    let scale = f32_from_f16(block.scale);
    for group in 0..8 {
        let block = apart(block);
        let word = u32::from_le_bytes(block.signs_and_scale[group]);
        let scale = scale * (0.5 + (word >> 28) as f32) * 0.5;
        for part in 0..4 {
            let signs = EVEN_SIGNS[((word >> (7 * part)) & 127) as usize];
            for half in 0..2 {
                let entry = &grids::IQ3_XXS[usize::from(block.indices[group][part][half])];
                signed(scale, entry, signs >> (4 * half), &mut values[group][part][half]);
            }
        }
    }
}

/// 9 bits of index per 4 values, 8 sign bits per 8; a nibble of scale per 32 values.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub(super) struct Iq3S {
    scale: [u8; 2],
    low: [[[u8; 2]; 4]; 8],
    high: [u8; 8],
    signs: [[u8; 4]; 8],
    scales: [u8; 4],
}

#[inline(always)]
pub(super) fn iq3_s(block: &Iq3S, values: &mut [[[[f32; 4]; 2]; 4]; 8]) {
    let scale = f32_from_f16(block.scale);
    for group in 0..8 {
        let block = apart(block);
        let scale = scale * f32::from(1 + 2 * ((block.scales[group / 2] >> (4 * (group % 2))) & 15));
        let high = usize::from(block.high[group]);
        for part in 0..4 {
            for half in 0..2 {
                let high = (high >> (2 * part + half)) & 1;
                let entry = &grids::IQ3_S[usize::from(block.low[group][part][half]) | high << 8];
                let signs = block.signs[group][part] >> (4 * half);
                signed(scale, entry, signs, &mut values[group][part][half]);
            }
        }
    }
}

//! IQ2: blocks of 256 values; 8 values are an entry of a grid and a byte of signs.

use bytemuck::{Pod, Zeroable};

use super::{super::grids, apart, f32_from_f16};

/// Signs of eight values from seven bits: the eighth makes the number of minus signs even.
pub(super) static EVEN_SIGNS: [u8; 128] = {
    let mut signs = [0; 128];
    let mut bits: u8 = 0;
    while bits < 128 {
        signs[bits as usize] = bits | ((bits.count_ones() as u8 & 1) << 7);
        bits += 1;
    }
    signs
};

/// Scale times the entry's values, negative where the lane's bit of `signs` is set.
#[inline(always)]
pub(super) fn signed<const LANES: usize>(scale: f32, entry: &[i8; LANES], signs: u8, values: &mut [f32; LANES]) {
    for lane in 0..LANES {
        let sign = (u32::from(signs) << (31 - lane)) & 0x8000_0000;
        values[lane] = f32::from_bits((scale * f32::from(entry[lane])).to_bits() ^ sign);
    }
}

/// 32 values: four indices, and a word of four times 7 sign bits and 4 bits of scale.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Iq2XxsGroup {
    indices: [u8; 4],
    signs_and_scale: [u8; 4],
}

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub(super) struct Iq2Xxs {
    scale: [u8; 2],
    groups: [Iq2XxsGroup; 8],
}

#[inline(always)]
pub(super) fn iq2_xxs(block: &Iq2Xxs, values: &mut [[[f32; 8]; 4]; 8]) {
    let scale = f32_from_f16(block.scale);
    for (group, values) in block.groups.iter().zip(values) {
        let group = apart(group);
        let word = u32::from_le_bytes(group.signs_and_scale);
        let scale = scale * (0.5 + (word >> 28) as f32) * 0.25;
        for part in 0..4 {
            let entry = &grids::IQ2_XXS[usize::from(group.indices[part])];
            let signs = EVEN_SIGNS[((word >> (7 * part)) & 127) as usize];
            signed(scale, entry, signs, &mut values[part]);
        }
    }
}

/// A word per 8 values: 9 bits of index and 7 sign bits; a nibble of scale per 16 values.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub(super) struct Iq2Xs {
    scale: [u8; 2],
    words: [[[[u8; 2]; 2]; 2]; 8],
    scales: [u8; 8],
}

#[inline(always)]
pub(super) fn iq2_xs(block: &Iq2Xs, values: &mut [[[[f32; 8]; 2]; 2]; 8]) {
    let scale = f32_from_f16(block.scale);
    for group in 0..8 {
        let block = apart(block);
        for half in 0..2 {
            let scale = scale * (0.5 + f32::from((block.scales[group] >> (4 * half)) & 15)) * 0.25;
            for part in 0..2 {
                let word = u16::from_le_bytes(block.words[group][half][part]);
                let entry = &grids::IQ2_XS[usize::from(word & 511)];
                let signs = EVEN_SIGNS[usize::from(word >> 9)];
                signed(scale, entry, signs, &mut values[group][half][part]);
            }
        }
    }
}

/// 10 bits of index and 8 sign bits per 8 values; a nibble of scale per 16 values.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub(super) struct Iq2S {
    scale: [u8; 2],
    low: [[[u8; 2]; 2]; 8],
    signs: [[[u8; 2]; 2]; 8],
    high: [u8; 8],
    scales: [u8; 8],
}

#[inline(always)]
pub(super) fn iq2_s(block: &Iq2S, values: &mut [[[[f32; 8]; 2]; 2]; 8]) {
    let scale = f32_from_f16(block.scale);
    for group in 0..8 {
        let block = apart(block);
        for half in 0..2 {
            let scale = scale * (0.5 + f32::from((block.scales[group] >> (4 * half)) & 15)) * 0.25;
            for part in 0..2 {
                let high = (usize::from(block.high[group]) >> (4 * half + 2 * part)) & 3;
                let entry = &grids::IQ2_S[usize::from(block.low[group][half][part]) | high << 8];
                signed(scale, entry, block.signs[group][half][part], &mut values[group][half][part]);
            }
        }
    }
}

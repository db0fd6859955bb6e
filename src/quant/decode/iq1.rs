//! IQ1: blocks of 256 values; 8 values are an entry of the grid of -1, 0 and 1, shifted up or down by an eighth.

use bytemuck::{Pod, Zeroable};

use super::{super::grids, apart, f32_from_f16};

const SHIFT: f32 = 0.125;

/// One scale and one shift per 32 values. A word of `high` has bits 8 to 10 of four indices, then 3 bits of scale,
/// then the sign of the shift.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub(super) struct Iq1S {
    scale: [u8; 2],
    low: [[u8; 4]; 8],
    high: [[u8; 2]; 8],
}

#[inline(always)]
pub(super) fn iq1_s(block: &Iq1S, values: &mut [[[f32; 8]; 4]; 8]) {
    let scale = f32_from_f16(block.scale);
    for group in 0..8 {
        let block = apart(block);
        let word = u16::from_le_bytes(block.high[group]);
        let scale = scale * f32::from(2 * ((word >> 12) & 7) + 1);
        let shift = if word & 0x8000 == 0 { SHIFT } else { -SHIFT };
        for part in 0..4 {
            let high = (word >> (3 * part)) & 7;
            shifted(scale, shift, block.low[group][part], high, &mut values[group][part]);
        }
    }
}

/// One scale per 16 values, one shift per 8. A nibble of `high` has bits 8 to 10 of an index and the sign of its
/// shift. A word of `scales` has four scales of 3 bits; the top nibbles of the four words make the block's f16 scale.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub(super) struct Iq1M {
    low: [[[u8; 2]; 4]; 4],
    high: [[u8; 4]; 4],
    scales: [[u8; 2]; 4],
}

#[inline(always)]
pub(super) fn iq1_m(block: &Iq1M, values: &mut [[[[f32; 8]; 2]; 4]; 4]) {
    let words = block.scales.map(u16::from_le_bytes);
    let scale = words[0] >> 12 | (words[1] >> 8) & 0x00f0 | (words[2] >> 4) & 0x0f00 | words[3] & 0xf000;
    let scale = f32_from_f16(scale.to_le_bytes());
    for quarter in 0..4 {
        for group in 0..4 {
            let block = apart(block);
            let scale = scale * f32::from(2 * ((words[quarter] >> (3 * group)) & 7) + 1);
            for part in 0..2 {
                let nibble = u16::from(block.high[quarter][group] >> (4 * part));
                let shift = if nibble & 8 == 0 { SHIFT } else { -SHIFT };
                let low = block.low[quarter][group][part];
                shifted(scale, shift, low, nibble & 7, &mut values[quarter][group][part]);
            }
        }
    }
}

#[inline(always)]
fn shifted(scale: f32, shift: f32, low: u8, high: u16, values: &mut [f32; 8]) {
    let entry = &grids::IQ1[usize::from(u16::from(low) | high << 8)];
    for lane in 0..8 {
        values[lane] = scale * (f32::from(entry[lane]) + shift);
    }
}

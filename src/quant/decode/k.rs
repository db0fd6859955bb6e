//! The K types: blocks of 256 values whose groups of 16 or 32 have small scales of their own.

use bytemuck::{Pod, Zeroable};

use super::{apart, f32_from_f16};

/// Two halves of four planes of two groups of 16 values.
type Groups16 = [[[[f32; 16]; 2]; 4]; 2];
/// Four quarters of two planes of 32 values.
type Groups32 = [[[f32; 32]; 2]; 4];

/// 2 bits a value. A group's byte has its scale in the low nibble and its minimum in the high one.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub(super) struct Q2K {
    groups: [[[u8; 2]; 4]; 2],
    quants: [[[u8; 16]; 2]; 2],
    scale: [u8; 2],
    minimum: [u8; 2],
}

#[inline(always)]
pub(super) fn q2_k(block: &Q2K, values: &mut Groups16) {
    let (scale, minimum) = (f32_from_f16(block.scale), f32_from_f16(block.minimum));
    for half in 0..2 {
        for plane in 0..4 {
            for part in 0..2 {
                let group = block.groups[half][plane][part];
                let scale = scale * f32::from(group & 15);
                let minimum = minimum * f32::from(group >> 4);
                let quants = apart(&block.quants[half][part]);
                for lane in 0..16 {
                    let quant = (quants[lane] >> (2 * plane)) & 3;
                    values[half][plane][part][lane] = scale * f32::from(quant) - minimum;
                }
            }
        }
    }
}

/// 3 bits a value: 2 in `quants`, the high one in `high`, where 0 means minus 4.
/// The 16 scales of 6 bits have their low 4 bits in the first eight bytes and their high 2 in the last four.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub(super) struct Q3K {
    high: [[u8; 16]; 2],
    quants: [[[u8; 16]; 2]; 2],
    scales_low: [u8; 8],
    scales_high: [u8; 4],
    scale: [u8; 2],
}

#[inline(always)]
pub(super) fn q3_k(block: &Q3K, values: &mut Groups16) {
    let scale = f32_from_f16(block.scale);
    for half in 0..2 {
        for plane in 0..4 {
            for part in 0..2 {
                let group = 8 * half + 2 * plane + part;
                let low = (block.scales_low[group % 8] >> (4 * half)) & 15;
                let high = (block.scales_high[group % 4] >> (2 * (group / 4))) & 3;
                let scale = scale * f32::from((low | high << 4) as i8 - 32);
                for lane in 0..16 {
                    let low = (block.quants[half][part][lane] >> (2 * plane)) & 3;
                    let high = (block.high[part][lane] >> (4 * half + plane)) & 1;
                    values[half][plane][part][lane] = scale * f32::from((low | high << 2) as i8 - 4);
                }
            }
        }
    }
}

/// 4 bits a value.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub(super) struct Q4K {
    scale: [u8; 2],
    minimum: [u8; 2],
    groups: [[u8; 4]; 3],
    quants: [[u8; 32]; 4],
}

#[inline(always)]
pub(super) fn q4_k(block: &Q4K, values: &mut Groups32) {
    let (scales, minima) = scales_and_minima(block.scale, block.minimum, &block.groups);
    for quarter in 0..4 {
        let quants = apart(&block.quants[quarter]);
        for plane in 0..2 {
            let (scale, minimum) = (scales[2 * quarter + plane], minima[2 * quarter + plane]);
            for lane in 0..32 {
                let quant = (quants[lane] >> (4 * plane)) & 15;
                values[quarter][plane][lane] = scale * f32::from(quant) - minimum;
            }
        }
    }
}

/// 5 bits a value: bit g of `high[lane]` is bit 4 of the value in group g.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub(super) struct Q5K {
    scale: [u8; 2],
    minimum: [u8; 2],
    groups: [[u8; 4]; 3],
    high: [u8; 32],
    quants: [[u8; 32]; 4],
}

#[inline(always)]
pub(super) fn q5_k(block: &Q5K, values: &mut Groups32) {
    let (scales, minima) = scales_and_minima(block.scale, block.minimum, &block.groups);
    for quarter in 0..4 {
        for plane in 0..2 {
            let group = 2 * quarter + plane;
            let (scale, minimum) = (scales[group], minima[group]);
            for lane in 0..32 {
                let low = (block.quants[quarter][lane] >> (4 * plane)) & 15;
                let high = (block.high[lane] >> group) & 1;
                values[quarter][plane][lane] = scale * f32::from(low | high << 4) - minimum;
            }
        }
    }
}

/// The scales and minima of the eight groups of Q4_K and Q5_K: 6 bits each in 12 bytes.
/// Groups 0 to 3 have theirs in rows 0 and 1, groups 4 to 7 the low bits in row 2, the high ones atop rows 0 and 1.
#[inline(always)]
fn scales_and_minima(scale: [u8; 2], minimum: [u8; 2], groups: &[[u8; 4]; 3]) -> ([f32; 8], [f32; 8]) {
    let (scale, minimum) = (f32_from_f16(scale), f32_from_f16(minimum));
    let (mut scales, mut minima) = ([0.0; 8], [0.0; 8]);
    for group in 0..4 {
        let (first, second, low) = (groups[0][group], groups[1][group], groups[2][group]);
        scales[group] = scale * f32::from(first & 63);
        minima[group] = minimum * f32::from(second & 63);
        scales[group + 4] = scale * f32::from(low & 15 | (first >> 6) << 4);
        minima[group + 4] = minimum * f32::from(low >> 4 | (second >> 6) << 4);
    }
    (scales, minima)
}

/// 6 bits a value: 4 in `low`, 2 in `high`, minus 32.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub(super) struct Q6K {
    low: [[[[u8; 16]; 2]; 2]; 2],
    high: [[[u8; 16]; 2]; 2],
    groups: [[[i8; 2]; 4]; 2],
    scale: [u8; 2],
}

#[inline(always)]
pub(super) fn q6_k(block: &Q6K, values: &mut Groups16) {
    let scale = f32_from_f16(block.scale);
    for half in 0..2 {
        for plane in 0..4 {
            for part in 0..2 {
                let scale = scale * f32::from(block.groups[half][plane][part]);
                for lane in 0..16 {
                    let low = (block.low[half][plane % 2][part][lane] >> (4 * (plane / 2))) & 15;
                    let high = (block.high[half][part][lane] >> (2 * plane)) & 3;
                    values[half][plane][part][lane] = scale * f32::from((low | high << 4) as i8 - 32);
                }
            }
        }
    }
}

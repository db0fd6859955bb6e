//! Ternary types: blocks of 256 values -1, 0 or 1 with one scale.

use bytemuck::{Pod, Zeroable};

use super::f32_from_f16;

/// Five values a byte as base-3 digits (four in `last`), the first digit the most significant.
/// A byte stands for the fraction byte / 256: digit p is the whole part of three times what remains after p digits.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub(super) struct Tq1_0 {
    first: [u8; 32],
    middle: [u8; 16],
    last: [u8; 4],
    scale: [u8; 2],
}

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub(super) struct Tq1_0Values {
    first: [[f32; 32]; 5],
    middle: [[f32; 16]; 5],
    last: [[f32; 4]; 4],
}

#[inline(always)]
pub(super) fn tq1_0(block: &Tq1_0, values: &mut Tq1_0Values) {
    let scale = f32_from_f16(block.scale);
    base_3(&block.first, scale, &mut values.first);
    base_3(&block.middle, scale, &mut values.middle);
    base_3(&block.last, scale, &mut values.last);
}

#[inline(always)]
fn base_3<const LANES: usize, const DIGITS: usize>(
    bytes: &[u8; LANES],
    scale: f32,
    values: &mut [[f32; LANES]; DIGITS],
) {
    const POWERS: [u8; 5] = [1, 3, 9, 27, 81];
    for (values, power) in values.iter_mut().zip(POWERS) {
        for lane in 0..LANES {
            let remainder = bytes[lane].wrapping_mul(power);
            let digit = (u16::from(remainder) * 3) >> 8;
            values[lane] = scale * f32::from(digit as i8 - 1);
        }
    }
}

/// 2 bits a value, minus 1.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub(super) struct Tq2_0 {
    quants: [[u8; 32]; 2],
    scale: [u8; 2],
}

#[inline(always)]
pub(super) fn tq2_0(block: &Tq2_0, values: &mut [[[f32; 32]; 4]; 2]) {
    let scale = f32_from_f16(block.scale);
    for half in 0..2 {
        for plane in 0..4 {
            for lane in 0..32 {
                let quant = (block.quants[half][lane] >> (2 * plane)) & 3;
                values[half][plane][lane] = scale * f32::from(quant as i8 - 1);
            }
        }
    }
}

//! Blocks of 32 values with one scale. Low nibbles are elements 0 to 15, high nibbles 16 to 31.

use bytemuck::{Pod, Zeroable};

use super::{apart, f32_from_f16};

/// Scale times (quant - 8).
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub(super) struct Q4_0 {
    scale: [u8; 2],
    quants: [u8; 16],
}

#[inline(always)]
pub(super) fn q4_0(block: &Q4_0, values: &mut [[f32; 16]; 2]) {
    let block = apart(block);
    let scale = f32_from_f16(block.scale);
    for plane in 0..2 {
        for lane in 0..16 {
            let quant = (block.quants[lane] >> (4 * plane)) & 15;
            values[plane][lane] = scale * f32::from(quant as i8 - 8);
        }
    }
}

/// Scale times quant, plus minimum.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub(super) struct Q4_1 {
    scale: [u8; 2],
    minimum: [u8; 2],
    quants: [u8; 16],
}

#[inline(always)]
pub(super) fn q4_1(block: &Q4_1, values: &mut [[f32; 16]; 2]) {
    let block = apart(block);
    let (scale, minimum) = (f32_from_f16(block.scale), f32_from_f16(block.minimum));
    for plane in 0..2 {
        for lane in 0..16 {
            let quant = (block.quants[lane] >> (4 * plane)) & 15;
            values[plane][lane] = scale * f32::from(quant) + minimum;
        }
    }
}

/// Scale times (quant - 16); bit i of `high` is bit 4 of element i.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub(super) struct Q5_0 {
    scale: [u8; 2],
    high: [u8; 4],
    quants: [u8; 16],
}

#[inline(always)]
pub(super) fn q5_0(block: &Q5_0, values: &mut [[f32; 16]; 2]) {
    let block = apart(block);
    let scale = f32_from_f16(block.scale);
    for plane in 0..2 {
        for lane in 0..16 {
            let quant = five_bits(block.quants[lane], block.high, plane, lane);
            values[plane][lane] = scale * (quant - 16) as f32;
        }
    }
}

/// Scale times quant, plus minimum; bit i of `high` is bit 4 of element i.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub(super) struct Q5_1 {
    scale: [u8; 2],
    minimum: [u8; 2],
    high: [u8; 4],
    quants: [u8; 16],
}

#[inline(always)]
pub(super) fn q5_1(block: &Q5_1, values: &mut [[f32; 16]; 2]) {
    let block = apart(block);
    let (scale, minimum) = (f32_from_f16(block.scale), f32_from_f16(block.minimum));
    for plane in 0..2 {
        for lane in 0..16 {
            let quant = five_bits(block.quants[lane], block.high, plane, lane);
            values[plane][lane] = scale * quant as f32 + minimum;
        }
    }
}

#[inline(always)]
fn five_bits(quants: u8, high: [u8; 4], plane: usize, lane: usize) -> i32 {
    let high = (u32::from_le_bytes(high) >> (16 * plane + lane)) & 1;
    i32::from((quants >> (4 * plane)) & 15) | (high << 4) as i32
}

/// Scale times quant.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub(super) struct Q8_0 {
    scale: [u8; 2],
    quants: [i8; 32],
}

#[inline(always)]
pub(super) fn q8_0(block: &Q8_0, values: &mut [f32; 32]) {
    let scale = f32_from_f16(block.scale);
    for lane in 0..32 {
        values[lane] = scale * f32::from(block.quants[lane]);
    }
}

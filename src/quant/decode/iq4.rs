//! Types whose nibbles pick from a table of 16 values: IQ4 and MXFP4. Low nibbles come before high ones, by 16.

use bytemuck::{Pod, Zeroable};

use super::f32_from_f16;

static IQ4_VALUES: [f32; 16] =
    [-127.0, -104.0, -83.0, -65.0, -49.0, -35.0, -22.0, -10.0, 1.0, 13.0, 25.0, 38.0, 53.0, 69.0, 89.0, 113.0];
/// E2M1 doubled. Minus zero is plain zero, as in `gguf`.
static MXFP4_VALUES: [f32; 16] =
    [0.0, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 0.0, -1.0, -2.0, -3.0, -4.0, -6.0, -8.0, -12.0];

/// Scale times the table's value of each nibble.
#[inline(always)]
fn look_up(table: &[f32; 16], scale: f32, nibbles: &[u8; 16], values: &mut [[f32; 16]; 2]) {
    let scaled = table.map(|value| scale * value);
    for lane in 0..16 {
        values[0][lane] = scaled[usize::from(nibbles[lane] & 15)];
        values[1][lane] = scaled[usize::from(nibbles[lane] >> 4)];
    }
}

/// 32 values with one scale.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub(super) struct Iq4Nl {
    scale: [u8; 2],
    nibbles: [u8; 16],
}

#[inline(always)]
pub(super) fn iq4_nl(block: &Iq4Nl, values: &mut [[f32; 16]; 2]) {
    look_up(&IQ4_VALUES, f32_from_f16(block.scale), &block.nibbles, values);
}

/// 256 values; a scale of 6 bits, minus 32, per 32 values: the low 4 bits in `scales_low`, the high 2 in `scales_high`.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub(super) struct Iq4Xs {
    scale: [u8; 2],
    scales_high: [u8; 2],
    scales_low: [u8; 4],
    nibbles: [[u8; 16]; 8],
}

#[inline(always)]
pub(super) fn iq4_xs(block: &Iq4Xs, values: &mut [[[f32; 16]; 2]; 8]) {
    let scale = f32_from_f16(block.scale);
    let high = u16::from_le_bytes(block.scales_high);
    for group in 0..8 {
        let low = (block.scales_low[group / 2] >> (4 * (group % 2))) & 15;
        let high = ((high >> (2 * group)) & 3) as u8;
        let scale = scale * f32::from((low | high << 4) as i8 - 32);
        look_up(&IQ4_VALUES, scale, &block.nibbles[group], &mut values[group]);
    }
}

/// 32 values with a power of two as their scale.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub(super) struct Mxfp4 {
    exponent: u8,
    nibbles: [u8; 16],
}

#[inline(always)]
pub(super) fn mxfp4(block: &Mxfp4, values: &mut [[f32; 16]; 2]) {
    // Half of 2^(exponent - 127), because the table is doubled. The two smallest are subnormal.
    let exponent = u32::from(block.exponent);
    let scale = f32::from_bits(if exponent < 2 { 0x0020_0000 << exponent } else { (exponent - 1) << 23 });
    look_up(&MXFP4_VALUES, scale, &block.nibbles, values);
}

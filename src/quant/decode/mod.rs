//! Decoders from blocks to `f32`, bit for bit those of the Python package `gguf`.
//!
//! A block is a struct of bytes laid out as in the file, its values an array whose dimensions are those of the layout,
//! so that decoders index by group, plane and lane. The element order is the array's.

#![expect(clippy::needless_range_loop, reason = "indices name group, plane and lane as the layouts do")]

mod iq1;
mod iq2;
mod iq3;
mod iq4;
mod k;
mod legacy;
mod plain;
mod ternary;

use super::simd::simd_dispatch;

macro_rules! row_decoders {
    ($($module:ident::$name:ident;)*) => {
        simd_dispatch! {$(
            pub(super) fn $name(bytes: &[u8], values: &mut [f32]) {
                // A loop here, not in a function that takes the decoder: through `Fn` it would not be inlined.
                for (block, values) in bytemuck::cast_slice(bytes).iter().zip(bytemuck::cast_slice_mut(values)) {
                    $module::$name(block, values);
                }
            }
        )*}
    };
}

row_decoders! {
    plain::f32;
    plain::f16;
    plain::bf16;
    legacy::q4_0;
    legacy::q4_1;
    legacy::q5_0;
    legacy::q5_1;
    legacy::q8_0;
    k::q2_k;
    k::q3_k;
    k::q4_k;
    k::q5_k;
    k::q6_k;
    iq1::iq1_s;
    iq1::iq1_m;
    iq2::iq2_xxs;
    iq2::iq2_xs;
    iq2::iq2_s;
    iq3::iq3_xxs;
    iq3::iq3_s;
    iq4::iq4_nl;
    iq4::iq4_xs;
    iq4::mxfp4;
    ternary::tq1_0;
    ternary::tq2_0;
}

/// The reference itself, opaque to the compiler.
///
/// Vectors are to run along a group of values, which lie side by side. Without this the compiler at times prefers to
/// run them across groups or blocks and gathers single bytes, which takes several times as long.
#[inline(always)]
fn apart<T>(group: &T) -> &T {
    std::hint::black_box(group)
}

/// The value of a little-endian f16.
// Integer selects rather than a conversion, because those vectorise at every level. Subnormal numbers are normalised
// by an exact subtraction.
#[inline(always)]
fn f32_from_f16(bytes: [u8; 2]) -> f32 {
    const EXPONENT: u32 = 0x1f << 23;
    let bits = u32::from(u16::from_le_bytes(bytes));
    let magnitude = (bits & 0x7fff) << 13;
    let normal = magnitude + ((127 - 15) << 23);
    let infinite_or_nan = magnitude + ((255 - 31) << 23);
    let subnormal = f32::from_bits(magnitude + (113 << 23)) - f32::from_bits(113 << 23);
    let value = match magnitude & EXPONENT {
        0 => subnormal.to_bits(),
        EXPONENT => infinite_or_nan,
        _ => normal,
    };
    f32::from_bits(value | (bits & 0x8000) << 16)
}

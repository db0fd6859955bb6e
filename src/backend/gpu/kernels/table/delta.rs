//! Kernels of the DeltaNet layers.

use super::{f32, read, u32, write};
use crate::backend::gpu::kernels::Kernel;

/// Causal convolution of rows of one sequence, with its state. Grid: a group every `workgroup` channels.
pub static CONVOLUTION: Kernel = Kernel {
    name: "delta/convolution",
    bindings: &[read("qkv", "f32"), read("taps", "f32"), write("state", "f32"), write("out", "f32")],
    parameters: &[u32("first_row"), u32("rows"), u32("channels")],
    decoders: &[],
    constants: &["TAPS"],
    workgroup: 64,
};

/// Unit queries and keys, and gates. Grid: rows.
pub static DELTA_PREPARE: Kernel = Kernel {
    name: "delta/prepare",
    bindings: &[
        write("mixed", "f32"),
        read("beta_alpha", "f32"),
        read("decay", "f32"),
        read("alpha_bias", "f32"),
        write("gates", "f32"),
    ],
    parameters: &[u32("rows"), u32("key_heads"), u32("value_heads"), u32("channels"), f32("epsilon")],
    decoders: &[],
    constants: &["HEAD"],
    workgroup: 256,
};

/// The delta rule over rows of one sequence, with its state. Grid: value heads times `ceil(HEAD / workgroup)`.
///
/// `HEAD` is a multiple of 4, of at most 256: a thread keeps a row of the state in registers.
pub static DELTA_RULE: Kernel = Kernel {
    name: "delta/rule",
    bindings: &[read("mixed", "vec4f"), read("gates", "f32"), write("state", "vec4f"), write("out", "f32")],
    parameters: &[u32("first_row"), u32("rows"), u32("key_heads"), u32("value_heads"), u32("channels")],
    decoders: &[],
    constants: &["HEAD"],
    workgroup: 32,
};

/// RMSNorm of heads, times `silu(gate)`. Grid: heads of all rows.
pub static GATED_NORM: Kernel = Kernel {
    name: "delta/gated_norm",
    bindings: &[write("y", "f32"), read("gate", "f32"), read("weight", "f32")],
    parameters: &[u32("heads"), f32("epsilon")],
    decoders: &[],
    constants: &["HEAD"],
    workgroup: 32,
};

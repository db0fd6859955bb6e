//! Kernels of the residual stream and of whole rows.

use super::{f32, read, u32, write};
use crate::backend::gpu::kernels::Kernel;

/// `x += y`, and RMSNorm of the sum. Grid: rows.
pub static RESIDUAL_NORM: Kernel = Kernel {
    name: "dense/residual_norm",
    bindings: &[write("x", "f32"), read("y", "f32"), read("weight", "f32"), write("h", "f32")],
    parameters: &[u32("rows"), u32("size"), f32("epsilon")],
    decoders: &[],
    constants: &[],
    workgroup: 256,
};

/// `gate = silu(gate) up`. Grid: a group every [`SWIGLU_VALUES`].
pub static SWIGLU: Kernel = Kernel {
    name: "dense/swiglu",
    bindings: &[write("gate", "f32"), read("up", "f32")],
    parameters: &[u32("count")],
    decoders: &[],
    constants: &[],
    workgroup: 256,
};

/// Values of a workgroup of [`SWIGLU`].
pub const SWIGLU_VALUES: u32 = 4 * SWIGLU.workgroup;

/// Rows by number. Grid: rows.
pub static GATHER: Kernel = Kernel {
    name: "dense/gather",
    bindings: &[read("x", "f32"), read("index", "u32"), write("y", "f32")],
    parameters: &[u32("rows"), u32("size")],
    decoders: &[],
    constants: &[],
    workgroup: 256,
};

/// Two rows side by side. Grid: rows.
pub static CONCAT: Kernel = Kernel {
    name: "dense/concat",
    bindings: &[read("a", "f32"), read("b", "f32"), write("y", "f32")],
    parameters: &[u32("rows"), u32("size")],
    decoders: &[],
    constants: &[],
    workgroup: 256,
};

//! The rows of the kernel table.

mod attention;
mod delta;
mod dense;
mod experts;
mod matrix;

pub use attention::*;
pub use delta::*;
pub use dense::*;
pub use experts::*;
pub use matrix::*;

use super::{Binding, Kernel, Parameter};

const fn read(name: &'static str, element: &'static str) -> Binding {
    Binding { name, element, written: false }
}

const fn write(name: &'static str, element: &'static str) -> Binding {
    Binding { name, element, written: true }
}

const fn u32(name: &'static str) -> Parameter {
    Parameter { name, kind: "u32" }
}

const fn f32(name: &'static str) -> Parameter {
    Parameter { name, kind: "f32" }
}

/// All kernels.
pub static KERNELS: &[&Kernel] = &[
    &NORM,
    &RESIDUAL_NORM,
    &SWIGLU,
    &GATHER,
    &CONCAT,
    &CONVOLUTION,
    &DELTA_PREPARE,
    &DELTA_RULE,
    &GATED_NORM,
    &QUERY,
    &APPEND,
    &ATTENTION_SPLIT,
    &ATTENTION_MERGE,
    &ATTENTION_CHUNK,
    &SELECT,
    &GROUP,
    &EXPERTS_SUM,
    // Products with quantised matrices.
    &EMBED,
    &MATVEC,
    &MATMUL,
    &GATE_UP_MATVEC,
    &DOWN_MATVEC,
    &GATE_UP_MATMUL,
    &DOWN_MATMUL,
];

/// The kernel of this name.
///
/// # Panics
/// If there is none: a bug of the caller.
pub fn kernel(name: &str) -> &'static Kernel {
    KERNELS.iter().find(|kernel| kernel.name == name).unwrap_or_else(|| panic!("no kernel {name}"))
}

/// RMSNorm of rows. Grid: rows.
pub static NORM: Kernel = Kernel {
    name: "dense/norm",
    bindings: &[read("x", "f32"), read("weight", "f32"), write("y", "f32")],
    parameters: &[u32("rows"), u32("size"), f32("epsilon")],
    decoders: &[],
    constants: &[],
    workgroup: 64,
};

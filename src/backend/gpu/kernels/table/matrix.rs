//! Products with quantised matrices.

use super::{read, u32, write};
use crate::backend::gpu::kernels::{Decoder, Kernel};

/// Rows of a matrix that a workgroup of a `matvec` kernel takes.
pub const MATVEC_ROWS: u32 = 4;

/// Rows of a matrix that a workgroup of a `matmul` kernel takes. A thread holds 4 of them by 4 inputs.
pub const MATMUL_ROWS: u32 = 64;

/// Inputs that a workgroup of [`MATMUL`] takes.
pub const MATMUL_INPUTS: u32 = 32;

/// Pairs of one expert that a workgroup of [`GATE_UP_MATMUL`] or [`DOWN_MATMUL`] takes at most.
///
/// A chunk of 512 rows that choose 10 of 512 experts each has ten pairs an expert, so that 32 would mostly be idle.
pub const EXPERT_TILE: u32 = 16;

/// These sizes under the names that shaders know them by.
pub(in crate::backend::gpu::kernels) const MATRIX_SIZES: [(&str, u32); 4] = [
    ("MATVEC_ROWS", MATVEC_ROWS),
    ("MATMUL_ROWS", MATMUL_ROWS),
    ("MATMUL_INPUTS", MATMUL_INPUTS),
    ("EXPERT_TILE", EXPERT_TILE),
];

/// Rows of a quantised matrix. Grid: rows.
pub static EMBED: Kernel = Kernel {
    name: "dense/embed",
    bindings: &[read("codebook", "u32"), read("weights", "u32"), read("ids", "u32"), write("y", "vec4f")],
    parameters: &[u32("rows"), u32("size"), u32("row_bytes"), u32("first_row"), u32("matrix_rows")],
    decoders: &[Decoder { prefix: "", words: "weights" }],
    constants: &[],
    workgroup: 64,
};

/// Product with a few inputs. Grid: `[ceil(rows / MATVEC_ROWS), ceil(inputs / INPUTS)]`. `INPUTS`, the inputs that a
/// workgroup takes together, is 1 to 16 and changes no bit of the result.
pub static MATVEC: Kernel = Kernel { name: "dense/matvec", constants: &["INPUTS"], workgroup: 64, ..MATMUL };

/// Product with many inputs. Grid: `[ceil(rows / MATMUL_ROWS), ceil(inputs / MATMUL_INPUTS)]`.
pub static MATMUL: Kernel = Kernel {
    name: "dense/matmul",
    bindings: &[read("codebook", "u32"), read("weights", "u32"), read("x", "vec4f"), write("y", "f32")],
    parameters: &[
        u32("inputs"),
        u32("rows"),
        u32("columns"),
        u32("row_bytes"),
        u32("output_first"),
        u32("output_stride"),
    ],
    decoders: &[Decoder { prefix: "", words: "weights" }],
    constants: &[],
    workgroup: MATMUL_ROWS / 4 * MATMUL_INPUTS / 4,
};

/// Gate and up of each pair's expert, joined. Grid: `[ceil(rows / MATVEC_ROWS), pairs]`.
pub static GATE_UP_MATVEC: Kernel = Kernel {
    name: "experts/gate_up_matvec",
    bindings: &[
        read("codebook", "u32"),
        read("slab", "u32"),
        read("slots", "u32"),
        read("ids", "u32"),
        read("x", "vec4f"),
        write("y", "f32"),
    ],
    ..GATE_UP_MATMUL
};

/// Down of each pair's expert. Grid: `[ceil(rows / MATVEC_ROWS), pairs]`.
pub static DOWN_MATVEC: Kernel =
    Kernel { name: "experts/down_matvec", bindings: GATE_UP_MATVEC.bindings, ..DOWN_MATMUL };

/// Gate and up of tiles of pairs with the same expert, joined. Grid: `[ceil(rows / MATMUL_ROWS), tiles]`.
pub static GATE_UP_MATMUL: Kernel = Kernel {
    name: "experts/gate_up_matmul",
    bindings: &[
        read("codebook", "u32"),
        read("slab", "u32"),
        read("slots", "u32"),
        read("order", "u32"),
        read("tiles", "u32"),
        read("x", "vec4f"),
        write("y", "f32"),
    ],
    parameters: &[
        u32("pairs"),
        u32("used"),
        u32("rows"),
        u32("columns"),
        u32("gate_row_bytes"),
        u32("up_row_bytes"),
        u32("gate_offset"),
        u32("up_offset"),
        u32("slab_number"),
    ],
    decoders: &[Decoder { prefix: "gate_", words: "slab" }, Decoder { prefix: "up_", words: "slab" }],
    constants: &[],
    workgroup: MATMUL_ROWS / 4 * EXPERT_TILE / 4,
};

/// Down of tiles of pairs with the same expert. Grid: `[ceil(rows / MATMUL_ROWS), tiles]`.
pub static DOWN_MATMUL: Kernel = Kernel {
    name: "experts/down_matmul",
    bindings: GATE_UP_MATMUL.bindings,
    parameters: &[
        u32("pairs"),
        u32("used"),
        u32("rows"),
        u32("columns"),
        u32("row_bytes"),
        u32("down_offset"),
        u32("slab_number"),
    ],
    decoders: &[Decoder { prefix: "", words: "slab" }],
    constants: &[],
    workgroup: MATMUL_ROWS / 4 * EXPERT_TILE / 4,
};

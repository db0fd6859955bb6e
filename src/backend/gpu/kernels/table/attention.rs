//! Kernels of the attention layers. `HEAD` is a multiple of 4, of at most 1,024.

use super::{f32, read, u32, write};
use crate::backend::gpu::kernels::Kernel;

/// RMSNorm and rotary of queries. Grid: rows times heads.
pub static QUERY: Kernel = Kernel {
    name: "attention/query",
    bindings: &[write("query_gate", "f32"), read("norm", "f32"), read("cosines", "f32"), read("sines", "f32")],
    parameters: &[u32("rows"), u32("heads"), u32("half"), f32("epsilon")],
    decoders: &[],
    constants: &["HEAD"],
    workgroup: 64,
};

/// Keys and values into a KV slab. Grid: rows times KV heads.
pub static APPEND: Kernel = Kernel {
    name: "attention/append",
    bindings: &[
        read("keys", "f32"),
        read("values", "f32"),
        read("norm", "f32"),
        read("cosines", "f32"),
        read("sines", "f32"),
        read("positions", "u32"),
        write("key_slab", "u32"),
        write("value_slab", "u32"),
    ],
    parameters: &[
        u32("first_row"),
        u32("rows"),
        u32("kv_heads"),
        u32("half"),
        u32("slab_first"),
        u32("slab_positions"),
        f32("epsilon"),
    ],
    decoders: &[],
    constants: &["HEAD", "KV_F16"],
    workgroup: 64,
};

/// Attention over blocks of 256 positions, for decode. Grid: rows times heads, by blocks.
pub static ATTENTION_SPLIT: Kernel = Kernel {
    name: "attention/split",
    bindings: &[
        read("query_gate", "vec4f"),
        read("positions", "u32"),
        read("key_slab", "vec2u"),
        read("value_slab", "vec2u"),
        write("partials", "f32"),
    ],
    parameters: &[
        u32("first_row"),
        u32("rows"),
        u32("heads"),
        u32("kv_heads"),
        u32("slab_first"),
        u32("first_block"),
        u32("total_blocks"),
    ],
    decoders: &[],
    constants: &["HEAD", "KV_F16"],
    // As many as a block has positions: a thread takes one in the softmax.
    workgroup: 256,
};

/// The blocks of [`ATTENTION_SPLIT`] together, and the gate. Grid: rows times heads.
pub static ATTENTION_MERGE: Kernel = Kernel {
    name: "attention/merge",
    bindings: &[read("query_gate", "f32"), read("positions", "u32"), read("partials", "f32"), write("out", "f32")],
    parameters: &[u32("first_row"), u32("rows"), u32("heads"), u32("total_blocks")],
    decoders: &[],
    constants: &["HEAD"],
    workgroup: 256,
};

/// Attention of a chunk's rows over a range of keys, for ingest. Grid: `ceil(rows / ATTENTION_ROWS)` by heads.
pub static ATTENTION_CHUNK: Kernel = Kernel {
    name: "attention/chunk",
    bindings: &[
        read("query_gate", "vec4f"),
        read("positions", "u32"),
        read("key_slab", "vec2u"),
        read("value_slab", "vec2u"),
        write("state", "f32"),
        write("out", "f32"),
    ],
    parameters: &[
        u32("first_row"),
        u32("rows"),
        u32("heads"),
        u32("kv_heads"),
        u32("slab_first"),
        u32("first_position"),
        u32("last_position"),
        u32("flags"),
    ],
    decoders: &[],
    constants: &["HEAD", "KV_F16"],
    // A tile of 32 rows by 32 keys, four scores a thread.
    workgroup: 256,
};

/// Rows of a workgroup of [`ATTENTION_CHUNK`].
pub const ATTENTION_ROWS: u32 = 32;

/// Flag of [`ATTENTION_CHUNK`]: nothing was seen before.
pub const ATTENTION_START: u32 = 1;

/// Flag of [`ATTENTION_CHUNK`]: nothing comes after; write the output.
pub const ATTENTION_FINISH: u32 = 2;

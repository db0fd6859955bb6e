//! A kernel's text: declarations made from the table, what it includes, its decoders, and its own code.
//!
//! A shader file names what it includes by lines `// #include folder/name`, and by `// #matrix folder/name` what it
//! includes once a matrix. Such text, as a decoder's, writes `$` where the matrix's prefix goes and `$words` for the
//! buffer that holds it.

use super::decode::{block_bytes, block_values, grid_starts};
use super::table::MATRIX_SIZES;
use super::{Kernel, Variant, kernel};
use crate::quant::Type;
use std::fmt::Write;

/// The whole WGSL text of a variant.
pub fn wgsl(variant: &Variant) -> String {
    let kernel = kernel(variant.kernel);
    let mut text = declarations(kernel, variant);
    let body = file(kernel.name);
    for name in body.lines().filter_map(|line| line.strip_prefix("// #include ")) {
        text.push_str(file(name));
    }
    for (decoder, kind) in kernel.decoders.iter().zip(&variant.kinds) {
        let (values, bytes) = (block_values(*kind), block_bytes(*kind));
        let mut matrix = format!("const $BLOCK_VALUES: u32 = {values}u;\nconst $BLOCK_BYTES: u32 = {bytes}u;\n");
        for part in [file("common/words"), decoder_text(*kind), file("common/matrix")] {
            matrix.push_str(part);
        }
        for name in body.lines().filter_map(|line| line.strip_prefix("// #matrix ")) {
            matrix.push_str(file(name));
        }
        text.push_str(&matrix.replace("$words", decoder.words).replace('$', decoder.prefix));
    }
    text.push_str(body);
    text
}

fn declarations(kernel: &Kernel, variant: &Variant) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    for (index, binding) in kernel.bindings.iter().enumerate() {
        let access = if binding.written { "read_write" } else { "read" };
        let (name, element) = (binding.name, binding.element);
        let _ = writeln!(text, "@group(0) @binding({index}) var<storage, {access}> {name}: array<{element}>;");
    }
    if !kernel.parameters.is_empty() {
        let fields: Vec<String> = kernel.parameters.iter().map(|p| format!("{}: {}", p.name, p.kind)).collect();
        let _ = writeln!(text, "struct Parameters {{ {} }}", fields.join(", "));
        let _ = writeln!(text, "var<immediate> parameters: Parameters;");
    }
    let _ = writeln!(text, "const WORKGROUP: u32 = {}u;", kernel.workgroup);
    for (name, value) in kernel.constants.iter().zip(&variant.constants) {
        let _ = writeln!(text, "const {name}: u32 = {value}u;");
    }
    if !kernel.decoders.is_empty() {
        for (name, value) in MATRIX_SIZES {
            let _ = writeln!(text, "const {name}: u32 = {value}u;");
        }
        for (name, first) in grid_starts() {
            let _ = writeln!(text, "const {name}: u32 = {first}u;");
        }
    }
    text
}

/// Declares the shader files, each compiled in under its stem.
macro_rules! files {
    ($($name:literal)*) => {
        /// The text of a shader file.
        fn file(name: &str) -> &'static str {
            match name {
                $($name => include_str!(concat!("../../../../wgsl/", $name, ".wgsl")),)*
                _ => panic!("no shader file {name}"),
            }
        }
    };
}

files! {
    "common/group" "common/words" "common/reduce"
    "dense/norm"
    "common/activation" "common/half" "common/kv"
    "dense/residual_norm" "dense/swiglu" "dense/gather" "dense/concat"
    "delta/convolution" "delta/prepare" "delta/rule" "delta/gated_norm"
    "attention/query" "attention/append" "attention/split" "attention/merge" "attention/chunk"
    "experts/select" "experts/group" "experts/sum"

    "common/decode" "common/matrix" "common/tile" "common/tile_rows" "common/lanes" "common/slots"
    "dense/embed" "dense/matvec" "dense/matmul"
    "experts/gate_up_matvec" "experts/down_matvec" "experts/gate_up_matmul" "experts/down_matmul"
    "decode/f32" "decode/f16" "decode/bf16" "decode/q4_0" "decode/q4_1" "decode/q5_0" "decode/q5_1" "decode/q8_0"
    "decode/q2_k" "decode/q3_k" "decode/q4_k" "decode/q5_k" "decode/q6_k" "decode/iq1_s" "decode/iq1_m"
    "decode/iq2_xxs" "decode/iq2_xs" "decode/iq2_s" "decode/iq3_xxs" "decode/iq3_s" "decode/iq4_nl" "decode/iq4_xs"
    "decode/tq1_0" "decode/tq2_0" "decode/mxfp4"
}

fn decoder_text(kind: Type) -> &'static str {
    file(&format!("decode/{}", kind.name().to_lowercase()))
}

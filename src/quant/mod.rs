//! Quantisation types: one table from which sizes, names, decoders and the errors about them follow.
//!
//! A *block* is the unit of a type: `block_length` consecutive values of one row stored in
//! `block_bytes` bytes, little endian. Layouts: <https://github.com/ggml-org/ggml> (`ggml-common.h`).

mod decode;
pub mod grids;
pub mod simd;

use std::fmt;

use simd::Level;

/// One row of the type table.
pub struct TypeInfo {
    /// The type's number in a GGUF tensor directory.
    pub id: u32,
    /// The name the format's own tools print, in capitals.
    pub name: &'static str,
    /// Values in a block.
    pub block_length: usize,
    /// Bytes in a block.
    pub block_bytes: usize,
    /// Decodes whole blocks, `bytes.len() / block_bytes` of them, to `f32`.
    decode: fn(Level, &[u8], &mut [f32]),
}

macro_rules! type_table {
    ($($variant:ident $id:literal $name:literal $length:literal $bytes:literal $decode:path;)*) => {
        /// A quantisation type that Red Lite reads.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[expect(missing_docs, reason = "each variant is named as its type")]
        pub enum Type { $($variant),* }

        impl Type {
            /// Every type, in the order of the table.
            pub const ALL: &'static [Type] = &[$(Type::$variant),*];

            /// The type's row of the table.
            pub const fn info(self) -> &'static TypeInfo {
                match self {
                    $(Type::$variant => &TypeInfo {
                        id: $id, name: $name, block_length: $length, block_bytes: $bytes, decode: $decode,
                    }),*
                }
            }
        }
    };
}

type_table! {
    F32     0  "F32"     1   4   decode::f32;
    F16     1  "F16"     1   2   decode::f16;
    BF16    30 "BF16"    1   2   decode::bf16;
    Q4_0    2  "Q4_0"    32  18  decode::q4_0;
    Q4_1    3  "Q4_1"    32  20  decode::q4_1;
    Q5_0    6  "Q5_0"    32  22  decode::q5_0;
    Q5_1    7  "Q5_1"    32  24  decode::q5_1;
    Q8_0    8  "Q8_0"    32  34  decode::q8_0;
    Q2K     10 "Q2_K"    256 84  decode::q2_k;
    Q3K     11 "Q3_K"    256 110 decode::q3_k;
    Q4K     12 "Q4_K"    256 144 decode::q4_k;
    Q5K     13 "Q5_K"    256 176 decode::q5_k;
    Q6K     14 "Q6_K"    256 210 decode::q6_k;
    Iq1S    19 "IQ1_S"   256 50  decode::iq1_s;
    Iq1M    29 "IQ1_M"   256 56  decode::iq1_m;
    Iq2Xxs  16 "IQ2_XXS" 256 66  decode::iq2_xxs;
    Iq2Xs   17 "IQ2_XS"  256 74  decode::iq2_xs;
    Iq2S    22 "IQ2_S"   256 82  decode::iq2_s;
    Iq3Xxs  18 "IQ3_XXS" 256 98  decode::iq3_xxs;
    Iq3S    21 "IQ3_S"   256 110 decode::iq3_s;
    Iq4Nl   20 "IQ4_NL"  32  18  decode::iq4_nl;
    Iq4Xs   23 "IQ4_XS"  256 136 decode::iq4_xs;
    Tq1_0   34 "TQ1_0"   256 54  decode::tq1_0;
    Tq2_0   35 "TQ2_0"   256 66  decode::tq2_0;
    Mxfp4   39 "MXFP4"   32  17  decode::mxfp4;
}

impl Type {
    /// The type with this number in a GGUF tensor directory.
    ///
    /// # Errors
    /// [`UnknownType`] names the type where the format knows it and Red Lite does not.
    pub fn from_id(id: u32) -> Result<Type, UnknownType> {
        Type::ALL.iter().copied().find(|t| t.info().id == id).ok_or(UnknownType(id))
    }

    /// The type with this name, in capitals or not: `"iq2_xxs"`.
    pub fn from_name(name: &str) -> Option<Type> {
        Type::ALL.iter().copied().find(|t| t.name().eq_ignore_ascii_case(name))
    }

    /// The name the format's own tools print.
    pub const fn name(self) -> &'static str {
        self.info().name
    }

    /// Values in a block.
    pub const fn block_length(self) -> usize {
        self.info().block_length
    }

    /// Bytes in a block.
    pub const fn block_bytes(self) -> usize {
        self.info().block_bytes
    }

    /// Bytes of a row of `length` values, or `None` where the row is not whole blocks or does not fit a `u64`.
    pub fn row_bytes(self, length: u64) -> Option<u64> {
        let block = self.block_length() as u64;
        length.is_multiple_of(block).then_some(length / block)?.checked_mul(self.block_bytes() as u64)
    }

    /// Decodes whole blocks to `f32`, exactly as the format defines them.
    ///
    /// # Panics
    /// If `bytes` is not whole blocks or `values` is not the length they decode to: a bug of the caller.
    pub fn decode(self, bytes: &[u8], values: &mut [f32]) {
        self.decode_at(Level::best(), bytes, values);
    }

    /// [`Type::decode`] with chosen instructions. Every level gives the same values.
    ///
    /// # Panics
    /// As [`Type::decode`].
    pub fn decode_at(self, level: Level, bytes: &[u8], values: &mut [f32]) {
        let blocks = bytes.len() / self.block_bytes();
        assert_eq!(bytes.len(), blocks * self.block_bytes(), "{}: not whole blocks", self.name());
        assert_eq!(values.len(), blocks * self.block_length(), "{}: wrong output length", self.name());
        (self.info().decode)(level, bytes, values);
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A type number that is not in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownType(pub u32);

impl std::error::Error for UnknownType {}

impl fmt::Display for UnknownType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.0 {
            9 => "Q8_1",
            15 => "Q8_K",
            24 => "I8",
            25 => "I16",
            26 => "I32",
            27 => "I64",
            28 => "F64",
            40 => "NVFP4",
            41 => "Q1_0",
            42 => "Q2_0",
            id => return write!(f, "number {id}, which this version does not know"),
        };
        write!(f, "{name}, which is not supported")
    }
}

//! Random quantised matrices, and their products in `f64`.

use crate::support::Values;
use half::f16;
use redlite::quant::Type;

/// A matrix in the file's layout.
pub struct Matrix {
    pub kind: Type,
    pub rows: usize,
    pub columns: usize,
    pub bytes: Vec<u8>,
}

/// A value in `f64`, and what bounds the error of computing it in `f32`.
#[derive(Clone, Copy)]
pub struct Exact {
    pub value: f64,
    pub error: f64,
}

impl Matrix {
    /// Any quants, and scales of up to 2^-10; a quarter of the scales are subnormal halves, as in models.
    pub fn random(kind: Type, rows: usize, columns: usize, values: &mut Values) -> Matrix {
        let count = rows * columns;
        let bytes = match kind {
            Type::F32 => bytemuck::pod_collect_to_vec(&values.floats(count)),
            Type::F16 => values.floats(count).iter().flat_map(|x| f16::from_f32(*x).to_le_bytes()).collect(),
            Type::BF16 => values.floats(count).iter().flat_map(|x| half::bf16::from_f32(*x).to_le_bytes()).collect(),
            _ => {
                let mut bytes = values.bytes(count / kind.block_length() * kind.block_bytes());
                for (index, block) in bytes.chunks_exact_mut(kind.block_bytes()).enumerate() {
                    set_scales(kind, block, if index % 4 == 3 { 18 } else { 10 }, values);
                }
                bytes
            }
        };
        Matrix { kind, rows, columns, bytes }
    }

    pub fn row_bytes(&self) -> u32 {
        (self.bytes.len() / self.rows) as u32
    }

    /// All values, by the CPU's decoder.
    pub fn decoded(&self) -> Vec<f32> {
        let mut decoded = vec![0.0; self.rows * self.columns];
        self.kind.decode(&self.bytes, &mut decoded);
        decoded
    }

    /// `W x` for inputs (inputs, columns), (inputs, rows), with the error that sums in `f32` may have when no product
    /// passes through more than `additions` of them: each rounds by at most 2^-24 of the sum of magnitudes.
    pub fn products(&self, x: &[f32], additions: usize) -> Vec<Exact> {
        let decoded = self.decoded();
        let product = |x: &[f32], row: &[f32]| {
            let terms = || row.iter().zip(x).map(|(w, x)| f64::from(*w) * f64::from(*x));
            let magnitude: f64 = terms().map(f64::abs).sum();
            Exact { value: terms().sum(), error: magnitude * additions as f64 / f64::from(1 << 24) }
        };
        x.chunks(self.columns).flat_map(|x| decoded.chunks(self.columns).map(move |row| product(x, row))).collect()
    }
}

/// Gives a block scales of at most 2^-`smallness`.
fn set_scales(kind: Type, block: &mut [u8], smallness: i32, values: &mut Values) {
    let mut half = || f16::from_f32(values.floats(1)[0] * 2f32.powi(-smallness)).to_le_bytes();
    match kind {
        // An exponent, whose scale is 2^(e - 128).
        Type::Mxfp4 => block[0] = 128 - smallness as u8,
        // The half is spread over the upper nibbles of four words.
        Type::Iq1M => {
            let [low, high] = half();
            for (byte, nibble) in [49, 51, 53, 55].into_iter().zip([low & 15, low >> 4, high & 15, high >> 4]) {
                block[byte] = (block[byte] & 15) | (nibble << 4);
            }
        }
        _ => {
            let places: &[usize] = match kind {
                Type::Q4_1 | Type::Q5_1 | Type::Q4K | Type::Q5K => &[0, 2],
                Type::Q2K => &[80, 82],
                Type::Q3K => &[108],
                Type::Q6K => &[208],
                Type::Tq1_0 => &[52],
                Type::Tq2_0 => &[64],
                _ => &[0],
            };
            for place in places {
                block[*place..place + 2].copy_from_slice(&half());
            }
        }
    }
}

/// Asserts that every value is as exact as its bound says.
pub fn assert_exact(got: &[f32], expected: &[Exact], what: &str) {
    assert_eq!(got.len(), expected.len(), "{what}: length");
    for (index, (got, expected)) in got.iter().zip(expected).enumerate() {
        let Exact { value, error } = expected;
        let difference = (f64::from(*got) - value).abs();
        assert!(difference <= *error, "{what}: value {index} is {got}, expected {value} within {error}");
    }
}

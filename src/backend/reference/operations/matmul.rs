//! Products with quantised matrices.

use super::dot::dot_tile;
use crate::quant::Type;
use crate::quant::simd::Level;
use rayon::prelude::*;
use std::cell::RefCell;

/// A matrix in the file's own layout.
#[derive(Clone, Copy)]
pub struct MatrixView<'a> {
    /// The type of its rows.
    pub kind: Type,
    /// Outputs.
    pub rows: usize,
    /// Inputs.
    pub columns: usize,
    /// Row after row.
    pub bytes: &'a [u8],
}

/// Rows that are decoded together: enough for four at a time, few enough for the first-level cache.
const TILE_ROWS: usize = 8;

/// Products that are worth handing to other threads, in multiplications.
const WORTH_SHARING: usize = 1 << 16;

/// `y[t][o] = sum over i of W[o][i] x[t][i]`, with x (inputs, columns) and the result (inputs, rows).
///
/// Each row of the matrix is decoded once for all inputs.
pub fn matmul(matrix: MatrixView, x: &[f32]) -> Vec<f32> {
    let inputs = x.len() / matrix.columns;
    let mut by_row = vec![0.0; matrix.rows * inputs];
    let row_bytes = matrix.bytes.len() / matrix.rows;
    let tile = |(bytes, out): (&[u8], &mut [f32])| {
        with_scratch(bytes.len() / row_bytes * matrix.columns, |decoded| {
            matrix.kind.decode(bytes, decoded);
            dot_tile(Level::best(), decoded, x, matrix.columns, out);
        });
    };
    if matrix.rows * matrix.columns * inputs < WORTH_SHARING {
        matrix.bytes.chunks(TILE_ROWS * row_bytes).zip(by_row.chunks_mut(TILE_ROWS * inputs)).for_each(tile);
    } else {
        let tiles = matrix.bytes.par_chunks(TILE_ROWS * row_bytes);
        tiles.zip(by_row.par_chunks_mut(TILE_ROWS * inputs)).for_each(tile);
    }
    if inputs == 1 { by_row } else { transpose(&by_row, matrix.rows, inputs) }
}

/// One row of a matrix, decoded.
pub fn decode_row(matrix: MatrixView, row: usize, into: &mut [f32]) {
    let row_bytes = matrix.bytes.len() / matrix.rows;
    matrix.kind.decode(&matrix.bytes[row * row_bytes..][..row_bytes], into);
}

/// (rows, columns) to (columns, rows).
fn transpose(values: &[f32], rows: usize, columns: usize) -> Vec<f32> {
    let mut out = vec![0.0; values.len()];
    out.par_chunks_mut(rows).enumerate().for_each(|(column, out)| {
        for (row, out) in out.iter_mut().enumerate() {
            *out = values[row * columns + column];
        }
    });
    out
}

/// Lends a buffer of this thread. Its content is whatever was there.
fn with_scratch(length: usize, work: impl FnOnce(&mut [f32])) {
    thread_local! {
        static SCRATCH: RefCell<Vec<f32>> = const { RefCell::new(Vec::new()) };
    }
    SCRATCH.with_borrow_mut(|scratch| {
        if scratch.len() < length {
            scratch.resize(length, 0.0);
        }
        work(&mut scratch[..length]);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_inputs_does_not_change_a_row_of_the_result() {
        let (rows, columns) = (300, 64);
        let weights: Vec<f32> = (0..rows * columns).map(|i| ((i * 37) % 101) as f32 / 50.0 - 1.0).collect();
        let bytes: &[u8] = bytemuck::cast_slice(&weights);
        let matrix = MatrixView { kind: Type::F32, rows, columns, bytes };
        let x: Vec<f32> = (0..5 * columns).map(|i| ((i * 53) % 97) as f32 / 48.0 - 1.0).collect();
        let all = matmul(matrix, &x);
        for (input, expected) in x.chunks(columns).zip(all.chunks(rows)) {
            assert_eq!(matmul(matrix, input), expected);
        }
    }
}

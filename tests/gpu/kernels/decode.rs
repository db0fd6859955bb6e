//! Decoders of all quantisation types, bit for bit those of the CPU.

use crate::matrices::Matrix;
use crate::support::{Values, launcher, run};
use redlite::backend::gpu::kernels::{EMBED, codebook};
use redlite::backend::gpu::launcher::Launcher;
use redlite::quant::Type;

/// Rows of a matrix, of which the piece from `first_row` on is bound.
fn embed(launcher: &mut Launcher, matrix: &Matrix, first_row: u32, ids: &[u32]) -> Vec<f32> {
    let codebook = codebook();
    let inputs: [&[u8]; 3] = [bytemuck::cast_slice(&codebook), &matrix.bytes, bytemuck::cast_slice(ids)];
    let (rows, size) = (ids.len() as u32, matrix.columns as u32);
    let parameters = [rows, size, matrix.row_bytes(), first_row, matrix.rows as u32];
    run(launcher, &EMBED.variant(&[matrix.kind], &[]), &inputs, ids.len() * matrix.columns, &parameters, [rows, 1])
}

/// The bits of values, all NaNs alike.
fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| if value.is_nan() { f32::NAN } else { *value }.to_bits()).collect()
}

#[test]
fn every_type_decodes_on_the_device_to_the_bits_of_the_cpu_decoder() {
    let Some(mut launcher) = launcher() else { return };
    for &kind in Type::ALL {
        // One block a row, so that rows begin at every alignment that the size of the block leads to.
        let matrix = Matrix::random(kind, 9, kind.block_length().max(32), &mut Values::new(kind.info().id.into()));
        let ids: Vec<u32> = (0..9).rev().collect();
        let got = embed(&mut launcher, &matrix, 0, &ids);
        for (row, expected) in got.chunks(matrix.columns).rev().zip(matrix.decoded().chunks(matrix.columns)) {
            assert_eq!(bits(row), bits(expected), "{kind}");
        }
    }
}

#[test]
fn every_half_precision_number_decodes_to_its_value() {
    let Some(mut launcher) = launcher() else { return };
    let bytes = (0..=u16::MAX).flat_map(u16::to_le_bytes).collect();
    let matrix = Matrix { kind: Type::F16, rows: 64, columns: 1024, bytes };
    let ids: Vec<u32> = (0..64).collect();
    assert_eq!(bits(&embed(&mut launcher, &matrix, 0, &ids)), bits(&matrix.decoded()));
}

#[test]
fn rows_that_another_piece_of_the_matrix_holds_are_left_alone() {
    let Some(mut launcher) = launcher() else { return };
    let matrix = Matrix::random(Type::Q8_0, 3, 2048, &mut Values::new(1));
    let got = embed(&mut launcher, &matrix, 10, &[9, 10, 13, 12, 0, 11, u32::MAX]);
    let decoded = matrix.decoded();
    for (row, expected) in got.chunks(2048).zip([None, Some(0), None, Some(2), None, Some(1), None]) {
        match expected {
            Some(index) => assert_eq!(row, &decoded[index * 2048..][..2048]),
            None => assert!(row.iter().all(|value| value.is_nan())),
        }
    }
}

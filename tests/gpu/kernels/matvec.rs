//! Matrix products of the decode class.

use crate::matrices::{Matrix, assert_exact};
use crate::support::{Values, launcher, run};
use redlite::backend::gpu::kernels::{MATVEC, MATVEC_ROWS, Variant, codebook};
use redlite::backend::gpu::launcher::Launcher;
use redlite::quant::Type;

/// What `dense/matvec` or `dense/matmul` makes of inputs. The outputs stand in the middle of longer rows, and what is
/// beside them must be left alone.
pub fn product(launcher: &mut Launcher, variant: &Variant, matrix: &Matrix, x: &[f32], grid: [u32; 2]) -> Vec<f32> {
    let inputs = x.len() / matrix.columns;
    let (first, stride) = (3, matrix.rows + 5);
    let codebook = codebook();
    let buffers: [&[u8]; 3] = [bytemuck::cast_slice(&codebook), &matrix.bytes, bytemuck::cast_slice(x)];
    let sizes = [inputs, matrix.rows, matrix.columns].map(|size| size as u32);
    let parameters = [sizes[0], sizes[1], sizes[2], matrix.row_bytes(), first as u32, stride as u32];
    let y = run(launcher, variant, &buffers, inputs * stride, &parameters, grid);
    let rows = y.chunks(stride).flat_map(|row| {
        let (before, rest) = row.split_at(first);
        let (outputs, after) = rest.split_at(matrix.rows);
        assert!(before.iter().chain(after).all(|value| value.is_nan()), "{variant:?} wrote beside its outputs");
        outputs
    });
    rows.copied().collect()
}

fn matvec(launcher: &mut Launcher, matrix: &Matrix, x: &[f32], together: u32) -> Vec<f32> {
    let inputs = (x.len() / matrix.columns) as u32;
    let grid = [(matrix.rows as u32).div_ceil(MATVEC_ROWS), inputs.div_ceil(together)];
    product(launcher, &MATVEC.variant(&[matrix.kind], &[together]), matrix, x, grid)
}

/// Additions that a product passes through: in a thread (each 16th group of eight, four sums), the four sums, the 16
/// threads.
pub fn additions(columns: usize) -> usize {
    2 * columns.div_ceil(8 * 16) + 2 + 16
}

#[test]
fn products_with_every_type_are_exact_to_rounding_and_do_not_depend_on_neighbours() {
    let Some(mut launcher) = launcher() else { return };
    for &kind in Type::ALL {
        let mut values = Values::new(kind.info().id.into());
        let matrix = Matrix::random(kind, 70, 512, &mut values);
        let x = values.floats(5 * 512);
        let alone = matvec(&mut launcher, &matrix, &x, 1);
        assert_exact(&alone, &matrix.products(&x, additions(512)), &kind.to_string());
        assert_eq!(matvec(&mut launcher, &matrix, &x, 4), alone, "{kind}");
    }
}

#[test]
fn products_at_the_sizes_of_the_80b_model_do_not_depend_on_the_inputs_taken_together() {
    let Some(mut launcher) = launcher() else { return };
    for kind in [Type::Iq2Xxs, Type::Q4K, Type::Q6K] {
        for (rows, columns) in [(512, 2048), (131, 4096)] {
            let mut values = Values::new(columns as u64);
            let matrix = Matrix::random(kind, rows, columns, &mut values);
            let x = values.floats(9 * columns);
            let alone = matvec(&mut launcher, &matrix, &x, 1);
            assert_exact(&alone, &matrix.products(&x, additions(columns)), &format!("{kind} {rows} x {columns}"));
            for together in [2, 4, 8] {
                assert_eq!(matvec(&mut launcher, &matrix, &x, together), alone, "{kind}, {together} together");
            }
            let first = &x[..columns];
            assert_eq!(matvec(&mut launcher, &matrix, first, 8), alone[..rows], "{kind}, without neighbours");
        }
    }
}

#[test]
fn products_are_right_at_any_number_of_inputs_rows_and_columns() {
    let Some(mut launcher) = launcher() else { return };
    for (kind, rows, columns, inputs) in
        [(Type::F32, 1, 8, 1), (Type::F16, 3, 24, 2), (Type::Q8_0, 5, 32, 3), (Type::Q8_0, 66, 160, 33)]
    {
        let mut values = Values::new(rows as u64);
        let matrix = Matrix::random(kind, rows, columns, &mut values);
        let x = values.floats(inputs * columns);
        let got = matvec(&mut launcher, &matrix, &x, 4);
        assert_exact(&got, &matrix.products(&x, additions(columns)), &format!("{kind}, {rows} x {columns}"));
    }
}

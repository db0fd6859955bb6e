//! Matrix products of the ingest class.

use super::matvec::product;
use crate::matrices::{Matrix, assert_exact};
use crate::support::{Values, launcher};
use redlite::backend::gpu::kernels::{MATMUL, MATMUL_INPUTS, MATMUL_ROWS};
use redlite::backend::gpu::launcher::Launcher;
use redlite::quant::Type;

fn assert_matmul(launcher: &mut Launcher, kind: Type, rows: usize, columns: usize, inputs: usize) {
    let mut values = Values::new(inputs as u64);
    let matrix = Matrix::random(kind, rows, columns, &mut values);
    let x = values.floats(inputs * columns);
    let grid = [(rows as u32).div_ceil(MATMUL_ROWS), (inputs as u32).div_ceil(MATMUL_INPUTS)];
    let got = product(launcher, &MATMUL.variant(&[kind], &[]), &matrix, &x, grid);
    // One chain of additions along the columns.
    assert_exact(&got, &matrix.products(&x, columns), &format!("{kind}, {rows} x {columns}, {inputs} inputs"));
}

#[test]
fn products_with_every_type_are_exact_to_rounding() {
    let Some(mut launcher) = launcher() else { return };
    for &kind in Type::ALL {
        assert_matmul(&mut launcher, kind, 70, 512, 5);
    }
}

#[test]
fn products_are_right_at_any_number_of_inputs_rows_and_columns() {
    let Some(mut launcher) = launcher() else { return };
    for (rows, columns, inputs) in [(64, 64, 1), (1, 96, 2), (63, 32, 3), (65, 64, 31), (2, 160, 33), (130, 32, 511)] {
        assert_matmul(&mut launcher, Type::Q8_0, rows, columns, inputs);
    }
    assert_matmul(&mut launcher, Type::F32, 3, 8, 3);
    assert_matmul(&mut launcher, Type::BF16, 3, 24, 3);
}

#[test]
fn products_at_the_sizes_of_the_80b_model_are_exact_to_rounding() {
    let Some(mut launcher) = launcher() else { return };
    for kind in [Type::Iq2Xxs, Type::Q4K, Type::Q6K] {
        assert_matmul(&mut launcher, kind, 512, 2048, 33);
        assert_matmul(&mut launcher, kind, 130, 4096, 5);
    }
}

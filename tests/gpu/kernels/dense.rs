//! The residual stream and whole rows.

use super::bindings::{Bindings, bits, poison};
use crate::support::{Values, assert_close, launcher, run};
use bytemuck::cast_slice as bytes;
use redlite::backend::gpu::kernels::{CONCAT, GATHER, RESIDUAL_NORM, SWIGLU, SWIGLU_VALUES};
use redlite::backend::reference::operations::elementwise::{add, silu, swiglu};
use redlite::backend::reference::operations::norm::rms_norm;

#[test]
fn residual_norm_adds_and_normalises_the_sum() {
    let Some(mut launcher) = launcher() else { return };
    for (rows, size) in [(1, 2048), (2, 256), (3, 100), (31, 64), (33, 64), (511, 32)] {
        let mut values = Values::new(rows as u64);
        let (mut x, y, weight) = (values.floats(rows * size), values.floats(rows * size), values.floats(size));
        let epsilon = 1e-6f32;
        let h = poison(rows * size);
        let contents: [&[u8]; 4] = [bytes(&x), bytes(&y), bytes(&weight), bytes(&h)];
        let bindings = Bindings::new(&mut launcher, &contents);
        let parameters = [rows as u32, size as u32, epsilon.to_bits()];
        bindings.launch(&mut launcher, &RESIDUAL_NORM.variant(&[], &[]), &parameters, [rows as u32, 1]);
        add(&mut x, &y);
        assert_eq!(bits(&bindings.read::<f32>(&mut launcher, 0)), bits(&x), "{rows} rows of {size}: the sum");
        // 16 additions of squares (1e-6, halved by the root), a root and a division of a few units in the last place
        // (0.6e-6), of values of at most 3.
        let h = bindings.read::<f32>(&mut launcher, 3);
        assert_close(&h, &rms_norm(&x, &weight, epsilon), 4e-6, &format!("{rows} rows of {size}"));
    }
}

#[test]
fn swiglu_agrees_with_the_reference_and_overflows_nowhere() {
    let Some(mut launcher) = launcher() else { return };
    for count in [1, 512, 1023, 1025, 33 * 512] {
        let mut values = Values::new(count as u64);
        let up = values.floats(count);
        let mut gate: Vec<f32> = values.floats(count).iter().map(|x| 8.0 * x).collect();
        let bindings = Bindings::new(&mut launcher, &[bytes(&gate), bytes(&up)]);
        let groups = (count as u32).div_ceil(SWIGLU_VALUES);
        bindings.launch(&mut launcher, &SWIGLU.variant(&[], &[]), &[count as u32], [groups, 1]);
        swiglu(&mut gate, &up);
        // The sigmoid is good to 4 units in the last place (exp's 3 + 2 |x| weigh little where |x| is large), times 8.
        assert_close(&bindings.read::<f32>(&mut launcher, 0), &gate, 4e-6, &format!("{count} values"));
    }
    let gate = [1000.0f32, -1000.0, 1e30, -1e30, 0.0];
    let bindings = Bindings::new(&mut launcher, &[bytes(&gate), bytes(&[1.0f32; 5])]);
    bindings.launch(&mut launcher, &SWIGLU.variant(&[], &[]), &[5], [1, 1]);
    assert_eq!(bindings.read::<f32>(&mut launcher, 0), gate.map(silu));
}

#[test]
fn gather_copies_the_rows_of_these_numbers() {
    let Some(mut launcher) = launcher() else { return };
    for (rows, size) in [(1, 2048), (3, 100), (33, 7)] {
        let mut values = Values::new(size as u64);
        let x = values.floats(50 * size);
        let index: Vec<u32> = (0..rows).map(|row| (row * 37 + 11) as u32 % 50).collect();
        let parameters = [rows as u32, size as u32];
        let inputs: [&[u8]; 2] = [bytes(&x), bytes(&index)];
        let got = run(&mut launcher, &GATHER.variant(&[], &[]), &inputs, rows * size, &parameters, [rows as u32, 1]);
        let expected: Vec<f32> = index.iter().flat_map(|i| &x[*i as usize * size..][..size]).copied().collect();
        assert_eq!(got, expected, "{rows} rows of {size}");
    }
}

#[test]
fn concat_puts_rows_side_by_side() {
    let Some(mut launcher) = launcher() else { return };
    for (rows, size) in [(1, 2048), (3, 100), (33, 7)] {
        let mut values = Values::new(size as u64);
        let (a, b) = (values.floats(rows * size), values.floats(rows * size));
        let inputs: [&[u8]; 2] = [bytes(&a), bytes(&b)];
        let parameters = [rows as u32, size as u32];
        let variant = CONCAT.variant(&[], &[]);
        let got = run(&mut launcher, &variant, &inputs, 2 * rows * size, &parameters, [rows as u32, 1]);
        let expected: Vec<f32> = a.chunks(size).zip(b.chunks(size)).flat_map(|(a, b)| [a, b].concat()).collect();
        assert_eq!(got, expected, "{rows} rows of {size}");
    }
}

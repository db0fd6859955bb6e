//! RMSNorm.

use crate::support::{Values, assert_close, launcher, run};
use redlite::backend::gpu::kernels::NORM;
use redlite::backend::reference::operations::norm::rms_norm;

#[test]
fn rms_norm_agrees_with_the_reference_at_all_row_counts_and_sizes() {
    let Some(mut launcher) = launcher() else { return };
    for (rows, size) in [(1, 2048), (2, 256), (3, 100), (33, 64), (511, 32)] {
        let mut values = Values::new(rows as u64);
        let (x, weight) = (values.floats(rows * size), values.floats(size));
        let epsilon = 1e-6f32;
        let inputs: [&[u8]; 2] = [bytemuck::cast_slice(&x), bytemuck::cast_slice(&weight)];
        let parameters = [rows as u32, size as u32, epsilon.to_bits()];
        let got = run(&mut launcher, &NORM.variant(&[], &[]), &inputs, rows * size, &parameters, [rows as u32, 1]);
        // Values are at most a few units large; the sum of squares and its root are good to about 1e-6 of that.
        assert_close(&got, &rms_norm(&x, &weight, epsilon), 4e-6, &format!("{rows} rows of {size}"));
    }
}

//! Dot products in one fixed order: 16 partial sums, value `i` to sum `i % 16`, then halves onto halves.

use crate::quant::simd::simd_dispatch;

const LANES: usize = 16;

simd_dispatch! {
    /// `out[r][t] = sum over i of rows[r][i] x[t][i]` for a few decoded rows, (rows, columns), and all inputs,
    /// (inputs, columns).
    pub fn dot_tile(rows: &[f32], x: &[f32], columns: usize, out: &mut [f32]) {
        let inputs = x.len() / columns;
        let mut quads = rows.chunks_exact(4 * columns);
        let mut outs = out.chunks_exact_mut(4 * inputs);
        for (quad, out) in quads.by_ref().zip(outs.by_ref()) {
            let (top, bottom) = quad.split_at(2 * columns);
            let ((a, b), (c, d)) = (top.split_at(columns), bottom.split_at(columns));
            for (t, x) in x.chunks_exact(columns).enumerate() {
                let sums = dots([a, b, c, d], x);
                for r in 0..4 {
                    out[r * inputs + t] = sums[r];
                }
            }
        }
        for (row, out) in quads.remainder().chunks_exact(columns).zip(outs.into_remainder().chunks_exact_mut(inputs)) {
            for (x, out) in x.chunks_exact(columns).zip(out) {
                *out = dots([row], x)[0];
            }
        }
    }
}

/// Dot products of several rows with one input; more rows at once hide the latency of the additions.
#[inline(always)]
pub(super) fn dots<const R: usize>(rows: [&[f32]; R], x: &[f32]) -> [f32; R] {
    let mut sums = [[0f32; LANES]; R];
    let (x_chunks, x_tail) = x.as_chunks::<LANES>();
    let chunks = rows.map(|row| row.as_chunks::<LANES>().0);
    for (i, x) in x_chunks.iter().enumerate() {
        for r in 0..R {
            let w = &chunks[r][i];
            for lane in 0..LANES {
                sums[r][lane] += w[lane] * x[lane];
            }
        }
    }
    for r in 0..R {
        for (lane, x) in x_tail.iter().enumerate() {
            sums[r][lane] += rows[r][x_chunks.len() * LANES + lane] * x;
        }
    }
    sums.map(halve)
}

/// The sum of all lanes, halves onto halves.
#[inline(always)]
fn halve(mut sums: [f32; LANES]) -> f32 {
    let mut width = LANES / 2;
    while width > 0 {
        for lane in 0..width {
            sums[lane] += sums[lane + width];
        }
        width /= 2;
    }
    sums[0]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quant::simd::Level;

    fn values(seed: u32, count: usize) -> Vec<f32> {
        (0..count as u32).map(|i| ((i.wrapping_mul(2_654_435_761) ^ seed) % 2001) as f32 / 1000.0 - 1.0).collect()
    }

    #[test]
    fn a_dot_product_is_exact_to_rounding_at_any_length() {
        for length in [0, 1, 15, 16, 17, 255, 256, 1000] {
            let (a, b) = (values(1, length), values(2, length));
            let exact: f64 = a.iter().zip(&b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
            // Each of at most length / 16 + 4 additions rounds a partial sum that is at most `length` large.
            let bound = f64::from(f32::EPSILON) * (length as f64 / 16.0 + 5.0) * length as f64;
            let result = f64::from(dots([&a], &b)[0]);
            assert!((result - exact).abs() <= bound, "length {length}: {result} for {exact}");
        }
    }

    #[test]
    fn a_tile_gives_the_bits_of_single_products_on_every_instruction_set() {
        for (rows, inputs, columns) in [(1, 1, 7), (4, 3, 64), (7, 2, 40), (9, 5, 256)] {
            let (w, x) = (values(3, rows * columns), values(4, inputs * columns));
            for level in Level::available() {
                let mut out = vec![f32::NAN; rows * inputs];
                dot_tile(*level, &w, &x, columns, &mut out);
                for r in 0..rows {
                    for t in 0..inputs {
                        let single = dots([&w[r * columns..][..columns]], &x[t * columns..][..columns])[0];
                        assert_eq!(out[r * inputs + t].to_bits(), single.to_bits());
                    }
                }
            }
        }
    }
}

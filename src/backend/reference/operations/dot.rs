//! Dot products in one fixed order: 16 partial sums, value `i` to sum `i % 16`, then halves onto halves.

use crate::quant::simd::simd_dispatch;

const LANES: usize = 16;
type Sums = [f32; LANES];

/// Inputs whose partial sums are kept before they are added up.
const WAITING: usize = 8;

simd_dispatch! {
    /// `out[r][t] = sum over i of rows[r][i] x[t][i]` for a few decoded rows, (rows, columns), and all inputs,
    /// (inputs, columns).
    pub fn dot_tile(rows: &[f32], x: &[f32], columns: usize, out: &mut [f32]) {
        let inputs = x.len() / columns;
        // Two loops, and not one that adds up each product's partial sums: the compiler would choose its vectors for
        // the few additions at the end, not for the many before.
        let mut waiting = [[[0.0; LANES]; 4]; WAITING];
        let mut quads = rows.chunks_exact(4 * columns);
        let mut outs = out.chunks_exact_mut(4 * inputs);
        for (quad, out) in quads.by_ref().zip(outs.by_ref()) {
            let (top, bottom) = quad.split_at(2 * columns);
            let ((a, b), (c, d)) = (top.split_at(columns), bottom.split_at(columns));
            for (first, x) in (0..).step_by(WAITING).zip(x.chunks(WAITING * columns)) {
                for (x, sums) in x.chunks_exact(columns).zip(&mut waiting) {
                    *sums = partial_sums([a, b, c, d], x);
                }
                for (t, sums) in (first..inputs).zip(&waiting) {
                    for r in 0..4 {
                        out[r * inputs + t] = add_up(&sums[r]);
                    }
                }
            }
        }
        for (row, out) in quads.remainder().chunks_exact(columns).zip(outs.into_remainder().chunks_exact_mut(inputs)) {
            for (x, out) in x.chunks_exact(columns).zip(out) {
                *out = dot(row, x);
            }
        }
    }
}

/// `sum over i of a[i] b[i]`.
#[inline(always)]
pub(super) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let (a, b) = (a.as_chunks(), b.as_chunks());
    let mut sums = [0.0; LANES];
    for (a, b) in a.0.iter().zip(b.0) {
        multiply_add(&mut sums, a, b);
    }
    if !a.1.is_empty() {
        multiply_add(&mut sums, &padded(a.1), &padded(b.1));
    }
    total(&sums)
}

/// Partial sums of four rows' dot products with one input: four chains of additions hide each other's latency.
#[inline(always)]
fn partial_sums(rows: [&[f32]; 4], x: &[f32]) -> [Sums; 4] {
    let x = x.as_chunks();
    let [a, b, c, d] = rows.map(|row| row.as_chunks());
    // Four variables and not an array, which the compiler would keep in memory.
    let (mut sum_a, mut sum_b, mut sum_c, mut sum_d) = ([0.0; LANES], [0.0; LANES], [0.0; LANES], [0.0; LANES]);
    for ((((a, b), c), d), x) in a.0.iter().zip(b.0).zip(c.0).zip(d.0).zip(x.0) {
        multiply_add(&mut sum_a, a, x);
        multiply_add(&mut sum_b, b, x);
        multiply_add(&mut sum_c, c, x);
        multiply_add(&mut sum_d, d, x);
    }
    if !x.1.is_empty() {
        let x = padded(x.1);
        multiply_add(&mut sum_a, &padded(a.1), &x);
        multiply_add(&mut sum_b, &padded(b.1), &x);
        multiply_add(&mut sum_c, &padded(c.1), &x);
        multiply_add(&mut sum_d, &padded(d.1), &x);
    }
    [sum_a, sum_b, sum_c, sum_d]
}

#[inline(always)]
fn multiply_add(sums: &mut Sums, a: &Sums, b: &Sums) {
    for lane in 0..LANES {
        sums[lane] += a[lane] * b[lane];
    }
}

#[inline(always)]
fn padded(tail: &[f32]) -> Sums {
    let mut padded = [0.0; LANES];
    padded[..tail.len()].copy_from_slice(tail);
    padded
}

/// [`add_up`], kept out of line: right after a loop its shape makes the compiler choose vectors of four for that, too.
#[inline(never)]
fn total(sums: &Sums) -> f32 {
    add_up(sums)
}

/// The sum of all lanes, halves onto halves.
#[inline(always)]
fn add_up(sums: &Sums) -> f32 {
    let eight: [f32; 8] = std::array::from_fn(|lane| sums[lane] + sums[lane + 8]);
    let four: [f32; 4] = std::array::from_fn(|lane| eight[lane] + eight[lane + 4]);
    (four[0] + four[2]) + (four[1] + four[3])
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
            let result = f64::from(dot(&a, &b));
            assert!((result - exact).abs() <= bound, "length {length}: {result} for {exact}");
        }
    }

    #[test]
    fn a_tile_gives_the_bits_of_single_products_on_every_instruction_set() {
        for (rows, inputs, columns) in [(1, 1, 7), (4, 3, 64), (7, 2, 40), (9, 5, 256), (5, 16, 48), (4, 39, 33)] {
            let (w, x) = (values(3, rows * columns), values(4, inputs * columns));
            for level in Level::available() {
                let mut out = vec![f32::NAN; rows * inputs];
                dot_tile(*level, &w, &x, columns, &mut out);
                for r in 0..rows {
                    for t in 0..inputs {
                        let single = dot(&w[r * columns..][..columns], &x[t * columns..][..columns]);
                        assert_eq!(out[r * inputs + t].to_bits(), single.to_bits());
                    }
                }
            }
        }
    }
}

//! Normalisation.

/// RMSNorm of rows of `weight.len()` values: `y[i] = x[i] / sqrt(mean of x^2 + epsilon) weight[i]` (arXiv 1910.07467).
/// The mean is taken in `f64`.
pub fn rms_norm(x: &[f32], weight: &[f32], epsilon: f32) -> Vec<f32> {
    let mut y = x.to_vec();
    rms_norm_in_place(&mut y, weight, epsilon);
    y
}

/// [`rms_norm`] in place.
pub fn rms_norm_in_place(x: &mut [f32], weight: &[f32], epsilon: f32) {
    for row in x.chunks_exact_mut(weight.len()) {
        let mean = square_sum(row) / row.len() as f64;
        let scale = (1.0 / (mean + f64::from(epsilon)).sqrt()) as f32;
        for (x, weight) in row.iter_mut().zip(weight) {
            *x = *x * scale * weight;
        }
    }
}

/// L2 norm of one head: `y[i] = x[i] / sqrt(sum of x^2 + epsilon)`.
pub fn l2_norm_in_place(x: &mut [f32], epsilon: f32) {
    let scale = (1.0 / (square_sum(x) + f64::from(epsilon)).sqrt()) as f32;
    for x in x {
        *x *= scale;
    }
}

/// The sum of squares in `f64`, in eight partial sums.
fn square_sum(x: &[f32]) -> f64 {
    let mut sums = [0f64; 8];
    let (chunks, tail) = x.as_chunks::<8>();
    for chunk in chunks {
        for (sum, x) in sums.iter_mut().zip(chunk) {
            *sum += f64::from(*x) * f64::from(*x);
        }
    }
    sums.iter().sum::<f64>() + tail.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rms_norm_gives_a_root_mean_square_of_one_times_the_weight() {
        let y = rms_norm(&[3.0, -4.0, 3.0, -4.0], &[1.0, 1.0, 2.0, 2.0], 0.0);
        let scale = 12.5f32.sqrt();
        for (y, expected) in y.iter().zip([3.0 / scale, -4.0 / scale, 6.0 / scale, -8.0 / scale]) {
            approx::assert_relative_eq!(*y, expected, max_relative = 1e-6);
        }
    }

    #[test]
    fn a_row_of_zeros_stays_zero() {
        let mut x = [0.0; 32];
        l2_norm_in_place(&mut x, 1e-6);
        assert_eq!(x, [0.0; 32]);
        assert_eq!(rms_norm(&x, &[1.0; 32], 1e-6), [0.0; 32]);
    }
}

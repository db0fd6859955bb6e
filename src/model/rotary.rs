//! Rotary position embedding: the angles, always computed here in `f64` and handed to every backend, because a
//! GPU's own sine and cosine are not accurate at 100,000 radians.

use std::f64::consts::PI;

/// How positions beyond the trained context are squeezed into it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RotaryScaling {
    /// Not at all.
    None,
    /// Every angle is divided by `factor`.
    Linear {
        /// Extended context over trained context.
        factor: f64,
    },
    /// YaRN (arXiv 2309.00071): fast dimensions keep their angle, slow ones are divided by `factor`, with a ramp
    /// between; attention is sharpened by `attention_factor (1 + 0.1 ln factor)`.
    Yarn {
        /// Extended context over trained context.
        factor: f64,
        /// The trained context in tokens.
        original_context: u32,
        /// A further multiplier of cosine and sine.
        attention_factor: f64,
    },
}

/// Angles for the first `dimensions` values of a head, paired half against half (value `j` turns with value
/// `j + dimensions / 2`).
#[derive(Clone, Debug)]
pub struct Rotary {
    frequencies: Vec<f64>,
    magnitude: f64,
}

impl Rotary {
    /// Angles of `dimensions` values (even) with the given base frequency.
    pub fn new(dimensions: usize, base: f64, scaling: RotaryScaling) -> Rotary {
        let n = dimensions as f64;
        let frequency = |j: usize| base.powf(-2.0 * j as f64 / n);
        let half = dimensions / 2;
        let (frequencies, magnitude) = match scaling {
            RotaryScaling::None => ((0..half).map(frequency).collect(), 1.0),
            RotaryScaling::Linear { factor } => ((0..half).map(|j| frequency(j) / factor).collect(), 1.0),
            RotaryScaling::Yarn { factor, original_context, attention_factor } => {
                // The dimension that turns `turns` times over the trained context.
                let correction =
                    |turns: f64| n * (f64::from(original_context) / (turns * 2.0 * PI)).ln() / (2.0 * base.ln());
                let low = correction(32.0).floor().max(0.0);
                let high = correction(1.0).ceil().min(n - 1.0);
                let blend = |j: usize| {
                    let keep = 1.0 - ((j as f64 - low) / (high - low).max(0.001)).clamp(0.0, 1.0);
                    frequency(j) / factor * (1.0 - keep) + frequency(j) * keep
                };
                ((0..half).map(blend).collect(), attention_factor * (1.0 + 0.1 * factor.ln()))
            }
        };
        Rotary { frequencies, magnitude }
    }

    /// How many values of a head are turned.
    pub fn dimensions(&self) -> usize {
        2 * self.frequencies.len()
    }

    /// Appends the cosines of `position`, then the sines, `dimensions / 2` of each.
    pub fn append(&self, position: u32, cosines: &mut Vec<f32>, sines: &mut Vec<f32>) {
        for frequency in &self.frequencies {
            let (sine, cosine) = (f64::from(position) * frequency).sin_cos();
            cosines.push((self.magnitude * cosine) as f32);
            sines.push((self.magnitude * sine) as f32);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn angles(rotary: &Rotary, position: u32) -> (Vec<f32>, Vec<f32>) {
        let (mut cosines, mut sines) = (Vec::new(), Vec::new());
        rotary.append(position, &mut cosines, &mut sines);
        (cosines, sines)
    }

    #[test]
    fn the_first_pair_turns_one_radian_a_position() {
        let (cosines, sines) = angles(&Rotary::new(64, 1e7, RotaryScaling::None), 100_000);
        assert_eq!(cosines[0], 100_000f64.cos() as f32);
        assert_eq!(sines[0], 100_000f64.sin() as f32);
        assert_eq!(cosines.len(), 32);
    }

    #[test]
    fn linear_scaling_divides_every_angle() {
        let plain = angles(&Rotary::new(64, 1e4, RotaryScaling::None), 25);
        let scaled = angles(&Rotary::new(64, 1e4, RotaryScaling::Linear { factor: 4.0 }), 100);
        for (a, b) in plain.0.iter().zip(&scaled.0) {
            approx::assert_abs_diff_eq!(a, b, epsilon = 1e-6);
        }
    }

    #[test]
    fn yarn_keeps_fast_pairs_divides_slow_ones_and_sharpens() {
        let scaling = RotaryScaling::Yarn { factor: 4.0, original_context: 32_768, attention_factor: 1.0 };
        let magnitude = 1.0 + 0.1 * 4f64.ln();
        let (cosines, _) = angles(&Rotary::new(64, 1e7, scaling), 7);
        approx::assert_abs_diff_eq!(f64::from(cosines[0]), magnitude * 7f64.cos(), epsilon = 1e-6);
        let slowest = 1e7f64.powf(-62.0 / 64.0) / 4.0;
        approx::assert_abs_diff_eq!(f64::from(cosines[31]), magnitude * (7.0 * slowest).cos(), epsilon = 1e-6);
    }
}

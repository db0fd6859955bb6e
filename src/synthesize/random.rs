//! Random bytes and values: of a seed and a label, the same on every machine and for every number of threads.

use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// How values are spread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Distribution {
    /// About normal.
    Bell { mean: f32, deviation: f32 },
    /// Uniform.
    Uniform { low: f32, high: f32 },
}

/// The random numbers of one part of one thing.
pub(super) fn generator(seed: u64, label: &str, part: u64) -> ChaCha8Rng {
    // FNV-1a: what has another label or is another part has another stream.
    let bytes = label.bytes().chain(part.to_le_bytes());
    let stream = bytes
        .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    let mut generator = ChaCha8Rng::seed_from_u64(seed);
    generator.set_stream(stream);
    generator
}

impl Distribution {
    /// Draws one value.
    pub(super) fn draw(self, random: &mut ChaCha8Rng) -> f32 {
        match self {
            // The sum of four uniform numbers is close to normal, and exact arithmetic: no function of a system's
            // library, of which each has its own last bit.
            Distribution::Bell { mean, deviation } => {
                let bits = random.next_u64();
                let sum: u32 = (0..4).map(|part| (bits >> (16 * part)) as u32 & 0xffff).sum();
                // Four times the variance of a uniform number of 16 bits is 65,536 squared over 3.
                let unit = (sum as f32 - 131_070.0) / 37_837.23;
                mean + deviation * unit
            }
            Distribution::Uniform { low, high } => {
                let unit = (random.next_u32() >> 8) as f32 / (1 << 24) as f32;
                low + (high - low) * unit
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_the_mean_and_the_deviation_that_were_asked_for() {
        let mut random = generator(1, "test", 0);
        let bell = Distribution::Bell { mean: 2.0, deviation: 0.5 };
        let values: Vec<f64> = (0..100_000).map(|_| f64::from(bell.draw(&mut random))).collect();
        let mean = values.iter().sum::<f64>() / 1e5;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 1e5;
        approx::assert_abs_diff_eq!(mean, 2.0, epsilon = 0.01);
        approx::assert_abs_diff_eq!(variance.sqrt(), 0.5, epsilon = 0.01);
        let uniform = Distribution::Uniform { low: -8.0, high: -0.5 };
        assert!((0..1000).map(|_| uniform.draw(&mut random)).all(|value| (-8.0..-0.5).contains(&value)));
    }

    #[test]
    fn another_seed_label_or_part_gives_other_numbers() {
        let first = |seed, label, part| generator(seed, label, part).next_u64();
        assert_eq!(first(1, "a", 0), first(1, "a", 0));
        let all = [first(1, "a", 0), first(2, "a", 0), first(1, "b", 0), first(1, "a", 1)];
        assert!((0..4).all(|i| (0..i).all(|j| all[i] != all[j])), "{all:x?}");
    }
}

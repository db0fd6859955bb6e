//! How fast an engine takes in a prompt and makes tokens.

use crate::engine::Engine;
use crate::error::{Error, Result};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::time::{Duration, Instant};

/// What an engine is given to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workload {
    /// Tokens that are taken in at once.
    pub prompt: Vec<u32>,
    /// Tokens that follow one by one.
    pub decode: Vec<u32>,
}

/// What one run took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Taking in the prompt, to the logits of its last position.
    pub prefill: Duration,
    /// All steps, each to its logits.
    pub decode: Duration,
}

/// Several values of one quantity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The middle one, or the mean of the two in the middle.
    pub median: f64,
    /// The least.
    pub min: f64,
    /// The largest.
    pub max: f64,
}

impl Workload {
    /// Token ids at random, the same for the same seed.
    pub fn random(vocabulary: usize, prompt: usize, decode: usize, seed: u64) -> Workload {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut ids = |count| (0..count).map(|_| random.random_range(0..vocabulary as u32)).collect();
        Workload { prompt: ids(prompt), decode: ids(decode) }
    }

    /// Tokens of the session it needs.
    pub fn context(&self) -> usize {
        self.prompt.len() + self.decode.len()
    }

    /// Does the work once, in a session of its own. Reading the logits through is not in the times.
    ///
    /// # Errors
    /// The engine failed, or [`Error::NotANumber`]: a logit is NaN or infinite, so that the times are of something else.
    pub fn run(&self, engine: &mut Engine) -> Result<Run> {
        let mut session = engine.open(self.context() as u32)?;
        let mut run = Run { prefill: Duration::ZERO, decode: Duration::ZERO };
        if !self.prompt.is_empty() {
            let start = Instant::now();
            let logits = engine.ingest(&mut session, &self.prompt, &mut |_| true)?;
            run.prefill = start.elapsed();
            check(&logits)?;
        }
        for token in &self.decode {
            let start = Instant::now();
            let logits = engine.step(&mut session, *token)?;
            run.decode += start.elapsed();
            check(&logits)?;
        }
        engine.close(session);
        Ok(run)
    }
}

impl Spread {
    /// The spread of some values; of none it is not a number.
    pub fn of(values: &[f64]) -> Spread {
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let at = |index: usize| sorted.get(index).copied().unwrap_or(f64::NAN);
        let last = sorted.len().saturating_sub(1);
        Spread { median: (at(last / 2) + at(last.div_ceil(2))) / 2.0, min: at(0), max: at(last) }
    }
}

fn check(logits: &[f32]) -> Result<()> {
    if logits.iter().all(|logit| logit.is_finite()) { Ok(()) } else { Err(Error::NotANumber) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_is_the_middle_and_both_ends() {
        assert_eq!(Spread::of(&[3.0, 1.0, 2.0]), Spread { median: 2.0, min: 1.0, max: 3.0 });
        assert_eq!(Spread::of(&[4.0, 1.0, 2.0, 8.0]), Spread { median: 3.0, min: 1.0, max: 8.0 });
        assert_eq!(Spread::of(&[5.0]), Spread { median: 5.0, min: 5.0, max: 5.0 });
        assert!(Spread::of(&[]).median.is_nan());
    }

    #[test]
    fn a_seed_decides_the_tokens() {
        let tokens = |seed| Workload::random(100, 50, 20, seed);
        assert_eq!(tokens(1), tokens(1));
        assert_ne!(tokens(1), tokens(2));
        assert!(tokens(1).prompt.iter().chain(&tokens(1).decode).all(|id| *id < 100));
        assert_eq!(tokens(1).context(), 70);
    }
}

//! Choosing the next token.

use crate::error::{Error, RequestError, Result};
use rand::Rng;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// How to choose. The steps are taken in the order of the fields from `repeat_penalty` on; the defaults are
/// llama.cpp's.
#[derive(Clone, Debug, PartialEq)]
pub struct SamplingOptions {
    /// Divides the logits; 0 chooses the likeliest token (after the penalties), with no chance in it.
    pub temperature: f32,
    /// Divides the logits of recent tokens where positive, multiplies them where negative; 1 is off.
    pub repeat_penalty: f32,
    /// Is taken off the logit of a recent token once.
    pub presence_penalty: f32,
    /// Is taken off the logit of a recent token for each time it occurs.
    pub frequency_penalty: f32,
    /// How many tokens are recent.
    pub penalty_window: usize,
    /// Keeps this many of the likeliest tokens; 0 keeps all.
    pub top_k: usize,
    /// Keeps the likeliest tokens that together have at least this probability; 1 keeps all.
    pub top_p: f32,
    /// Keeps the tokens with at least this fraction of the likeliest one's probability; 0 keeps all.
    pub min_p: f32,
    /// The same seed gives the same choices.
    pub seed: u64,
}

impl Default for SamplingOptions {
    fn default() -> SamplingOptions {
        SamplingOptions {
            temperature: 0.8,
            repeat_penalty: 1.0,
            presence_penalty: 0.0,
            frequency_penalty: 0.0,
            penalty_window: 64,
            top_k: 40,
            top_p: 0.95,
            min_p: 0.05,
            seed: 0,
        }
    }
}

impl SamplingOptions {
    /// # Errors
    /// The first option that is out of range, by its command-line name.
    pub fn check(&self) -> Result<()> {
        match self.out_of_range() {
            None => Ok(()),
            Some(OutOfRange { name, found, expected }) => {
                let (name, found, expected) = (name.to_owned(), found.to_string(), expected.to_owned());
                Err(RequestError::BadOption { name, found, expected }.into())
            }
        }
    }

    /// The first option that is out of range.
    pub fn out_of_range(&self) -> Option<OutOfRange> {
        let bad = |name, found, expected| Some(OutOfRange { name, found, expected });
        let finite = |value: f32| value.is_finite();
        if !(finite(self.temperature) && self.temperature >= 0.0) {
            bad("temp", self.temperature, "0 or more")
        } else if !(finite(self.repeat_penalty) && self.repeat_penalty > 0.0) {
            bad("repeat-penalty", self.repeat_penalty, "a number above 0")
        } else if !finite(self.presence_penalty) {
            bad("presence-penalty", self.presence_penalty, "a number")
        } else if !finite(self.frequency_penalty) {
            bad("frequency-penalty", self.frequency_penalty, "a number")
        } else if !(self.top_p > 0.0 && self.top_p <= 1.0) {
            bad("top-p", self.top_p, "a number above 0, at most 1")
        } else if !(0.0..=1.0).contains(&self.min_p) {
            bad("min-p", self.min_p, "a number from 0 to 1")
        } else {
            None
        }
    }

    /// The same without penalties.
    pub fn without_penalties(self) -> SamplingOptions {
        SamplingOptions { repeat_penalty: 1.0, presence_penalty: 0.0, frequency_penalty: 0.0, ..self }
    }
}

/// An option out of its range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OutOfRange {
    /// Its command-line name, without the dashes.
    pub name: &'static str,
    /// Its value.
    pub found: f32,
    /// What it can be.
    pub expected: &'static str,
}

/// Chooses tokens one after another.
pub struct Sampler {
    options: SamplingOptions,
    random: ChaCha8Rng,
}

/// A token and its logit.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    token: u32,
    logit: f32,
}

impl Sampler {
    /// A sampler at the start of its seed's choices.
    ///
    /// # Errors
    /// An option is out of range.
    pub fn new(options: SamplingOptions) -> Result<Sampler> {
        options.check()?;
        Ok(Sampler { random: ChaCha8Rng::seed_from_u64(options.seed), options })
    }

    /// The next token, given the logits and all tokens so far.
    ///
    /// # Errors
    /// A logit is no number.
    pub fn sample(&mut self, logits: &[f32], tokens: &[u32]) -> Result<u32> {
        if logits.iter().any(|logit| logit.is_nan()) {
            return Err(Error::NotANumber);
        }
        let options = &self.options;
        let mut candidates: Vec<Candidate> =
            (0..).zip(logits).map(|(token, logit)| Candidate { token, logit: *logit }).collect();
        penalise(&mut candidates, &tokens[tokens.len().saturating_sub(options.penalty_window)..], options);
        if options.temperature == 0.0 {
            let likeliest = candidates.iter().copied().reduce(|best, c| if c.logit > best.logit { c } else { best });
            return Ok(likeliest.map_or(0, |candidate| candidate.token));
        }
        keep_likeliest(&mut candidates, options.top_k);
        keep_probable(&mut candidates, options.top_p);
        keep_relative(&mut candidates, options.min_p);
        temper(&mut candidates, options.temperature);
        let probabilities = probabilities(&candidates);
        let mut left = self.random.random::<f64>();
        for (candidate, probability) in candidates.iter().zip(&probabilities) {
            left -= probability;
            if left < 0.0 {
                return Ok(candidate.token);
            }
        }
        // Rounding can leave a remainder behind the last token.
        Ok(candidates[candidates.len() - 1].token)
    }
}

fn penalise(candidates: &mut [Candidate], recent: &[u32], options: &SamplingOptions) {
    let mut recent = recent.to_vec();
    recent.sort_unstable();
    for same in recent.chunk_by(|a, b| a == b) {
        let Some(candidate) = candidates.get_mut(same[0] as usize) else { continue };
        if candidate.logit > 0.0 {
            candidate.logit /= options.repeat_penalty;
        } else {
            candidate.logit *= options.repeat_penalty;
        }
        candidate.logit -= options.presence_penalty + options.frequency_penalty * same.len() as f32;
        // Infinities that cancel each other leave nothing to choose.
        if candidate.logit.is_nan() {
            candidate.logit = f32::NEG_INFINITY;
        }
    }
}

/// Keeps the `count` likeliest in descending order (all where it is 0); of equal ones the lower token comes first.
fn keep_likeliest(candidates: &mut Vec<Candidate>, count: usize) {
    // Adding zero turns -0 into 0, which is equal to it.
    let order = |a: &Candidate, b: &Candidate| (b.logit + 0.0).total_cmp(&(a.logit + 0.0)).then(a.token.cmp(&b.token));
    if count > 0 && count < candidates.len() {
        candidates.select_nth_unstable_by(count - 1, order);
        candidates.truncate(count);
    }
    candidates.sort_unstable_by(order);
}

fn keep_probable(candidates: &mut Vec<Candidate>, top_p: f32) {
    if top_p >= 1.0 {
        return;
    }
    let mut sum = 0.0;
    let enough = probabilities(candidates).iter().position(|probability| {
        sum += probability;
        sum >= f64::from(top_p)
    });
    if let Some(last) = enough {
        candidates.truncate(last + 1);
    }
}

fn keep_relative(candidates: &mut Vec<Candidate>, min_p: f32) {
    let least = candidates[0].logit + min_p.ln();
    let kept = candidates.partition_point(|candidate| candidate.logit >= least);
    candidates.truncate(kept.max(1));
}

/// Divides the logits of candidates in descending order by the temperature. The largest becomes 0 before that, so that
/// the smallest temperature cannot make all of them infinite, and with it equal.
fn temper(candidates: &mut [Candidate], temperature: f32) {
    let largest = candidates[0].logit;
    for candidate in candidates {
        candidate.logit = if candidate.logit == largest { 0.0 } else { (candidate.logit - largest) / temperature };
    }
}

/// The softmax of candidates in descending order.
fn probabilities(candidates: &[Candidate]) -> Vec<f64> {
    let largest = candidates[0].logit;
    let weight = |candidate: &Candidate| {
        if candidate.logit == largest { 1.0 } else { f64::from(candidate.logit - largest).exp() }
    };
    let total: f64 = candidates.iter().map(weight).sum();
    candidates.iter().map(|candidate| weight(candidate) / total).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draws(options: SamplingOptions, logits: &[f32], count: usize) -> Vec<u32> {
        let mut sampler = Sampler::new(options).unwrap();
        (0..count).map(|_| sampler.sample(logits, &[]).unwrap()).collect()
    }

    fn plain() -> SamplingOptions {
        SamplingOptions { temperature: 1.0, top_k: 0, top_p: 1.0, min_p: 0.0, ..SamplingOptions::default() }
    }

    #[test]
    fn temperature_zero_takes_the_likeliest_and_of_equals_the_lower_id() {
        let options = SamplingOptions { temperature: 0.0, ..plain() };
        assert_eq!(draws(options, &[1.0, 3.0, 3.0, f32::NEG_INFINITY], 3), [1, 1, 1]);
    }

    #[test]
    fn the_same_seed_gives_the_same_choices_and_another_seed_others() {
        let logits: Vec<f32> = (0..50).map(|i| (i % 7) as f32 / 3.0).collect();
        let seeded = |seed| draws(SamplingOptions { seed, ..plain() }, &logits, 30);
        assert_eq!(seeded(1), seeded(1));
        assert_ne!(seeded(1), seeded(2));
    }

    #[test]
    fn tokens_are_drawn_as_often_as_their_probability_says() {
        let logits = [0.0f32, 1.0, 2.0];
        let count = 20_000;
        let drawn = draws(plain(), &logits, count);
        let total: f32 = logits.iter().map(|l| l.exp()).sum();
        for (token, logit) in (0..).zip(logits) {
            let share = drawn.iter().filter(|drawn| **drawn == token).count() as f32 / count as f32;
            // Four standard deviations of a share of 20,000 draws are below 0.015.
            approx::assert_abs_diff_eq!(share, logit.exp() / total, epsilon = 0.015);
        }
    }

    #[test]
    fn top_k_top_p_and_min_p_leave_only_what_they_name() {
        let logits = [0.0, 5.0, 4.0, 3.0, -20.0];
        let only = |options: SamplingOptions| {
            let mut tokens = draws(options, &logits, 300);
            tokens.sort_unstable();
            tokens.dedup();
            tokens
        };
        assert_eq!(only(SamplingOptions { top_k: 2, ..plain() }), [1, 2]);
        assert_eq!(only(SamplingOptions { top_p: 0.7, ..plain() }), [1, 2]);
        assert_eq!(only(SamplingOptions { top_p: 0.1, ..plain() }), [1]);
        assert_eq!(only(SamplingOptions { min_p: 0.2, ..plain() }), [1, 2]);
        assert_eq!(only(SamplingOptions { min_p: 1.0, ..plain() }), [1]);
    }

    #[test]
    fn penalties_push_recent_tokens_down() {
        let greedy = SamplingOptions { temperature: 0.0, ..plain() };
        let next = |options: SamplingOptions, tokens: &[u32]| {
            Sampler::new(options).unwrap().sample(&[2.0, 1.9, -1.0], tokens).unwrap()
        };
        assert_eq!(next(greedy.clone(), &[0]), 0);
        assert_eq!(next(SamplingOptions { repeat_penalty: 1.1, ..greedy.clone() }, &[0]), 1);
        assert_eq!(next(SamplingOptions { presence_penalty: 0.2, ..greedy.clone() }, &[0]), 1);
        assert_eq!(next(SamplingOptions { frequency_penalty: 0.06, ..greedy.clone() }, &[0]), 0);
        assert_eq!(next(SamplingOptions { frequency_penalty: 0.06, ..greedy.clone() }, &[0, 0]), 1);
        let short = SamplingOptions { repeat_penalty: 1.1, penalty_window: 1, ..greedy };
        assert_eq!(next(short, &[0, 2]), 0, "a token outside the window is not recent");
    }

    #[test]
    fn logits_that_are_no_numbers_are_an_error_and_infinities_are_not() {
        let mut sampler = Sampler::new(plain()).unwrap();
        assert!(matches!(sampler.sample(&[0.0, f32::NAN], &[]), Err(Error::NotANumber)));
        assert_eq!(sampler.sample(&[f32::NEG_INFINITY, 0.0], &[]).unwrap(), 1);
        assert_eq!(sampler.sample(&[f32::INFINITY, 0.0], &[]).unwrap(), 0);
        assert!(sampler.sample(&[f32::NEG_INFINITY; 2], &[]).is_ok());
    }

    #[test]
    fn penalties_of_any_size_leave_something_to_choose() {
        let largest = SamplingOptions { repeat_penalty: f32::MIN_POSITIVE, presence_penalty: f32::MAX, ..plain() };
        let all = SamplingOptions { frequency_penalty: f32::MAX, ..largest };
        for options in [all.clone(), SamplingOptions { temperature: 0.0, ..all }] {
            let mut sampler = Sampler::new(options).unwrap();
            let logits = [f32::INFINITY, 9.0, 8.0, 1.0];
            assert_eq!(sampler.sample(&logits, &[0, 0, 1, 1, 2, 2]).unwrap(), 3);
        }
    }

    #[test]
    fn the_smallest_temperature_takes_the_likeliest() {
        let options = SamplingOptions { temperature: 1e-38, ..plain() };
        assert_eq!(draws(options, &[20.0, 30.0, 25.0, f32::NEG_INFINITY], 50), [1; 50]);
    }

    #[test]
    fn options_out_of_range_are_refused_by_name() {
        let refused = |options: SamplingOptions| Sampler::new(options).err().unwrap().to_string();
        assert!(refused(SamplingOptions { top_p: 0.0, ..plain() }).contains("--top-p"));
        assert!(refused(SamplingOptions { temperature: f32::NAN, ..plain() }).contains("--temp"));
        assert!(refused(SamplingOptions { min_p: 1.5, ..plain() }).contains("--min-p"));
    }
}

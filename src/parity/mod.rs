//! Comparing logits with those of another program, and what a model makes of a text.
//!
//! All sums are in `f64`: the comparison must not add an error of its own to the differences it measures.

/// How one position of a candidate differs from the reference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// Whether both have the same likeliest token (the lowest id of equals).
    pub same_argmax: bool,
    /// Largest absolute difference of two logits.
    pub max_abs: f64,
    /// Kullback-Leibler divergence of the candidate from the reference, in nats: `sum p ln(p / q)`.
    pub kl: f64,
}

/// How all positions of a candidate differ from the reference.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// Positions compared.
    pub positions: usize,
    /// Positions with the same likeliest token.
    pub same_argmax: usize,
    /// Largest absolute difference of two logits.
    pub worst_max_abs: f64,
    /// Largest divergence of a position.
    pub worst_kl: f64,
    /// Mean divergence.
    pub mean_kl: f64,
}

/// The limits under which two sets of logits count as equal. What is absent is not limited.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// Of [`Summary::worst_max_abs`].
    pub max_abs: Option<f64>,
    /// Of [`Summary::mean_kl`].
    pub mean_kl: Option<f64>,
}

/// Why two arrays of logits cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Not (positions, vocabulary).
    #[error("the {which} has shape {shape:?}; expected (positions, vocabulary), neither of them 0")]
    NotLogits {
        /// `reference` or `candidate`.
        which: &'static str,
        /// Its shape.
        shape: Vec<usize>,
    },
    /// Of different shape.
    #[error("the reference has shape {reference:?} and the candidate {candidate:?}; expected the same")]
    Shapes {
        /// The reference's shape.
        reference: Vec<usize>,
        /// The candidate's shape.
        candidate: Vec<usize>,
    },
    /// NaN or infinite.
    #[error("the {which} has {found} at position {position}, token {token}; expected finite numbers")]
    NotFinite {
        /// `reference` or `candidate`.
        which: &'static str,
        /// What it has.
        found: String,
        /// The position, counted from 0 in the array.
        position: usize,
        /// The token.
        token: usize,
    },
}

/// Compares two arrays of logits, given by shape and values, position by position.
///
/// # Errors
/// See [`Error`].
pub fn compare(reference: (&[usize], &[f32]), candidate: (&[usize], &[f32])) -> Result<Vec<Difference>, Error> {
    let vocabulary = check("reference", reference)?;
    check("candidate", candidate)?;
    if reference.0 != candidate.0 {
        return Err(Error::Shapes { reference: reference.0.to_vec(), candidate: candidate.0.to_vec() });
    }
    let rows = reference.1.chunks_exact(vocabulary).zip(candidate.1.chunks_exact(vocabulary));
    Ok(rows.map(|(reference, candidate)| difference(reference, candidate)).collect())
}

/// The difference at one position. Both slices are of one length and finite.
pub fn difference(reference: &[f32], candidate: &[f32]) -> Difference {
    let (reference_total, candidate_total) = (log_sum_exp(reference), log_sum_exp(candidate));
    let (mut max_abs, mut kl) = (0f64, 0f64);
    for (r, c) in reference.iter().zip(candidate) {
        let (r, c) = (f64::from(*r), f64::from(*c));
        max_abs = max_abs.max((r - c).abs());
        let (log_p, log_q) = (r - reference_total, c - candidate_total);
        kl += log_p.exp() * (log_p - log_q);
    }
    // The divergence is never negative; rounding can make it so where both are equal.
    Difference { same_argmax: argmax(reference) == argmax(candidate), max_abs, kl: kl.max(0.0) }
}

impl Summary {
    /// Sums up the positions.
    pub fn of(differences: &[Difference]) -> Summary {
        let largest = |value: fn(&Difference) -> f64| differences.iter().map(value).fold(0.0, f64::max);
        Summary {
            positions: differences.len(),
            same_argmax: differences.iter().filter(|difference| difference.same_argmax).count(),
            worst_max_abs: largest(|difference| difference.max_abs),
            worst_kl: largest(|difference| difference.kl),
            mean_kl: differences.iter().map(|difference| difference.kl).sum::<f64>() / differences.len().max(1) as f64,
        }
    }

    /// Whether the differences stay within the limits.
    pub fn within(&self, limits: &Limits) -> bool {
        limits.max_abs.is_none_or(|limit| self.worst_max_abs <= limit)
            && limits.mean_kl.is_none_or(|limit| self.mean_kl <= limit)
    }
}

/// The likeliest token, the lowest id of equals.
pub fn argmax(logits: &[f32]) -> usize {
    let better = |best: usize, token: usize| if logits[token] > logits[best] { token } else { best };
    (0..logits.len()).reduce(better).unwrap_or(0)
}

/// `ln sum exp(logit)`.
pub fn log_sum_exp(logits: &[f32]) -> f64 {
    let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    if largest == f32::NEG_INFINITY {
        return f64::NEG_INFINITY;
    }
    let largest = f64::from(largest);
    largest + logits.iter().map(|logit| (f64::from(*logit) - largest).exp()).sum::<f64>().ln()
}

/// The natural logarithm of the probability that the logits give to a token.
pub fn log_probability(logits: &[f32], token: u32) -> f64 {
    f64::from(logits[token as usize]) - log_sum_exp(logits)
}

/// Checks one array and gives its vocabulary.
fn check(which: &'static str, (shape, values): (&[usize], &[f32])) -> Result<usize, Error> {
    let vocabulary = match *shape {
        [positions, vocabulary] if positions > 0 && vocabulary > 0 => vocabulary,
        _ => return Err(Error::NotLogits { which, shape: shape.to_vec() }),
    };
    match values.iter().position(|value| !value.is_finite()) {
        Some(index) => Err(Error::NotFinite {
            which,
            found: values[index].to_string(),
            position: index / vocabulary,
            token: index % vocabulary,
        }),
        None => Ok(vocabulary),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_logits_do_not_differ() {
        let logits = [1.0, -2.0, 30.0, 0.5];
        assert_eq!(difference(&logits, &logits), Difference { same_argmax: true, max_abs: 0.0, kl: 0.0 });
    }

    #[test]
    fn a_constant_added_to_all_logits_changes_no_probability() {
        let found = difference(&[1.0, 2.0, 3.0], &[101.0, 102.0, 103.0]);
        assert_eq!(found.max_abs, 100.0);
        assert!(found.same_argmax && found.kl < 1e-12, "{found:?}");
    }

    #[test]
    fn the_divergence_is_taken_from_the_reference() {
        // p = (1/4, 3/4), q = (1/2, 1/2).
        let found = difference(&[0.0, 3f32.ln()], &[0.0, 0.0]);
        let expected = 0.25 * 0.5f64.ln() + 0.75 * 1.5f64.ln();
        approx::assert_abs_diff_eq!(found.kl, expected, epsilon = 1e-7);
        assert!(!found.same_argmax, "of equal logits the lowest id is the likeliest");
    }

    #[test]
    fn a_summary_names_the_worst_position_and_the_mean() {
        let a = Difference { same_argmax: true, max_abs: 1e-3, kl: 1e-6 };
        let b = Difference { same_argmax: false, max_abs: 2e-3, kl: 3e-6 };
        let summary = Summary::of(&[a, b]);
        assert_eq!((summary.positions, summary.same_argmax), (2, 1));
        assert_eq!((summary.worst_max_abs, summary.worst_kl, summary.mean_kl), (2e-3, 3e-6, 2e-6));
        let limits = |max_abs, mean_kl| Limits { max_abs, mean_kl };
        assert!(summary.within(&limits(Some(2e-3), Some(2e-6))));
        assert!(!summary.within(&limits(Some(1e-3), None)));
        assert!(!summary.within(&limits(None, Some(1e-6))));
    }

    #[test]
    fn other_shapes_and_values_that_are_no_numbers_are_refused() {
        let refused = |a: (&[usize], &[f32]), b: (&[usize], &[f32])| compare(a, b).unwrap_err().to_string();
        assert!(refused((&[1, 2], &[0.0; 2]), (&[2, 1], &[0.0; 2])).contains("[1, 2] and the candidate [2, 1]"));
        assert!(refused((&[2], &[0.0; 2]), (&[2], &[0.0; 2])).contains("reference has shape [2]"));
        assert!(refused((&[0, 2], &[]), (&[0, 2], &[])).contains("expected (positions, vocabulary)"));
        let nan = refused((&[2, 2], &[0.0; 4]), (&[2, 2], &[0.0, 0.0, 0.0, f32::NAN]));
        assert!(nan.contains("candidate has NaN at position 1, token 1"), "{nan}");
        let infinite = refused((&[1, 2], &[f32::INFINITY, 0.0]), (&[1, 2], &[0.0; 2]));
        assert!(infinite.contains("reference has inf at position 0, token 0"), "{infinite}");
    }

    #[test]
    fn probabilities_sum_to_one() {
        let logits = [3.0, -1.0, 0.25, 80.0];
        let total: f64 = (0..4).map(|token| log_probability(&logits, token).exp()).sum();
        approx::assert_abs_diff_eq!(total, 1.0, epsilon = 1e-12);
    }
}

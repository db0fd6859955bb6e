//! The gated delta rule (arXiv 2412.06464), row by row.

use super::dot::dot;
use crate::quant::simd::simd_dispatch;

/// What one row gives one value head.
pub struct Inputs<'a> {
    /// Query of the head's key head, (head), of unit length.
    pub query: &'a [f32],
    /// Key of the head's key head, (head), of unit length.
    pub key: &'a [f32],
    /// Value, (head).
    pub value: &'a [f32],
    /// How much of the state stays, in [0, 1].
    pub decay: f32,
    /// How much of the difference is written, in [0, 1].
    pub beta: f32,
}

simd_dispatch! {
    /// One row of one value head. `state` is (value dimension, key dimension) and becomes
    /// `S = decay S; delta[j] = beta (v[j] - S[j] . k); S[j] += delta[j] k`; the output is
    /// `out[j] = S[j] . q / sqrt(head)`.
    pub fn step(state: &mut [f32], inputs: Inputs, out: &mut [f32]) {
        let Inputs { query, key, value, decay, beta } = inputs;
        let size = key.len();
        let scale = 1.0 / (size as f32).sqrt();
        for ((state, value), out) in state.chunks_exact_mut(size).zip(value).zip(out) {
            for s in state.iter_mut() {
                *s *= decay;
            }
            let delta = (value - dot(state, key)) * beta;
            for (s, key) in state.iter_mut().zip(key) {
                *s += delta * key;
            }
            *out = dot(state, query) * scale;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quant::simd::Level;

    /// The same rule in `f64`, from its definition.
    fn exact(rows: usize, size: usize, at: impl Fn(usize, usize, usize) -> f64, gates: &[(f64, f64)]) -> Vec<f64> {
        let mut state = vec![0.0; size * size];
        let mut out = Vec::new();
        for (t, (decay, beta)) in gates.iter().enumerate().take(rows) {
            for j in 0..size {
                let row = &mut state[j * size..][..size];
                row.iter_mut().for_each(|s| *s *= decay);
                let read: f64 = (0..size).map(|i| row[i] * at(1, t, i)).sum();
                let delta = (at(2, t, j) - read) * beta;
                (0..size).for_each(|i| row[i] += delta * at(1, t, i));
            }
            out.extend(
                (0..size)
                    .map(|j| (0..size).map(|i| state[j * size + i] * at(0, t, i)).sum::<f64>() / (size as f64).sqrt()),
            );
        }
        out
    }

    #[test]
    fn three_chunks_of_extreme_gates_stay_with_the_exact_rule() {
        let (rows, size) = (192, 32);
        // Queries and keys of unit length, as the model makes them.
        let at = |which: usize, t: usize, i: usize| {
            let x = ((which * 7919 + t * 104_729 + i * 1_299_709) % 1009) as f64 / 504.5 - 1.0;
            if which == 2 { x } else { x / (size as f64 / 3.0).sqrt() }
        };
        let gates: Vec<(f64, f64)> = (0..rows)
            .map(|t| match t % 4 {
                0 => (1e-6, 1.0),
                1 => (1.0 - 1e-6, 1e-3),
                2 => (0.9, 0.5),
                _ => (1.0, 1.0),
            })
            .map(|(decay, beta)| (f64::from(decay as f32), f64::from(beta as f32)))
            .collect();
        let expected = exact(rows, size, |w, t, i| f64::from(at(w, t, i) as f32), &gates);
        let mut state = vec![0.0; size * size];
        let mut worst = 0f64;
        for (t, (decay, beta)) in gates.iter().enumerate() {
            let row = |which: usize| (0..size).map(|i| at(which, t, i) as f32).collect::<Vec<_>>();
            let mut out = vec![0.0; size];
            let (query, key, value) = (row(0), row(1), row(2));
            let inputs = Inputs { query: &query, key: &key, value: &value, decay: *decay as f32, beta: *beta as f32 };
            step(Level::best(), &mut state, inputs, &mut out);
            for (out, expected) in out.iter().zip(&expected[t * size..]) {
                worst = worst.max((f64::from(*out) - expected).abs());
            }
        }
        // Values are at most a few units large; single precision keeps each of 192 updates to about 1e-7.
        assert!(worst < 2e-5, "worst difference {worst}");
    }
}

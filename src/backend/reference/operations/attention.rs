//! Causal attention over a KV cache, with an online softmax (arXiv 1805.02867) over its blocks.

use super::dot::dot;
use crate::quant::simd::{Level, simd_dispatch};

/// Attention of one query head over one block of keys after another.
pub struct HeadAttention {
    largest: f32,
    total: f32,
    sum: Vec<f32>,
}

impl HeadAttention {
    /// Attention that has seen no key.
    pub fn new(head_size: usize) -> HeadAttention {
        HeadAttention { largest: f32::NEG_INFINITY, total: 0.0, sum: vec![0.0; head_size] }
    }

    /// Takes in a block of keys and values, each (positions, head size): `score[p] = scale q . k[p]`.
    pub fn attend(&mut self, query: &[f32], keys: &[f32], values: &[f32], scale: f32) {
        let mut scores = vec![0.0; keys.len() / query.len()];
        score(Level::best(), query, keys, scale, &mut scores);
        let largest = scores.iter().fold(self.largest, |largest, score| largest.max(*score));
        let rescale = (self.largest - largest).exp();
        let mut total = 0.0;
        for score in &mut scores {
            *score = (*score - largest).exp();
            total += *score;
        }
        self.largest = largest;
        self.total = self.total * rescale + total;
        accumulate(Level::best(), &mut self.sum, rescale, &scores, values);
    }

    /// `softmax(scores) . values` over all that was taken in.
    pub fn finish(self, out: &mut [f32]) {
        for (out, sum) in out.iter_mut().zip(&self.sum) {
            *out = sum / self.total;
        }
    }
}

simd_dispatch! {
    /// `scores[p] = scale q . k[p]`.
    fn score(query: &[f32], keys: &[f32], scale: f32, scores: &mut [f32]) {
        for (key, score) in keys.chunks_exact(query.len()).zip(scores) {
            *score = dot(key, query) * scale;
        }
    }

    /// `sum = rescale sum + sum over p of weights[p] values[p]`.
    fn accumulate(sum: &mut [f32], rescale: f32, weights: &[f32], values: &[f32]) {
        for sum in sum.iter_mut() {
            *sum *= rescale;
        }
        for (weight, value) in weights.iter().zip(values.chunks_exact(sum.len())) {
            for (sum, value) in sum.iter_mut().zip(value) {
                *sum += weight * value;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_give_the_softmax_over_all_positions() {
        let (size, positions) = (8, 13);
        let value = |seed: usize, i: usize| ((seed + i * 31) % 17) as f32 / 4.0 - 2.0;
        let query: Vec<f32> = (0..size).map(|i| value(1, i)).collect();
        let keys: Vec<f32> = (0..size * positions).map(|i| value(2, i)).collect();
        let values: Vec<f32> = (0..size * positions).map(|i| value(3, i)).collect();
        let weights: Vec<f64> = keys
            .chunks(size)
            .map(|key| key.iter().zip(&query).map(|(k, q)| f64::from(k * q)).sum::<f64>() * 0.5)
            .map(f64::exp)
            .collect();
        let mut attention = HeadAttention::new(size);
        for (keys, values) in keys.chunks(5 * size).zip(values.chunks(5 * size)) {
            attention.attend(&query, keys, values, 0.5);
        }
        let mut out = vec![0.0; size];
        attention.finish(&mut out);
        for (i, out) in out.iter().enumerate() {
            let sum: f64 = weights.iter().zip(values.chunks(size)).map(|(w, v)| w * f64::from(v[i])).sum();
            approx::assert_abs_diff_eq!(f64::from(*out), sum / weights.iter().sum::<f64>(), epsilon = 1e-5);
        }
    }

    #[test]
    fn scores_of_any_size_do_not_overflow() {
        let mut attention = HeadAttention::new(1);
        attention.attend(&[1e4], &[1e4, -1e4], &[3.0, 5.0], 1.0);
        attention.attend(&[1e4], &[2e4], &[7.0], 1.0);
        let mut out = [0.0];
        attention.finish(&mut out);
        assert_eq!(out, [7.0]);
    }
}

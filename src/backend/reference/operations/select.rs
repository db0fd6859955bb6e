//! Which experts a token uses.

use std::cmp::Ordering;

/// The `used` experts of the highest router logits, in descending order; of equal logits the lower id comes first.
///
/// Returns ids and weights. With `p = softmax(logits)` over all experts, `weight[k] = p[k] / max(sum of the chosen p,
/// 2^-14)`. A logit that is no number counts as the lowest.
pub fn select(logits: &[f32], used: usize) -> (Vec<u32>, Vec<f32>) {
    let key = |id: u32| if logits[id as usize].is_nan() { f32::NEG_INFINITY } else { logits[id as usize] };
    let order = |a: &u32, b: &u32| key(*b).partial_cmp(&key(*a)).unwrap_or(Ordering::Equal).then(a.cmp(b));
    let mut ids: Vec<u32> = (0..logits.len() as u32).collect();
    if used < ids.len() {
        ids.select_nth_unstable_by(used - 1, order);
        ids.truncate(used);
    }
    ids.sort_unstable_by(order);
    let largest = logits[ids[0] as usize];
    let total: f32 = logits.iter().map(|logit| (logit - largest).exp()).sum();
    let mut weights: Vec<f32> = ids.iter().map(|id| (logits[*id as usize] - largest).exp() / total).collect();
    let chosen = weights.iter().sum::<f32>().max(SMALLEST_SUM);
    for weight in &mut weights {
        *weight /= chosen;
    }
    (ids, weights)
}

/// 2^-14, the smallest normal number of half precision, as llama.cpp has it.
const SMALLEST_SUM: f32 = 6.103_515_6e-5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn experts_come_in_descending_order_and_the_lower_id_wins_a_tie() {
        let (ids, weights) = select(&[0.5, 2.0, 2.0, -1.0, 2.0], 3);
        assert_eq!(ids, [1, 2, 4]);
        for weight in weights {
            approx::assert_relative_eq!(weight, 1.0 / 3.0, max_relative = 1e-6);
        }
    }

    #[test]
    fn positive_and_negative_zero_are_a_tie() {
        assert_eq!(select(&[-0.0, 0.0], 1).0, [0]);
    }

    #[test]
    fn weights_are_the_softmax_over_the_chosen() {
        let (ids, weights) = select(&[1.0, 3.0, 2.0, -50.0], 2);
        assert_eq!(ids, [1, 2]);
        approx::assert_relative_eq!(weights[0], 1.0 / (1.0 + (-1f32).exp()), max_relative = 1e-6);
        approx::assert_relative_eq!(weights.iter().sum::<f32>(), 1.0, max_relative = 1e-6);
    }

    #[test]
    fn all_experts_can_be_used() {
        assert_eq!(select(&[1.0, 3.0, 2.0], 3).0, [1, 2, 0]);
    }
}

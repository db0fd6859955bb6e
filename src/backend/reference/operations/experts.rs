//! The routed experts of a layer.

use super::elementwise::swiglu;
use super::matmul::{MatrixView, matmul};
use rayon::prelude::*;

/// Rows sorted by expert: `pairs[starts[e]..starts[e + 1]]` are the (row, choice) pairs of expert `e`, in order,
/// numbered `row * used + choice`.
pub struct PairsByExpert {
    pairs: Vec<u32>,
    starts: Vec<usize>,
}

impl PairsByExpert {
    /// Sorts the chosen ids, (rows, used).
    pub fn new(ids: &[u32], experts: usize) -> PairsByExpert {
        let mut starts = vec![0; experts + 1];
        for id in ids {
            starts[*id as usize + 1] += 1;
        }
        for e in 0..experts {
            starts[e + 1] += starts[e];
        }
        let mut next = starts.clone();
        let mut pairs = vec![0; ids.len()];
        for (pair, id) in ids.iter().enumerate() {
            pairs[next[*id as usize]] = pair as u32;
            next[*id as usize] += 1;
        }
        PairsByExpert { pairs, starts }
    }

    /// Experts with at least one pair, and their pairs.
    pub fn groups(&self) -> impl Iterator<Item = (u32, &[u32])> {
        let group = |e: usize| (e as u32, &self.pairs[self.starts[e]..self.starts[e + 1]]);
        (0..self.starts.len() - 1).map(group).filter(|(_, pairs)| !pairs.is_empty())
    }
}

/// Output of every chosen expert, (rows, used, hidden): `down . (silu(gate . h) (up . h))`.
///
/// `h` is (rows, hidden); `parts` lends an expert's gate, up and down for the time of a call.
pub fn run<G: ExpertGuard>(
    h: &[f32],
    hidden: usize,
    used: usize,
    pairs: &PairsByExpert,
    parts: impl Fn(u32) -> G + Sync,
) -> Vec<f32> {
    let groups: Vec<(u32, &[u32])> = pairs.groups().collect();
    let outputs: Vec<Vec<f32>> = groups
        .par_iter()
        .map(|(expert, pairs)| {
            let input: Vec<f32> =
                pairs.iter().flat_map(|pair| &h[*pair as usize / used * hidden..][..hidden]).copied().collect();
            let guard = parts(*expert);
            let [gate, up, down] = guard.parts();
            let mut activation = matmul(gate, &input);
            swiglu(&mut activation, &matmul(up, &input));
            matmul(down, &activation)
        })
        .collect();
    let mut out = vec![0.0; pairs.pairs.len() * hidden];
    for ((_, pairs), output) in groups.iter().zip(outputs) {
        for (pair, output) in pairs.iter().zip(output.chunks_exact(hidden)) {
            out[*pair as usize * hidden..][..hidden].copy_from_slice(output);
        }
    }
    out
}

/// Holds an expert in its slot while it is read.
pub trait ExpertGuard {
    /// Gate, up, down.
    fn parts(&self) -> [MatrixView<'_>; 3];
}

/// `out[row] += sum over k of weights[row][k] outputs[row][k]`, in the order of `k`.
pub fn add_weighted(out: &mut [f32], outputs: &[f32], weights: &[f32], used: usize, hidden: usize) {
    let rows = outputs.par_chunks_exact(used * hidden).zip(weights.par_chunks_exact(used));
    out.par_chunks_exact_mut(hidden).zip(rows).with_min_len(8).for_each(|(out, (outputs, weights))| {
        for (output, weight) in outputs.chunks_exact(hidden).zip(weights) {
            for (out, output) in out.iter_mut().zip(output) {
                *out += weight * output;
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_grouped_by_expert_in_row_order() {
        let pairs = PairsByExpert::new(&[2, 0, 2, 3, 0, 2], 5);
        let groups: Vec<_> = pairs.groups().map(|(expert, pairs)| (expert, pairs.to_vec())).collect();
        assert_eq!(groups, [(0, vec![1, 4]), (2, vec![0, 2, 5]), (3, vec![3])]);
    }
}

//! The causal depthwise convolution before the delta rule.

use super::elementwise::silu;
use rayon::prelude::*;

/// `c[t][ch] = silu(sum over j of w[j][ch] u[t - (taps - 1) + j][ch])`, the last tap being the current row's.
///
/// `u` is (rows, channels), `taps` (taps, channels). `state` is (taps - 1, channels): the rows before the first, which
/// are replaced by the last rows seen.
pub fn convolve(u: &[f32], taps: &[f32], channels: usize, state: &mut [f32]) -> Vec<f32> {
    let before = state.len() / channels;
    let padded = [&*state, u].concat();
    let mut out = vec![0.0; u.len()];
    out.par_chunks_mut(channels).enumerate().with_min_len(8).for_each(|(t, out)| {
        for (j, taps) in taps.chunks_exact(channels).enumerate() {
            let u = &padded[(t + j) * channels..][..channels];
            for ((out, tap), u) in out.iter_mut().zip(taps).zip(u) {
                *out += tap * u;
            }
        }
        for out in out {
            *out = silu(*out);
        }
    });
    state.copy_from_slice(&padded[padded.len() - before * channels..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_tap_reads_the_current_row_and_the_state_the_rows_before() {
        let taps = [100.0, 10.0, 1.0];
        let mut state = vec![7.0, 8.0];
        let out = convolve(&[1.0, 2.0], &taps, 1, &mut state);
        assert_eq!(out, [silu(700.0 + 80.0 + 1.0), silu(800.0 + 10.0 + 2.0)]);
        assert_eq!(state, [1.0, 2.0]);
    }

    #[test]
    fn rows_one_by_one_give_the_bits_of_all_at_once() {
        let (channels, rows) = (5, 9);
        let taps: Vec<f32> = (0..4 * channels).map(|i| (i as f32 * 0.7).sin()).collect();
        let u: Vec<f32> = (0..rows * channels).map(|i| (i as f32 * 1.3).cos()).collect();
        let mut state = vec![0.0; 3 * channels];
        let all = convolve(&u, &taps, channels, &mut state);
        let mut stepped = vec![0.0; 3 * channels];
        let single: Vec<f32> =
            u.chunks(channels).flat_map(|row| convolve(row, &taps, channels, &mut stepped)).collect();
        assert_eq!(all, single);
        assert_eq!(state, stepped);
    }
}

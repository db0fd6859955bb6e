//! Rotary position embedding.

/// Turns the first `2 cosines.len()` values of every head: with `h = cosines.len()`, values `j` and `j + h` become
/// `x[j] cos[j] - x[j + h] sin[j]` and `x[j] sin[j] + x[j + h] cos[j]`.
pub fn rotate(heads: &mut [f32], head_size: usize, cosines: &[f32], sines: &[f32]) {
    let half = cosines.len();
    for head in heads.chunks_exact_mut(head_size) {
        let (low, high) = head.split_at_mut(half);
        for j in 0..half {
            let (x, y) = (low[j], high[j]);
            low[j] = x * cosines[j] - y * sines[j];
            high[j] = x * sines[j] + y * cosines[j];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quarter_turn_swaps_the_halves_and_leaves_the_rest() {
        let mut head = [1.0, 2.0, 3.0, 4.0, 5.0];
        rotate(&mut head, 5, &[0.0, 0.0], &[1.0, 1.0]);
        assert_eq!(head, [-3.0, -4.0, 1.0, 2.0, 5.0]);
    }
}

//! Queries, and keys and values on their way into the KV slabs.

use super::bindings::{Bindings, bits};
use crate::support::{Values, assert_close, launcher};
use bytemuck::cast_slice as bytes;
use half::f16;
use redlite::backend::gpu::kernels::{APPEND, QUERY};
use redlite::backend::reference::operations::norm::rms_norm_in_place;
use redlite::backend::reference::operations::rotary::rotate;

const EPSILON: f32 = 1e-6;

/// Cosines and sines of rows at these positions.
fn angles(positions: &[u32], half: usize) -> [Vec<f32>; 2] {
    let angle = |position: u32, j: usize| f64::from(position) * 1e7f64.powf(-(j as f64) / half as f64);
    let all: Vec<f64> = positions.iter().flat_map(|p| (0..half).map(move |j| angle(*p, j))).collect();
    [all.iter().map(|a| a.cos() as f32).collect(), all.iter().map(|a| a.sin() as f32).collect()]
}

/// Norm and rotary of all heads of a row.
fn turn(heads: &mut [f32], norm: &[f32], cosines: &[f32], sines: &[f32]) {
    rms_norm_in_place(heads, norm, EPSILON);
    rotate(heads, norm.len(), cosines, sines);
}

#[test]
fn queries_are_normalised_and_turned_and_gates_stay() {
    let Some(mut launcher) = launcher() else { return };
    for (rows, heads, size, half) in [(1, 16, 256, 32), (2, 3, 64, 32), (3, 2, 48, 6), (33, 2, 32, 0), (31, 1, 100, 25)]
    {
        let mut values = Values::new(rows as u64);
        let mut query_gate = values.floats(rows * 2 * heads * size);
        let norm = values.floats(size);
        let positions: Vec<u32> = (0..rows as u32).map(|row| 100_000 + row).collect();
        let [cosines, sines] = angles(&positions, half);
        let contents: [&[u8]; 4] = [bytes(&query_gate), bytes(&norm), bytes(&cosines), bytes(&sines)];
        let bindings = Bindings::new(&mut launcher, &contents);
        let parameters = [rows as u32, heads as u32, half as u32, EPSILON.to_bits()];
        let grid = [(rows * heads) as u32, 1];
        bindings.launch(&mut launcher, &QUERY.variant(&[], &[size as u32]), &parameters, grid);
        for (r, row) in query_gate.chunks_exact_mut(2 * heads * size).enumerate() {
            let angles = r * half..(r + 1) * half;
            if half == 0 {
                rms_norm_in_place(&mut row[..heads * size], &norm, EPSILON);
            } else {
                turn(&mut row[..heads * size], &norm, &cosines[angles.clone()], &sines[angles]);
            }
        }
        // Norms of at most 2.5 to 1.2e-6 of that, and a sum of two of them with factors of a unit vector.
        let (got, what) = (bindings.read::<f32>(&mut launcher, 0), format!("{rows} rows, {heads} heads of {size}"));
        assert_close(&got, &query_gate, 5e-6, &what);
        for (got, expected) in got.chunks(heads * size).zip(query_gate.chunks(heads * size)).skip(1).step_by(2) {
            assert_eq!(bits(got), bits(expected), "{what}: gates");
        }
    }
}

/// Words that no kernel has written.
const UNTOUCHED: u32 = 0xdead_beef;

/// Rows of two KV heads, appended to two slabs of 256 positions; returns key and value slabs and what they should hold.
struct Append {
    size: usize,
    positions: Vec<u32>,
    first_row: usize,
    keys: Vec<f32>,
    values: Vec<f32>,
    norm: Vec<f32>,
}

const KV_HEADS: usize = 2;
const SLAB: usize = 256;
const HALF: usize = 8;

impl Append {
    /// One row of another sequence, then rows from `position` on.
    fn new(rows: usize, position: u32, size: usize) -> Append {
        let mut values = Values::new(rows as u64);
        let positions = [7].into_iter().chain(position..position + rows as u32).collect();
        let count = (rows + 1) * KV_HEADS * size;
        let (keys, norm) = (values.floats(count), values.floats(size));
        Append { size, positions, first_row: 1, keys, values: values.floats(count), norm }
    }

    /// The keys as they should be stored.
    fn turned(&self) -> Vec<f32> {
        let mut keys = self.keys.clone();
        let [cosines, sines] = angles(&self.positions, HALF);
        for (r, row) in keys.chunks_exact_mut(KV_HEADS * self.size).enumerate() {
            let angles = r * HALF..(r + 1) * HALF;
            turn(row, &self.norm, &cosines[angles.clone()], &sines[angles]);
        }
        keys
    }

    /// Key and value words of both slabs.
    fn run(&self, launcher: &mut redlite::backend::gpu::launcher::Launcher, f16: bool) -> [Vec<u32>; 2] {
        let [cosines, sines] = angles(&self.positions, HALF);
        let words = SLAB * KV_HEADS * self.size / if f16 { 2 } else { 1 };
        let slab = vec![UNTOUCHED; words];
        let rows = self.positions.len() - self.first_row;
        let mut result = [Vec::new(), Vec::new()];
        for slab_first in [0, SLAB as u32] {
            let contents: [&[u8]; 8] = [
                bytes(&self.keys),
                bytes(&self.values),
                bytes(&self.norm),
                bytes(&cosines),
                bytes(&sines),
                bytes(&self.positions),
                bytes(&slab),
                bytes(&slab),
            ];
            let bindings = Bindings::new(launcher, &contents);
            let counts = [self.first_row as u32, rows as u32, KV_HEADS as u32, HALF as u32, slab_first, SLAB as u32];
            let parameters = [&counts[..], &[EPSILON.to_bits()]].concat();
            let variant = APPEND.variant(&[], &[self.size as u32, u32::from(f16)]);
            bindings.launch(launcher, &variant, &parameters, [(rows * KV_HEADS) as u32, 1]);
            for (i, result) in result.iter_mut().enumerate() {
                result.extend(bindings.read::<u32>(launcher, 6 + i));
            }
        }
        result
    }

    /// The part of a row's position in the slabs, and whether all else is untouched.
    fn written<'a>(&self, slabs: &'a [u32], f16: bool) -> &'a [u32] {
        let position = KV_HEADS * self.size / if f16 { 2 } else { 1 };
        let rows = self.positions.len() - self.first_row;
        let start = self.positions[self.first_row] as usize * position;
        let end = start + rows * position;
        assert!(slabs[..start].iter().chain(&slabs[end..]).all(|word| *word == UNTOUCHED), "only these positions");
        &slabs[start..end]
    }
}

#[test]
fn keys_and_values_go_to_their_positions_in_both_slabs_as_they_are() {
    let Some(mut launcher) = launcher() else { return };
    for (rows, position, size) in [(1, 0, 256), (2, 255, 256), (3, 256, 64), (33, 240, 32), (31, 300, 48)] {
        let append = Append::new(rows, position, size);
        let [keys, values] = append.run(&mut launcher, false);
        let floats = |words: &[u32]| words.iter().map(|word| f32::from_bits(*word)).collect::<Vec<_>>();
        let (keys, values) = (floats(append.written(&keys, false)), floats(append.written(&values, false)));
        let skipped = KV_HEADS * size;
        let what = format!("{rows} rows from {position}");
        // As for the queries.
        assert_close(&keys, &append.turned()[skipped..], 5e-6, &what);
        assert_eq!(bits(&values), bits(&append.values[skipped..]), "{what}");
    }
}

#[test]
fn halves_are_rounded_to_the_nearest_even_whatever_their_size() {
    let Some(mut launcher) = launcher() else { return };
    let mut append = Append::new(33, 240, 32);
    let skipped = KV_HEADS * append.size;
    // Ties, the ends of the normal and the subnormal halves, and what lies beyond them, among random values.
    let tie = 2f32.powi(-11);
    let special = [0.0, 1.0 + tie, 1.0 + 3.0 * tie, 65504.0, 65519.99, 65520.0, 1e30, f32::INFINITY];
    let small =
        [2f32.powi(-14), 2f32.powi(-24), 2f32.powi(-25), 2f32.powi(-25) * 1.01, 3.0 * 2f32.powi(-25), 1e-40, 6.1e-5];
    let specials: Vec<f32> = special.iter().chain(&small).flat_map(|x| [*x, -x]).collect();
    append.values[skipped..][..specials.len()].copy_from_slice(&specials);
    for (i, value) in append.values[skipped + specials.len()..].iter_mut().enumerate() {
        *value *= 2f32.powi(i as i32 % 48 - 30);
    }
    let [keys, values] = append.run(&mut launcher, true);
    let halves = |words: &[u32]| words.iter().flat_map(|w| [*w as u16, (w >> 16) as u16]).collect::<Vec<_>>();
    let expected: Vec<u16> = append.values[skipped..].iter().map(|x| f16::from_f32(*x).to_bits()).collect();
    assert_eq!(halves(append.written(&values, true)), expected);
    let keys = halves(append.written(&keys, true));
    for (key, expected) in keys.iter().zip(&append.turned()[skipped..]) {
        let key = f16::from_bits(*key).to_f32();
        // Half a unit in the last place of a half, and what a key may differ before it is rounded.
        let bound = expected.abs() * 2f32.powi(-11) + 5e-6;
        assert!((key - expected).abs() <= bound, "a key is {key}, expected {expected} within {bound}");
    }
}

//! Attention: queries, keys and values into slabs, split and merged for decode, in chunks for ingest.

use super::bindings::{Bindings, bits, poison};
use crate::support::{Values, assert_close, launcher};
use bytemuck::cast_slice as bytes;
use half::f16;
use redlite::backend::gpu::kernels::{
    ATTENTION_CHUNK, ATTENTION_FINISH, ATTENTION_MERGE, ATTENTION_ROWS, ATTENTION_SPLIT, ATTENTION_START,
};
use redlite::backend::gpu::launcher::Launcher;
use std::ops::Range;

const BLOCK: usize = 256;

/// Rows of queries and gates, and the keys and values that they see.
struct Case {
    heads: usize,
    kv_heads: usize,
    size: usize,
    f16: bool,
    positions: Vec<u32>,
    query_gate: Vec<f32>,
    /// (positions, KV heads, head), rounded to halves if they are stored so.
    keys: Vec<f32>,
    values: Vec<f32>,
}

impl Case {
    fn new(positions: Vec<u32>, [heads, kv_heads, size]: [usize; 3], f16: bool) -> Case {
        let mut values = Values::new((positions.len() * size) as u64);
        let seen = positions.iter().max().map_or(0, |last| *last as usize + 1);
        // Large enough for a few keys to have most of the weight.
        let query_gate = values.floats(positions.len() * 2 * heads * size).iter().map(|x| 4.0 * x).collect();
        let stored = |x: Vec<f32>| match f16 {
            true => x.iter().map(|x| f16::from_f32(*x).to_f32()).collect(),
            false => x,
        };
        let keys = stored(values.floats(seen * kv_heads * size));
        let values = stored(values.floats(seen * kv_heads * size));
        Case { heads, kv_heads, size, f16, positions, query_gate, keys, values }
    }

    fn rows(&self) -> usize {
        self.positions.len()
    }

    fn seen(&self) -> usize {
        self.keys.len() / (self.kv_heads * self.size)
    }

    /// Slabs as the kernels read them, for positions of this range, filled up with NaN.
    fn slabs(&self, range: Range<usize>) -> [Vec<u8>; 2] {
        let position = self.kv_heads * self.size;
        [&self.keys, &self.values].map(|all| {
            let mut part = all[range.start * position..range.end.min(self.seen()) * position].to_vec();
            part.resize(range.len() * position, f32::NAN);
            match self.f16 {
                true => part.iter().flat_map(|x| f16::from_f32(*x).to_le_bytes()).collect(),
                false => bytes(&part).to_vec(),
            }
        })
    }

    fn constants(&self) -> [u32; 2] {
        [self.size as u32, u32::from(self.f16)]
    }

    /// Gated attention in `f64`, from its definition.
    fn exact(&self) -> Vec<f32> {
        let (size, width) = (self.size, self.heads * self.size);
        let mut out = Vec::new();
        for (row, position) in self.query_gate.chunks_exact(2 * width).zip(&self.positions) {
            for head in 0..self.heads {
                let (query, gate) = (&row[head * size..][..size], &row[width + head * size..][..size]);
                let at = |p: usize| (p * self.kv_heads + head / (self.heads / self.kv_heads)) * size;
                let score = |p: usize| {
                    let key = &self.keys[at(p)..][..size];
                    query.iter().zip(key).map(|(q, k)| f64::from(*q) * f64::from(*k)).sum::<f64>()
                        / (size as f64).sqrt()
                };
                let scores: Vec<f64> = (0..=*position as usize).map(score).collect();
                let largest = scores.iter().copied().fold(f64::MIN, f64::max);
                let weights: Vec<f64> = scores.iter().map(|score| (score - largest).exp()).collect();
                let total: f64 = weights.iter().sum();
                let mut sums = vec![0.0; size];
                for (p, weight) in weights.iter().enumerate() {
                    for (sum, value) in sums.iter_mut().zip(&self.values[at(p)..]) {
                        *sum += weight * f64::from(*value);
                    }
                }
                let gated = |(sum, gate): (f64, &f32)| (sum / total / (1.0 + f64::from(-gate).exp())) as f32;
                out.extend(sums.into_iter().zip(gate).map(gated));
            }
        }
        out
    }

    /// Attention of some rows by blocks, over slabs of so many positions.
    fn split(&self, launcher: &mut Launcher, rows: Range<usize>, slab: usize) -> Vec<f32> {
        let width = 2 * self.heads * self.size;
        let (query_gate, positions) = (&self.query_gate[rows.start * width..rows.end * width], &self.positions[rows]);
        let (rows, blocks) = (positions.len(), self.seen().div_ceil(BLOCK));
        let partials =
            launcher.upload("partials", bytes(&poison(rows * self.heads * blocks * (self.size + 2)))).unwrap();
        let [query_gate, positions] =
            [bytes(query_gate), bytes(positions)].map(|content| launcher.upload("input", content).unwrap());
        for first in (0..self.seen()).step_by(slab) {
            let [keys, values] = self.slabs(first..first + slab).map(|slab| launcher.upload("slab", &slab).unwrap());
            let first_block = first / BLOCK;
            let parameters = [0, rows, self.heads, self.kv_heads, first, first_block, blocks].map(|count| count as u32);
            let grid = [(rows * self.heads) as u32, (slab / BLOCK).min(blocks - first_block) as u32];
            let variant = ATTENTION_SPLIT.variant(&[], &self.constants());
            let views = [&query_gate, &positions, &keys, &values, &partials];
            launcher.launch(&variant, &views, &parameters, grid, 0).unwrap();
        }
        let out = launcher.upload("out", bytes(&poison(rows * self.heads * self.size))).unwrap();
        let parameters = [0, rows, self.heads, blocks].map(|count| count as u32);
        let variant = ATTENTION_MERGE.variant(&[], &[self.size as u32]);
        let views = [&query_gate, &positions, &partials, &out];
        launcher.launch(&variant, &views, &parameters, [(rows * self.heads) as u32, 1], 0).unwrap();
        bytemuck::pod_collect_to_vec(&launcher.read(&out).unwrap().wait().unwrap())
    }

    /// Attention of all rows as a chunk: slabs of so many positions, dispatches of at most so many.
    fn chunk(&self, launcher: &mut Launcher, slab: usize, most: usize) -> Vec<f32> {
        let rows = self.rows();
        let state = launcher.upload("state", bytes(&poison(rows * self.heads * (self.size + 2)))).unwrap();
        let out = launcher.upload("out", bytes(&poison(rows * self.heads * self.size))).unwrap();
        let [query_gate, positions] = [bytes(&self.query_gate), bytes(&self.positions)]
            .map(|content: &[u8]| launcher.upload("input", content).unwrap());
        for first in (0..self.seen()).step_by(slab) {
            let [keys, values] = self.slabs(first..first + slab).map(|slab| launcher.upload("slab", &slab).unwrap());
            let end = (first + slab).min(self.seen());
            for start in (first..end).step_by(most) {
                let last = (start + most).min(end);
                let flags = if start == 0 { ATTENTION_START } else { 0 }
                    | if last == self.seen() { ATTENTION_FINISH } else { 0 };
                let counts = [0, rows, self.heads, self.kv_heads, first, start, last].map(|count| count as u32);
                let parameters = [&counts[..], &[flags]].concat();
                let grid = [(rows as u32).div_ceil(ATTENTION_ROWS), self.heads as u32];
                let variant = ATTENTION_CHUNK.variant(&[], &self.constants());
                let views = [&query_gate, &positions, &keys, &values, &state, &out];
                launcher.launch(&variant, &views, &parameters, grid, 0).unwrap();
            }
        }
        bytemuck::pod_collect_to_vec(&launcher.read(&out).unwrap().wait().unwrap())
    }
}

/// How far an output may be off. Scores are sums of `size` products of mean size 1, divided by sqrt(size): off by at
/// most about 20 roundings of 16 (2e-5, for heads of 256), and their exponentials by as much relative to themselves
/// plus 1e-6. Outputs are means of values below 1 with these weights, so twice that bounds them.
const BOUND: f32 = 4e-5;

#[test]
fn split_attention_over_a_long_context_in_two_slabs_is_exact() {
    let Some(mut launcher) = launcher() else { return };
    for f16 in [false, true] {
        let case = Case::new(vec![4999, 4095, 4096], [4, 2, 256], f16);
        let got = case.split(&mut launcher, 0..3, 4096);
        assert_close(&got, &case.exact(), BOUND, &format!("halves: {f16}"));
    }
}

#[test]
fn chunk_attention_over_a_long_context_in_two_slabs_is_exact() {
    let Some(mut launcher) = launcher() else { return };
    for f16 in [false, true] {
        let case = Case::new((4967..5000).collect(), [2, 1, 256], f16);
        let got = case.chunk(&mut launcher, 4096, 4096);
        assert_close(&got, &case.exact(), BOUND, &format!("halves: {f16}"));
    }
}

#[test]
fn both_kinds_of_attention_are_exact_for_all_head_sizes_and_row_counts() {
    let Some(mut launcher) = launcher() else { return };
    let cases = [
        (0..1, [16, 2, 256]),
        (255..257, [4, 2, 64]),
        (30..33, [2, 1, 32]),
        (500..531, [2, 2, 48]),
        (0..33, [3, 1, 100]),
        (700..733, [2, 1, 128]),
        (0..511, [1, 1, 32]),
    ];
    for (positions, sizes) in cases {
        let case = Case::new(positions.clone().collect(), sizes, sizes[2] % 64 == 0);
        let (exact, what) = (case.exact(), format!("positions {positions:?}, {sizes:?}"));
        assert_close(&case.chunk(&mut launcher, 1024, 1024), &exact, BOUND, &format!("chunk, {what}"));
        assert_close(&case.split(&mut launcher, 0..case.rows(), 1024), &exact, BOUND, &format!("split, {what}"));
    }
}

#[test]
fn split_attention_of_rows_one_by_one_has_the_bits_of_all_at_once() {
    let Some(mut launcher) = launcher() else { return };
    for f16 in [false, true] {
        let case = Case::new(vec![700, 0, 1, 255, 256, 999], [4, 2, 64], f16);
        let together = case.split(&mut launcher, 0..6, 1024);
        let single: Vec<f32> = (0..6).flat_map(|row| case.split(&mut launcher, row..row + 1, 512)).collect();
        assert_eq!(bits(&together), bits(&single), "halves: {f16}");
    }
}

#[test]
fn chunk_attention_in_one_dispatch_has_the_bits_of_several() {
    let Some(mut launcher) = launcher() else { return };
    for (rows, sizes, f16) in [(1, [2, 1, 256], true), (33, [4, 2, 64], false), (31, [2, 2, 48], true)] {
        let case = Case::new((1000..1000 + rows).collect(), sizes, f16);
        let once = bits(&case.chunk(&mut launcher, 2048, 2048));
        assert_eq!(once, bits(&case.chunk(&mut launcher, 2048, 256)), "{rows} rows, {sizes:?}: by blocks");
        assert_eq!(once, bits(&case.chunk(&mut launcher, 512, 512)), "{rows} rows, {sizes:?}: by slabs");
    }
}

#[test]
fn a_chunk_of_later_rows_leaves_the_others_alone() {
    let Some(mut launcher) = launcher() else { return };
    let case = Case::new(vec![40, 0, 1, 2], [2, 1, 32], false);
    let whole = case.chunk(&mut launcher, 256, 256);
    let [keys, values] = case.slabs(0..256);
    let (state, out) = (poison(4 * 2 * 34), poison(4 * 2 * 32));
    let contents: [&[u8]; 6] =
        [bytes(&case.query_gate), bytes(&case.positions), &keys, &values, bytes(&state), bytes(&out)];
    let bindings = Bindings::new(&mut launcher, &contents);
    let parameters = [1, 3, 2, 1, 0, 0, 3, ATTENTION_START | ATTENTION_FINISH];
    bindings.launch(&mut launcher, &ATTENTION_CHUNK.variant(&[], &case.constants()), &parameters, [1, 2]);
    let got = bindings.read::<f32>(&mut launcher, 5);
    assert!(got[..64].iter().all(|x| x.is_nan()));
    assert_close(&got[64..], &whole[64..], BOUND, "rows 1 to 3");
}

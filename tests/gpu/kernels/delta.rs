//! DeltaNet: convolution, gates, the delta rule, the gated norm.

use super::bindings::{Bindings, bits, poison};
use crate::support::{Values, assert_close, launcher};
use bytemuck::cast_slice as bytes;
use redlite::backend::gpu::kernels::{CONVOLUTION, DELTA_PREPARE, DELTA_RULE, GATED_NORM};
use redlite::backend::gpu::launcher::Launcher;
use redlite::backend::reference::operations::convolution::convolve;
use redlite::backend::reference::operations::delta_rule::{self, Inputs};
use redlite::backend::reference::operations::elementwise::silu;
use redlite::backend::reference::operations::norm::{l2_norm_in_place, rms_norm};
use redlite::quant::simd::Level;

const EPSILON: f32 = 1e-6;
const TAPS: usize = 4;

#[test]
fn the_convolution_agrees_with_the_reference_and_leaves_its_state() {
    let Some(mut launcher) = launcher() else { return };
    for (rows, channels) in [(1, 8192), (2, 8192), (3, 100), (31, 65), (33, 64), (511, 33)] {
        let mut values = Values::new(rows as u64);
        let (qkv, taps) = (values.floats(rows * channels), values.floats(TAPS * channels));
        let mut state = values.floats((TAPS - 1) * channels);
        let out = poison(rows * channels);
        let contents: [&[u8]; 4] = [bytes(&qkv), bytes(&taps), bytes(&state), bytes(&out)];
        let bindings = Bindings::new(&mut launcher, &contents);
        convolution(&mut launcher, &bindings, 0, rows, channels);
        let expected = convolve(&qkv, &taps, channels, &mut state);
        // Four products of at most 1: 2e-6 between the two ways of rounding; silu has a slope of at most 1.1 and adds
        // 4 units in the last place of at most 4.
        let what = format!("{rows} rows of {channels}");
        assert_close(&bindings.read::<f32>(&mut launcher, 3), &expected, 5e-6, &what);
        assert_eq!(bindings.read::<f32>(&mut launcher, 2), state, "{what}: state");
    }
}

#[test]
fn the_convolution_of_rows_one_by_one_has_the_bits_of_all_at_once() {
    let Some(mut launcher) = launcher() else { return };
    let (rows, channels) = (33, 100);
    let mut values = Values::new(1);
    let (qkv, taps) = (values.floats(rows * channels), values.floats(TAPS * channels));
    let state = values.floats((TAPS - 1) * channels);
    let out = poison(rows * channels);
    let contents: [&[u8]; 4] = [bytes(&qkv), bytes(&taps), bytes(&state), bytes(&out)];
    let (together, single) = (Bindings::new(&mut launcher, &contents), Bindings::new(&mut launcher, &contents));
    convolution(&mut launcher, &together, 0, rows, channels);
    for row in 0..rows {
        convolution(&mut launcher, &single, row, 1, channels);
    }
    for index in [2, 3] {
        let [together, single] = [&together, &single].map(|b| bits(&b.read::<f32>(&mut launcher, index)));
        assert_eq!(together, single);
    }
}

fn convolution(launcher: &mut Launcher, bindings: &Bindings, first_row: usize, rows: usize, channels: usize) {
    let parameters = [first_row as u32, rows as u32, channels as u32];
    let groups = (channels as u32).div_ceil(CONVOLUTION.workgroup);
    bindings.launch(launcher, &CONVOLUTION.variant(&[], &[TAPS as u32]), &parameters, [groups, 1]);
}

/// Sizes of a DeltaNet layer.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    key_heads: usize,
    value_heads: usize,
    head: usize,
}

impl Sizes {
    fn channels(&self) -> usize {
        (2 * self.key_heads + self.value_heads) * self.head
    }

    fn state(&self) -> usize {
        self.value_heads * self.head * self.head
    }
}

/// The 80B's sizes.
const LARGE: Sizes = Sizes { key_heads: 16, value_heads: 32, head: 128 };

#[test]
fn queries_and_keys_come_to_unit_length_and_values_stay() {
    let Some(mut launcher) = launcher() else { return };
    let small = |head| Sizes { key_heads: 3, value_heads: 6, head };
    for (rows, sizes) in [(1, LARGE), (2, small(256)), (3, small(48)), (31, small(32)), (33, small(32))] {
        let mut values = Values::new(rows as u64);
        let mut mixed = values.floats(rows * sizes.channels());
        let gates = rows * 2 * sizes.value_heads;
        let beta_alpha = values.floats(gates);
        let (decay, bias) = (vec![-1.0f32; sizes.value_heads], vec![0.5f32; sizes.value_heads]);
        let output = poison(gates);
        let contents: [&[u8]; 5] = [bytes(&mixed), bytes(&beta_alpha), bytes(&decay), bytes(&bias), bytes(&output)];
        let bindings = Bindings::new(&mut launcher, &contents);
        prepare(&mut launcher, &bindings, rows, sizes);
        for row in mixed.chunks_exact_mut(sizes.channels()) {
            for head in row[..2 * sizes.key_heads * sizes.head].chunks_exact_mut(sizes.head) {
                l2_norm_in_place(head, EPSILON);
            }
        }
        // At most 40 additions of squares (2.4e-6, halved by the root), a root and a division of a few units in the
        // last place (0.6e-6), of values below 1.
        let got = bindings.read::<f32>(&mut launcher, 0);
        assert_close(&got, &mixed, 1.8e-6, &format!("{rows} rows, {sizes:?}"));
        assert!(bindings.read::<f32>(&mut launcher, 4).iter().all(|gate| (0.0..=1.0).contains(gate)));
    }
}

#[test]
fn gates_of_extreme_inputs_are_what_they_are_in_double_precision() {
    let Some(mut launcher) = launcher() else { return };
    let inputs = [-1e30f32, -1e4, -100.0, -20.0, -9.0, -1.0, -1e-3, 0.0, 0.5, 3.0, 19.9, 20.1, 100.0, 1e4, 1e30];
    for decay in [-1e-6f32, -1e-3, -0.7, -16.0, -70.0] {
        let sizes = Sizes { key_heads: 1, value_heads: inputs.len(), head: 4 };
        let mixed = Values::new(1).floats(sizes.channels());
        let beta_alpha = [inputs, inputs].concat();
        let (decays, bias) = (vec![decay; inputs.len()], vec![0.25f32; inputs.len()]);
        let output = poison(2 * inputs.len());
        let contents: [&[u8]; 5] = [bytes(&mixed), bytes(&beta_alpha), bytes(&decays), bytes(&bias), bytes(&output)];
        let bindings = Bindings::new(&mut launcher, &contents);
        prepare(&mut launcher, &bindings, 1, sizes);
        let expected: Vec<f32> = inputs
            .iter()
            .flat_map(|input| {
                let alpha = f64::from(input + 0.25);
                let softplus = alpha.max(0.0) + (-alpha.abs()).exp().ln_1p();
                [(f64::from(decay) * softplus).exp() as f32, (1.0 / (1.0 + f64::from(-input).exp())) as f32]
            })
            .collect();
        // exp(y) is off by exp(y) times (3 + 2 |y|) units in the last place and |y| times softplus' relative error,
        // which is below 4e-6 wherever |y| is not negligible; |y| exp(y) is at most 0.37.
        assert_close(&bindings.read::<f32>(&mut launcher, 4), &expected, 2e-6, &format!("ssm_a {decay}"));
    }
}

fn prepare(launcher: &mut Launcher, bindings: &Bindings, rows: usize, sizes: Sizes) {
    let counts = [rows, sizes.key_heads, sizes.value_heads, sizes.channels()].map(|count| count as u32);
    let parameters = [&counts[..], &[EPSILON.to_bits()]].concat();
    bindings.launch(launcher, &DELTA_PREPARE.variant(&[], &[sizes.head as u32]), &parameters, [rows as u32, 1]);
}

/// Inputs of the delta rule: units of queries and keys, values, gates, and a state.
struct Scan {
    sizes: Sizes,
    rows: usize,
    mixed: Vec<f32>,
    gates: Vec<f32>,
    state: Vec<f32>,
}

impl Scan {
    /// Every 64th row forgets all there was; between them are rows that keep nearly all, rows that write nearly
    /// nothing, and rows that replace.
    fn new(rows: usize, sizes: Sizes) -> Scan {
        let mut values = Values::new((rows * sizes.head) as u64);
        let mut mixed = values.floats(rows * sizes.channels());
        for row in mixed.chunks_exact_mut(sizes.channels()) {
            for head in row[..2 * sizes.key_heads * sizes.head].chunks_exact_mut(sizes.head) {
                l2_norm_in_place(head, EPSILON);
            }
        }
        let gate = |row: usize, v: usize| match (row % 64, (row + v) % 4) {
            (13, _) => [1e-6f32, 1.0],
            (_, 0) => [1.0 - 1e-6, 1e-3],
            (_, 1) => [0.9, 0.5],
            (_, 2) => [1.0, 0.0],
            _ => [1.0, 1.0],
        };
        let gates = (0..rows).flat_map(|row| (0..sizes.value_heads).flat_map(move |v| gate(row, v))).collect();
        Scan { sizes, rows, mixed, gates, state: values.floats(sizes.state()) }
    }

    fn upload(&self, launcher: &mut Launcher) -> Bindings {
        let out = poison(self.rows * self.sizes.value_heads * self.sizes.head);
        let contents: [&[u8]; 4] = [bytes(&self.mixed), bytes(&self.gates), bytes(&self.state), bytes(&out)];
        Bindings::new(launcher, &contents)
    }

    fn launch(&self, launcher: &mut Launcher, bindings: &Bindings, first_row: usize, rows: usize) {
        let Sizes { key_heads, value_heads, head } = self.sizes;
        let parameters = [first_row, rows, key_heads, value_heads, self.sizes.channels()].map(|count| count as u32);
        let groups = value_heads as u32 * (head as u32).div_ceil(DELTA_RULE.workgroup);
        bindings.launch(launcher, &DELTA_RULE.variant(&[], &[head as u32]), &parameters, [groups, 1]);
    }

    /// Query, key and value of a row for a value head.
    fn row(&self, row: usize, v: usize) -> [&[f32]; 3] {
        let Sizes { key_heads, value_heads, head } = self.sizes;
        let key_head = v / (value_heads / key_heads);
        [key_head, key_heads + key_head, 2 * key_heads + v]
            .map(|i| &self.mixed[row * self.sizes.channels() + i * head..][..head])
    }

    /// Output and last state in `f64`, from the definition.
    fn exact(&self) -> [Vec<f32>; 2] {
        let Sizes { value_heads, head, .. } = self.sizes;
        let mut state: Vec<f64> = self.state.iter().map(|s| f64::from(*s)).collect();
        let mut out = Vec::new();
        let dot = |a: &[f64], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * f64::from(*b)).sum::<f64>();
        for row in 0..self.rows {
            for v in 0..value_heads {
                let [query, key, value] = self.row(row, v);
                let gates = &self.gates[2 * (row * value_heads + v)..][..2];
                for (j, s) in state[v * head * head..][..head * head].chunks_exact_mut(head).enumerate() {
                    s.iter_mut().for_each(|s| *s *= f64::from(gates[0]));
                    let delta = (f64::from(value[j]) - dot(s, key)) * f64::from(gates[1]);
                    s.iter_mut().zip(key).for_each(|(s, key)| *s += delta * f64::from(*key));
                    out.push((dot(s, query) / (head as f64).sqrt()) as f32);
                }
            }
        }
        [out, state.iter().map(|s| *s as f32).collect()]
    }
}

#[test]
fn three_chunks_of_the_delta_rule_stay_with_the_exact_scan() {
    let Some(mut launcher) = launcher() else { return };
    for head in [32, 48, 128, 256] {
        let scan = Scan::new(192, Sizes { key_heads: 1, value_heads: 2, head });
        let bindings = scan.upload(&mut launcher);
        for chunk in 0..3 {
            scan.launch(&mut launcher, &bindings, 64 * chunk, 64);
        }
        // A row of the state is at most about 8 long (64 writes of values of at most 1 into random directions). Each of
        // the 64 rows between two that forget adds an error of at most head / 4 + 4 roundings of that, which mostly
        // cancel and spread over the row: a value is off by about 8 sqrt(64 (head / 4 + 4) / head) 2^-24, 2.4e-6 at
        // most, and an output, divided by sqrt(head), by no more.
        let [out, state] = scan.exact();
        assert_close(&bindings.read::<f32>(&mut launcher, 3), &out, 2.4e-6, &format!("heads of {head}"));
        assert_close(&bindings.read::<f32>(&mut launcher, 2), &state, 2.4e-6, &format!("state, heads of {head}"));
    }
}

#[test]
fn the_delta_rule_agrees_with_the_reference_at_the_sizes_of_the_80b() {
    let Some(mut launcher) = launcher() else { return };
    let scan = Scan::new(3, LARGE);
    let bindings = scan.upload(&mut launcher);
    scan.launch(&mut launcher, &bindings, 0, 3);
    let (head, mut state) = (LARGE.head, scan.state.clone());
    let mut expected = poison(3 * LARGE.value_heads * head);
    for (i, out) in expected.chunks_exact_mut(head).enumerate() {
        let v = i % LARGE.value_heads;
        let [query, key, value] = scan.row(i / LARGE.value_heads, v);
        let inputs = Inputs { query, key, value, decay: scan.gates[2 * i], beta: scan.gates[2 * i + 1] };
        delta_rule::step(Level::best(), &mut state[v * head * head..][..head * head], inputs, out);
    }
    // A row of the state is about 7 long; a dot product with a unit is off by at most 36 roundings of that, 1.5e-5, on
    // either side. The output is divided by sqrt(128), and a value of the state takes one part of 128 directions.
    assert_close(&bindings.read::<f32>(&mut launcher, 3), &expected, 2.7e-6, "output");
    assert_close(&bindings.read::<f32>(&mut launcher, 2), &state, 2.7e-6, "state");
}

#[test]
fn the_delta_rule_of_rows_one_by_one_has_the_bits_of_all_at_once() {
    let Some(mut launcher) = launcher() else { return };
    for head in [48, 128] {
        let scan = Scan::new(33, Sizes { key_heads: 2, value_heads: 4, head });
        let (together, single) = (scan.upload(&mut launcher), scan.upload(&mut launcher));
        scan.launch(&mut launcher, &together, 0, 33);
        for row in 0..33 {
            scan.launch(&mut launcher, &single, row, 1);
        }
        for index in [2, 3] {
            let [together, single] = [&together, &single].map(|b| bits(&b.read::<f32>(&mut launcher, index)));
            assert_eq!(together, single, "heads of {head}");
        }
    }
}

#[test]
fn gated_norm_agrees_with_the_reference() {
    let Some(mut launcher) = launcher() else { return };
    for (heads, size) in [(1, 256), (2, 48), (3, 32), (33 * 32, 128), (511, 64)] {
        let mut values = Values::new(heads as u64);
        let (y, weight) = (values.floats(heads * size), values.floats(size));
        let gate: Vec<f32> = values.floats(heads * size).iter().map(|x| 4.0 * x).collect();
        let bindings = Bindings::new(&mut launcher, &[bytes(&y), bytes(&gate), bytes(&weight)]);
        let parameters = [heads as u32, EPSILON.to_bits()];
        bindings.launch(&mut launcher, &GATED_NORM.variant(&[], &[size as u32]), &parameters, [heads as u32, 1]);
        let norm = rms_norm(&y, &weight, EPSILON);
        let expected: Vec<f32> = norm.iter().zip(&gate).map(|(norm, gate)| norm * silu(*gate)).collect();
        // Norms of at most 2.5, good to 1.2e-6 of that, times silu of at most 4, good to 2e-6.
        assert_close(&bindings.read::<f32>(&mut launcher, 0), &expected, 1.7e-5, &format!("{heads} heads of {size}"));
    }
}

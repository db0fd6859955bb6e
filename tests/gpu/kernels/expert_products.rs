//! Products of the routed experts, in both classes.

use super::matvec::additions;
use crate::matrices::{Exact, Matrix, assert_exact};
use crate::support::{Values, launcher, run};
use redlite::backend::gpu::kernels::{
    DOWN_MATMUL, DOWN_MATVEC, EXPERT_TILE, GATE_UP_MATMUL, GATE_UP_MATVEC, Kernel, MATMUL_ROWS, MATVEC_ROWS, codebook,
};
use redlite::backend::gpu::launcher::Launcher;
use redlite::backend::reference::operations::experts::PairsByExpert;
use redlite::quant::Type;

const NOT_RESIDENT: u32 = u32::MAX;

/// Experts of a layer with matrices of the same shape, in two slabs; the last expert is in neither.
struct Experts {
    /// Of each expert, its parts: gate and up, or down alone.
    parts: Vec<Vec<Matrix>>,
    /// Where in a slot each part starts.
    offsets: Vec<u32>,
    slots: Vec<u32>,
    slabs: Vec<(u32, Vec<u8>)>,
}

impl Experts {
    fn random(count: usize, kinds: &[Type], rows: usize, columns: usize, values: &mut Values) -> Experts {
        let parts: Vec<Vec<Matrix>> = (0..count)
            .map(|_| kinds.iter().map(|kind| Matrix::random(*kind, rows, columns, values)).collect())
            .collect();
        let mut offsets = vec![0];
        for part in &parts[0] {
            offsets.push((offsets[offsets.len() - 1] + part.bytes.len() as u32).next_multiple_of(256));
        }
        let mut slabs = vec![(0, vec![]), (3, vec![])];
        let mut slots = vec![NOT_RESIDENT; count];
        for expert in (0..count - 1).rev() {
            let (number, slab) = &mut slabs[expert % 2];
            let start = slab.len();
            slots[expert] = (*number << 24) | (start as u32 / 256);
            for (part, offset) in parts[expert].iter().zip(&offsets) {
                slab.resize(start + *offset as usize, 0xff);
                slab.extend(&part.bytes);
            }
            slab.resize(slab.len().next_multiple_of(256), 0xff);
        }
        Experts { parts, offsets, slots, slabs }
    }

    /// Runs a kernel once a slab, and returns what it wrote: (pairs, rows), NaN where it wrote nothing.
    fn run(&self, launcher: &mut Launcher, kernel: &Kernel, pairs: &Pairs, x: &[f32]) -> Vec<Vec<f32>> {
        let first = &self.parts[0];
        let (rows, columns) = (first[0].rows as u32, first[0].columns as u32);
        let by_expert = PairsByExpert::new(&pairs.ids, self.parts.len());
        let (mut order, mut tiles) = (vec![], vec![]);
        for (expert, group) in by_expert.groups() {
            for tile in group.chunks(EXPERT_TILE as usize) {
                tiles.extend([expert, order.len() as u32, tile.len() as u32]);
                order.extend(tile);
            }
        }
        // Nothing to do, whatever else the tile says.
        tiles.extend([u32::MAX, u32::MAX, 0]);
        let codebook = codebook();
        let numbers: Vec<&[u32]> = if kernel.bindings.iter().any(|binding| binding.name == "tiles") {
            vec![&self.slots, &order, &tiles]
        } else {
            vec![&self.slots, &pairs.ids]
        };
        let grid = match numbers.len() {
            3 => [rows.div_ceil(MATMUL_ROWS), tiles.len() as u32 / 3],
            _ => [rows.div_ceil(MATVEC_ROWS), pairs.ids.len() as u32],
        };
        let kinds: Vec<Type> = first.iter().map(|part| part.kind).collect();
        let run_slab = |(number, slab): &(u32, Vec<u8>)| {
            let mut buffers: Vec<&[u8]> = vec![bytemuck::cast_slice(&codebook), slab];
            buffers.extend(numbers.iter().map(|numbers| bytemuck::cast_slice::<u32, u8>(numbers)));
            buffers.push(bytemuck::cast_slice(x));
            let mut parameters = vec![pairs.ids.len() as u32, pairs.used as u32, rows, columns];
            parameters.extend(first.iter().map(Matrix::row_bytes));
            parameters.extend(&self.offsets[..first.len()]);
            parameters.push(*number);
            let values = pairs.ids.len() * rows as usize;
            run(launcher, &kernel.variant(&kinds, &[]), &buffers, values, &parameters, grid)
        };
        self.slabs.iter().map(run_slab).collect()
    }

    /// Asserts that each slab's run wrote the outputs of the pairs whose expert it holds, and nothing else.
    fn assert_outputs(
        &self,
        runs: &[Vec<f32>],
        pairs: &Pairs,
        expected: impl Fn(usize, u32) -> Vec<Exact>,
        what: &str,
    ) {
        let rows = self.parts[0][0].rows;
        for ((number, _), outputs) in self.slabs.iter().zip(runs) {
            for (pair, (output, expert)) in outputs.chunks(rows).zip(&pairs.ids).enumerate() {
                let what = format!("{what}, pair {pair}, slab {number}");
                if self.slots[*expert as usize] >> 24 == *number {
                    assert_exact(output, &expected(pair, *expert), &what);
                } else {
                    assert!(output.iter().all(|value| value.is_nan()), "{what}: written, and not this slab's");
                }
            }
        }
    }
}

/// The experts chosen by each row.
struct Pairs {
    ids: Vec<u32>,
    used: usize,
}

impl Pairs {
    fn random(rows: usize, used: usize, experts: usize, values: &mut Values) -> Pairs {
        let choose = |_| {
            let mut left: Vec<u32> = (0..experts as u32).collect();
            (0..used).map(|_| left.swap_remove(values.bytes(1)[0] as usize % left.len())).collect::<Vec<u32>>()
        };
        Pairs { ids: (0..rows).flat_map(choose).collect(), used }
    }
}

/// `silu(gate) up`.
fn joined(gate: &Exact, up: &Exact) -> Exact {
    let silu = gate.value / (1.0 + (-gate.value).exp());
    let value = silu * up.value;
    // The slope of silu is at most 1.1. The device's exponential is good to 3 + 2 |x| units in the last place, what
    // follows to a few more; below -80 the kernel holds the exponent, which is zero to f32.
    let units = 8.0 + 2.0 * gate.value.abs();
    let error = 1.1 * gate.error * (up.value.abs() + up.error)
        + silu.abs() * up.error
        + units / f64::from(1 << 23) * value.abs()
        + (gate.value * up.value).abs() * (-80f64).exp();
    Exact { value, error }
}

fn assert_gate_up(launcher: &mut Launcher, kinds: [Type; 2], sizes: [usize; 2], rows: usize, used: usize) {
    let [outputs, columns] = sizes;
    let mut values = Values::new(rows as u64);
    let experts = Experts::random(used + 3, &kinds, outputs, columns, &mut values);
    let pairs = Pairs::random(rows, used, used + 3, &mut values);
    let x = values.floats(rows * columns);
    for (kernel, additions) in [(&GATE_UP_MATVEC, additions(columns)), (&GATE_UP_MATMUL, columns)] {
        let runs = experts.run(launcher, kernel, &pairs, &x);
        let expected = |pair: usize, expert: u32| {
            let input = &x[pair / used * columns..][..columns];
            let [gate, up] = [0, 1].map(|part| experts.parts[expert as usize][part].products(input, additions));
            gate.iter().zip(&up).map(|(gate, up)| joined(gate, up)).collect()
        };
        experts.assert_outputs(&runs, &pairs, expected, &format!("{} {kinds:?} {sizes:?}", kernel.name));
    }
}

fn assert_down(launcher: &mut Launcher, kind: Type, sizes: [usize; 2], rows: usize, used: usize) {
    let [outputs, columns] = sizes;
    let mut values = Values::new(rows as u64);
    let experts = Experts::random(used + 3, &[kind], outputs, columns, &mut values);
    let pairs = Pairs::random(rows, used, used + 3, &mut values);
    let x = values.floats(rows * used * columns);
    for (kernel, additions) in [(&DOWN_MATVEC, additions(columns)), (&DOWN_MATMUL, columns)] {
        let runs = experts.run(launcher, kernel, &pairs, &x);
        let expected = |pair: usize, expert: u32| {
            experts.parts[expert as usize][0].products(&x[pair * columns..][..columns], additions)
        };
        experts.assert_outputs(&runs, &pairs, expected, &format!("{} {kind} {sizes:?}", kernel.name));
    }
}

#[test]
fn experts_of_every_type_give_the_products_of_their_matrices() {
    let Some(mut launcher) = launcher() else { return };
    for (index, &kind) in Type::ALL.iter().enumerate() {
        // Gate and up may be of different types.
        let other = Type::ALL[(index + index % 2) % Type::ALL.len()];
        assert_gate_up(&mut launcher, [kind, other], [35, 256], 3, 3);
        assert_down(&mut launcher, kind, [70, 256], 3, 3);
    }
}

#[test]
fn experts_chosen_by_any_number_of_rows_fill_their_tiles() {
    let Some(mut launcher) = launcher() else { return };
    for rows in [1, 2, 31, 33, 65] {
        assert_gate_up(&mut launcher, [Type::Q4_0, Type::Q8_0], [9, 64], rows, 2);
        assert_down(&mut launcher, Type::Q4_0, [9, 32], rows, 2);
    }
}

#[test]
fn experts_of_the_80b_model_give_the_products_of_their_matrices() {
    let Some(mut launcher) = launcher() else { return };
    for kind in [Type::Iq2Xxs, Type::Q2K, Type::Q4K] {
        assert_gate_up(&mut launcher, [kind, kind], [512, 2048], 2, 10);
        assert_down(&mut launcher, kind, [2048, 512], 2, 10);
    }
}

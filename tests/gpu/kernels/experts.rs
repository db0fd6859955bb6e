//! The choice of experts, their grouping and their sum.

use super::bindings::{Bindings, poison};
use crate::support::{Values, assert_close, launcher};
use bytemuck::cast_slice as bytes;
use redlite::backend::gpu::kernels::{
    EXPERTS_SUM, EXPERTS_SUM_VALUES, GROUP, MOST_GROUPED_EXPERTS, SELECT, most_tiles,
};
use redlite::backend::gpu::launcher::Launcher;
use redlite::backend::reference::operations::elementwise::{add, sigmoid};
use redlite::backend::reference::operations::experts::{PairsByExpert, add_weighted};
use redlite::backend::reference::operations::select::select;

/// Ids and weights of all rows.
fn choose(launcher: &mut Launcher, logits: &[f32], experts: usize, used: usize) -> (Vec<u32>, Vec<f32>) {
    let rows = logits.len() / experts;
    let output = poison(rows * used);
    let bindings = Bindings::new(launcher, &[bytes(logits), bytes(&output), bytes(&output)]);
    let parameters = [rows, experts, used].map(|count| count as u32);
    bindings.launch(launcher, &SELECT.variant(&[], &[]), &parameters, [rows as u32, 1]);
    (bindings.read(launcher, 1), bindings.read(launcher, 2))
}

/// Asserts that all rows are chosen as the reference chooses.
fn assert_chosen(launcher: &mut Launcher, logits: &[f32], experts: usize, used: usize) {
    let (ids, weights) = choose(launcher, logits, experts, used);
    for (row, logits) in logits.chunks_exact(experts).enumerate() {
        let what = format!("row {row} of {experts} experts, {used} used");
        let (expected_ids, expected_weights) = select(logits, used);
        assert_eq!(ids[row * used..][..used], expected_ids, "{what}");
        if logits.iter().all(|logit| !logit.is_nan()) {
            // Exponentials of differences of at most 16 are off by 35 units in the last place, 4e-6; the total over
            // all experts cancels, the sum of the chosen is off by as much again.
            assert_close(&weights[row * used..][..used], &expected_weights, 1e-5, &what);
        }
    }
}

#[test]
fn experts_are_chosen_as_the_reference_chooses_them() {
    let Some(mut launcher) = launcher() else { return };
    for (rows, experts, used) in
        [(511, 512, 10), (1, 512, 10), (2, 60, 4), (3, 33, 33), (31, 8, 2), (33, 1, 1), (2, 3000, 40)]
    {
        let logits: Vec<f32> = Values::new(experts as u64).floats(rows * experts).iter().map(|x| 8.0 * x).collect();
        assert_chosen(&mut launcher, &logits, experts, used);
    }
}

#[test]
fn ties_go_to_the_lower_id_and_what_is_no_number_comes_last() {
    let Some(mut launcher) = launcher() else { return };
    // Few different values, so that nearly every choice is among equals, and both zeros among them.
    let coarse = |x: &f32| (3.0 * x).trunc() * 0.5;
    let logits: Vec<f32> = Values::new(1).floats(33 * 512).iter().map(coarse).collect();
    assert!(logits.iter().any(|x| x.to_bits() == (-0.0f32).to_bits()));
    assert_chosen(&mut launcher, &logits, 512, 10);
    let nan = f32::NAN;
    for row in [
        [nan, 1.0, -nan, 2.0, f32::NEG_INFINITY, nan, -3.0, 0.0],
        [nan; 8],
        [0.0, -0.0, 0.0, -0.0, -1e-40, 1e-40, f32::MAX, f32::MIN],
        [f32::NEG_INFINITY, nan, f32::NEG_INFINITY, nan, f32::NEG_INFINITY, nan, -nan, f32::MIN],
    ] {
        for used in [1, 3, 8] {
            assert_chosen(&mut launcher, &row, 8, used);
        }
    }
}

/// Asserts that pairs are sorted by expert and then by number, and cut into tiles.
fn assert_grouped(launcher: &mut Launcher, ids: &[u32], experts: usize, tile: usize) {
    let most = most_tiles(ids.len() as u32, experts as u32, tile as u32);
    let unset = vec![u32::MAX; ids.len()];
    let unset_tiles = vec![u32::MAX; 3 * most as usize];
    let bindings = Bindings::new(launcher, &[bytes(ids), bytes(&unset), bytes(&unset_tiles)]);
    let parameters = [ids.len() as u32, experts as u32, most];
    bindings.launch(launcher, &GROUP.variant(&[], &[tile as u32]), &parameters, [1, 1]);
    let (mut order, mut tiles): (Vec<u32>, Vec<u32>) = Default::default();
    for (expert, pairs) in PairsByExpert::new(ids, experts).groups() {
        for part in pairs.chunks(tile) {
            tiles.extend([expert, order.len() as u32, part.len() as u32]);
            order.extend(part);
        }
    }
    assert!(tiles.len() <= unset_tiles.len());
    tiles.resize(unset_tiles.len(), 0);
    let what = format!("{} pairs, {experts} experts, tiles of {tile}", ids.len());
    assert_eq!(bindings.read::<u32>(launcher, 1), order, "{what}");
    assert_eq!(bindings.read::<u32>(launcher, 2), tiles, "{what}");
}

#[test]
fn pairs_are_sorted_by_expert_and_cut_into_tiles() {
    let Some(mut launcher) = launcher() else { return };
    let logits = Values::new(3).floats(511 * 512);
    let (ids, _) = choose(&mut launcher, &logits, 512, 10);
    for tile in [8, 16, 32] {
        assert_grouped(&mut launcher, &ids, 512, tile);
    }
    assert_grouped(&mut launcher, &ids[..10], 512, 16);
    assert_grouped(&mut launcher, &ids[..1], 512, 16);
    assert_grouped(&mut launcher, &[3; 1027], 7, 16);
    let most = MOST_GROUPED_EXPERTS;
    let spread: Vec<u32> = (0..4099).map(|pair| most - 1 - pair * 7919 % most).collect();
    assert_grouped(&mut launcher, &spread, most as usize, 4);
    assert_grouped(&mut launcher, &[0, 1, 0, 1, 1], 2, 1);
}

#[test]
fn the_end_of_a_layer_adds_experts_in_the_order_of_choice_and_the_shared_expert() {
    let Some(mut launcher) = launcher() else { return };
    for (rows, hidden, used) in [(1, 2048, 10), (2, 2048, 10), (3, 100, 4), (31, 64, 1), (33, 32, 3), (511, 32, 2)] {
        let mut values = Values::new(rows as u64);
        let (outputs, weights) = (values.floats(rows * used * hidden), values.floats(rows * used));
        let (mut shared, mut x) = (values.floats(rows * hidden), values.floats(rows * hidden));
        let shared_gate: Vec<f32> = values.floats(rows).iter().map(|x| 4.0 * x).collect();
        let contents: [&[u8]; 5] = [bytes(&outputs), bytes(&weights), bytes(&shared), bytes(&shared_gate), bytes(&x)];
        let bindings = Bindings::new(&mut launcher, &contents);
        let parameters = [rows, hidden, used].map(|count| count as u32);
        let groups = ((rows * hidden) as u32).div_ceil(EXPERTS_SUM_VALUES);
        bindings.launch(&mut launcher, &EXPERTS_SUM.variant(&[], &[]), &parameters, [groups, 1]);
        let mut sum = vec![0.0; rows * hidden];
        add_weighted(&mut sum, &outputs, &weights, used, hidden);
        for (row, gate) in shared.chunks_exact_mut(hidden).zip(&shared_gate) {
            row.iter_mut().for_each(|x| *x *= sigmoid(*gate));
        }
        add(&mut sum, &shared);
        add(&mut x, &sum);
        // Up to 12 additions to a sum of at most 12, each rounded once here and twice in the reference.
        let got = bindings.read::<f32>(&mut launcher, 4);
        assert_close(&got, &x, 1.2e-5, &format!("{rows} rows of {hidden}, {used} used"));
    }
}

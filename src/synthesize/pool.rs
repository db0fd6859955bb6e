//! Random blocks of one type and one scale, from which tensors are cut.
//!
//! All bits of a block are random, which is a valid block of any type, but for its scales: these give the weights the
//! deviation asked for and a mean of zero.

use super::random::{Distribution, generator};
use crate::quant::Type;
use half::f16;
use rand::RngCore;
use rayon::prelude::*;

/// Most bytes of a pool. It holds many more experts than any cache, so that reading a file is like reading a real one.
const POOL_BYTES: u64 = 32 << 20;

/// Blocks that are made at once, from one stream of random numbers.
const PART_BLOCKS: usize = 8192;

/// Blocks whose values are measured to find what a scale of 1 gives.
const MEASURED_BLOCKS: usize = 2048;

/// Random blocks, one behind the other.
pub(super) struct Pool {
    pub(super) bytes: Vec<u8>,
    pub(super) block_bytes: usize,
}

/// Where a block has its scale.
#[derive(Clone, Copy)]
enum Layout {
    /// Values for themselves, in half precision.
    Half,
    /// A scale in half precision at this byte.
    Scale(usize),
    /// A scale, and what is added to all values at another byte: the scale times a factor that makes their mean zero.
    ScaleAndMinimum { scale: usize, minimum: usize, factor: f32 },
    /// The scale's four digits in the highest four bits of four words at this byte.
    Scattered(usize),
}

/// The layouts of the types that a mix may give (`ggml-common.h`).
fn layout(kind: Type) -> Option<Layout> {
    Some(match kind {
        Type::F16 => Layout::Half,
        Type::Q4_0 | Type::Q5_0 | Type::Q8_0 | Type::Iq4Nl | Type::Iq2Xxs => Layout::Scale(0),
        Type::Q6K => Layout::Scale(208),
        // The factor: the mean of the quantised values, which are 2, 4 or 5 random bits.
        Type::Q2K => Layout::ScaleAndMinimum { scale: 80, minimum: 82, factor: 1.5 },
        Type::Q4K => Layout::ScaleAndMinimum { scale: 0, minimum: 2, factor: 7.5 },
        Type::Q5K => Layout::ScaleAndMinimum { scale: 0, minimum: 2, factor: 15.5 },
        Type::Q5_1 => Layout::ScaleAndMinimum { scale: 0, minimum: 2, factor: -15.5 },
        Type::Iq1M => Layout::Scattered(48),
        _ => return None,
    })
}

impl Layout {
    /// Gives a block of random bits its scale.
    fn set(self, block: &mut [u8], scale: f32) {
        let mut put = |at: usize, value: f32| block[at..at + 2].copy_from_slice(&f16::from_f32(value).to_le_bytes());
        match self {
            Layout::Half => {}
            Layout::Scale(at) => put(at, scale),
            Layout::ScaleAndMinimum { scale: at, minimum, factor } => {
                put(at, scale);
                put(minimum, scale * factor);
            }
            Layout::Scattered(at) => {
                let bits = f16::from_f32(scale).to_bits();
                for digit in 0..4 {
                    let high = &mut block[at + 2 * digit + 1];
                    *high = *high & 0x0f | ((bits >> (4 * digit)) as u8 & 0x0f) << 4;
                }
            }
        }
    }
}

impl Pool {
    /// Makes the pool of a type and a deviation for tensors of at most `largest` bytes.
    pub(super) fn new(seed: u64, kind: Type, deviation: f32, largest: u64) -> Pool {
        let layout = layout(kind).expect("every type of a mix has a layout");
        let block_bytes = kind.block_bytes();
        // An odd number: it shares no factor with the blocks of a row, so that rows never repeat in step.
        let blocks = (largest.min(POOL_BYTES) as usize / block_bytes) | 1;
        let scale = match layout {
            Layout::Half => 1.0,
            _ => deviation / unit_deviation(seed, kind, layout),
        };
        let mut bytes = vec![0; blocks * block_bytes];
        let label = format!("{kind} {}", deviation.to_bits());
        bytes.par_chunks_mut(PART_BLOCKS * block_bytes).enumerate().for_each(|(part, bytes)| {
            let mut random = generator(seed, &label, part as u64);
            if let Layout::Half = layout {
                let bell = Distribution::Bell { mean: 0.0, deviation };
                for bytes in bytes.chunks_exact_mut(2) {
                    bytes.copy_from_slice(&f16::from_f32(bell.draw(&mut random)).to_le_bytes());
                }
                return;
            }
            random.fill_bytes(bytes);
            for block in bytes.chunks_exact_mut(block_bytes) {
                // Blocks of a trained model differ in scale, and a sign at random makes the mean zero also where the
                // type's own values have another.
                let bits = random.next_u32();
                let spread = 0.7 + 0.6 * (bits >> 8) as f32 / (1 << 24) as f32;
                layout.set(block, if bits & 1 == 0 { scale * spread } else { -scale * spread });
            }
        });
        Pool { bytes, block_bytes }
    }

    /// Blocks of the pool.
    pub(super) fn blocks(&self) -> usize {
        self.bytes.len() / self.block_bytes
    }
}

/// The deviation from zero of the values of random blocks with a scale of 1.
fn unit_deviation(seed: u64, kind: Type, layout: Layout) -> f32 {
    let mut bytes = vec![0; MEASURED_BLOCKS * kind.block_bytes()];
    generator(seed, kind.name(), u64::MAX).fill_bytes(&mut bytes);
    for block in bytes.chunks_exact_mut(kind.block_bytes()) {
        layout.set(block, 1.0);
    }
    let mut values = vec![0.0; MEASURED_BLOCKS * kind.block_length()];
    kind.decode(&bytes, &mut values);
    let squares: f64 = values.iter().map(|value| f64::from(*value).powi(2)).sum();
    (squares / values.len() as f64).sqrt() as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_weights_of_every_pool_have_the_deviation_asked_for_and_no_mean() {
        let kinds: Vec<Type> = Type::ALL.iter().copied().filter(|kind| layout(*kind).is_some()).collect();
        assert!(kinds.len() >= 12, "{kinds:?}");
        for kind in kinds {
            let wanted = 1.0 / (2048f64).sqrt();
            let pool = Pool::new(1, kind, wanted as f32, 1 << 20);
            let mut values = vec![0.0; pool.blocks() * kind.block_length()];
            kind.decode(&pool.bytes, &mut values);
            let count = values.len() as f64;
            let mean = values.iter().map(|value| f64::from(*value)).sum::<f64>() / count;
            let square = values.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>() / count;
            assert!((square.sqrt() / wanted - 1.0).abs() < 0.05, "{kind}: deviation {}", square.sqrt());
            assert!(mean.abs() < 0.02 * wanted, "{kind}: mean {mean}");
        }
    }

    #[test]
    fn a_pool_does_not_depend_on_the_number_of_threads() {
        let made = |threads: usize| {
            let threads = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            threads.install(|| Pool::new(3, Type::Iq2Xxs, 0.1, 2 << 20).bytes)
        };
        assert!(made(1) == made(3));
    }
}

//! An adapter for the tests, and random data.

use crate::adapter::adapter;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use redlite::backend::gpu::device::Device;
use redlite::backend::gpu::kernels::Variant;
use redlite::backend::gpu::launcher::{Launcher, View};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

/// A launcher on the machine's adapter: hardware where there is any, else software. One test at a time uses it.
pub fn launcher() -> Option<MutexGuard<'static, Launcher>> {
    static LAUNCHER: LazyLock<Option<Mutex<Launcher>>> = LazyLock::new(|| {
        let device = Device::open(Some(&adapter()?)).expect("the adapter opens");
        Some(Mutex::new(Launcher::new(device)))
    });
    Some(LAUNCHER.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Random values, the same for the same seed.
pub struct Values(ChaCha8Rng);

impl Values {
    pub fn new(seed: u64) -> Values {
        Values(ChaCha8Rng::seed_from_u64(seed))
    }

    /// Values in [-1, 1).
    pub fn floats(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| self.0.random_range(-1.0..1.0)).collect()
    }

    /// Any bytes.
    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.0.random()).collect()
    }
}

/// Runs one kernel: inputs are uploaded, the output of `output` bytes is filled with NaN before, and read back.
pub fn run(
    launcher: &mut Launcher,
    variant: &Variant,
    inputs: &[&[u8]],
    output_values: usize,
    parameters: &[u32],
    grid: [u32; 2],
) -> Vec<f32> {
    let inputs: Vec<View> = inputs.iter().map(|bytes| launcher.upload("input", bytes).unwrap()).collect();
    let poison = vec![f32::NAN; output_values];
    let output = launcher.upload("output", bytemuck::cast_slice(&poison)).unwrap();
    let bindings: Vec<&View> = inputs.iter().chain([&output]).collect();
    launcher.launch(variant, &bindings, parameters, grid, 0).unwrap();
    let bytes = launcher.read(&output).unwrap().wait().unwrap();
    bytemuck::pod_collect_to_vec(&bytes)
}

/// Asserts that every value is within `bound` of what is expected.
pub fn assert_close(got: &[f32], expected: &[f32], bound: f32, what: &str) {
    assert_eq!(got.len(), expected.len(), "{what}: length");
    for (index, (got, expected)) in got.iter().zip(expected).enumerate() {
        assert!((got - expected).abs() <= bound, "{what}: value {index} is {got}, expected {expected} within {bound}");
    }
}

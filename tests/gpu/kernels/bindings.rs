//! Buffers that a kernel's launches share: for kernels that work in place or have several outputs.

use bytemuck::Pod;
use redlite::backend::gpu::kernels::Variant;
use redlite::backend::gpu::launcher::{Launcher, View};

/// The buffers of a kernel, in the order of its bindings.
pub struct Bindings(Vec<View>);

impl Bindings {
    pub fn new(launcher: &mut Launcher, contents: &[&[u8]]) -> Bindings {
        Bindings(contents.iter().map(|bytes| launcher.upload("binding", bytes).unwrap()).collect())
    }

    pub fn launch(&self, launcher: &mut Launcher, variant: &Variant, parameters: &[u32], grid: [u32; 2]) {
        let views: Vec<&View> = self.0.iter().collect();
        launcher.launch(variant, &views, parameters, grid, 0).unwrap();
    }

    pub fn read<T: Pod>(&self, launcher: &mut Launcher, index: usize) -> Vec<T> {
        let bytes = launcher.read(&self.0[index]).unwrap().wait().unwrap();
        bytemuck::pod_collect_to_vec(&bytes)
    }
}

/// What an output holds before a kernel writes it.
pub fn poison(values: usize) -> Vec<f32> {
    vec![f32::NAN; values]
}

/// The bits of values, to compare without a tolerance.
pub fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

//! The GPU backend: wgpu with WGSL.
//!
//! [`device`] opens an adapter, [`kernels`] is the table of operations, [`launcher`] records them, `layers` says which
//! are launched for a layer of the model.

mod backend;
pub mod device;
pub mod kernels;
pub mod launcher;
mod layers;
mod native;
mod scratch;
mod sequence;
mod slots;
mod weights;

pub use backend::{Gpu, Options};

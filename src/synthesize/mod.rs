//! Model files with random weights: the real shape, bytes and work of a model, without its download.
//!
//! What such a model says is noise. What it costs is real: it reads, routes and multiplies what the model of that shape
//! would. Weights have the deviation that keeps activations at the scale of a trained model's, and routers differ from
//! layer to layer and from token to token.
//!
//! A file is made in four steps: [`Shape`] (dimensions), the list of tensors with a type by [`Mix`], pools of random
//! blocks, and the file, which is cut from the pools.

mod file;
mod mix;
mod pool;
mod random;
mod shape;
mod tensors;
mod vocabulary;

pub use file::Progress;
pub use mix::Mix;
pub use shape::Shape;
pub use tensors::Tensor;

use crate::error::{Error, RequestError};

/// What to make.
#[derive(Clone, Debug)]
pub struct Options {
    /// The dimensions.
    pub shape: Shape,
    /// Which tensor gets which type.
    pub mix: Mix,
    /// The deviation of the router's logits; the larger, the more one expert stands out.
    pub router_scale: f32,
    /// Equal options and an equal seed give equal bytes.
    pub seed: u64,
}

/// A file to be: its tensors, with their types and sizes.
#[derive(Clone, Debug)]
pub struct Plan {
    options: Options,
    tensors: Vec<Tensor>,
}

impl Plan {
    /// Plans a file.
    ///
    /// # Errors
    /// [`RequestError::BadOption`] names a dimension that no model of the family can have.
    pub fn new(options: Options) -> Result<Plan, Error> {
        options.shape.check()?;
        let scale = options.router_scale;
        if !(scale.is_finite() && scale >= 0.0) {
            let (name, found) = ("router-scale".to_owned(), scale.to_string());
            return Err(RequestError::BadOption { name, found, expected: "a number, 0 or more".to_owned() }.into());
        }
        let tensors = tensors::list(&options);
        Ok(Plan { options, tensors })
    }

    /// The tensors in the order of the file.
    pub fn tensors(&self) -> &[Tensor] {
        &self.tensors
    }

    /// What is made.
    pub fn options(&self) -> &Options {
        &self.options
    }
}

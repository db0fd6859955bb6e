//! The model: hyper-parameters, which tensor is where, and the kinds of layer.
//!
//! A [`Model`] is a checked description; it holds no weights. All layouts that files of this family
//! come in are turned into one here, so that no backend knows of more than one (see [`inventory`]).

mod config;
mod error;
pub mod inventory;
mod reader;
mod rotary;

pub use config::{AttentionConfig, Config, DeltaNetConfig, ExpertsConfig, MixerKind};
pub use error::{Error, TensorProblem};
pub use inventory::{
    Attention, DeltaNet, ExpertMatrix, Layer, Matrix, Mixer, MixtureOfExperts, NextToken, SharedExpert, Vector,
};
pub use rotary::{Rotary, RotaryScaling};

use crate::gguf::Gguf;
use std::sync::Arc;

/// A model file whose hyper-parameters and tensors have been checked.
pub struct Model {
    /// The file that holds the weights.
    pub file: Arc<Gguf>,
    /// Hyper-parameters.
    pub config: Config,
    /// Token embedding, (vocabulary, hidden).
    pub embedding: Matrix,
    /// The trunk's layers.
    pub layers: Vec<Layer>,
    /// RMSNorm weight before the output matrix, (hidden).
    pub output_norm: Vector,
    /// Output matrix, (vocabulary, hidden); the embedding itself where the file ties the two.
    pub output: Matrix,
    /// The next-token-prediction block, where the file has one.
    pub next_token: Option<NextToken>,
}

impl Model {
    /// Checks a file's hyper-parameters and tensors.
    ///
    /// # Errors
    /// Another architecture, a missing or impossible hyper-parameter, or missing and misshapen tensors, all of
    /// them named.
    pub fn open(file: Arc<Gguf>) -> Result<Model, Error> {
        let config = Config::read(&file)?;
        inventory::take(file, config)
    }

    /// Layer `index` of the trunk, or the next-token block's layer at `config.layers`.
    ///
    /// # Panics
    /// If there is no such layer: a bug of the caller.
    pub fn layer(&self, index: usize) -> &Layer {
        match (self.layers.get(index), &self.next_token) {
            (Some(layer), _) => layer,
            (None, Some(block)) if index == self.layers.len() => &block.layer,
            _ => panic!("no layer {index}"),
        }
    }

    /// All layers that have experts: the trunk's, then the next-token block's.
    pub fn all_layers(&self) -> impl Iterator<Item = &Layer> {
        self.layers.iter().chain(self.next_token.as_ref().map(|block| &block.layer))
    }
}

//! Dense weights in GPU memory, in the file's own quantisation.
//!
//! A matrix that is larger than one binding may be is kept in pieces of whole rows.

use super::launcher::{Launcher, View};
use crate::error::Result;
use crate::gguf::Gguf;
use crate::model::{self, Model};
use crate::quant::Type;

/// A matrix in GPU memory.
pub struct Matrix {
    pub kind: Type,
    pub rows: u32,
    pub columns: u32,
    pub row_bytes: u32,
    pub pieces: Vec<Piece>,
}

/// Consecutive rows of a matrix, in one binding.
pub struct Piece {
    pub view: View,
    pub first_row: u32,
    pub rows: u32,
}

/// Loads weights onto the device.
pub struct Loader<'a> {
    pub launcher: &'a mut Launcher,
    pub file: &'a Gguf,
    /// Most bytes of one binding.
    pub slab_bytes: u64,
}

impl Loader<'_> {
    fn matrix(&mut self, matrix: &model::Matrix) -> Result<Matrix> {
        let mut bytes = vec![0; matrix.bytes()];
        matrix.read(self.file, &mut bytes)?;
        let row_bytes = bytes.len() / matrix.rows;
        let rows_a_piece = (self.slab_bytes as usize / row_bytes).max(1);
        let mut pieces = Vec::new();
        for (index, bytes) in bytes.chunks(rows_a_piece * row_bytes).enumerate() {
            pieces.push(Piece {
                view: self.launcher.upload("matrix", bytes)?,
                first_row: (index * rows_a_piece) as u32,
                rows: (bytes.len() / row_bytes) as u32,
            });
        }
        self.launcher.settle()?;
        Ok(Matrix {
            kind: matrix.kind,
            rows: matrix.rows as u32,
            columns: matrix.columns as u32,
            row_bytes: row_bytes as u32,
            pieces,
        })
    }

    fn vector(&mut self, vector: &model::Vector) -> Result<View> {
        let values = vector.read(self.file)?;
        self.launcher.upload("vector", bytemuck::cast_slice(&values))
    }
}

/// All dense weights.
pub struct Weights {
    pub embedding: Matrix,
    pub output_norm: View,
    /// `None` where the output matrix is the embedding.
    output: Option<Matrix>,
    layers: Vec<Layer>,
    pub next_token: Option<NextToken>,
}

pub struct Layer {
    pub mixer_norm: View,
    pub mixer: Mixer,
    pub experts_norm: View,
    pub router: Matrix,
    pub shared_gate: Matrix,
    pub shared_up: Matrix,
    pub shared_down: Matrix,
    pub shared_weight: Matrix,
}

pub enum Mixer {
    Attention(Attention),
    DeltaNet(DeltaNet),
}

pub struct Attention {
    pub query_gate: Matrix,
    pub key: Matrix,
    pub value: Matrix,
    pub query_norm: View,
    pub key_norm: View,
    pub output: Matrix,
}

pub struct DeltaNet {
    pub qkv: Matrix,
    pub gate: Matrix,
    pub beta_alpha: Matrix,
    /// (taps, channels): the other way round than in the file.
    pub taps: View,
    pub decay: View,
    pub alpha_bias: View,
    pub norm: View,
    pub output: Matrix,
}

pub struct NextToken {
    pub embedding_norm: View,
    pub hidden_norm: View,
    pub projection: Matrix,
    pub layer: Layer,
    pub head_norm: View,
    embedding: Option<Matrix>,
    output: Option<Matrix>,
}

impl Weights {
    /// Reads all dense weights, the next-token block's only where it is asked for.
    pub fn load(loader: &mut Loader, model: &Model, next_token: bool) -> Result<Weights> {
        let tied = model.output == model.embedding;
        let block = model.next_token.as_ref().filter(|_| next_token);
        Ok(Weights {
            embedding: loader.matrix(&model.embedding)?,
            output_norm: loader.vector(&model.output_norm)?,
            output: if tied { None } else { Some(loader.matrix(&model.output)?) },
            layers: model.layers.iter().map(|layer| Layer::load(loader, model, layer)).collect::<Result<_>>()?,
            next_token: block.map(|block| NextToken::load(loader, model, block)).transpose()?,
        })
    }

    /// The output matrix.
    pub fn output(&self) -> &Matrix {
        self.output.as_ref().unwrap_or(&self.embedding)
    }

    /// The embedding and output matrix of the next-token block.
    pub fn next_token_ends<'a>(&'a self, block: &'a NextToken) -> (&'a Matrix, &'a Matrix) {
        (block.embedding.as_ref().unwrap_or(&self.embedding), block.output.as_ref().unwrap_or(self.output()))
    }

    /// Layer `index` of the trunk, or the next-token block's behind them.
    pub fn layer(&self, index: usize) -> &Layer {
        match (self.layers.get(index), &self.next_token) {
            (Some(layer), _) => layer,
            (None, Some(block)) => &block.layer,
            (None, None) => panic!("layer {index} was not loaded"),
        }
    }
}

impl Layer {
    fn load(loader: &mut Loader, model: &Model, layer: &model::Layer) -> Result<Layer> {
        Ok(Layer {
            mixer_norm: loader.vector(&layer.mixer_norm)?,
            mixer: match &layer.mixer {
                model::Mixer::Attention(mixer) => Mixer::Attention(Attention {
                    query_gate: loader.matrix(&mixer.query_gate)?,
                    key: loader.matrix(&mixer.key)?,
                    value: loader.matrix(&mixer.value)?,
                    query_norm: loader.vector(&mixer.query_norm)?,
                    key_norm: loader.vector(&mixer.key_norm)?,
                    output: loader.matrix(&mixer.output)?,
                }),
                model::Mixer::DeltaNet(mixer) => Mixer::DeltaNet(DeltaNet {
                    qkv: loader.matrix(&mixer.qkv)?,
                    gate: loader.matrix(&mixer.gate)?,
                    beta_alpha: loader.matrix(&mixer.beta_alpha)?,
                    taps: {
                        let taps = mixer.taps(loader.file, model.config.delta_net.conv_kernel)?;
                        loader.launcher.upload("taps", bytemuck::cast_slice(&taps))?
                    },
                    decay: loader.vector(&mixer.decay)?,
                    alpha_bias: loader.vector(&mixer.alpha_bias)?,
                    norm: loader.vector(&mixer.norm)?,
                    output: loader.matrix(&mixer.output)?,
                }),
            },
            experts_norm: loader.vector(&layer.experts_norm)?,
            router: loader.matrix(&layer.experts.router)?,
            shared_gate: loader.matrix(&layer.experts.shared.gate)?,
            shared_up: loader.matrix(&layer.experts.shared.up)?,
            shared_down: loader.matrix(&layer.experts.shared.down)?,
            shared_weight: loader.matrix(&layer.experts.shared.weight)?,
        })
    }
}

impl NextToken {
    fn load(loader: &mut Loader, model: &Model, block: &model::NextToken) -> Result<NextToken> {
        Ok(NextToken {
            embedding_norm: loader.vector(&block.embedding_norm)?,
            hidden_norm: loader.vector(&block.hidden_norm)?,
            projection: loader.matrix(&block.projection)?,
            layer: Layer::load(loader, model, &block.layer)?,
            head_norm: loader.vector(&block.head_norm)?,
            embedding: block.embedding.as_ref().map(|matrix| loader.matrix(matrix)).transpose()?,
            output: block.output.as_ref().map(|matrix| loader.matrix(matrix)).transpose()?,
        })
    }
}

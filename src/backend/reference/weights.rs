//! Dense weights in memory: those that every token uses.

use super::operations::matmul::MatrixView;
use crate::error::Result;
use crate::gguf::Gguf;
use crate::model::{self, Model};
use crate::quant::Type;

/// A matrix in the file's own layout.
pub struct Matrix {
    kind: Type,
    rows: usize,
    columns: usize,
    bytes: Vec<u8>,
}

impl Matrix {
    fn load(file: &Gguf, matrix: &model::Matrix) -> Result<Matrix> {
        let mut bytes = vec![0; matrix.bytes()];
        matrix.read(file, &mut bytes)?;
        Ok(Matrix { kind: matrix.kind, rows: matrix.rows, columns: matrix.columns, bytes })
    }

    /// The matrix, for the operations.
    pub fn view(&self) -> MatrixView<'_> {
        MatrixView { kind: self.kind, rows: self.rows, columns: self.columns, bytes: &self.bytes }
    }
}

/// All dense weights.
pub struct Weights {
    pub embedding: Matrix,
    pub output_norm: Vec<f32>,
    /// `None` where the output matrix is the embedding.
    output: Option<Matrix>,
    pub layers: Vec<Layer>,
    pub next_token: Option<NextToken>,
}

pub struct Layer {
    pub mixer_norm: Vec<f32>,
    pub mixer: Mixer,
    pub experts_norm: Vec<f32>,
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
    pub query_norm: Vec<f32>,
    pub key_norm: Vec<f32>,
    pub output: Matrix,
}

pub struct DeltaNet {
    pub qkv: Matrix,
    pub gate: Matrix,
    pub beta_alpha: Matrix,
    /// (taps, channels): the other way round than in the file, so that channels are contiguous.
    pub taps: Vec<f32>,
    pub decay: Vec<f32>,
    pub alpha_bias: Vec<f32>,
    pub norm: Vec<f32>,
    pub output: Matrix,
}

pub struct NextToken {
    pub embedding_norm: Vec<f32>,
    pub hidden_norm: Vec<f32>,
    pub projection: Matrix,
    pub layer: Layer,
    pub head_norm: Vec<f32>,
    embedding: Option<Matrix>,
    output: Option<Matrix>,
}

impl Weights {
    /// Reads all dense weights, the next-token block's only where it is asked for.
    pub fn load(model: &Model, next_token: bool) -> Result<Weights> {
        let file = &model.file;
        let tied = model.output == model.embedding;
        let block = model.next_token.as_ref().filter(|_| next_token);
        Ok(Weights {
            embedding: Matrix::load(file, &model.embedding)?,
            output_norm: model.output_norm.read(file)?,
            output: if tied { None } else { Some(Matrix::load(file, &model.output)?) },
            layers: model.layers.iter().map(|layer| Layer::load(model, layer)).collect::<Result<_>>()?,
            next_token: block.map(|block| NextToken::load(model, block)).transpose()?,
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

    /// Layer `index` of the trunk, or that of the next-token block, which follows them.
    pub fn layer(&self, index: usize) -> &Layer {
        match (self.layers.get(index), &self.next_token) {
            (Some(layer), _) => layer,
            (None, Some(block)) => &block.layer,
            (None, None) => panic!("layer {index} was not loaded"),
        }
    }
}

impl Layer {
    fn load(model: &Model, layer: &model::Layer) -> Result<Layer> {
        let file = &model.file;
        Ok(Layer {
            mixer_norm: layer.mixer_norm.read(file)?,
            mixer: match &layer.mixer {
                model::Mixer::Attention(mixer) => Mixer::Attention(Attention::load(file, mixer)?),
                model::Mixer::DeltaNet(mixer) => Mixer::DeltaNet(DeltaNet::load(model, mixer)?),
            },
            experts_norm: layer.experts_norm.read(file)?,
            router: Matrix::load(file, &layer.experts.router)?,
            shared_gate: Matrix::load(file, &layer.experts.shared.gate)?,
            shared_up: Matrix::load(file, &layer.experts.shared.up)?,
            shared_down: Matrix::load(file, &layer.experts.shared.down)?,
            shared_weight: Matrix::load(file, &layer.experts.shared.weight)?,
        })
    }
}

impl Attention {
    fn load(file: &Gguf, mixer: &model::Attention) -> Result<Attention> {
        Ok(Attention {
            query_gate: Matrix::load(file, &mixer.query_gate)?,
            key: Matrix::load(file, &mixer.key)?,
            value: Matrix::load(file, &mixer.value)?,
            query_norm: mixer.query_norm.read(file)?,
            key_norm: mixer.key_norm.read(file)?,
            output: Matrix::load(file, &mixer.output)?,
        })
    }
}

impl DeltaNet {
    fn load(model: &Model, mixer: &model::DeltaNet) -> Result<DeltaNet> {
        let file = &model.file;
        Ok(DeltaNet {
            qkv: Matrix::load(file, &mixer.qkv)?,
            gate: Matrix::load(file, &mixer.gate)?,
            beta_alpha: Matrix::load(file, &mixer.beta_alpha)?,
            taps: mixer.taps(file, model.config.delta_net.conv_kernel)?,
            decay: mixer.decay.read(file)?,
            alpha_bias: mixer.alpha_bias.read(file)?,
            norm: mixer.norm.read(file)?,
            output: Matrix::load(file, &mixer.output)?,
        })
    }
}

impl NextToken {
    fn load(model: &Model, block: &model::NextToken) -> Result<NextToken> {
        let file = &model.file;
        let optional = |matrix: &Option<model::Matrix>| matrix.as_ref().map(|m| Matrix::load(file, m)).transpose();
        Ok(NextToken {
            embedding_norm: block.embedding_norm.read(file)?,
            hidden_norm: block.hidden_norm.read(file)?,
            projection: Matrix::load(file, &block.projection)?,
            layer: Layer::load(model, &block.layer)?,
            head_norm: block.head_norm.read(file)?,
            embedding: optional(&block.embedding)?,
            output: optional(&block.output)?,
        })
    }
}

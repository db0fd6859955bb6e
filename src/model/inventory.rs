//! Which tensor is where.
//!
//! Files of the family come in several layouts: projections split or fused, rows grouped by key head or not. Here
//! each is described as row ranges ([`Piece`]) of the file's tensors, in the one order that all backends use:
//!
//! | matrix | rows |
//! | --- | --- |
//! | [`Attention::query_gate`] | the queries of all heads, then the gates of all heads |
//! | [`DeltaNet::qkv`] | query heads, key heads, value heads |
//! | [`DeltaNet::beta_alpha`] | beta of all value heads, then alpha of all value heads |
//! | [`ExpertMatrix`] | one expert after the other, gate and up apart |
//!
//! A row of a quantised matrix is whole blocks, so moving rows moves bytes and changes no value.

use super::config::{Config, MixerKind};
use super::{Error, Model, TensorProblem};
use crate::gguf::{Gguf, TensorInfo};
use crate::quant::Type;
use std::sync::Arc;

/// A range of rows of one of the file's tensors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The tensor's name.
    pub tensor: String,
    /// The first row, counted over all dimensions but the contiguous one.
    pub first_row: u64,
    /// How many rows.
    pub rows: u64,
}

/// A matrix of `rows` rows of `columns` contiguous values: `y[o] = sum over i of W[o][i] x[i]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matrix {
    /// The type of all its rows.
    pub kind: Type,
    /// Outputs.
    pub rows: usize,
    /// Inputs.
    pub columns: usize,
    /// Where the rows are, in order.
    pub pieces: Vec<Piece>,
}

/// The same matrix for each of `experts` experts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpertMatrix {
    /// The type of all rows.
    pub kind: Type,
    /// Outputs of one expert.
    pub rows: usize,
    /// Inputs of one expert.
    pub columns: usize,
    /// How many experts.
    pub experts: usize,
    /// The file's tensor.
    tensor: String,
    /// The tensor's rows of one expert (twice `rows` where gate and up are fused).
    stride: u64,
    /// The first of those rows that belongs to this matrix.
    first_row: u64,
}

impl ExpertMatrix {
    /// The rows of one expert.
    pub fn piece(&self, expert: usize) -> Piece {
        let first_row = expert as u64 * self.stride + self.first_row;
        Piece { tensor: self.tensor.clone(), first_row, rows: self.rows as u64 }
    }

    /// Bytes of one expert.
    pub fn expert_bytes(&self) -> usize {
        matrix_bytes(self.kind, self.rows, self.columns)
    }
}

/// A vector of `f32`, in whatever type the file keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vector {
    /// The file's tensor.
    pub tensor: String,
    /// How many values.
    pub length: usize,
}

/// A layer: `x += mixer(rms(x, mixer_norm)); x += experts(rms(x, experts_norm))`.
#[derive(Clone, Debug)]
pub struct Layer {
    /// Norm before the mixer, (hidden).
    pub mixer_norm: Vector,
    /// The mixer.
    pub mixer: Mixer,
    /// Norm before the experts, (hidden).
    pub experts_norm: Vector,
    /// The experts.
    pub experts: MixtureOfExperts,
}

/// The mixer of a layer.
#[derive(Clone, Debug)]
pub enum Mixer {
    /// Gated full attention.
    Attention(Attention),
    /// Gated DeltaNet.
    DeltaNet(DeltaNet),
}

/// Weights of gated full attention.
#[derive(Clone, Debug)]
pub struct Attention {
    /// (2 query size, hidden): queries of all heads, gates of all heads.
    pub query_gate: Matrix,
    /// (kv size, hidden).
    pub key: Matrix,
    /// (kv size, hidden).
    pub value: Matrix,
    /// RMSNorm weight of a query head, (head).
    pub query_norm: Vector,
    /// RMSNorm weight of a key head, (head).
    pub key_norm: Vector,
    /// (hidden, query size).
    pub output: Matrix,
}

/// Weights of the gated DeltaNet.
#[derive(Clone, Debug)]
pub struct DeltaNet {
    /// (conv size, hidden): query heads, key heads, value heads.
    pub qkv: Matrix,
    /// Output gate `z`, (value size, hidden).
    pub gate: Matrix,
    /// (2 value heads, hidden): beta of all value heads, alpha of all value heads.
    pub beta_alpha: Matrix,
    /// Taps of the convolution, (conv size, taps), the last tap being the current token's.
    pub conv: Vector,
    /// `-exp(A_log)`, (value heads).
    pub decay: Vector,
    /// Bias of alpha, (value heads).
    pub alpha_bias: Vector,
    /// RMSNorm weight of a value head, (head).
    pub norm: Vector,
    /// (hidden, value size).
    pub output: Matrix,
}

/// Weights of a mixture of experts.
#[derive(Clone, Debug)]
pub struct MixtureOfExperts {
    /// (experts, hidden).
    pub router: Matrix,
    /// (feed forward, hidden) an expert.
    pub gate: ExpertMatrix,
    /// (feed forward, hidden) an expert.
    pub up: ExpertMatrix,
    /// (hidden, feed forward) an expert.
    pub down: ExpertMatrix,
    /// The expert that every token uses.
    pub shared: SharedExpert,
}

impl MixtureOfExperts {
    /// Bytes of one routed expert.
    pub fn expert_bytes(&self) -> usize {
        self.gate.expert_bytes() + self.up.expert_bytes() + self.down.expert_bytes()
    }
}

/// Weights of the shared expert.
#[derive(Clone, Debug)]
pub struct SharedExpert {
    /// (shared feed forward, hidden).
    pub gate: Matrix,
    /// (shared feed forward, hidden).
    pub up: Matrix,
    /// (hidden, shared feed forward).
    pub down: Matrix,
    /// (1, hidden): its sigmoid weighs the shared expert's output.
    pub weight: Matrix,
}

/// The next-token-prediction block (also called MTP): one more layer that reads a token and the trunk's last hidden
/// row before it, and predicts the token after.
#[derive(Clone, Debug)]
pub struct NextToken {
    /// Norm of the embedding, (hidden).
    pub embedding_norm: Vector,
    /// Norm of the hidden row, (hidden).
    pub hidden_norm: Vector,
    /// (hidden, 2 hidden): reads the normed embedding, then the normed hidden row.
    pub projection: Matrix,
    /// The layer.
    pub layer: Layer,
    /// Norm before the output matrix, (hidden).
    pub head_norm: Vector,
    /// The block's own embedding, where it does not use the trunk's.
    pub embedding: Option<Matrix>,
    /// The block's own output matrix, where it does not use the trunk's.
    pub output: Option<Matrix>,
}

impl Matrix {
    /// Bytes of the whole matrix.
    pub fn bytes(&self) -> usize {
        matrix_bytes(self.kind, self.rows, self.columns)
    }
}

/// Bytes of a matrix whose shape the inventory has checked.
fn matrix_bytes(kind: Type, rows: usize, columns: usize) -> usize {
    columns / kind.block_length() * kind.block_bytes() * rows
}

/// Checks all tensors of a `qwen3next` file and says where each matrix is.
pub(super) fn take(file: Arc<Gguf>, config: Config) -> Result<Model, Error> {
    refuse_scales(&file)?;
    let mut inventory = Inventory { file: &file, config: &config, problems: Vec::new() };
    let hidden = config.hidden;
    let embedding = inventory.matrix("token_embd.weight", config.vocabulary, hidden);
    let output = match file.tensor("output.weight") {
        Some(_) => inventory.matrix("output.weight", config.vocabulary, hidden),
        None => embedding.clone(),
    };
    let output_norm = inventory.vector("output_norm.weight", hidden);
    let layers = (0..config.layers).map(|index| inventory.layer(index, config.mixers[index])).collect();
    let next_token = config.next_token.then(|| inventory.next_token(config.layers));
    if !inventory.problems.is_empty() {
        return Err(Error::Tensors { file: file.name().into(), problems: inventory.problems });
    }
    Ok(Model { embedding, layers, output_norm, output, next_token, config, file })
}

/// Some files scale a matrix by a companion tensor; ignoring it would give wrong text.
fn refuse_scales(file: &Gguf) -> Result<(), Error> {
    match file.tensors().iter().find(|tensor| tensor.name.ends_with(".scale")) {
        Some(tensor) => Err(Error::Unsupported {
            file: file.name().into(),
            what: format!("the scale tensor `{}` (NVFP4 files have them)", tensor.name),
        }),
        None => Ok(()),
    }
}

struct Inventory<'a> {
    file: &'a Gguf,
    config: &'a Config,
    problems: Vec<TensorProblem>,
}

impl Inventory<'_> {
    fn layer(&mut self, index: usize, mixer: MixerKind) -> Layer {
        let name = |suffix: &str| format!("blk.{index}.{suffix}");
        let hidden = self.config.hidden;
        Layer {
            mixer_norm: self.vector(&name("attn_norm.weight"), hidden),
            mixer: match mixer {
                MixerKind::Attention => Mixer::Attention(self.attention(index)),
                MixerKind::DeltaNet => Mixer::DeltaNet(self.delta_net(index)),
            },
            experts_norm: self.vector(&name("post_attention_norm.weight"), hidden),
            experts: self.experts(index),
        }
    }

    fn attention(&mut self, index: usize) -> Attention {
        let name = |suffix: &str| format!("blk.{index}.{suffix}");
        let attention = &self.config.attention;
        let (hidden, head, heads) = (self.config.hidden, attention.head_size, attention.heads);
        let (query, kv) = (attention.query_size(), attention.kv_size());
        // The file interleaves them: query of head 0, gate of head 0, query of head 1, ...
        let part = |gate: usize| (0..heads).map(move |h| ((2 * h + gate) * head, head));
        let query_gate_rows: Vec<_> = part(0).chain(part(1)).collect();
        let fused = name("attn_qkv.weight");
        let (query_gate, key, value) = if self.file.tensor(&fused).is_some() {
            let all = self.matrix(&fused, 2 * query + 2 * kv, hidden);
            (all.select(&query_gate_rows), all.select(&[(2 * query, kv)]), all.select(&[(2 * query + kv, kv)]))
        } else {
            (
                self.matrix(&name("attn_q.weight"), 2 * query, hidden).select(&query_gate_rows),
                self.matrix(&name("attn_k.weight"), kv, hidden),
                self.matrix(&name("attn_v.weight"), kv, hidden),
            )
        };
        Attention {
            query_gate,
            key,
            value,
            query_norm: self.vector(&name("attn_q_norm.weight"), head),
            key_norm: self.vector(&name("attn_k_norm.weight"), head),
            output: self.matrix(&name("attn_output.weight"), hidden, query),
        }
    }

    fn delta_net(&mut self, index: usize) -> DeltaNet {
        let name = |suffix: &str| format!("blk.{index}.{suffix}");
        let delta = self.config.delta_net;
        let (hidden, head) = (self.config.hidden, delta.head_size);
        let (groups, ratio) = (delta.key_heads, delta.value_heads / delta.key_heads);
        let legacy = name("ssm_in.weight");
        let (qkv, gate) = if self.file.tensor(&legacy).is_some() {
            // First-generation files group the rows by key head: query, key, its values, its gates.
            let all = self.matrix(&legacy, delta.conv_size() + delta.value_size(), hidden);
            let stride = 2 * head + 2 * ratio * head;
            let part = |offset: usize, rows: usize| (0..groups).map(move |group| (group * stride + offset, rows));
            let qkv: Vec<_> = part(0, head).chain(part(head, head)).chain(part(2 * head, ratio * head)).collect();
            let gate: Vec<_> = part(2 * head + ratio * head, ratio * head).collect();
            (all.select(&qkv), all.select(&gate))
        } else {
            (
                self.matrix(&name("attn_qkv.weight"), delta.conv_size(), hidden),
                self.matrix(&name("attn_gate.weight"), delta.value_size(), hidden),
            )
        };
        // The file groups these by key head too: its betas, its alphas.
        let part = |alpha: usize| (0..groups).map(move |group| ((2 * group + alpha) * ratio, ratio));
        let beta_alpha: Vec<_> = part(0).chain(part(1)).collect();
        DeltaNet {
            qkv,
            gate,
            beta_alpha: self.matrix(&name("ssm_ba.weight"), 2 * delta.value_heads, hidden).select(&beta_alpha),
            conv: self.taps(&name("ssm_conv1d.weight"), delta.conv_size(), delta.conv_kernel),
            decay: self.vector(&name("ssm_a"), delta.value_heads),
            alpha_bias: self.vector(&name("ssm_dt.bias"), delta.value_heads),
            norm: self.vector(&name("ssm_norm.weight"), head),
            output: self.matrix(&name("ssm_out.weight"), hidden, delta.value_size()),
        }
    }

    fn experts(&mut self, index: usize) -> MixtureOfExperts {
        let name = |suffix: &str| format!("blk.{index}.{suffix}");
        let experts = self.config.experts;
        let (hidden, width, shared) = (self.config.hidden, experts.feed_forward, experts.shared_feed_forward);
        let fused = name("ffn_gate_up_exps.weight");
        let (gate, up) = if self.file.tensor(&fused).is_some() {
            (self.expert_matrix(&fused, width, hidden, 2, 0), self.expert_matrix(&fused, width, hidden, 2, 1))
        } else {
            (
                self.expert_matrix(&name("ffn_gate_exps.weight"), width, hidden, 1, 0),
                self.expert_matrix(&name("ffn_up_exps.weight"), width, hidden, 1, 0),
            )
        };
        MixtureOfExperts {
            router: self.matrix(&name("ffn_gate_inp.weight"), experts.count, hidden),
            gate,
            up,
            down: self.expert_matrix(&name("ffn_down_exps.weight"), hidden, width, 1, 0),
            shared: SharedExpert {
                gate: self.matrix(&name("ffn_gate_shexp.weight"), shared, hidden),
                up: self.matrix(&name("ffn_up_shexp.weight"), shared, hidden),
                down: self.matrix(&name("ffn_down_shexp.weight"), hidden, shared),
                weight: self.single_row(&name("ffn_gate_inp_shexp.weight"), hidden),
            },
        }
    }

    fn next_token(&mut self, index: usize) -> NextToken {
        let name = |suffix: &str| format!("blk.{index}.nextn.{suffix}");
        let (hidden, vocabulary) = (self.config.hidden, self.config.vocabulary);
        let head_norm = name("shared_head_norm.weight");
        let own = |inventory: &mut Self, name: String| {
            inventory.file.tensor(&name)?;
            Some(inventory.matrix(&name, vocabulary, hidden))
        };
        NextToken {
            embedding_norm: self.vector(&name("enorm.weight"), hidden),
            hidden_norm: self.vector(&name("hnorm.weight"), hidden),
            projection: self.matrix(&name("eh_proj.weight"), hidden, 2 * hidden),
            layer: self.layer(index, MixerKind::Attention),
            head_norm: match self.file.tensor(&head_norm) {
                Some(_) => self.vector(&head_norm, hidden),
                None => self.vector("output_norm.weight", hidden),
            },
            embedding: own(self, name("embed_tokens.weight")),
            output: own(self, name("shared_head_head.weight")),
        }
    }

    fn matrix(&mut self, name: &str, rows: usize, columns: usize) -> Matrix {
        let kind = self.tensor(name, &[&[columns as u64, rows as u64]]).map_or(Type::F32, |tensor| tensor.kind);
        Matrix { kind, rows, columns, pieces: vec![Piece { tensor: name.into(), first_row: 0, rows: rows as u64 }] }
    }

    /// A matrix of one row, which files write with one dimension or with two.
    fn single_row(&mut self, name: &str, columns: usize) -> Matrix {
        let length = columns as u64;
        let kind = self.tensor(name, &[&[length], &[length, 1]]).map_or(Type::F32, |tensor| tensor.kind);
        Matrix { kind, rows: 1, columns, pieces: vec![Piece { tensor: name.into(), first_row: 0, rows: 1 }] }
    }

    /// One matrix an expert. `fused` of them stand one after the other in the tensor; this is number `which`.
    fn expert_matrix(&mut self, name: &str, rows: usize, columns: usize, fused: usize, which: usize) -> ExpertMatrix {
        let experts = self.config.experts.count;
        let shape = [columns as u64, (fused * rows) as u64, experts as u64];
        let kind = self.tensor(name, &[&shape]).map_or(Type::F32, |tensor| tensor.kind);
        ExpertMatrix {
            kind,
            rows,
            columns,
            experts,
            tensor: name.into(),
            stride: (fused * rows) as u64,
            first_row: (which * rows) as u64,
        }
    }

    fn vector(&mut self, name: &str, length: usize) -> Vector {
        let float = self.tensor(name, &[&[length as u64]]).is_none_or(|tensor| tensor.kind.block_length() == 1);
        self.require_float(name, float);
        Vector { tensor: name.into(), length }
    }

    /// The convolution's taps, contiguous for each channel.
    fn taps(&mut self, name: &str, channels: usize, taps: usize) -> Vector {
        let shape = [taps as u64, channels as u64];
        let float = self.tensor(name, &[&shape]).is_none_or(|tensor| tensor.kind.block_length() == 1);
        self.require_float(name, float);
        Vector { tensor: name.into(), length: taps * channels }
    }

    fn require_float(&mut self, name: &str, float: bool) {
        if !float && let Some(tensor) = self.file.tensor(name) {
            let found = tensor.kind;
            self.note(TensorProblem::Kind { name: name.into(), found, expected: "F32, F16 or BF16" });
        }
    }

    /// The tensor of this name if it has one of the shapes; otherwise notes what is wrong, once.
    fn tensor(&mut self, name: &str, shapes: &[&[u64]]) -> Option<&TensorInfo> {
        let expected = shapes[0].to_vec();
        match self.file.tensor(name) {
            Some(tensor) if shapes.contains(&tensor.shape.as_slice()) => Some(tensor),
            Some(tensor) => {
                self.note(TensorProblem::Shape { name: name.into(), found: tensor.shape.clone(), expected });
                None
            }
            None => {
                self.note(TensorProblem::Missing { name: alternatives(name), expected });
                None
            }
        }
    }

    fn note(&mut self, problem: TensorProblem) {
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }
}

/// The names under which a file may keep this tensor's rows.
fn alternatives(name: &str) -> String {
    const FUSED: [(&str, &str); 5] = [
        ("attn_q.weight", "attn_qkv.weight"),
        ("attn_gate.weight", "ssm_in.weight"),
        ("attn_qkv.weight", "ssm_in.weight"),
        ("ffn_gate_exps.weight", "ffn_gate_up_exps.weight"),
        ("ffn_up_exps.weight", "ffn_gate_up_exps.weight"),
    ];
    let fused = FUSED.iter().find_map(|(part, fused)| name.strip_suffix(part).map(|block| format!("{block}{fused}")));
    match fused {
        Some(fused) => format!("{name}` or `{fused}"),
        None => name.into(),
    }
}

impl Matrix {
    /// The matrix of these rows, given as (first, count).
    fn select(&self, ranges: &[(usize, usize)]) -> Matrix {
        let tensor = &self.pieces[0].tensor;
        let piece = |&(first, rows): &(usize, usize)| Piece {
            tensor: tensor.clone(),
            first_row: first as u64,
            rows: rows as u64,
        };
        let rows = ranges.iter().map(|range| range.1).sum();
        Matrix { kind: self.kind, rows, columns: self.columns, pieces: ranges.iter().map(piece).collect() }
    }
}

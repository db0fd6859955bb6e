//! The CPU reference: plain `f32`, one function an operation, the judge of all other backends.

mod layer;
pub mod operations;
mod sequence;
mod slots;
mod weights;

use super::{
    Backend, Batch, Block, Capabilities, Checkpoint, ExpertMemory, Hidden, Logits, Pass, Pending, Phase, Routing, Row,
    RowInput, SequenceId, SlotTable,
};
use crate::error::{Error, Result};
use crate::memory::KvType;
use crate::model::Model;
use operations::matmul::{MatrixView, decode_row, matmul};
use operations::norm::rms_norm;
use rayon::ThreadPool;
use sequence::Sequence;
use slots::HostSlots;
use std::collections::HashMap;
use std::sync::Arc;
use weights::Weights;

/// The CPU backend.
pub struct Reference {
    model: Arc<Model>,
    weights: Weights,
    experts: Arc<HostSlots>,
    capabilities: Capabilities,
    kv_type: KvType,
    threads: ThreadPool,
    sequences: HashMap<SequenceId, Sequence>,
    next_sequence: u32,
    pass: Option<Activations>,
}

/// What [`Reference::load`] can be told.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Threads; as many as the machine has cores where absent.
    pub threads: Option<usize>,
    /// How keys and values are kept.
    pub kv_type: KvType,
    /// Whether the next-token block is loaded.
    pub next_token: bool,
}

/// Values of the rows of a pass.
struct Activations {
    rows: Vec<Row>,
    block: Block,
    provisional: bool,
    /// Residual stream, (rows, hidden).
    x: Vec<f32>,
    /// Input of the experts, (rows, hidden).
    experts_input: Vec<f32>,
    /// Output of the shared expert, weighed, (rows, hidden).
    shared: Vec<f32>,
    /// Weights of the chosen experts, (rows, used).
    expert_weights: Vec<f32>,
    routing: Routing,
    cosines: Vec<f32>,
    sines: Vec<f32>,
}

impl Reference {
    /// Loads the dense weights and makes the slots, which are still to be filled.
    ///
    /// # Errors
    /// The file cannot be read, or threads cannot be started.
    pub fn load(model: Arc<Model>, options: &Options) -> Result<Reference> {
        // Said outright, or the thread library would ask the environment.
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let threads = rayon::ThreadPoolBuilder::new().num_threads(options.threads.unwrap_or(cores));
        let threads = threads.build().map_err(|error| Error::Backend(format!("cannot start threads: {error}")))?;
        let next_token = options.next_token && model.next_token.is_some();
        Ok(Reference {
            weights: Weights::load(&model, next_token)?,
            experts: Arc::new(HostSlots::new(&model, next_token)),
            capabilities: Capabilities {
                name: "reference",
                device: format!("CPU, {} threads", threads.current_num_threads()),
                rows: None,
                provisional_rows: 8,
            },
            kv_type: options.kv_type,
            sequences: HashMap::new(),
            next_sequence: 0,
            pass: None,
            threads,
            model,
        })
    }

    fn sequence(&mut self, id: SequenceId) -> &mut Sequence {
        self.sequences.get_mut(&id).expect("the scheduler uses sequences that it opened")
    }

    /// The rows' inputs to the first layer of their block, (rows, hidden).
    fn inputs(&self, batch: &Batch) -> Vec<f32> {
        let hidden = self.model.config.hidden;
        let embed = |embedding: MatrixView, row: &Row, into: &mut [f32]| {
            decode_row(embedding, row.input.token() as usize, into);
        };
        let mut x = vec![0.0; batch.rows.len() * hidden];
        match (batch.block, &self.weights.next_token) {
            (Block::Trunk, _) => {
                for (row, x) in batch.rows.iter().zip(x.chunks_exact_mut(hidden)) {
                    embed(self.weights.embedding.view(), row, x);
                }
                x
            }
            (Block::NextToken, Some(block)) => {
                let (embedding, _) = self.weights.next_token_ends(block);
                let epsilon = self.model.config.norm_epsilon;
                let mut joined = Vec::with_capacity(2 * x.len());
                for (row, x) in batch.rows.iter().zip(x.chunks_exact_mut(hidden)) {
                    embed(embedding.view(), row, x);
                    joined.extend(rms_norm(x, &block.embedding_norm, epsilon));
                    joined.extend(rms_norm(&self.hidden_row(row), &block.hidden_norm, epsilon));
                }
                matmul(block.projection.view(), &joined)
            }
            (Block::NextToken, None) => panic!("the next-token block was not loaded"),
        }
    }

    /// The hidden row that a draft row reads.
    fn hidden_row(&self, row: &Row) -> Vec<f32> {
        let hidden = self.model.config.hidden;
        match row.input {
            RowInput::Draft { hidden: Hidden::Trunk { position }, .. } => {
                let sequence = &self.sequences[&row.sequence];
                let index = (position - sequence.hidden_start) as usize;
                sequence.hidden[index * hidden..][..hidden].to_vec()
            }
            RowInput::Draft { hidden: Hidden::Zeros, .. } | RowInput::Token(_) => vec![0.0; hidden],
        }
    }

    fn logits(&self, pass: &Activations, rows: &[u32]) -> Logits {
        let hidden = self.model.config.hidden;
        let chosen: Vec<f32> =
            rows.iter().flat_map(|row| &pass.x[*row as usize * hidden..][..hidden]).copied().collect();
        let (norm, output) = match (pass.block, &self.weights.next_token) {
            (Block::NextToken, Some(block)) => (&block.head_norm, self.weights.next_token_ends(block).1),
            _ => (&self.weights.output_norm, self.weights.output()),
        };
        let normed = rms_norm(&chosen, norm, self.model.config.norm_epsilon);
        let values = if rows.is_empty() { Vec::new() } else { matmul(output.view(), &normed) };
        Logits { vocabulary: self.model.config.vocabulary, values }
    }

    /// Keeps the hidden rows `first..` of a sequence for the next-token block, and the one before them.
    fn keep_hidden(&mut self, id: SequenceId, rows: &[f32]) {
        let hidden = self.model.config.hidden;
        let sequence = self.sequence(id);
        let before = sequence.hidden.len().saturating_sub(hidden);
        sequence.hidden.drain(..before);
        sequence.hidden_start = sequence.position - (sequence.hidden.len() / hidden) as u32;
        sequence.hidden.extend_from_slice(rows);
    }
}

impl Backend for Reference {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn expert_memory(&self) -> Arc<dyn ExpertMemory> {
        self.experts.clone()
    }

    fn open(&mut self, _capacity: u32) -> Result<SequenceId> {
        let id = SequenceId(self.next_sequence);
        self.next_sequence += 1;
        let next_token = self.weights.next_token.is_some();
        self.sequences.insert(id, Sequence::new(&self.model.config, next_token, self.kv_type));
        Ok(id)
    }

    fn close(&mut self, sequence: SequenceId) {
        self.sequences.remove(&sequence);
    }

    fn begin(&mut self, batch: &Batch) -> Result<Pass> {
        // This backend has one class of kernels: a row's bytes are the same in both phases.
        let (Phase::Ingest | Phase::Decode) = batch.phase;
        if batch.rows.iter().any(|row| !self.sequences[&row.sequence].intact) {
            return Err(Error::SessionLost);
        }
        let (mut cosines, mut sines) = (Vec::new(), Vec::new());
        for row in batch.rows {
            self.model.config.attention.rotary.append(row.position, &mut cosines, &mut sines);
        }
        let x = self.threads.install(|| self.inputs(batch));
        for row in batch.rows {
            self.sequence(row.sequence).intact = false;
        }
        self.pass = Some(Activations {
            rows: batch.rows.to_vec(),
            block: batch.block,
            provisional: batch.provisional,
            x,
            experts_input: Vec::new(),
            shared: Vec::new(),
            expert_weights: Vec::new(),
            routing: Routing::default(),
            cosines,
            sines,
        });
        Ok(Pass { rows: batch.rows.len(), block: batch.block })
    }

    fn mix(&mut self, _pass: &mut Pass, layer: usize) -> Result<()> {
        let Reference { model, weights, sequences, threads, pass, .. } = self;
        let pass = pass.as_mut().expect("a pass is under way");
        threads.install(|| layer::mix(model, weights.layer(layer), layer, pass, sequences));
        Ok(())
    }

    fn routing(&mut self, _pass: &Pass, _layer: usize) -> Result<Pending<Routing>> {
        Ok(Pending::ready(self.pass.as_ref().expect("a pass is under way").routing.clone()))
    }

    fn experts(&mut self, _pass: &mut Pass, layer: usize, slots: &SlotTable) -> Result<()> {
        let Reference { model, experts, threads, pass, .. } = self;
        let pass = pass.as_mut().expect("a pass is under way");
        threads.install(|| {
            layer::experts(model, pass, |expert| experts.expert(slots.slot(expert), model.layer(layer)));
        });
        Ok(())
    }

    fn head(&mut self, _pass: &mut Pass, rows: &[u32]) -> Result<Pending<Logits>> {
        let pass = self.pass.as_ref().expect("a pass is under way");
        Ok(Pending::ready(self.threads.install(|| self.logits(pass, rows))))
    }

    fn commit(&mut self, _pass: Pass, keep: &[(SequenceId, u32)]) -> Result<()> {
        let pass = self.pass.take().expect("a pass is under way");
        let (hidden, epsilon) = (self.model.config.hidden, self.model.config.norm_epsilon);
        let mut start = 0;
        for rows in pass.rows.chunk_by(|a, b| a.sequence == b.sequence) {
            let id = rows[0].sequence;
            let count = rows.len() as u32;
            let kept = if pass.provisional {
                keep.iter().find(|(sequence, _)| *sequence == id).map_or(0, |(_, kept)| (*kept).min(count))
            } else {
                count
            };
            if pass.block == Block::Trunk && self.weights.next_token.is_some() {
                let x = &pass.x[start * hidden..][..kept as usize * hidden];
                self.keep_hidden(id, &rms_norm(x, &self.weights.output_norm, epsilon));
            }
            let sequence = self.sequence(id);
            sequence.intact = true;
            if pass.block == Block::Trunk {
                sequence.keep(kept, count);
                sequence.position += kept;
            }
            start += rows.len();
        }
        Ok(())
    }

    fn save(&mut self, sequence: SequenceId) -> Result<Checkpoint> {
        let state = self.sequence(sequence).clone();
        if !state.intact {
            return Err(Error::SessionLost);
        }
        Ok(Checkpoint { position: state.position, bytes: state.bytes(), state: Box::new(state) })
    }

    fn restore(&mut self, sequence: SequenceId, checkpoint: &Checkpoint) -> Result<()> {
        let state: &Sequence = checkpoint.state.downcast_ref().expect("a checkpoint of this backend");
        *self.sequence(sequence) = state.clone();
        Ok(())
    }
}

//! The GPU as a [`Backend`].

use super::device::Device;
use super::kernels;
use super::launcher::Launcher;
use super::layers::{Program, Rows};
use super::scratch::{Scratch, widest_row};
use super::sequence::{LayerState, Sequence};
use super::slots::GpuSlots;
use super::weights::{Loader, Weights};
use crate::backend::{
    Backend, Batch, Block, Capabilities, Checkpoint, ExpertMemory, Logits, Pass, Pending, Phase, Routing, SequenceId,
    SlotTable,
};
use crate::error::{Error, Result};
use crate::memory::KvType;
use crate::model::Model;
use std::collections::HashMap;
use std::sync::Arc;

/// The GPU backend.
pub struct Gpu {
    program: Program,
    capabilities: Capabilities,
    next_sequence: u32,
    pass: Option<Rows>,
}

/// What [`Gpu::load`] can be told.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// A part of the adapter's name; the best hardware where absent.
    pub adapter: Option<String>,
    /// How keys and values are kept.
    pub kv_type: KvType,
    /// Rows of the largest pass.
    pub rows: u32,
    /// Whether the next-token block is loaded.
    pub next_token: bool,
    /// Most bytes of a slab, below the adapter's own limit.
    pub slab_bytes: Option<u64>,
}

/// A sequence's state in host memory.
struct SavedState {
    position: u32,
    layers: Vec<SavedLayer>,
    hidden: Option<(Vec<u8>, u32, u32)>,
}

enum SavedLayer {
    Kv(Vec<(Vec<u8>, Vec<u8>)>),
    Recurrent(Vec<u8>, Vec<u8>),
}

impl Gpu {
    /// Loads the dense weights and makes the slots, which are still to be filled.
    ///
    /// # Errors
    /// There is no such adapter, it fails, or the file cannot be read.
    pub fn load(model: Arc<Model>, options: &Options) -> Result<Gpu> {
        check_shapes(&model)?;
        let device = Device::open(options.adapter.as_deref())?;
        let facts = device.adapter.clone();
        let limit = facts.limits.max_storage_buffer_binding_size.min(facts.limits.max_buffer_size);
        let slab_bytes = options.slab_bytes.unwrap_or(limit).min(limit) / 256 * 256;
        let mut launcher = Launcher::new(device);
        let next_token = options.next_token && model.next_token.is_some();
        let fitting = slab_bytes / (4 * widest_row(&model.config) as u64);
        let rows = u64::from(options.rows.max(1)).min(fitting.max(1)) as u32;
        let mut loader = Loader { launcher: &mut launcher, file: &model.file, slab_bytes };
        let weights = Weights::load(&mut loader, &model, next_token)?;
        let slots = Arc::new(GpuSlots::new(&launcher, &model, next_token, slab_bytes)?);
        let codebook = launcher.upload("codebook", bytemuck::cast_slice(&kernels::codebook()))?;
        let scratch = Scratch::new(&launcher, &model.config, rows)?;
        Ok(Gpu {
            capabilities: Capabilities {
                name: "wgsl",
                device: format!("{} ({})", facts.name, facts.interface),
                rows: Some(rows),
                provisional_rows: 8,
            },
            program: Program {
                model,
                launcher,
                weights,
                slots,
                codebook,
                scratch,
                partials: None,
                sequences: HashMap::new(),
                slot_entries: HashMap::new(),
                kv_type: options.kv_type,
                slab_bytes,
            },
            next_sequence: 0,
            pass: None,
        })
    }

    fn sequence(&mut self, id: SequenceId) -> &mut Sequence {
        self.program.sequences.get_mut(&id).expect("the scheduler uses sequences that it opened")
    }
}

/// Kernels read eight values at a time, and hold a state row in vectors of four.
fn check_shapes(model: &Model) -> Result<()> {
    let config = &model.config;
    let refuse =
        |what: String| Err(Error::Backend(format!("the wgsl backend cannot run {what}; use `--backend reference`")));
    for (what, size, unit) in [
        ("a hidden size", config.hidden, 32),
        ("an expert width", config.experts.feed_forward, 32),
        ("a shared expert's width", config.experts.shared_feed_forward, 8),
        ("attention heads", config.attention.head_size, 8),
        ("DeltaNet heads", config.delta_net.head_size, 8),
    ] {
        if !size.is_multiple_of(unit) {
            return refuse(format!("{what} of {size} (a multiple of {unit} is needed)"));
        }
    }
    if config.experts.count > kernels::MOST_GROUPED_EXPERTS as usize {
        return refuse(format!("{} experts a layer (at most {})", config.experts.count, kernels::MOST_GROUPED_EXPERTS));
    }
    Ok(())
}

impl Backend for Gpu {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn expert_memory(&self) -> Arc<dyn ExpertMemory> {
        self.program.slots.clone()
    }

    fn open(&mut self, _capacity: u32) -> Result<SequenceId> {
        let id = SequenceId(self.next_sequence);
        self.next_sequence += 1;
        let Program { launcher, model, weights, kv_type, slab_bytes, .. } = &self.program;
        let next_token = weights.next_token.is_some();
        let rows = self.capabilities.rows.unwrap_or(1);
        let sequence = Sequence::new(launcher, &model.config, next_token, *kv_type, rows, *slab_bytes)?;
        self.program.sequences.insert(id, sequence);
        Ok(id)
    }

    fn close(&mut self, sequence: SequenceId) {
        self.program.sequences.remove(&sequence);
    }

    fn begin(&mut self, batch: &Batch) -> Result<Pass> {
        if batch.rows.iter().any(|row| !self.program.sequences[&row.sequence].intact) {
            return Err(Error::SessionLost);
        }
        for row in batch.rows {
            self.sequence(row.sequence).intact = false;
        }
        let rows =
            Rows { rows: batch.rows.to_vec(), phase: batch.phase, block: batch.block, provisional: batch.provisional };
        self.program.begin(&rows)?;
        self.pass = Some(rows);
        Ok(Pass { rows: batch.rows.len(), block: batch.block })
    }

    fn mix(&mut self, _pass: &mut Pass, layer: usize) -> Result<()> {
        self.program.mix(self.pass.as_ref().expect("a pass is under way"), layer)
    }

    fn routing(&mut self, pass: &Pass, _layer: usize) -> Result<Pending<Routing>> {
        let (rows, experts) = (pass.rows as u64, self.program.model.config.experts);
        let Program { launcher, scratch, .. } = &mut self.program;
        let ids = launcher.read(&scratch.ids.part(0, rows * 4 * experts.used as u64))?;
        let logits = launcher.read(&scratch.router.part(0, rows * 4 * experts.count as u64))?;
        Ok(Pending::new(move || {
            let (ids, logits) = (ids.wait()?, logits.wait()?);
            Ok(Routing { ids: bytemuck::pod_collect_to_vec(&ids), logits: bytemuck::pod_collect_to_vec(&logits) })
        }))
    }

    fn experts(&mut self, _pass: &mut Pass, layer: usize, slots: &SlotTable) -> Result<()> {
        let rows = self.pass.as_ref().expect("a pass is under way");
        self.program.experts(rows, layer, slots)?;
        if rows.phase == Phase::Ingest {
            // The device works on this layer while the next is recorded.
            self.program.launcher.submit();
        }
        self.program.launcher.device().check()
    }

    fn head(&mut self, _pass: &mut Pass, rows: &[u32]) -> Result<Pending<Logits>> {
        let pass = self.pass.as_ref().expect("a pass is under way");
        let parts = self.program.head(pass, rows)?;
        let vocabulary = self.program.model.config.vocabulary;
        Ok(Pending::new(move || {
            let mut values = Vec::new();
            for part in parts {
                values.extend(bytemuck::pod_collect_to_vec::<u8, f32>(&part.wait()?));
            }
            Ok(Logits { vocabulary, values })
        }))
    }

    fn commit(&mut self, _pass: Pass, keep: &[(SequenceId, u32)]) -> Result<()> {
        let pass = self.pass.take().expect("a pass is under way");
        let kept = |id: SequenceId, count: u32| {
            if pass.provisional {
                keep.iter().find(|(sequence, _)| *sequence == id).map_or(0, |(_, kept)| (*kept).min(count))
            } else {
                count
            }
        };
        if pass.block == Block::Trunk && self.program.weights.next_token.is_some() {
            self.program.keep_hidden(&pass, kept)?;
        }
        for (id, run) in pass.runs() {
            let count = run.end - run.start;
            let sequence = self.sequence(id);
            sequence.intact = true;
            if pass.block == Block::Trunk {
                sequence.keep(kept(id, count), count);
                sequence.position += kept(id, count);
            }
        }
        self.program.launcher.submit();
        self.program.launcher.device().check()
    }

    fn save(&mut self, id: SequenceId) -> Result<Checkpoint> {
        let Program { launcher, sequences, .. } = &mut self.program;
        let sequence = &sequences[&id];
        if !sequence.intact {
            return Err(Error::SessionLost);
        }
        let mut read = |view| launcher.read(view)?.wait();
        let mut layers = Vec::new();
        for layer in &sequence.layers {
            layers.push(match layer {
                LayerState::Kv(cache) => {
                    let slabs = cache.slabs.iter().map(|(keys, values)| Ok((read(keys)?, read(values)?)));
                    SavedLayer::Kv(slabs.collect::<Result<_>>()?)
                }
                LayerState::Recurrent(state) => SavedLayer::Recurrent(read(&state.delta)?, read(&state.conv)?),
            });
        }
        let hidden = match &sequence.hidden {
            Some(hidden) => Some((read(&hidden.rows)?, hidden.start, hidden.count)),
            None => None,
        };
        let state = SavedState { position: sequence.position, layers, hidden };
        Ok(Checkpoint { position: state.position, bytes: state.bytes(), state: Box::new(state) })
    }

    fn restore(&mut self, id: SequenceId, checkpoint: &Checkpoint) -> Result<()> {
        let saved: &SavedState = checkpoint.state.downcast_ref().expect("a checkpoint of this backend");
        let Program { launcher, sequences, .. } = &mut self.program;
        let sequence = sequences.get_mut(&id).expect("the scheduler uses sequences that it opened");
        for (layer, saved) in sequence.layers.iter_mut().zip(&saved.layers) {
            match (layer, saved) {
                (LayerState::Kv(cache), SavedLayer::Kv(slabs)) => {
                    cache.reserve(launcher, slabs.len() as u32 * cache.slab_positions)?;
                    for ((keys, values), saved) in cache.slabs.iter().zip(slabs) {
                        launcher.write(keys, &saved.0);
                        launcher.write(values, &saved.1);
                    }
                }
                (LayerState::Recurrent(state), SavedLayer::Recurrent(delta, conv)) => {
                    launcher.write(&state.delta, delta);
                    launcher.write(&state.conv, conv);
                    state.delta_before.clear();
                    state.conv_before.clear();
                }
                _ => unreachable!("a checkpoint of a model has its kinds of layers"),
            }
        }
        if let (Some(hidden), Some((rows, start, count))) = (&mut sequence.hidden, &saved.hidden) {
            launcher.write(&hidden.rows, rows);
            (hidden.start, hidden.count) = (*start, *count);
        }
        sequence.position = saved.position;
        sequence.intact = true;
        launcher.settle()
    }
}

impl SavedState {
    fn bytes(&self) -> usize {
        let layer = |layer: &SavedLayer| match layer {
            SavedLayer::Kv(slabs) => slabs.iter().map(|(keys, values)| keys.len() + values.len()).sum(),
            SavedLayer::Recurrent(delta, conv) => delta.len() + conv.len(),
        };
        self.layers.iter().map(layer).sum::<usize>() + self.hidden.as_ref().map_or(0, |(rows, ..)| rows.len())
    }
}

//! Bringing a model onto a backend.

use super::{BackendKind, Choice, Engine};
use crate::backend::Backend;
use crate::backend::gpu;
use crate::backend::reference::{self, Reference};
use crate::error::Result;
use crate::experts;
use crate::gguf::Gguf;
use crate::memory::{self, Bytes, KvType, Request};
use crate::model::Model;
use std::sync::Arc;

/// How to load a model.
#[derive(Clone, Debug)]
pub struct LoadOptions {
    /// The backend.
    pub backend: BackendKind,
    /// CPU threads; as many as the machine has cores where absent.
    pub threads: Option<usize>,
    /// How keys and values are kept.
    pub kv_type: KvType,
    /// Rows of a chunk, at least 1.
    pub batch: u32,
    /// The context that will be opened, for the memory plan.
    pub context: u32,
    /// Whether to load the next-token block.
    pub next_token: bool,
    /// A part of the GPU adapter's name; the best hardware where absent.
    pub adapter: Option<String>,
    /// Most bytes to take, below what the machine has.
    pub memory_limit: Option<u64>,
    /// Most bytes of one GPU buffer, below what the adapter allows: for tests.
    pub slab_bytes: Option<u64>,
}

impl Default for LoadOptions {
    fn default() -> LoadOptions {
        LoadOptions {
            backend: BackendKind::Auto,
            threads: None,
            kv_type: KvType::F16,
            batch: 512,
            context: 4096,
            next_token: false,
            adapter: None,
            memory_limit: None,
            slab_bytes: None,
        }
    }
}

/// How far loading is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Bytes of experts read.
    pub read: u64,
    /// Bytes of experts in all.
    pub total: u64,
}

impl Engine {
    /// Loads a model's weights. `progress` is called from any thread and returns false to cancel.
    ///
    /// # Errors
    /// The file is no model that can be run, the machine has not the memory, or not the backend.
    pub fn load(
        file: Arc<Gguf>,
        options: &LoadOptions,
        progress: &(dyn Fn(Progress) -> bool + Sync),
    ) -> Result<Engine> {
        let model = Arc::new(Model::open(file)?);
        let request = Request {
            context: options.context,
            batch: options.batch,
            kv_type: options.kv_type,
            next_token: options.next_token,
        };
        let plan = memory::plan(&model, &request);
        let choice = Choice::make(options.backend, options.adapter.as_deref())?;
        log::info!("backend {}: {}", choice.kind.name(), choice.reason);
        let usable = choice.machine.usable(options.memory_limit);
        log::info!("memory plan: {plan}; usable {}", usable.map_or("unknown".into(), |u| Bytes(u).to_string()));
        plan.check(usable)?;
        let backend: Box<dyn Backend> = match choice.kind {
            BackendKind::Wgsl => {
                let options = gpu::Options {
                    adapter: choice.adapter,
                    kv_type: options.kv_type,
                    rows: options.batch.min(options.context),
                    next_token: options.next_token,
                    slab_bytes: options.slab_bytes,
                };
                Box::new(gpu::Gpu::load(model.clone(), &options)?)
            }
            _ => {
                let options = reference::Options {
                    threads: options.threads,
                    kv_type: options.kv_type,
                    next_token: options.next_token,
                };
                Box::new(Reference::load(model.clone(), &options)?)
            }
        };
        let memory = backend.expert_memory();
        let total = plan.experts;
        let slots = experts::load_resident(&model, &*memory, &|read| progress(Progress { read, total }))?;
        let batch = options.batch.clamp(1, backend.capabilities().rows.unwrap_or(u32::MAX));
        if batch < options.batch.min(options.context) {
            log::info!("chunks of {batch} rows, because the device cannot bind more");
        }
        let next_token = options.next_token && model.config.next_token;
        Ok(Engine { model, backend, slots, batch, next_token })
    }
}

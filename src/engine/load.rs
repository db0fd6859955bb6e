//! Bringing a model onto a backend.

use super::Engine;
use crate::backend::Backend;
use crate::backend::reference::{Options, Reference};
use crate::error::{Error, Result};
use crate::experts;
use crate::gguf::Gguf;
use crate::memory::{self, KvType, Request};
use crate::model::Model;
use std::sync::Arc;

/// Which backend to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum BackendKind {
    /// The best there is on this machine, by a static rule.
    #[default]
    Auto,
    /// The CPU reference.
    Reference,
    /// wgpu with WGSL.
    Wgsl,
    /// Metal with hand-written MSL.
    Msl,
}

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
        check_backend(options.backend)?;
        let plan = memory::plan(
            &model,
            &Request {
                context: options.context,
                batch: options.batch,
                kv_type: options.kv_type,
                next_token: options.next_token,
            },
        );
        plan.check(memory::available())?;
        log::info!("memory plan: {plan:?}");
        let reference = Reference::load(
            model.clone(),
            &Options { threads: options.threads, kv_type: options.kv_type, next_token: options.next_token },
        )?;
        let memory = reference.expert_memory();
        let total = plan.experts;
        let slots = experts::load_resident(&model, &*memory, &|read| progress(Progress { read, total }))?;
        Ok(Engine { model, backend: Box::new(reference), slots, batch: options.batch.max(1) })
    }
}

fn check_backend(kind: BackendKind) -> Result<()> {
    let missing = |text: &str| Err(Error::Backend(format!("{text}; use `--backend reference`")));
    match kind {
        BackendKind::Auto | BackendKind::Reference => Ok(()),
        BackendKind::Wgsl => missing("the wgsl backend (wgpu) is not in this version yet"),
        BackendKind::Msl => missing("the msl backend (Metal) is not in this version yet"),
    }
}

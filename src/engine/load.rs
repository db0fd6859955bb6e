//! Bringing a model onto a backend.

use super::Engine;
use crate::backend::Backend;
use crate::backend::reference::{Options, Reference};
use crate::error::{Error, Result};
use crate::experts;
use crate::gguf::Gguf;
use crate::memory::{self, KvType, Request};
use crate::model::Model;
use std::fmt;
use std::str::FromStr;
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

impl BackendKind {
    /// All of them.
    pub const ALL: [BackendKind; 4] = [BackendKind::Auto, BackendKind::Reference, BackendKind::Wgsl, BackendKind::Msl];

    /// The name, as it is typed.
    pub fn name(self) -> &'static str {
        match self {
            BackendKind::Auto => "auto",
            BackendKind::Reference => "reference",
            BackendKind::Wgsl => "wgsl",
            BackendKind::Msl => "msl",
        }
    }
}

impl fmt::Display for BackendKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that no backend has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no backend; expected one of {names}", names = BackendKind::ALL.map(BackendKind::name).join(", "))]
pub struct UnknownBackend(pub String);

impl FromStr for BackendKind {
    type Err = UnknownBackend;

    fn from_str(name: &str) -> std::result::Result<BackendKind, UnknownBackend> {
        BackendKind::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| UnknownBackend(name.into()))
    }
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
    let missing = |api: &str| {
        let reference = BackendKind::Reference;
        Err(Error::Backend(format!(
            "the {kind} backend ({api}) is not in this version yet; use `--backend {reference}`"
        )))
    };
    match kind {
        BackendKind::Auto | BackendKind::Reference => Ok(()),
        BackendKind::Wgsl => missing("wgpu"),
        BackendKind::Msl => missing("Metal"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_backend_is_found_by_its_name_and_by_no_other() {
        for kind in BackendKind::ALL {
            assert_eq!(kind.name().parse(), Ok(kind));
        }
        let error = "cuda".parse::<BackendKind>().unwrap_err().to_string();
        assert_eq!(error, "\"cuda\" is no backend; expected one of auto, reference, wgsl, msl");
    }
}

//! The options of all subcommands that load a model.

use super::Outcome;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use redlite::embedded;
use redlite::engine::{BackendKind, Engine, LoadOptions};
use redlite::gguf::Gguf;
use redlite::memory::KvType;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Args)]
pub struct ModelArguments {
    /// The model file (GGUF; of a split set, any part) [default: the small model that comes with the program]
    #[arg(short, long, value_name = "MODEL")]
    pub model: Option<PathBuf>,

    /// Where to compute
    #[arg(
        long,
        value_name = "NAME",
        default_value_t,
        value_parser = PossibleValuesParser::new(BackendKind::ALL.map(BackendKind::name))
            .try_map(|name| name.parse::<BackendKind>()),
    )]
    pub backend: BackendKind,

    #[command(flatten)]
    pub machine: MachineArguments,
}

/// How to compute, on whatever backend.
#[derive(Args)]
pub struct MachineArguments {
    /// Part of a GPU adapter's name; the only way to use a software adapter
    #[arg(long, value_name = "NAME")]
    adapter: Option<String>,

    /// How keys and values are kept
    #[arg(
        long,
        value_name = "TYPE",
        default_value_t,
        value_parser = PossibleValuesParser::new(KvType::ALL.map(KvType::name))
            .try_map(|name| name.parse::<KvType>()),
    )]
    kv_type: KvType,

    /// Most tokens of a chunk
    #[arg(long, value_name = "N", default_value_t = 512, value_parser = clap::value_parser!(u32).range(1..))]
    pub batch: u32,

    /// CPU threads [default: one a core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
}

impl ModelArguments {
    /// Opens the model file that was named, or the embedded one.
    pub fn open(&self) -> Outcome<Arc<Gguf>> {
        open(self.model.as_deref())
    }

    /// Loads the model for sessions of `context` tokens. `proceed` returns false to cancel.
    pub fn load(
        &self,
        file: Arc<Gguf>,
        context: usize,
        next_token: bool,
        proceed: &(dyn Fn() -> bool + Sync),
    ) -> Outcome<Engine> {
        self.machine.load(file, self.backend, context, next_token, proceed)
    }
}

/// Opens the model file that was named, or the embedded one.
pub fn open(model: Option<&Path>) -> Outcome<Arc<Gguf>> {
    Ok(Arc::new(match model {
        Some(path) => Gguf::open(path)?,
        None => embedded::open()?,
    }))
}

impl MachineArguments {
    /// Loads a model onto a backend, for sessions of `context` tokens. `proceed` returns false to cancel.
    pub fn load(
        &self,
        file: Arc<Gguf>,
        backend: BackendKind,
        context: usize,
        next_token: bool,
        proceed: &(dyn Fn() -> bool + Sync),
    ) -> Outcome<Engine> {
        let options = LoadOptions {
            backend,
            threads: self.threads.map(usize::from),
            kv_type: self.kv_type,
            batch: self.batch,
            context: u32::try_from(context)?,
            next_token,
            adapter: self.adapter.clone(),
            ..LoadOptions::default()
        };
        Ok(Engine::load(file, &options, &|_| proceed())?)
    }
}

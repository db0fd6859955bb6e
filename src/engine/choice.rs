//! Which backend to use, and what a wish comes to on this machine.

use crate::backend::gpu::device::{adapters, choose, none_found};
use crate::error::{Error, Result};
use crate::memory::{self, Machine};
use std::fmt;
use std::str::FromStr;

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

/// The backend that a wish comes to on this machine, and why.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The backend; never [`BackendKind::Auto`].
    pub kind: BackendKind,
    /// The adapter's name, for a GPU.
    pub adapter: Option<String>,
    /// The memory it takes from.
    pub machine: Machine,
    /// Why, in words.
    pub reason: String,
}

impl Choice {
    /// A static rule: what is asked for; of `auto`, the best hardware GPU, and where there is none, or on Apple
    /// hardware, the CPU reference.
    ///
    /// # Errors
    /// The machine has not what is asked for.
    pub fn make(kind: BackendKind, adapter: Option<&str>) -> Result<Choice> {
        match kind {
            BackendKind::Msl => Err(Error::Backend(
                "the msl backend (Metal) is not in this version yet; use `--backend wgsl` or `--backend reference`"
                    .into(),
            )),
            BackendKind::Reference => Ok(Choice::reference("it was asked for".into())),
            BackendKind::Wgsl => Choice::gpu(adapter, "it was asked for"),
            BackendKind::Auto if adapter.is_some() => Choice::gpu(adapter, "the adapter was asked for"),
            // A first run must not depend on code that nobody has seen run on such a machine.
            BackendKind::Auto if cfg!(target_vendor = "apple") => {
                Ok(Choice::reference("wgsl has not been run on Apple hardware yet; --backend wgsl tries it".into()))
            }
            BackendKind::Auto => {
                let facts = adapters();
                match choose(&facts, None) {
                    Some(_) => Choice::gpu(None, "the best hardware GPU"),
                    None => Ok(Choice::reference("there is no hardware GPU".into())),
                }
            }
        }
    }

    fn reference(reason: String) -> Choice {
        let machine = Machine::Host { available: memory::available() };
        Choice { kind: BackendKind::Reference, adapter: None, machine, reason }
    }

    fn gpu(adapter: Option<&str>, reason: &str) -> Result<Choice> {
        let facts = adapters();
        let index = choose(&facts, adapter).ok_or_else(|| none_found(&facts, adapter))?;
        let facts = &facts[index];
        Ok(Choice {
            kind: BackendKind::Wgsl,
            adapter: Some(facts.name.clone()),
            machine: facts.machine(),
            reason: format!("{reason} ({}, {})", facts.name, facts.interface),
        })
    }
}

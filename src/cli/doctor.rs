//! `redlite doctor`: what this machine offers, and what would be used of it.

use super::{Failure, output};
use crate::backend::gpu::device::{AdapterFacts, adapters};
use crate::engine::{BackendKind, Choice};
use crate::memory::{self, Bytes, Machine};
use crate::quant::simd::Level;
use serde::Serialize;
use std::fmt::Write;
use wgpu::Features;

/// What `doctor` is asked to do.
#[derive(Clone, Copy, Debug)]
pub struct DoctorOptions {
    /// Print one JSON object.
    pub json: bool,
}

/// Describes the machine.
///
/// # Errors
/// The output cannot be written.
pub fn run(options: &DoctorOptions) -> Result<(), Failure> {
    let report = Report::of(&adapters());
    if options.json { output::print_json(&report) } else { output::print(report.text()) }
}

/// All that there is to say about a machine.
#[derive(Serialize)]
struct Report {
    version: &'static str,
    system: String,
    processors: usize,
    vector_instructions: String,
    memory_available: Option<u64>,
    adapters: Vec<AdapterReport>,
    auto: &'static str,
    because: String,
    memory_usable: Option<u64>,
}

/// One adapter.
#[derive(Serialize)]
struct AdapterReport {
    name: String,
    interface: String,
    driver: String,
    kind: String,
    /// Whether `auto` may take it.
    hardware: bool,
    memory: Option<u64>,
    features: Vec<FeatureReport>,
    limits: Vec<(&'static str, u64)>,
}

/// A feature that changes what Red Lite does.
#[derive(Serialize)]
struct FeatureReport {
    name: &'static str,
    present: bool,
    /// What that means.
    path: &'static str,
}

/// Features, what Red Lite does where they are present, and where they are absent.
const FEATURES: [(&str, Features, &str, &str); 4] = [
    ("immediates", Features::IMMEDIATES, "parameters travel with each dispatch", "cannot be used: parameters need it"),
    (
        "subgroups",
        Features::SUBGROUP,
        "not used yet: sums are trees in workgroup memory",
        "sums are trees in workgroup memory",
    ),
    ("f16 arithmetic", Features::SHADER_F16, "not used yet: all arithmetic is f32", "all arithmetic is f32"),
    ("timestamps", Features::TIMESTAMP_QUERY, "not used yet", "times are taken on the CPU"),
];

impl Report {
    fn of(adapters: &[AdapterFacts]) -> Report {
        let (auto, because, usable) = match Choice::make(BackendKind::Auto, None) {
            Ok(choice) => (choice.kind.name(), choice.reason, choice.machine.usable(None)),
            Err(error) => (BackendKind::Reference.name(), error.to_string(), memory::available()),
        };
        Report {
            version: env!("CARGO_PKG_VERSION"),
            system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            processors: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            vector_instructions: format!("{:?}", Level::best().instructions()),
            memory_available: memory::available(),
            adapters: adapters.iter().map(AdapterReport::of).collect(),
            auto,
            because,
            memory_usable: usable,
        }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let bytes = |bytes: Option<u64>| bytes.map_or("unknown".into(), |bytes| Bytes(bytes).to_string());
        let _ = writeln!(text, "redlite {} on {}", self.version, self.system);
        let _ = writeln!(text, "processors           {} ({})", self.processors, self.vector_instructions);
        let _ = writeln!(text, "memory available     {}", bytes(self.memory_available));
        if self.adapters.is_empty() {
            let _ = writeln!(text, "\nno GPU adapter: wgpu finds no driver");
        }
        for adapter in &self.adapters {
            let name = output::printable(&adapter.name);
            let _ = writeln!(text, "\n{name} ({}, {})", adapter.interface, adapter.kind);
            let _ = writeln!(text, "  driver                   {}", output::printable(&adapter.driver));
            let _ = writeln!(text, "  memory                   {}", bytes(adapter.memory));
            for (name, value) in &adapter.limits {
                let _ = writeln!(text, "  {name:<24} {value}");
            }
            for feature in &adapter.features {
                let present = if feature.present { "yes" } else { "no" };
                let _ = writeln!(text, "  {:<24} {present:<4} {}", feature.name, feature.path);
            }
            if !adapter.hardware {
                let _ = writeln!(text, "  software: used only where --adapter names it");
            }
        }
        let _ = writeln!(text, "\n--backend auto       {}: {}", self.auto, output::printable(&self.because));
        let _ = writeln!(text, "memory to plan with  {}", bytes(self.memory_usable));
        text
    }
}

impl AdapterReport {
    fn of(facts: &AdapterFacts) -> AdapterReport {
        let limits = &facts.limits;
        let memory = match facts.machine() {
            Machine::Host { available } => available,
            Machine::Device { memory } => memory,
            Machine::Unified { working_set } => Some(working_set),
        };
        AdapterReport {
            name: facts.name.clone(),
            interface: facts.interface.clone(),
            driver: facts.driver.clone(),
            kind: format!("{:?}", facts.kind),
            hardware: !facts.is_software(),
            memory,
            features: FEATURES
                .iter()
                .map(|(name, feature, with, without)| {
                    let present = facts.features.contains(*feature);
                    FeatureReport { name, present, path: if present { with } else { without } }
                })
                .collect(),
            limits: vec![
                ("largest buffer", limits.max_buffer_size),
                ("largest binding", limits.max_storage_buffer_binding_size),
                ("bindings", limits.max_storage_buffers_per_shader_stage.into()),
                ("workgroup memory", limits.max_compute_workgroup_storage_size.into()),
                ("threads of a workgroup", limits.max_compute_invocations_per_workgroup.into()),
                ("immediate bytes", limits.max_immediate_size.into()),
            ],
        }
    }
}

//! `redlite bench`.

use super::{Failure, model, output};
use crate::bench::{Run, Spread, Workload};
use crate::engine::{BackendKind, Engine, LoadOptions};
use crate::error::RequestError;
use crate::memory::{Bytes, KvType};
use crate::model::Model;
use serde_json::json;
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// What `bench` is asked to do.
#[derive(Clone, Debug)]
pub struct BenchOptions {
    /// The model file; the embedded model where absent.
    pub model: Option<PathBuf>,
    /// Tokens taken in at once.
    pub prompt: usize,
    /// Tokens that follow one by one.
    pub decode: usize,
    /// Runs of each backend, besides one to warm up.
    pub repetitions: usize,
    /// The backends, which run in turn.
    pub backends: Vec<BackendKind>,
    /// A part of the GPU adapter's name.
    pub adapter: Option<String>,
    /// Rows of a chunk.
    pub batch: u32,
    /// CPU threads; one for each core where absent.
    pub threads: Option<usize>,
    /// How keys and values are kept.
    pub kv_type: KvType,
    /// The seed of the tokens.
    pub seed: u64,
    /// Print JSON.
    pub json: bool,
}

/// A backend and what it took.
struct Candidate {
    engine: Engine,
    runs: Vec<Run>,
}

/// What was measured, on which model.
struct Measured<'a> {
    options: &'a BenchOptions,
    file: String,
    bytes: u64,
    name: String,
    candidates: Vec<Candidate>,
}

/// Measures, and prints medians and spreads.
///
/// # Errors
/// The model cannot be loaded, a backend fails or computes no numbers, or the output cannot be written.
pub fn run(options: &BenchOptions) -> Result<(), Failure> {
    let measured = measure(options)?;
    if options.json { output::print_json(&measured.json()) } else { output::print(measured.table()) }
}

fn measure(options: &BenchOptions) -> Result<Measured<'_>, Failure> {
    let file = Arc::new(model::open(options.model.as_deref())?);
    let config = Model::open(file.clone())?.config;
    let workload = Workload::random(config.vocabulary, options.prompt, options.decode, options.seed);
    // Neither sum nor context exceeds a u32, as the arguments were checked.
    let context = workload.context() as u32;
    if context > config.context_length {
        return Err(RequestError::BadContext { asked: context, limit: config.context_length }.into());
    }
    let load = |backend: &BackendKind| -> Result<Candidate, Failure> {
        let options = LoadOptions {
            backend: *backend,
            threads: options.threads,
            kv_type: options.kv_type,
            batch: options.batch,
            context,
            adapter: options.adapter.clone(),
            ..LoadOptions::default()
        };
        let engine = Engine::load(file.clone(), &options, &|_| true)?;
        Ok(Candidate { engine, runs: Vec::new() })
    };
    let mut candidates = options.backends.iter().map(load).collect::<Result<Vec<_>, _>>()?;
    for repetition in 0..=options.repetitions {
        for candidate in &mut candidates {
            let run = workload.run(&mut candidate.engine)?;
            log::info!("{}, run {repetition}: {run:?}", candidate.engine.capabilities().name);
            // The first is there to warm up.
            if repetition > 0 {
                candidate.runs.push(run);
            }
        }
    }
    Ok(Measured { options, file: file.name().to_owned(), bytes: file.file_bytes(), name: config.name, candidates })
}

impl Candidate {
    /// Tokens of each run a second; none where nothing of this kind was measured.
    fn rates(&self, tokens: usize, time: fn(&Run) -> Duration) -> Vec<f64> {
        let runs = self.runs.iter().filter(|_| tokens > 0);
        runs.map(|run| tokens as f64 / time(run).as_secs_f64().max(f64::MIN_POSITIVE)).collect()
    }

    fn prefill(&self, options: &BenchOptions) -> Vec<f64> {
        self.rates(options.prompt, |run| run.prefill)
    }

    fn decode(&self, options: &BenchOptions) -> Vec<f64> {
        self.rates(options.decode, |run| run.decode)
    }
}

impl Measured<'_> {
    fn threads(&self) -> usize {
        self.options.threads.unwrap_or_else(|| thread::available_parallelism().map_or(1, NonZero::get))
    }

    fn table(&self) -> String {
        let options = self.options;
        let head = format!(
            "{} ({} bytes, {}), redlite {}\nprompt {}, then {} one by one; batch {}, {} keys and values, {} threads, \
             seed {}; median (min to max) of {} runs after one to warm up\n\n",
            output::printable(&self.file),
            self.bytes,
            Bytes(self.bytes),
            env!("CARGO_PKG_VERSION"),
            options.prompt,
            options.decode,
            options.batch,
            options.kv_type,
            self.threads(),
            options.seed,
            options.repetitions,
        );
        let columns = format!("{:<10} {:>30} {:>30}  device\n", "backend", "prefill tok/s", "decode tok/s");
        let row = |candidate: &Candidate| {
            let backend = candidate.engine.capabilities();
            format!(
                "{:<10} {:>30} {:>30}  {}\n",
                backend.name,
                shown(&candidate.prefill(options)),
                shown(&candidate.decode(options)),
                output::printable(&backend.device)
            )
        };
        head + &columns + &self.candidates.iter().map(row).collect::<String>()
    }

    fn json(&self) -> serde_json::Value {
        let options = self.options;
        let rates = |rates: Vec<f64>| match rates.is_empty() {
            true => serde_json::Value::Null,
            false => {
                let spread = Spread::of(&rates);
                json!({ "median": spread.median, "min": spread.min, "max": spread.max, "runs": rates })
            }
        };
        let backends = self.candidates.iter().map(|candidate| {
            let backend = candidate.engine.capabilities();
            json!({
                "backend": backend.name,
                "device": backend.device,
                "prefill_tokens_per_second": rates(candidate.prefill(options)),
                "decode_tokens_per_second": rates(candidate.decode(options)),
            })
        });
        json!({
            "file": self.file,
            "file_bytes": self.bytes,
            "model": self.name,
            "version": env!("CARGO_PKG_VERSION"),
            "prompt_tokens": options.prompt,
            "decode_tokens": options.decode,
            "repetitions": options.repetitions,
            "batch": options.batch,
            "kv_type": options.kv_type.name(),
            "threads": self.threads(),
            "seed": options.seed,
            "backends": backends.collect::<Vec<_>>(),
        })
    }
}

/// Median and both ends.
fn shown(rates: &[f64]) -> String {
    if rates.is_empty() {
        return "not measured".to_owned();
    }
    let Spread { median, min, max } = Spread::of(rates);
    format!("{median:.2} ({min:.2} to {max:.2})")
}

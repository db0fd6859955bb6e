//! Running a model over tokens and keeping all that can be seen of it.

use crate::adapter::adapter;
use crate::support::fixture;
use redlite::backend::{Logits, Routing};
use redlite::engine::{BackendKind, Engine, LoadOptions, Wanted};
use redlite::gguf::Gguf;
use redlite::memory::KvType;
use redlite::npy::Array;
use redlite::parity::{Difference, Summary, compare};
use std::fs;
use std::path::Path;
use std::sync::Arc;

pub const MINI: &str = "model/redlite-mini-rust-68m-IQ2_XXS.gguf";

/// Options with single-precision keys and values, as the exact recordings have them.
pub fn exact() -> LoadOptions {
    LoadOptions { kv_type: KvType::F32, backend: BackendKind::Reference, ..LoadOptions::default() }
}

/// The options for each backend that this machine has: the CPU reference, and a GPU or a software adapter.
pub fn everywhere(options: &LoadOptions) -> Vec<LoadOptions> {
    let reference = LoadOptions { backend: BackendKind::Reference, ..options.clone() };
    let mut all = vec![reference];
    all.extend(on_gpu(options));
    all
}

/// The options for the machine's adapter, where it has one.
pub fn on_gpu(options: &LoadOptions) -> Option<LoadOptions> {
    let adapter = Some(adapter()?);
    Some(LoadOptions { backend: BackendKind::Wgsl, adapter, ..options.clone() })
}

pub fn load(model: &Path, options: &LoadOptions) -> Engine {
    Engine::load(Arc::new(Gguf::open(model).unwrap()), options, &|_| true).unwrap()
}

pub fn tokens(name: &str) -> Vec<u32> {
    let text = fs::read_to_string(fixture("oracle").join(name)).unwrap();
    text.split_whitespace().map(|id| id.parse().unwrap()).collect()
}

/// A recorded array of shape (positions, values).
pub fn oracle(name: &str) -> Array<f32> {
    Array::read(&fixture("oracle").join(name)).unwrap()
}

/// What a run over tokens gave.
#[derive(Default)]
pub struct Recording {
    pub vocabulary: usize,
    /// (positions, vocabulary).
    pub logits: Vec<f32>,
    /// Of the next-token block, (positions, vocabulary).
    pub next_token: Vec<f32>,
    /// By layer: the chosen experts, (positions, used).
    pub ids: Vec<Vec<u32>>,
    /// By layer: router logits, (positions, experts).
    pub router: Vec<Vec<f32>>,
    pub used: usize,
    pub experts: usize,
}

impl Recording {
    /// Runs the tokens through an engine, from an empty session on.
    pub fn of(engine: &mut Engine, tokens: &[u32]) -> Recording {
        let config = engine.model().config.clone();
        let mut recording = Recording {
            vocabulary: config.vocabulary,
            ids: vec![Vec::new(); config.layers],
            router: vec![Vec::new(); config.layers],
            used: config.experts.used,
            experts: config.experts.count,
            ..Recording::default()
        };
        let Recording { logits, next_token, ids, router, .. } = &mut recording;
        let mut show_logits = |_: u32, chunk: &Logits| logits.extend_from_slice(&chunk.values);
        let mut show_next_token = |_: u32, chunk: &Logits| next_token.extend_from_slice(&chunk.values);
        let mut show_routing = |_: u32, layer: usize, chunk: &Routing| {
            ids[layer].extend_from_slice(&chunk.ids);
            router[layer].extend_from_slice(&chunk.logits);
        };
        let mut session = engine.open(tokens.len() as u32).unwrap();
        let wanted = Wanted {
            logits: Some(&mut show_logits),
            next_token: if engine.drafts() { Some(&mut show_next_token) } else { None },
            routing: Some(&mut show_routing),
            progress: None,
        };
        engine.run(&mut session, tokens, wanted).unwrap();
        engine.close(session);
        recording
    }

    /// How many positions were run.
    pub fn positions(&self) -> usize {
        self.logits.len() / self.vocabulary
    }

    /// The logits of a position.
    pub fn row(&self, position: usize) -> &[f32] {
        &self.logits[position * self.vocabulary..][..self.vocabulary]
    }

    /// The next-token block's logits of a position.
    pub fn next_token_row(&self, position: usize) -> &[f32] {
        &self.next_token[position * self.vocabulary..][..self.vocabulary]
    }

    /// How far the last chosen expert's router logit is above the first that was not chosen.
    pub fn router_gap(&self, layer: usize, position: usize) -> f32 {
        let mut logits = self.router[layer][position * self.experts..][..self.experts].to_vec();
        logits.sort_unstable_by(|a, b| b.total_cmp(a));
        logits[self.used - 1] - logits[self.used]
    }

    /// The experts chosen at a position, in order of their ids.
    pub fn chosen(&self, layer: usize, position: usize) -> Vec<u32> {
        let mut ids = self.ids[layer][position * self.used..][..self.used].to_vec();
        ids.sort_unstable();
        ids
    }

    pub fn layers(&self) -> usize {
        self.ids.len()
    }
}

/// Compares rows of logits with a recording.
pub fn differences(reference: &Array<f32>, values: &[f32]) -> Vec<Difference> {
    compare((&reference.shape, &reference.values), (&reference.shape, values)).unwrap()
}

/// The largest difference of logits that counts as exact.
pub const EXACT: f64 = 1e-3;

/// Asserts that logits are those of a recording: within [`EXACT`], with the same likeliest token wherever the
/// recording's two likeliest are further apart than that.
pub fn assert_exact(name: &str, values: &[f32]) {
    let reference = oracle(name);
    let differences = differences(&reference, values);
    for (position, (difference, row)) in
        differences.iter().zip(reference.values.chunks_exact(reference.shape[1])).enumerate()
    {
        assert!(difference.max_abs <= EXACT, "{name}, position {position}: {difference:?}");
        let mut sorted = row.to_vec();
        sorted.sort_unstable_by(|a, b| b.total_cmp(a));
        let close = f64::from(sorted[0] - sorted[1]) <= EXACT;
        assert!(difference.same_argmax || close, "{name}, position {position}: {difference:?}");
    }
    println!("{name}: {:?}", Summary::of(&differences));
}

/// The bits of logits: they compare also where they are no numbers, and tell 0 from -0.
pub fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

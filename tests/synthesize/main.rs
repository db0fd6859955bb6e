//! Model files with random weights: they are whole, they run, and they can be made again.

use redlite::backend::{Logits, Routing};
use redlite::engine::{Engine, LoadOptions, Wanted};
use redlite::error::Error;
use redlite::gguf::Gguf;
use redlite::model::Model;
use redlite::synthesize::{Mix, Options, Plan, Shape};
use redlite::tokenizer::{Special, Tokenizer};
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn options(shape: Shape) -> Options {
    Options { shape, mix: Mix::Iq2Xxs, router_scale: 2.0, seed: 1 }
}

fn write(folder: &Path, options: Options) -> PathBuf {
    let path = folder.join("model.gguf");
    Plan::new(options).unwrap().write_file(&path, true, &mut |_| true).unwrap();
    path
}

fn bytes(options: Options) -> Vec<u8> {
    Plan::new(options).unwrap().write("model", Vec::new(), &mut |_| true).unwrap()
}

/// What a run over tokens shows: all logits, and by layer the experts that were used.
struct Seen {
    logits: Vec<f32>,
    experts: Vec<HashSet<u32>>,
}

/// Runs 64 different tokens.
fn run(path: &Path) -> Seen {
    let load = LoadOptions { context: 64, ..LoadOptions::default() };
    let mut engine = Engine::load(Arc::new(Gguf::open(path).unwrap()), &load, &|_| true).unwrap();
    let config = &engine.model().config;
    let tokens: Vec<u32> = (0..64).map(|n| n * 7 % config.vocabulary as u32).collect();
    let mut seen = Seen { logits: Vec::new(), experts: vec![HashSet::new(); config.layers] };
    let mut show_logits = |_: u32, logits: &Logits| seen.logits.extend_from_slice(&logits.values);
    let mut show_routing = |_: u32, layer: usize, routing: &Routing| seen.experts[layer].extend(&routing.ids);
    let wanted = Wanted { logits: Some(&mut show_logits), routing: Some(&mut show_routing), ..Wanted::default() };
    let mut session = engine.open(64).unwrap();
    engine.run(&mut session, &tokens, wanted).unwrap();
    engine.close(session);
    seen
}

#[test]
fn every_mixture_runs_with_finite_logits_and_uses_most_of_its_experts() {
    let folder = tempfile::tempdir().unwrap();
    for mix in Mix::ALL {
        let seen = run(&write(folder.path(), Options { mix, ..options(Shape::TINY) }));
        assert!(seen.logits.iter().all(|logit| logit.is_finite()), "{}", mix.name());
        let square = seen.logits.iter().map(|logit| f64::from(*logit).powi(2)).sum::<f64>() / seen.logits.len() as f64;
        assert!((0.3..3.0).contains(&square.sqrt()), "{}: logits of deviation {}", mix.name(), square.sqrt());
        for (layer, experts) in seen.experts.iter().enumerate() {
            assert!(experts.len() > 16, "{}, layer {layer}: {} of 32 experts", mix.name(), experts.len());
        }
    }
}

#[test]
fn the_router_scale_decides_how_far_router_logits_are_apart() {
    let folder = tempfile::tempdir().unwrap();
    let deviation = |router_scale| {
        let path = write(folder.path(), Options { router_scale, ..options(Shape::TINY) });
        let file = Gguf::open(&path).unwrap();
        let router = file.tensor("blk.0.ffn_gate_inp.weight").unwrap();
        let mut bytes = vec![0; router.bytes as usize];
        file.read(router, 0, &mut bytes).unwrap();
        let values = bytes.as_chunks::<4>().0.iter().map(|bytes| f64::from(f32::from_le_bytes(*bytes)));
        // Over 256 inputs of deviation 1.
        (values.map(|value| value * value).sum::<f64>() / (bytes.len() / 4) as f64 * 256.0).sqrt()
    };
    for scale in [0.5, 2.0, 8.0] {
        let found = deviation(scale);
        assert!((found / f64::from(scale) - 1.0).abs() < 0.05, "{scale}: {found}");
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_seed_others() {
    let first = bytes(options(Shape::TINY));
    assert!(first == bytes(options(Shape::TINY)));
    let second = bytes(Options { seed: 2, ..options(Shape::TINY) });
    assert_eq!(first.len(), second.len());
    assert!(first != second);
    let plan = Plan::new(options(Shape::TINY)).unwrap();
    assert_eq!(plan.file_bytes().unwrap(), first.len() as u64);
}

#[test]
fn odd_dimensions_run_too() {
    let folder = tempfile::tempdir().unwrap();
    let small = Shape { layers: 5, vocabulary: 300, ..Shape::TINY };
    for shape in [
        // Rows of whole blocks of 32 values, and rows that no block divides.
        Shape { hidden: 288, expert_feed_forward: 96, shared_feed_forward: 160, ..small },
        Shape { hidden: 100, expert_feed_forward: 70, shared_feed_forward: 33, ..small },
        Shape { heads: 3, kv_heads: 1, head_size: 80, rotary_size: 22, ..small },
        Shape { key_heads: 3, value_heads: 9, linear_head_size: 40, conv_kernel: 3, ..small },
        Shape { experts: 7, experts_used: 7, ..small },
        Shape { experts: 1, experts_used: 1, layers: 1, ..small },
    ] {
        for mix in Mix::ALL {
            let seen = run(&write(folder.path(), Options { mix, ..options(shape) }));
            assert!(seen.logits.iter().all(|logit| logit.is_finite()), "{} {shape:?}", mix.name());
        }
    }
}

#[test]
fn the_metadata_says_what_was_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let model = Model::open(Arc::new(Gguf::open(&write(folder.path(), options(Shape::TINY))).unwrap())).unwrap();
    let config = &model.config;
    assert_eq!((config.layers, config.hidden, config.vocabulary, config.context_length), (4, 256, 2048, 32_768));
    assert_eq!((config.attention.heads, config.attention.kv_heads, config.attention.head_size), (4, 2, 256));
    assert_eq!((config.delta_net.key_heads, config.delta_net.value_heads, config.delta_net.head_size), (4, 8, 128));
    assert_eq!((config.experts.count, config.experts.used, config.experts.feed_forward), (32, 4, 256));
}

#[test]
fn texts_can_be_encoded_and_come_back_unless_the_vocabulary_is_too_small() {
    let folder = tempfile::tempdir().unwrap();
    let tokenizer = |vocabulary| {
        let path = write(folder.path(), options(Shape { vocabulary, ..Shape::TINY }));
        Tokenizer::from_metadata(Gguf::open(&path).unwrap().metadata())
    };
    for vocabulary in [260, 300, 2048] {
        let tokenizer = tokenizer(vocabulary).unwrap();
        assert_eq!(tokenizer.len(), vocabulary);
        let text = "fn main() { println!(\"h\u{e9}llo \u{1f980}\"); }\n";
        assert_eq!(tokenizer.decode(&tokenizer.encode(text, Special::Text).unwrap(), false), text.as_bytes());
    }
    assert!(tokenizer(259).is_err());
}

#[test]
fn what_is_cancelled_or_fails_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.gguf");
    let plan = Plan::new(options(Shape::TINY)).unwrap();
    let total = plan.tensor_bytes();
    let cancelled = plan.write_file(&path, false, &mut |written| written < total / 2);
    assert!(matches!(cancelled, Err(Error::Cancelled)), "{cancelled:?}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);

    fs::write(&path, "dear").unwrap();
    let refused = plan.write_file(&path, false, &mut |_| true).unwrap_err().to_string();
    assert!(refused.contains("exists already"), "{refused}");
    let cancelled = plan.write_file(&path, true, &mut |_| false);
    assert!(matches!(cancelled, Err(Error::Cancelled)), "{cancelled:?}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "dear", "a file is lost only to a whole one");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    plan.write_file(&path, true, &mut |_| true).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().len(), plan.file_bytes().unwrap());

    let refused = plan.write_file(folder.path(), true, &mut |_| true).unwrap_err().to_string();
    assert!(refused.contains("not a regular file"), "{refused}");
}

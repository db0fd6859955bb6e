//! One model in all the layouts and options that files of the family come in.

use crate::recording::{Recording, bits, exact, load, oracle, tokens};
use crate::support::{Blueprint, Tensor};
use half::{bf16, f16};
use redlite::engine::LoadOptions;
use redlite::parity::difference;
use redlite::quant::Type;
use std::path::Path;

const TOKENS: usize = 60;

/// The bits of the trunk's logits, then the next-token block's.
fn run(path: &Path) -> Vec<u32> {
    let mut engine = load(path, &LoadOptions { next_token: true, ..exact() });
    let recording = Recording::of(&mut engine, &tokens("toks300.txt")[..TOKENS]);
    [bits(&recording.logits), bits(&recording.next_token)].concat()
}

fn run_blueprint(blueprint: &Blueprint) -> Vec<u32> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.gguf");
    blueprint.write(&path);
    run(&path)
}

/// All values of a tensor, the contiguous dimension first.
fn values(tensor: &Tensor) -> Vec<f32> {
    let mut values = vec![0f32; tensor.shape.iter().product::<u64>() as usize];
    tensor.kind.decode(&tensor.bytes, &mut values);
    values
}

/// The same tensor as `f32`.
fn decoded(tensor: &Tensor) -> Tensor {
    Tensor { kind: Type::F32, bytes: bytemuck::cast_slice(&values(tensor)).to_vec(), ..tensor.clone() }
}

/// The model whose fusable matrices are F32: only rows of one type can be fused.
fn fusable() -> Blueprint {
    let mut blueprint = Blueprint::of("zoo.gguf");
    for tensor in &mut blueprint.tensors {
        let fusable = ["attn_q.weight", "attn_k.weight", "attn_v.weight", "ffn_gate_exps.weight", "ffn_up_exps.weight"];
        if fusable.iter().any(|suffix| tensor.name.ends_with(suffix)) {
            *tensor = decoded(tensor);
        }
    }
    blueprint
}

/// Puts query, key and value of the attention layers into one tensor.
fn fuse_attention(blueprint: &mut Blueprint) {
    for layer in [3, 4] {
        let name = |part: &str| format!("blk.{layer}.attn_{part}.weight");
        let parts = ["q", "k", "v"].map(|part| blueprint.take(&name(part)));
        let rows = parts.iter().map(|part| part.shape[1]).sum();
        blueprint.add(Tensor {
            name: name("qkv"),
            shape: vec![parts[0].shape[0], rows],
            kind: Type::F32,
            bytes: parts.map(|part| part.bytes).concat(),
        });
    }
}

/// Puts gate and up of the routed experts into one tensor: of each expert the gate's rows, then those of up.
fn fuse_experts(blueprint: &mut Blueprint) {
    for layer in 0..5 {
        let name = |part: &str| format!("blk.{layer}.ffn_{part}_exps.weight");
        let [gate, up] = ["gate", "up"].map(|part| blueprint.take(&name(part)));
        let expert = gate.bytes.len() / gate.shape[2] as usize;
        let experts = gate.bytes.chunks(expert).zip(up.bytes.chunks(expert));
        blueprint.add(Tensor {
            name: name("gate_up"),
            shape: vec![gate.shape[0], 2 * gate.shape[1], gate.shape[2]],
            kind: Type::F32,
            bytes: experts.flat_map(|(gate, up)| [gate, up].concat()).collect(),
        });
    }
}

#[test]
fn fused_tensors_give_the_bits_of_separate_ones() {
    let expected = run_blueprint(&fusable());
    type Fuse = fn(&mut Blueprint);
    let cases: [(&str, &[Fuse]); 3] = [
        ("attn_qkv", &[fuse_attention]),
        ("ffn_gate_up_exps", &[fuse_experts]),
        ("both", &[fuse_attention, fuse_experts]),
    ];
    for (name, fuse) in cases {
        let mut blueprint = fusable();
        fuse.iter().for_each(|fuse| fuse(&mut blueprint));
        assert!(run_blueprint(&blueprint) == expected, "{name}");
    }
}

#[test]
fn a_split_set_gives_the_bits_of_the_whole_file_from_any_of_its_parts() {
    let whole = Blueprint::of("zoo.gguf");
    let folder = tempfile::tempdir().unwrap();
    let parts = whole.write_split(folder.path(), "zoo", 3);
    assert_eq!(parts.len(), 3);
    let expected = run_blueprint(&whole);
    for part in parts {
        assert!(run(&part) == expected, "opened from {}", part.display());
    }
}

#[test]
fn without_an_output_matrix_the_embedding_serves_as_one() {
    let mut tied = Blueprint::of("zoo.gguf");
    tied.take("output.weight");
    let mut copied = tied.clone();
    let embedding = copied.tensor("token_embd.weight").clone();
    copied.add(Tensor { name: "output.weight".into(), ..embedding });
    assert!(run_blueprint(&tied) == run_blueprint(&copied));
}

#[test]
fn the_shared_experts_gate_may_have_one_dimension_or_two_and_any_float_type() {
    type Round = fn(f32) -> (Vec<u8>, f32);
    let half: Round = |value| (f16::from_f32(value).to_le_bytes().to_vec(), f16::from_f32(value).to_f32());
    let brain: Round = |value| (bf16::from_f32(value).to_le_bytes().to_vec(), bf16::from_f32(value).to_f32());
    for (kind, round) in [(Type::F16, half), (Type::BF16, brain)] {
        let with_gates = |change: &dyn Fn(&mut Tensor)| {
            let mut blueprint = Blueprint::of("zoo.gguf");
            let gates =
                blueprint.tensors.iter_mut().filter(|tensor| tensor.name.ends_with("ffn_gate_inp_shexp.weight"));
            gates.for_each(change);
            run_blueprint(&blueprint)
        };
        let expected = with_gates(&|gate| {
            let rounded: Vec<f32> = values(gate).iter().map(|value| round(*value).1).collect();
            (gate.kind, gate.bytes) = (Type::F32, bytemuck::cast_slice(&rounded).to_vec());
        });
        for shape in [vec![256], vec![256, 1]] {
            let found = with_gates(&|gate| {
                let bytes = values(gate).iter().flat_map(|value| round(*value).0).collect();
                *gate = Tensor { name: gate.name.clone(), shape: shape.clone(), kind, bytes };
            });
            assert!(found == expected, "{kind} of shape {shape:?}");
        }
    }
}

#[test]
fn a_list_of_recurrent_layers_says_the_same_as_an_interval() {
    let expected = run_blueprint(&Blueprint::of("zoo.gguf"));
    let mut listed = Blueprint::of("zoo.gguf");
    listed.unset("qwen3next.full_attention_interval");
    listed.set("qwen3next.attention.recurrent_layers", vec![true, true, true, false, false]);
    assert!(run_blueprint(&listed) == expected);
}

/// The logits of the last of 300 positions, with keys added to the file.
fn last_logits(keys: &dyn Fn(&mut Blueprint)) -> Vec<f32> {
    let mut blueprint = Blueprint::of("zoo.gguf");
    keys(&mut blueprint);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.gguf");
    blueprint.write(&path);
    let mut engine = load(&path, &exact());
    let mut session = engine.open(300).unwrap();
    engine.ingest(&mut session, &tokens("toks300.txt"), &mut |_| true).unwrap()
}

#[test]
fn yarn_and_linear_scaling_give_the_logits_of_an_independent_program() {
    let yarn = last_logits(&|file| {
        file.set("qwen3next.rope.scaling.type", "yarn".to_owned());
        file.set("qwen3next.rope.scaling.factor", 4f32);
        file.set("qwen3next.rope.scaling.original_context_length", 1024u32);
    });
    let linear = last_logits(&|file| {
        file.set("qwen3next.rope.scaling.type", "linear".to_owned());
        file.set("qwen3next.rope.scaling.factor", 2f32);
    });
    let first_generation = last_logits(&|file| {
        file.set("qwen3next.rope.scale_linear", 2f32);
    });
    let unscaled = last_logits(&|_| {});
    for (name, found) in [("zoo-yarn4-last.npy", yarn), ("zoo-linear2-last.npy", linear.clone())] {
        let expected = oracle(name).values;
        let close = difference(&expected, &found);
        assert!(close.max_abs <= 1e-4, "{name}: {close:?}");
        assert!(difference(&expected, &unscaled).max_abs > 1e-2, "{name} shows nothing");
    }
    assert_eq!(bits(&first_generation), bits(&linear));
}

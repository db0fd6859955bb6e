//! The tensors of a model: names, shapes, types, and what they are filled with.

use super::mix::Role;
use super::random::Distribution;
use super::{Options, Shape};
use crate::quant::Type;

/// A tensor to be written.
#[derive(Clone, Debug)]
pub struct Tensor {
    /// Its name.
    pub name: String,
    /// Its shape; the contiguous dimension first.
    pub shape: Vec<u64>,
    /// Its type.
    pub kind: Type,
    /// Its size.
    pub bytes: u64,
    /// Its values.
    pub(super) fill: Fill,
}

impl Tensor {
    /// Whether it holds routed experts.
    pub fn is_experts(&self) -> bool {
        self.name.ends_with("_exps.weight")
    }
}

/// Where a tensor's values come from.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fill {
    /// Cut from the pool of its type and this standard deviation.
    Pool { deviation: f32 },
    /// F32 values, each drawn for itself.
    Drawn(Distribution),
}

/// Outputs of mixers are small beside the residual stream. Random mixers give all tokens a common part, which at full
/// scale would send all of them to the same experts.
const MIXER_SCALE: f32 = 0.1;

/// All tensors, in the order of the file.
pub(super) fn list(options: &Options) -> Vec<Tensor> {
    let Shape { hidden, vocabulary, layers, .. } = options.shape;
    let mut list = List { options, tensors: Vec::new() };
    list.weight("token_embd", &[hidden, vocabulary], Role::TokenEmbedding, 0, 1.0);
    list.norm("output_norm", hidden);
    list.weight("output", &[hidden, vocabulary], Role::Output, 0, deviation(hidden));
    for layer in 0..layers {
        list.layer(layer);
    }
    list.tensors
}

/// The deviation of weights that turn `columns` inputs of deviation 1 into an output of deviation 1.
fn deviation(columns: u32) -> f32 {
    1.0 / (columns as f32).sqrt()
}

struct List<'a> {
    options: &'a Options,
    tensors: Vec<Tensor>,
}

impl List<'_> {
    fn layer(&mut self, layer: u32) {
        let shape = self.options.shape;
        let name = |part: &str| format!("blk.{layer}.{part}");
        self.norm(&name("attn_norm"), shape.hidden);
        self.norm(&name("post_attention_norm"), shape.hidden);
        if shape.is_attention(layer) {
            self.attention(layer)
        } else {
            self.delta_net(layer)
        }
        self.experts(layer);
    }

    fn attention(&mut self, layer: u32) {
        let shape = self.options.shape;
        let (hidden, query, kv) = (shape.hidden, shape.query_size(), shape.kv_heads * shape.head_size);
        let name = |part: &str| format!("blk.{layer}.{part}");
        self.matrix(&name("attn_q"), &[hidden, 2 * query], Role::Query, layer);
        self.matrix(&name("attn_k"), &[hidden, kv], Role::Key, layer);
        self.matrix(&name("attn_v"), &[hidden, kv], Role::Value, layer);
        let scale = MIXER_SCALE * deviation(query);
        self.weight(&name("attn_output"), &[query, hidden], Role::AttentionOutput, layer, scale);
        self.norm(&name("attn_q_norm"), shape.head_size);
        self.norm(&name("attn_k_norm"), shape.head_size);
    }

    fn delta_net(&mut self, layer: u32) {
        let shape = self.options.shape;
        let (hidden, heads, value) = (shape.hidden, shape.value_heads, shape.value_size());
        let channels = 2 * shape.key_size() + value;
        let name = |part: &str| format!("blk.{layer}.{part}");
        self.matrix(&name("attn_qkv"), &[hidden, channels], Role::Qkv, layer);
        self.matrix(&name("attn_gate"), &[hidden, value], Role::MixerGate, layer);
        self.matrix(&name("ssm_ba"), &[hidden, 2 * heads], Role::BetaAlpha, layer);
        let taps = Distribution::Bell { mean: 0.0, deviation: 0.5 };
        self.drawn(&name("ssm_conv1d.weight"), &[shape.conv_kernel, channels], taps);
        // A trained model's decays and time steps lie about here: heads that forget at once, and heads that keep.
        self.drawn(&name("ssm_a"), &[heads], Distribution::Uniform { low: -8.0, high: -0.5 });
        self.drawn(&name("ssm_dt.bias"), &[heads], Distribution::Uniform { low: -5.0, high: -1.0 });
        self.norm(&name("ssm_norm"), shape.linear_head_size);
        self.weight(&name("ssm_out"), &[value, hidden], Role::MixerOutput, layer, MIXER_SCALE * deviation(value));
    }

    fn experts(&mut self, layer: u32) {
        let Shape { hidden, experts, expert_feed_forward: width, shared_feed_forward: shared, .. } = self.options.shape;
        let name = |part: &str| format!("blk.{layer}.{part}");
        let around_zero = |deviation| Distribution::Bell { mean: 0.0, deviation };
        let router = around_zero(self.options.router_scale * deviation(hidden));
        self.drawn(&name("ffn_gate_inp.weight"), &[hidden, experts], router);
        self.matrix(&name("ffn_gate_exps"), &[hidden, width, experts], Role::ExpertGateUp, layer);
        self.matrix(&name("ffn_up_exps"), &[hidden, width, experts], Role::ExpertGateUp, layer);
        self.matrix(&name("ffn_down_exps"), &[width, hidden, experts], Role::ExpertDown, layer);
        self.drawn(&name("ffn_gate_inp_shexp.weight"), &[hidden], around_zero(deviation(hidden)));
        self.matrix(&name("ffn_gate_shexp"), &[hidden, shared], Role::SharedGateUp, layer);
        self.matrix(&name("ffn_up_shexp"), &[hidden, shared], Role::SharedGateUp, layer);
        self.matrix(&name("ffn_down_shexp"), &[shared, hidden], Role::SharedDown, layer);
    }

    fn norm(&mut self, name: &str, length: u32) {
        self.drawn(&format!("{name}.weight"), &[length], Distribution::Bell { mean: 1.0, deviation: 0.1 });
    }

    fn drawn(&mut self, name: &str, shape: &[u32], distribution: Distribution) {
        self.add(name.to_owned(), shape, Type::F32, Fill::Drawn(distribution));
    }

    fn matrix(&mut self, name: &str, shape: &[u32], role: Role, layer: u32) {
        self.weight(name, shape, role, layer, deviation(shape[0]));
    }

    fn weight(&mut self, name: &str, shape: &[u32], role: Role, layer: u32, deviation: f32) {
        let kind = self.options.mix.kind(role, layer, self.options.shape.layers, shape[0]);
        self.add(format!("{name}.weight"), shape, kind, Fill::Pool { deviation });
    }

    fn add(&mut self, name: String, shape: &[u32], kind: Type, fill: Fill) {
        let shape: Vec<u64> = shape.iter().map(|size| u64::from(*size)).collect();
        let row = shape[0] / kind.block_length() as u64 * kind.block_bytes() as u64;
        let bytes = row * shape[1..].iter().product::<u64>();
        self.tensors.push(Tensor { name, shape, kind, bytes, fill });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthesize::Mix;

    fn mebibytes(mix: Mix) -> u64 {
        let options = Options { shape: Shape::QWEN3_NEXT_80B, mix, router_scale: 2.0, seed: 1 };
        list(&options).iter().map(|tensor| tensor.bytes).sum::<u64>() >> 20
    }

    #[test]
    fn the_80b_model_has_the_size_that_llama_quantize_states() {
        // `llama-quantize --dry-run` on a header of the true shape.
        assert_eq!(mebibytes(Mix::Iq1M), 17_354);
        assert_eq!(mebibytes(Mix::Q4Km), 46_237);
    }
}

//! Hyper-parameters of the `qwen3next` family, read from a file's metadata and checked.

use super::{Error, Rotary, RotaryScaling};
use crate::gguf::Gguf;

/// Which mixer a layer has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MixerKind {
    /// Gated full attention.
    Attention,
    /// Gated DeltaNet, a linear attention with a recurrent state (arXiv 2412.06464).
    DeltaNet,
}

/// Hyper-parameters of a model.
#[derive(Clone, Debug)]
pub struct Config {
    /// `general.name`, or the file's name.
    pub name: String,
    /// The context the model was trained for, in tokens.
    pub context_length: u32,
    /// Width of the residual stream.
    pub hidden: usize,
    /// Entries of the vocabulary.
    pub vocabulary: usize,
    /// Layers of the trunk (a next-token-prediction block is not counted).
    pub layers: usize,
    /// Whether the file has a next-token-prediction block.
    pub next_token: bool,
    /// Epsilon of every RMSNorm and L2 norm.
    pub norm_epsilon: f32,
    /// The mixer of each layer of the trunk.
    pub mixers: Vec<MixerKind>,
    /// Full attention.
    pub attention: AttentionConfig,
    /// Gated DeltaNet.
    pub delta_net: DeltaNetConfig,
    /// Mixture of experts.
    pub experts: ExpertsConfig,
}

/// Hyper-parameters of gated full attention.
#[derive(Clone, Debug)]
pub struct AttentionConfig {
    /// Query heads.
    pub heads: usize,
    /// Key and value heads.
    pub kv_heads: usize,
    /// Values in a head.
    pub head_size: usize,
    /// Rotary position embedding.
    pub rotary: Rotary,
}

/// Hyper-parameters of the gated DeltaNet.
#[derive(Clone, Copy, Debug)]
pub struct DeltaNetConfig {
    /// Key (and query) heads.
    pub key_heads: usize,
    /// Value heads, a multiple of the key heads.
    pub value_heads: usize,
    /// Values in a head of either kind.
    pub head_size: usize,
    /// Taps of the causal convolution.
    pub conv_kernel: usize,
}

/// Hyper-parameters of the mixture of experts.
#[derive(Clone, Copy, Debug)]
pub struct ExpertsConfig {
    /// Routed experts of a layer.
    pub count: usize,
    /// Experts that a token uses.
    pub used: usize,
    /// Width of a routed expert.
    pub feed_forward: usize,
    /// Width of the shared expert.
    pub shared_feed_forward: usize,
}

impl AttentionConfig {
    /// Width of all query heads.
    pub fn query_size(&self) -> usize {
        self.heads * self.head_size
    }

    /// Width of all key (or value) heads.
    pub fn kv_size(&self) -> usize {
        self.kv_heads * self.head_size
    }
}

impl DeltaNetConfig {
    /// Width of all key heads.
    pub fn key_size(&self) -> usize {
        self.key_heads * self.head_size
    }

    /// Width of all value heads.
    pub fn value_size(&self) -> usize {
        self.value_heads * self.head_size
    }

    /// Channels of the convolution: queries, keys, values.
    pub fn conv_size(&self) -> usize {
        2 * self.key_size() + self.value_size()
    }

    /// Values of the recurrent state of one layer and sequence: (value heads, head, head).
    pub fn state_size(&self) -> usize {
        self.value_heads * self.head_size * self.head_size
    }

    /// Values of the convolution state of one layer and sequence: (taps - 1, channels).
    pub fn conv_state_size(&self) -> usize {
        (self.conv_kernel - 1) * self.conv_size()
    }
}

impl Config {
    /// Trunk layers with full attention: those that keep keys and values. The next-token block, where it is loaded,
    /// keeps its own besides.
    pub fn kv_layers(&self) -> usize {
        self.mixers.iter().filter(|kind| **kind == MixerKind::Attention).count()
    }

    /// Trunk layers with a recurrent state.
    pub fn delta_net_layers(&self) -> usize {
        self.mixers.iter().filter(|kind| **kind == MixerKind::DeltaNet).count()
    }

    /// Reads and checks the hyper-parameters.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn read(file: &Gguf) -> Result<Config, Error> {
        let architecture = file.metadata().str("general.architecture")?.unwrap_or_default();
        if architecture != "qwen3next" {
            return Err(Error::Architecture {
                file: file.name().into(),
                found: architecture.into(),
                hint: match architecture {
                    "qwen35moe" | "qwen35" | "qwen3moe" => " yet (a sibling of qwen3next)",
                    _ => "",
                },
            });
        }
        if file.tensors().is_empty() {
            return Err(Error::VocabularyOnly { file: file.name().into() });
        }
        Keys { file }.config()
    }
}

/// The family's keys in a file.
struct Keys<'a> {
    file: &'a Gguf,
}

/// Larger than any model of the family by far, small enough that products of a few stay in a `u64`.
const LARGEST: u32 = 1 << 24;

impl Keys<'_> {
    fn config(&self) -> Result<Config, Error> {
        let hidden = self.required("embedding_length", "width of the residual stream", 1..=LARGEST)? as usize;
        let blocks = self.required("block_count", "number of layers", 1..=4096)? as usize;
        let next_token = self.optional("nextn_predict_layers", 0, 0..=4096)?;
        if next_token > 1 {
            return Err(self.unsupported(format!("`qwen3next.nextn_predict_layers` = {next_token} (at most 1)")));
        }
        let layers = blocks - next_token as usize;
        if layers == 0 {
            return Err(self.bad("block_count", blocks, "more layers than the next-token block"));
        }
        let context_length = self.required("context_length", "trained context in tokens", 1..=u32::MAX)?;
        let norm_epsilon = self.norm_epsilon()?;
        let attention = self.attention(hidden, context_length)?;
        let delta_net = self.delta_net()?;
        let experts = self.experts()?;
        let vocabulary = match self.file.tensor("token_embd.weight") {
            Some(tensor) if tensor.rows() <= u64::from(LARGEST) => tensor.rows() as usize,
            Some(tensor) => {
                return Err(self.unsupported(format!("a vocabulary of {} entries", tensor.rows())));
            }
            // The inventory names the missing tensor together with all others.
            None => 0,
        };
        let name = self.file.metadata().str("general.name")?.unwrap_or_else(|| self.file.name()).to_owned();
        Ok(Config {
            name,
            context_length,
            hidden,
            vocabulary,
            layers,
            next_token: next_token == 1,
            norm_epsilon,
            mixers: self.mixers(layers, blocks)?,
            attention,
            delta_net,
            experts,
        })
    }

    fn norm_epsilon(&self) -> Result<f32, Error> {
        let key = "attention.layer_norm_rms_epsilon";
        let epsilon = self.file.metadata().f32(&full(key))?.ok_or_else(|| self.missing(key, "epsilon of the norms"))?;
        if epsilon > 0.0 && epsilon < 1.0 { Ok(epsilon) } else { Err(self.bad(key, epsilon, "a number in (0, 1)")) }
    }

    fn attention(&self, hidden: usize, context_length: u32) -> Result<AttentionConfig, Error> {
        let heads = self.required("attention.head_count", "query heads", 1..=4096)?;
        let kv_heads = self.optional("attention.head_count_kv", heads, 1..=4096)?;
        if !heads.is_multiple_of(kv_heads) {
            return Err(self.bad("attention.head_count_kv", kv_heads, format!("a divisor of the {heads} query heads")));
        }
        let default_size = (hidden as u32) / heads;
        let head_size = self.head_size("attention.key_length", Some(default_size))?;
        let value_size = self.head_size("attention.value_length", Some(default_size))?;
        if value_size != head_size {
            return Err(self.unsupported(format!(
                "`{}` = {value_size} beside `{}` = {head_size} (they must be equal)",
                full("attention.value_length"),
                full("attention.key_length"),
            )));
        }
        let dimensions = self.optional("rope.dimension_count", head_size, 0..=u32::MAX)?;
        if dimensions == 0 || dimensions > head_size || !dimensions.is_multiple_of(2) {
            return Err(self.bad("rope.dimension_count", dimensions, format!("an even number from 2 to {head_size}")));
        }
        let base = self.optional_f32("rope.freq_base", 10_000.0)?;
        if !(base > 1.0 && base.is_finite()) {
            return Err(self.bad("rope.freq_base", base, "a number above 1"));
        }
        let scaling = self.rotary_scaling(context_length)?;
        Ok(AttentionConfig {
            heads: heads as usize,
            kv_heads: kv_heads as usize,
            head_size: head_size as usize,
            rotary: Rotary::new(dimensions as usize, f64::from(base), scaling),
        })
    }

    fn rotary_scaling(&self, context_length: u32) -> Result<RotaryScaling, Error> {
        let kind = self.file.metadata().str(&full("rope.scaling.type"))?.unwrap_or("linear");
        let factor = match self.file.metadata().f32(&full("rope.scaling.factor"))? {
            Some(factor) => factor,
            // The name that first-generation files used.
            None => self.optional_f32("rope.scale_linear", 0.0)?,
        };
        if !factor.is_finite() || factor < 0.0 {
            return Err(self.bad("rope.scaling.factor", factor, "a positive number"));
        }
        let factor = if factor == 0.0 { 1.0 } else { f64::from(factor) };
        match kind {
            "none" => Ok(RotaryScaling::None),
            "linear" if factor == 1.0 => Ok(RotaryScaling::None),
            "linear" => Ok(RotaryScaling::Linear { factor }),
            "yarn" => {
                let attention_factor = self.optional_f32("rope.scaling.attn_factor", 1.0)?;
                if !(attention_factor > 0.0 && attention_factor.is_finite()) {
                    return Err(self.bad("rope.scaling.attn_factor", attention_factor, "a positive number"));
                }
                Ok(RotaryScaling::Yarn {
                    factor,
                    original_context: self.optional(
                        "rope.scaling.original_context_length",
                        context_length,
                        1..=u32::MAX,
                    )?,
                    attention_factor: f64::from(attention_factor),
                })
            }
            other => Err(self.unsupported(format!("`{}` = `{other}` (none, linear, yarn)", full("rope.scaling.type")))),
        }
    }

    fn delta_net(&self) -> Result<DeltaNetConfig, Error> {
        let key_heads = self.required("ssm.group_count", "key heads of the DeltaNet", 1..=4096)?;
        let value_heads = self.required("ssm.time_step_rank", "value heads of the DeltaNet", 1..=4096)?;
        if !value_heads.is_multiple_of(key_heads) {
            return Err(self.bad(
                "ssm.time_step_rank",
                value_heads,
                format!("a multiple of the {key_heads} key heads"),
            ));
        }
        let head_size = self.head_size("ssm.state_size", None)?;
        let inner = self.required("ssm.inner_size", "width of all value heads", 1..=LARGEST)?;
        if inner != value_heads * head_size {
            return Err(self.bad("ssm.inner_size", inner, format!("{value_heads} value heads of {head_size}")));
        }
        Ok(DeltaNetConfig {
            key_heads: key_heads as usize,
            value_heads: value_heads as usize,
            head_size: head_size as usize,
            conv_kernel: self.required("ssm.conv_kernel", "taps of the convolution", 2..=16)? as usize,
        })
    }

    fn experts(&self) -> Result<ExpertsConfig, Error> {
        let count = self.required("expert_count", "experts of a layer", 1..=65_536)?;
        let used = self.required("expert_used_count", "experts a token uses", 1..=32)?;
        if used > count {
            return Err(self.bad("expert_used_count", used, format!("at most the {count} experts there are")));
        }
        let dense = self.optional("feed_forward_length", 0, 0..=LARGEST)?;
        let width = |key: &'static str, fallback: u32| {
            let width = self.optional(key, fallback, 0..=LARGEST)?;
            if width == 0 { Err(self.missing(key, "width of an expert")) } else { Ok(width as usize) }
        };
        Ok(ExpertsConfig {
            count: count as usize,
            used: used as usize,
            feed_forward: width("expert_feed_forward_length", dense / used)?,
            shared_feed_forward: width("expert_shared_feed_forward_length", dense)?,
        })
    }

    fn mixers(&self, layers: usize, blocks: usize) -> Result<Vec<MixerKind>, Error> {
        let kind = |recurrent| if recurrent { MixerKind::DeltaNet } else { MixerKind::Attention };
        let key = "attention.recurrent_layers";
        if let Some(recurrent) = self.file.metadata().bools(&full(key))? {
            if recurrent.len() != blocks && recurrent.len() != layers {
                return Err(self.bad(key, format!("an array of {}", recurrent.len()), format!("one of {blocks}")));
            }
            if recurrent.len() > layers && recurrent[layers] {
                return Err(self.unsupported(format!("a next-token block with a recurrent state (`{}`)", full(key))));
            }
            return Ok(recurrent[..layers].iter().map(|r| kind(*r)).collect());
        }
        let interval = self.optional("full_attention_interval", 4, 1..=4096)? as usize;
        Ok((1..=layers).map(|layer| kind(!layer.is_multiple_of(interval))).collect())
    }

    /// The size of a head, from 32 to 256 values.
    fn head_size(&self, key: &'static str, default: Option<u32>) -> Result<u32, Error> {
        let size = match default {
            Some(default) => self.optional(key, default, 0..=u32::MAX)?,
            None => self.required(key, "values in a head", 0..=u32::MAX)?,
        };
        if (32..=256).contains(&size) {
            return Ok(size);
        }
        Err(self.unsupported(format!("a head of {size} values (`{}`; from 32 to 256)", full(key))))
    }

    fn required(
        &self,
        key: &'static str,
        meaning: &'static str,
        range: std::ops::RangeInclusive<u32>,
    ) -> Result<u32, Error> {
        self.number(key, range)?.ok_or_else(|| self.missing(key, meaning))
    }

    fn optional(&self, key: &'static str, default: u32, range: std::ops::RangeInclusive<u32>) -> Result<u32, Error> {
        Ok(self.number(key, range)?.unwrap_or(default))
    }

    /// A number that a file may give once or once a layer. Layers that do not have the thing counted say 0; all
    /// others must agree.
    fn number(&self, key: &'static str, range: std::ops::RangeInclusive<u32>) -> Result<Option<u32>, Error> {
        let Some(values) = self.file.metadata().u32_or_array(&full(key))? else { return Ok(None) };
        let largest = values.iter().copied().max().unwrap_or(0);
        if values.iter().any(|value| *value != largest && *value != 0) {
            return Err(self.unsupported(format!("`{}` that differs between layers", full(key))));
        }
        if !range.contains(&largest) {
            return Err(self.bad(key, largest, format!("a number from {} to {}", range.start(), range.end())));
        }
        Ok(Some(largest))
    }

    fn optional_f32(&self, key: &'static str, default: f32) -> Result<f32, Error> {
        Ok(self.file.metadata().f32(&full(key))?.unwrap_or(default))
    }

    fn missing(&self, key: &str, meaning: &'static str) -> Error {
        Error::MissingKey { file: self.file.name().into(), key: full(key), meaning }
    }

    fn bad(&self, key: &str, found: impl ToString, expected: impl Into<String>) -> Error {
        Error::BadKey {
            file: self.file.name().into(),
            key: full(key),
            found: found.to_string(),
            expected: expected.into(),
        }
    }

    fn unsupported(&self, what: String) -> Error {
        Error::Unsupported { file: self.file.name().into(), what }
    }
}

fn full(key: &str) -> String {
    format!("qwen3next.{key}")
}

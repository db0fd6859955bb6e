//! What can be typed behind `redlite synthesize`.

use super::{count, number, wrong};
use crate::cli::Failure;
use crate::cli::synthesize::{SynthesizeOptions, Target};
use crate::synthesize::{Mix, Options, Plan, Shape};
use clap::{Args, ValueEnum};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  redlite synthesize -o tiny.gguf
  redlite synthesize --preset qwen3-next-80b --types iq2_xxs -o 80b.gguf
  redlite synthesize --preset qwen3-next-80b --layers 4 --dry-run

The file has the shape, the types and the size of a real one, so that a machine can be judged before
a download: by inspect, bench and generate. Its text is noise. The same options give the same bytes.";

#[derive(Args)]
#[command(after_help = EXAMPLES, allow_negative_numbers = true)]
pub(super) struct TypedSynthesize {
    /// The file to write
    #[arg(short, long, value_name = "FILE", required_unless_present = "dry_run")]
    output: Option<PathBuf>,
    /// Write over a file that exists
    #[arg(long)]
    force: bool,
    /// Only print the sizes
    #[arg(long, conflicts_with_all = ["output", "force"])]
    dry_run: bool,
    /// The shape to start from
    #[arg(long, value_name = "NAME", value_enum, default_value_t = Preset::Tiny)]
    preset: Preset,
    /// The mixture of types
    #[arg(long, value_name = "NAME", value_enum, default_value_t = Types::Iq2Xxs)]
    types: Types,
    /// The same seed gives the same file
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = count::<u64>)]
    seed: u64,
    /// Deviation of the router's logits; the larger, the more one expert stands out
    #[arg(long, value_name = "NUMBER", default_value_t = 2.0, value_parser = number)]
    router_scale: f32,
    /// No summary and no progress bar
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    dimensions: Dimensions,
}

/// The dimensions that differ from the preset's.
#[derive(Args)]
#[command(next_help_heading = "Dimensions (what is not given is the preset's)")]
struct Dimensions {
    /// Layers, of which every fourth has full attention
    #[arg(long, value_name = "COUNT", value_parser = count::<u32>)]
    layers: Option<u32>,
    /// Width of the residual stream
    #[arg(long, value_name = "WIDTH", value_parser = count::<u32>)]
    hidden: Option<u32>,
    /// Query heads
    #[arg(long, value_name = "COUNT", value_parser = count::<u32>)]
    heads: Option<u32>,
    /// Key and value heads
    #[arg(long, value_name = "COUNT", value_parser = count::<u32>)]
    kv_heads: Option<u32>,
    /// Values in a head of full attention
    #[arg(long, value_name = "WIDTH", value_parser = count::<u32>)]
    head_dim: Option<u32>,
    /// Values of a head that are rotated by position
    #[arg(long, value_name = "WIDTH", value_parser = count::<u32>)]
    rope_dims: Option<u32>,
    /// Key heads of the delta net
    #[arg(long, value_name = "COUNT", value_parser = count::<u32>)]
    key_heads: Option<u32>,
    /// Value heads of the delta net
    #[arg(long, value_name = "COUNT", value_parser = count::<u32>)]
    value_heads: Option<u32>,
    /// Values in a head of the delta net
    #[arg(long, value_name = "WIDTH", value_parser = count::<u32>)]
    linear_dim: Option<u32>,
    /// Taps of the convolution
    #[arg(long, value_name = "COUNT", value_parser = count::<u32>)]
    conv: Option<u32>,
    /// Experts of a layer
    #[arg(long, value_name = "COUNT", value_parser = count::<u32>)]
    experts: Option<u32>,
    /// Experts that a token uses
    #[arg(long, value_name = "COUNT", value_parser = count::<u32>)]
    top_k: Option<u32>,
    /// Width of an expert
    #[arg(long, value_name = "WIDTH", value_parser = count::<u32>)]
    expert_ffn: Option<u32>,
    /// Width of the shared expert
    #[arg(long, value_name = "WIDTH", value_parser = count::<u32>)]
    shared_ffn: Option<u32>,
    /// Entries of the vocabulary; below 260 the file has no tokenizer
    #[arg(long, value_name = "COUNT", value_parser = count::<u32>)]
    vocab: Option<u32>,
    /// Context in tokens
    #[arg(long, value_name = "COUNT", value_parser = count::<u32>)]
    ctx: Option<u32>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Preset {
    /// 48 layers of 512 experts: Qwen3-Next-80B-A3B
    #[value(name = "qwen3-next-80b")]
    Qwen3Next80B,
    /// A few megabytes
    Tiny,
}

#[derive(Clone, Copy, ValueEnum)]
enum Types {
    /// 2 bits for the experts, more for all else
    #[value(name = "iq2_xxs")]
    Iq2Xxs,
    /// 1.8 bits a weight
    #[value(name = "iq1_m")]
    Iq1M,
    /// 4.9 bits a weight
    #[value(name = "q4_k_m")]
    Q4Km,
}

impl TypedSynthesize {
    pub(super) fn options(self) -> Result<SynthesizeOptions, Failure> {
        let preset = match self.preset {
            Preset::Qwen3Next80B => Shape::QWEN3_NEXT_80B,
            Preset::Tiny => Shape::TINY,
        };
        let mix = match self.types {
            Types::Iq2Xxs => Mix::Iq2Xxs,
            Types::Iq1M => Mix::Iq1M,
            Types::Q4Km => Mix::Q4Km,
        };
        let shape = self.dimensions.applied_to(preset);
        let options = Options { shape, mix, router_scale: self.router_scale, seed: self.seed };
        let plan = Plan::new(options).map_err(|error| wrong("synthesize", &error.to_string()))?;
        let target = self.output.map(|path| Target { path, overwrite: self.force });
        Ok(SynthesizeOptions { plan, target, quiet: self.quiet })
    }
}

impl Dimensions {
    fn applied_to(&self, preset: Shape) -> Shape {
        Shape {
            layers: self.layers.unwrap_or(preset.layers),
            hidden: self.hidden.unwrap_or(preset.hidden),
            heads: self.heads.unwrap_or(preset.heads),
            kv_heads: self.kv_heads.unwrap_or(preset.kv_heads),
            head_size: self.head_dim.unwrap_or(preset.head_size),
            rotary_size: self.rope_dims.unwrap_or(preset.rotary_size),
            key_heads: self.key_heads.unwrap_or(preset.key_heads),
            value_heads: self.value_heads.unwrap_or(preset.value_heads),
            linear_head_size: self.linear_dim.unwrap_or(preset.linear_head_size),
            conv_kernel: self.conv.unwrap_or(preset.conv_kernel),
            experts: self.experts.unwrap_or(preset.experts),
            experts_used: self.top_k.unwrap_or(preset.experts_used),
            expert_feed_forward: self.expert_ffn.unwrap_or(preset.expert_feed_forward),
            shared_feed_forward: self.shared_ffn.unwrap_or(preset.shared_feed_forward),
            vocabulary: self.vocab.unwrap_or(preset.vocabulary),
            context: self.ctx.unwrap_or(preset.context),
        }
    }
}

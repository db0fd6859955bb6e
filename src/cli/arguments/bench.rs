//! What can be typed behind `redlite bench`.

use super::{TypedModel, count, positive, thread_count, wrong};
use crate::cli::Failure;
use crate::cli::bench::BenchOptions;
use crate::engine::BackendKind;
use crate::memory::KvType;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

const EXAMPLES: &str = "\
Examples:
  redlite bench
  redlite bench -m model.gguf -p 2048 -n 128 --reps 3 --json
  redlite bench --backend reference,wgsl            run in turn, so that both meet the same machine

One run of each backend to warm up is not counted. A run whose logits are no numbers is an error.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct TypedBench {
    #[command(flatten)]
    model: TypedModel,
    /// Tokens of the prompt; 0 measures no prompt
    #[arg(short = 'p', long = "prompt-tokens", value_name = "COUNT", default_value_t = 512, value_parser = count::<u32>)]
    prompt: u32,
    /// Tokens that follow one by one; 0 measures none
    #[arg(short = 'n', long = "decode-tokens", value_name = "COUNT", default_value_t = 64, value_parser = count::<u32>)]
    decode: u32,
    /// Runs of each backend
    #[arg(long, value_name = "COUNT", default_value_t = 5, value_parser = positive)]
    reps: u32,
    /// What computes; several, separated by commas, run in turn
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        default_value = "auto",
        value_parser = PossibleValuesParser::new(BackendKind::ALL.map(BackendKind::name))
            .try_map(|name| name.parse::<BackendKind>()),
    )]
    backend: Vec<BackendKind>,
    /// Part of a GPU adapter's name, as `redlite doctor` lists them; the only way to use a software adapter
    #[arg(long, value_name = "NAME")]
    adapter: Option<String>,
    /// Tokens of the prompt to take in at once
    #[arg(long, value_name = "COUNT", default_value_t = 512, value_parser = positive)]
    batch: u32,
    /// CPU threads [default: one for each core]
    #[arg(long, value_name = "COUNT", value_parser = thread_count)]
    threads: Option<u32>,
    /// How keys and values of the context are kept
    #[arg(
        long,
        value_name = "TYPE",
        default_value_t,
        value_parser = PossibleValuesParser::new(KvType::ALL.map(KvType::name))
            .try_map(|name| name.parse::<KvType>()),
    )]
    kv_type: KvType,
    /// The tokens are drawn from this seed
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = count::<u64>)]
    seed: u64,
    /// Print one JSON object, with the times of every run
    #[arg(long)]
    json: bool,
}

impl TypedBench {
    pub(super) fn options(self) -> Result<BenchOptions, Failure> {
        if self.prompt == 0 && self.decode == 0 {
            return Err(wrong("bench", "-p and -n are both 0, which leaves nothing to measure"));
        }
        if self.prompt.checked_add(self.decode).is_none() {
            return Err(wrong("bench", "-p and -n together are more tokens than any context holds"));
        }
        Ok(BenchOptions {
            model: self.model.model,
            prompt: self.prompt as usize,
            decode: self.decode as usize,
            repetitions: self.reps as usize,
            backends: self.backend,
            adapter: self.adapter,
            batch: self.batch,
            threads: self.threads.map(|count| count as usize),
            kv_type: self.kv_type,
            seed: self.seed,
            json: self.json,
        })
    }
}

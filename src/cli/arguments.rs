//! What can be typed: the flags and their help. It is turned once into what is meant, the options of a subcommand.

mod bench;
mod synthesize;

use super::Failure;
use super::bench::BenchOptions;
use super::doctor::DoctorOptions;
use super::generate::{GenerateOptions, Output, PromptForm, SamplingChanges};
use super::inspect::InspectOptions;
use super::prompt::Source;
use super::synthesize::SynthesizeOptions;
use super::tokenize::{DetokenizeOptions, TokenizeOptions};
use crate::engine::{BackendKind, LoadOptions};
use crate::memory::{Bytes, KvType};
use crate::tokenizer::Special;
use clap::builder::{NonEmptyStringValueParser, PossibleValuesParser, TypedValueParser};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory, Parser, Subcommand};
use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;

/// A command line, understood.
#[derive(Clone, Debug)]
pub struct Invocation {
    /// How often `-v` was given.
    pub verbosity: u8,
    /// What to do.
    pub command: Command,
}

/// What to do.
#[derive(Clone, Debug)]
pub enum Command {
    /// Write text.
    Generate(Box<GenerateOptions>),
    /// Describe a model file.
    Inspect(InspectOptions),
    /// Show a text's tokens.
    Tokenize(TokenizeOptions),
    /// Show the text of tokens.
    Detokenize(DetokenizeOptions),
    /// Describe the machine.
    Doctor(DoctorOptions),
    /// Measure speed.
    Bench(BenchOptions),
    /// Write a model file with random weights.
    Synthesize(Box<SynthesizeOptions>),
}

/// Reads a command line.
///
/// # Errors
/// It cannot be understood, contradicts itself, or asks for help.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Invocation, Failure> {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let typed = Typed::try_parse_from(&arguments).map_err(|error| Failure::Usage(with_usage(error, &arguments)))?;
    let command = match typed.command {
        TypedCommand::Generate(typed) => Command::Generate(Box::new(typed.options()?)),
        TypedCommand::Inspect(typed) => {
            let model = typed.model.model.or(typed.file);
            Command::Inspect(InspectOptions { model, tensors: typed.tensors, json: typed.json })
        }
        TypedCommand::Tokenize(typed) => Command::Tokenize(TokenizeOptions {
            model: typed.model.model,
            text: Source::argument(typed.text),
            special: if typed.special { Special::Parse } else { Special::Text },
            ids_only: typed.ids,
        }),
        TypedCommand::Detokenize(typed) => {
            Command::Detokenize(DetokenizeOptions { model: typed.model.model, ids: typed.ids })
        }
        TypedCommand::Doctor(typed) => Command::Doctor(DoctorOptions { json: typed.json }),
        TypedCommand::Bench(typed) => Command::Bench(typed.options()?),
        TypedCommand::Synthesize(typed) => Command::Synthesize(Box::new(typed.options()?)),
    };
    Ok(Invocation { verbosity: typed.verbose, command })
}

const EXAMPLES: &str = "\
Examples:
  redlite generate \"The Rust compiler\"              text from the model that comes with the program
  redlite generate -m model.gguf --chat \"Hello!\"    a question to a chat model
  redlite inspect model.gguf                        what a file holds and the memory it needs
  redlite tokenize \"fn main() {\"                    how a text is cut into tokens
  redlite bench -m model.gguf                       how fast it is here

Exit codes: 0 done (also where Ctrl-C ended a text early), 1 failed, 2 the command line is wrong,
130 a second Ctrl-C.";

/// Runs very large mixture-of-experts language models in little GPU memory.
#[derive(Parser)]
#[command(name = "redlite", version, after_help = EXAMPLES, arg_required_else_help = true, max_term_width = 100)]
struct Typed {
    /// Say more about what is done, on standard error; -vv says still more (RUST_LOG overrides it)
    #[arg(short, long, action = clap::ArgAction::Count, global = true)]
    verbose: u8,
    #[command(subcommand)]
    command: TypedCommand,
}

#[derive(Subcommand)]
enum TypedCommand {
    /// Continue a text, or answer a question with --chat
    Generate(Box<TypedGenerate>),
    /// Describe a model file: architecture, tensors, memory, tokenizer
    Inspect(TypedInspect),
    /// Show the tokens of a text
    Tokenize(TypedTokenize),
    /// Turn token ids back into the bytes they stand for
    Detokenize(TypedDetokenize),
    /// Measure how fast prompts are taken in and tokens made
    Bench(bench::TypedBench),
    /// Write a model file of any shape with random weights
    Synthesize(Box<synthesize::TypedSynthesize>),
    /// Describe this machine: GPU adapters, what they offer, memory, and what `--backend auto` would use
    Doctor(TypedDoctor),
}

#[derive(Args)]
struct TypedDoctor {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct TypedModel {
    /// Model file (GGUF; any file of a split set) [default: the small model that comes with the program]
    #[arg(short, long, value_name = "FILE")]
    model: Option<PathBuf>,
}

const GENERATE_EXAMPLES: &str = "\
Examples:
  redlite generate \"The Rust compiler\"
  redlite generate -n 400 --temp 0 -f start.rs      greedy, the prompt from a file
  cat notes.md | redlite generate -m model.gguf -   the prompt from standard input
  redlite generate -m model.gguf --chat \"Why is the sky blue?\"
  redlite generate --json --seed 7 \"fn main\" | jq .text

The text goes to standard output as it is made, everything else to standard error. Ctrl-C ends it
and keeps what was made, with exit code 0 and finish reason \"interrupted\"; a second Ctrl-C does
not wait and exits with 130. The prompt is taken byte for byte: a final
newline belongs to it. The small model that comes with the program writes Rust code and
documentation; it is no source of facts.";

#[derive(Args)]
#[command(after_help = GENERATE_EXAMPLES, allow_negative_numbers = true)]
#[command(override_usage = "redlite generate [OPTIONS] PROMPT")]
#[group(id = "source", required = true, multiple = false, args = ["prompt", "text", "file"])]
struct TypedGenerate {
    #[command(flatten)]
    model: TypedModel,

    /// The prompt; `-` reads standard input, and `--` goes before a prompt that begins with a hyphen
    #[arg(value_name = "PROMPT", display_order = 0, help_heading = "Prompt")]
    text: Option<OsString>,
    /// The prompt, which may begin with a hyphen; `-` reads standard input
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true, help_heading = "Prompt")]
    prompt: Option<OsString>,
    /// Read the prompt from a file
    #[arg(short, long, value_name = "FILE", help_heading = "Prompt")]
    file: Option<PathBuf>,
    /// Take the prompt as a user's message and apply the model's chat template
    #[arg(long, conflicts_with_all = ["special", "raw_tokens"], help_heading = "Prompt")]
    chat: bool,
    /// Let texts of control tokens in the prompt, such as <|im_start|>, become these tokens
    #[arg(long, conflicts_with = "raw_tokens", help_heading = "Prompt")]
    special: bool,
    /// The prompt is token ids, separated by spaces or commas
    #[arg(long, help_heading = "Prompt")]
    raw_tokens: bool,

    /// Most tokens to make; -1 goes on to the end of the text or of the context
    #[arg(
        short = 'n',
        long = "max-tokens",
        value_name = "COUNT",
        default_value_t = 256,
        value_parser = token_limit,
        help_heading = "Length",
    )]
    max_tokens: i64,
    /// End before this text comes up (may be given several times)
    #[arg(
        long = "stop",
        value_name = "TEXT",
        allow_hyphen_values = true,
        value_parser = NonEmptyStringValueParser::new(),
        help_heading = "Length",
    )]
    stops: Vec<String>,
    /// Tokens that prompt and text may take together [default: the model's own, at most 32768]
    #[arg(
        short,
        long,
        value_name = "COUNT",
        value_parser = positive,
        help_heading = "Length",
    )]
    ctx_size: Option<u32>,

    #[command(flatten)]
    sampling: TypedSampling,
    #[command(flatten)]
    machine: TypedMachine,

    /// Print one JSON object: text, token ids, timings, finish reason, seed
    #[arg(long, help_heading = "Output")]
    json: bool,
    /// No summary and no progress bar
    #[arg(short, long, help_heading = "Output")]
    quiet: bool,
}

/// Where a flag is not given, the file's recommendation holds.
#[derive(Args)]
#[command(next_help_heading = "Sampling (what is not given is as the model file recommends)")]
struct TypedSampling {
    /// Temperature; 0 always takes the likeliest token, with only the penalties given here [else: 0.8]
    #[arg(long, value_name = "NUMBER", value_parser = number)]
    temp: Option<f32>,
    /// Keep this many of the likeliest tokens; 0 keeps all [else: 40]
    #[arg(long, value_name = "COUNT", value_parser = count::<usize>)]
    top_k: Option<usize>,
    /// Keep the likeliest tokens that together have this probability; 1 keeps all [else: 0.95]
    #[arg(long, value_name = "NUMBER", value_parser = number)]
    top_p: Option<f32>,
    /// Keep tokens with this fraction of the likeliest one's probability; 0 keeps all [else: 0.05]
    #[arg(long, value_name = "NUMBER", value_parser = number)]
    min_p: Option<f32>,
    /// Make the last 64 tokens, the prompt's among them, less likely; 1 is off [else: 1]
    #[arg(long, value_name = "NUMBER", value_parser = number)]
    repeat_penalty: Option<f32>,
    /// Take this off the logit of a recent token, once [else: 0]
    #[arg(long, value_name = "NUMBER", value_parser = number)]
    presence_penalty: Option<f32>,
    /// Take this off the logit of a recent token, each time it occurs [else: 0]
    #[arg(long, value_name = "NUMBER", value_parser = number)]
    frequency_penalty: Option<f32>,
    /// The same seed gives the same text [else: another one each time; -v and --json show it]
    #[arg(long, value_name = "NUMBER", value_parser = count::<u64>)]
    seed: Option<u64>,
}

#[derive(Args)]
#[command(next_help_heading = "Machine")]
struct TypedMachine {
    /// What computes: auto is the best hardware GPU, or the CPU reference where there is none and on Apple hardware; msl is not there yet
    #[arg(
        long,
        value_name = "NAME",
        default_value_t,
        value_parser = PossibleValuesParser::new(BackendKind::ALL.map(BackendKind::name))
            .try_map(|name| name.parse::<BackendKind>()),
    )]
    backend: BackendKind,
    /// Part of a GPU adapter's name, as `redlite doctor` lists them; the only way to use a software adapter
    #[arg(long, value_name = "NAME")]
    adapter: Option<String>,
    /// Most memory to plan with, such as 8GiB
    #[arg(long, value_name = "SIZE")]
    memory_limit: Option<Bytes>,
    /// CPU threads, at most four a processor; the text does not depend on it [default: one for each core]
    #[arg(long, value_name = "COUNT", value_parser = thread_count)]
    threads: Option<u32>,
    /// Tokens of the prompt to take in at once
    #[arg(long, value_name = "COUNT", default_value_t = 512, value_parser = positive)]
    batch: u32,
    /// How keys and values of the context are kept
    #[arg(
        long,
        value_name = "TYPE",
        default_value_t,
        value_parser = PossibleValuesParser::new(KvType::ALL.map(KvType::name))
            .try_map(|name| name.parse::<KvType>()),
    )]
    kv_type: KvType,
}

#[derive(Args)]
struct TypedInspect {
    #[command(flatten)]
    model: TypedModel,
    /// The model file, as with -m
    #[arg(value_name = "MODEL", conflicts_with = "model")]
    file: Option<PathBuf>,
    /// List all tensors: name, shape (contiguous dimension first), type, bytes
    #[arg(long)]
    tensors: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct TypedTokenize {
    #[command(flatten)]
    model: TypedModel,
    /// The text; `-` reads standard input, byte for byte
    #[arg(value_name = "TEXT")]
    text: OsString,
    /// Print the bare ids on one line
    #[arg(long)]
    ids: bool,
    /// Let texts of control tokens, such as <|im_start|>, become these tokens
    #[arg(long)]
    special: bool,
}

#[derive(Args)]
struct TypedDetokenize {
    #[command(flatten)]
    model: TypedModel,
    /// Token ids, separated by spaces or commas; `-` reads standard input
    #[arg(value_name = "IDS", required = true)]
    ids: Vec<OsString>,
}

impl TypedGenerate {
    fn options(self) -> Result<GenerateOptions, Failure> {
        let prompt = match (self.prompt.or(self.text), self.file) {
            (Some(text), _) => Source::argument(text),
            (None, Some(path)) if path.as_os_str() == "-" => Source::StandardInput,
            (None, Some(path)) => Source::File(path),
            (None, None) => return Err(wrong("generate", "no prompt was given")),
        };
        let form = match (self.chat, self.special, self.raw_tokens) {
            (true, ..) => PromptForm::Chat,
            (_, true, _) => PromptForm::Text(Special::Parse),
            (_, _, true) => PromptForm::TokenIds,
            _ => PromptForm::Text(Special::Text),
        };
        let sampling = self.sampling.changes();
        sampling.check().map_err(|error| wrong("generate", &error.to_string()))?;
        Ok(GenerateOptions {
            model: self.model.model,
            prompt,
            form,
            limits: crate::generation::Limits { tokens: usize::try_from(self.max_tokens).ok(), stops: self.stops },
            context: self.ctx_size,
            sampling,
            seed: self.sampling.seed,
            machine: self.machine.options(),
            output: if self.json { Output::Json } else { Output::Text },
            quiet: self.quiet,
        })
    }
}

impl TypedSampling {
    fn changes(&self) -> SamplingChanges {
        SamplingChanges {
            temperature: self.temp,
            top_k: self.top_k,
            top_p: self.top_p,
            min_p: self.min_p,
            repeat_penalty: self.repeat_penalty,
            presence_penalty: self.presence_penalty,
            frequency_penalty: self.frequency_penalty,
        }
    }
}

impl TypedMachine {
    fn options(self) -> LoadOptions {
        LoadOptions {
            backend: self.backend,
            adapter: self.adapter,
            memory_limit: self.memory_limit.map(|bytes| bytes.0),
            threads: self.threads.map(|count| count as usize),
            batch: self.batch,
            kv_type: self.kv_type,
            ..LoadOptions::default()
        }
    }
}

/// The value of `-n`.
fn token_limit(text: &str) -> Result<i64, &'static str> {
    text.parse().ok().filter(|count| *count >= -1).ok_or("expected a whole number, -1 or more")
}

fn thread_count(text: &str) -> Result<u32, &'static str> {
    text.parse().ok().filter(|count| (1..=1024).contains(count)).ok_or("expected a whole number from 1 to 1024")
}

fn positive(text: &str) -> Result<u32, &'static str> {
    text.parse().ok().filter(|count| *count > 0).ok_or("expected a whole number from 1 to 4294967295")
}

/// A count of an unsigned type.
fn count<T: FromStr>(text: &str) -> Result<T, &'static str> {
    text.parse().map_err(|_| "expected a whole number, 0 or more")
}

fn number(text: &str) -> Result<f32, &'static str> {
    text.parse().map_err(|_| "expected a number")
}

/// Adds the usage to the errors that clap gives without it.
fn with_usage(mut error: clap::Error, arguments: &[OsString]) -> clap::Error {
    let mut command = Typed::command();
    command.build();
    let subcommand = arguments.iter().skip(1).find_map(|argument| command.find_subcommand(argument)).cloned();
    if error.use_stderr()
        && error.kind() != ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
        && error.get(ContextKind::Usage).is_none()
    {
        let usage = subcommand.unwrap_or(command).render_usage();
        error.insert(ContextKind::Usage, ContextValue::StyledStr(usage));
    }
    error
}

/// A command line that clap accepts and that is wrong all the same.
fn wrong(subcommand: &str, message: &str) -> Failure {
    let mut command = Typed::command();
    command.build();
    let error = match command.find_subcommand_mut(subcommand) {
        Some(subcommand) => subcommand.error(ErrorKind::ValueValidation, message),
        None => command.error(ErrorKind::ValueValidation, message),
    };
    Failure::Usage(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flags_do_not_contradict_each_other() {
        Typed::command().debug_assert();
    }

    #[test]
    fn a_count_of_minus_one_means_no_limit() {
        let line = ["redlite", "generate", "-n", "-1", "x"].map(OsString::from);
        let Command::Generate(options) = parse(line).unwrap().command else { panic!("another command") };
        assert_eq!(options.limits.tokens, None);
        assert_eq!(options.prompt, Source::Argument("x".into()));
    }
}

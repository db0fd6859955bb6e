//! `redlite-engine parity`: how two recordings of logits, or two backends, differ.

use super::files::read_tokens;
use super::model::{MachineArguments, open};
use super::run::{all_logits, shape};
use super::{Outcome, Usage};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use redlite::cli::print;
use redlite::engine::BackendKind;
use redlite::npy::Array;
use redlite::parity::{Difference, Limits, Summary, compare};
use std::path::{Path, PathBuf};
use std::slice;

/// Compares two files of logits, or two backends, position by position
///
/// Exits with 0 where the last line says PARITY: YES, and with 1 where it says NO, or where nothing could be read or
/// compared.
///
/// Either of two files, float32 of shape (positions, vocabulary), or with --backends of a model on two backends, the
/// likeliest token, the logits and the probabilities are compared position by position. A limit that is not given is
/// not applied; without any, --max-abs is 1e-3 and --mean-kl 3e-3.
#[derive(Args)]
#[command(override_usage = "redlite-engine parity [OPTIONS] <REF.npy> <CAND.npy>
       redlite-engine parity [OPTIONS] --tokens <FILE> --backends <REF,CAND>")]
pub struct Arguments {
    /// The reference, such as logits of another program
    #[arg(value_name = "REF.npy", required_unless_present = "backends", requires = "candidate")]
    reference: Option<PathBuf>,

    /// What is to be judged
    #[arg(value_name = "CAND.npy")]
    candidate: Option<PathBuf>,

    #[command(flatten)]
    limits: LimitArguments,

    /// Print a line for every position
    #[arg(short, long)]
    verbose: bool,

    /// Two backends: the reference, and what is to be judged
    #[arg(
        long,
        value_name = "REF,CAND",
        value_delimiter = ',',
        value_parser = PossibleValuesParser::new(BackendKind::ALL.map(BackendKind::name))
            .try_map(|name| name.parse::<BackendKind>()),
        requires = "tokens",
        conflicts_with = "reference",
        help_heading = "Two backends",
    )]
    backends: Vec<BackendKind>,

    /// The model file (GGUF; of a split set, any part) [default: the small model that comes with the program]
    #[arg(short, long, value_name = "MODEL", requires = "backends", help_heading = "Two backends")]
    model: Option<PathBuf>,

    /// A text file of token ids, separated by white space
    #[arg(long, value_name = "FILE", requires = "backends", help_heading = "Two backends")]
    tokens: Option<PathBuf>,

    #[command(flatten, next_help_heading = "Two backends")]
    machine: MachineArguments,
}

/// The limits of a comparison.
#[derive(Args)]
pub struct LimitArguments {
    /// The largest difference of two logits that still counts as equal
    #[arg(long, value_name = "X", value_parser = parse_limit)]
    max_abs: Option<f64>,

    /// The largest mean KL divergence from the reference, in nats, that still counts as equal
    #[arg(long, value_name = "Y", value_parser = parse_limit)]
    mean_kl: Option<f64>,
}

/// The limits where none is given: an engine that computes in f32 stays below them by far.
const DEFAULT_LIMITS: Limits = Limits { max_abs: Some(1e-3), mean_kl: Some(3e-3) };

/// Compares, prints and says whether the differences are within the limits.
pub fn run(arguments: &Arguments) -> Outcome<bool> {
    let differences = match (&arguments.reference, &arguments.candidate, &arguments.tokens) {
        (Some(reference), Some(candidate), _) => of_files(reference, candidate)?,
        (_, _, Some(tokens)) => of_backends(arguments, tokens)?,
        _ => return Err(Usage("give two files, or --tokens and --backends".into()).into()),
    };
    let mut lines = String::new();
    if arguments.verbose {
        for (position, difference) in differences.iter().enumerate() {
            lines += &format!("position {position}: {}\n", one(difference));
        }
    }
    let limits = arguments.limits.limits();
    let summary = Summary::of(&differences);
    lines += &format!("{}; {}\n", figures(&summary), verdict(slice::from_ref(&summary), &limits));
    print(lines)?;
    Ok(within(slice::from_ref(&summary), &limits))
}

fn of_files(reference: &Path, candidate: &Path) -> Outcome<Vec<Difference>> {
    let reference = Array::<f32>::read(reference)?;
    let candidate = Array::<f32>::read(candidate)?;
    Ok(compare((&reference.shape, &reference.values), (&candidate.shape, &candidate.values))?)
}

/// Runs the model on one backend after the other, so that both need not fit in memory at once.
fn of_backends(arguments: &Arguments, tokens: &Path) -> Outcome<Vec<Difference>> {
    let &[reference, candidate] = arguments.backends.as_slice() else {
        return Err(Usage(format!("--backends names {} backends; expected two", arguments.backends.len())).into());
    };
    let file = open(arguments.model.as_deref())?;
    let tokens = read_tokens(tokens)?;
    let run = |backend| -> Outcome<_> {
        let mut engine = arguments.machine.load(file.clone(), backend, tokens.len(), false, &|| true)?;
        all_logits(&mut engine, &tokens)
    };
    let (reference, candidate) = (run(reference)?, run(candidate)?);
    Ok(compare((&shape(&reference), &reference.values), (&shape(&candidate), &candidate.values))?)
}

impl LimitArguments {
    /// The limits that hold.
    pub fn limits(&self) -> Limits {
        match (self.max_abs, self.mean_kl) {
            (None, None) => DEFAULT_LIMITS,
            (max_abs, mean_kl) => Limits { max_abs, mean_kl },
        }
    }
}

/// One position in words.
pub fn one(difference: &Difference) -> String {
    let argmax = if difference.same_argmax { "equal" } else { "other" };
    format!("argmax {argmax}, max abs {:.3e}, KL {:.3e}", difference.max_abs, difference.kl)
}

/// All positions in words.
pub fn figures(summary: &Summary) -> String {
    format!(
        "argmax equal {} of {}, worst max abs {:.3e}, worst KL {:.3e}, mean KL {:.3e}",
        summary.same_argmax, summary.positions, summary.worst_max_abs, summary.worst_kl, summary.mean_kl
    )
}

/// Whether all comparisons stay within the limits.
pub fn within(summaries: &[Summary], limits: &Limits) -> bool {
    summaries.iter().all(|summary| summary.within(limits))
}

/// [`within`] in words.
pub fn verdict(summaries: &[Summary], limits: &Limits) -> String {
    let describe = |name: &str, limit: Option<f64>| match limit {
        Some(limit) => format!("{name} at most {limit:e}"),
        None => format!("{name} not limited"),
    };
    let (max_abs, mean_kl) = (describe("max abs", limits.max_abs), describe("mean KL", limits.mean_kl));
    let word = if within(summaries, limits) { "YES" } else { "NO" };
    format!("PARITY: {word} (limits: {max_abs}, {mean_kl})")
}

fn parse_limit(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(limit) if limit >= 0.0 && limit.is_finite() => Ok(limit),
        _ => Err("expected a number, 0 or more".into()),
    }
}

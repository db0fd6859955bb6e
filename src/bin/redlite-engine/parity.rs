//! `redlite-engine parity`: how two recordings of logits differ.

use super::Outcome;
use clap::Args;
use redlite::cli::print;
use redlite::npy::Array;
use redlite::parity::{Limits, Summary, compare};
use std::path::PathBuf;

/// Compares two files of logits position by position
///
/// Exits with 0 where the last line says PARITY: YES, and with 1 where it says NO, or where the files cannot be read or
/// compared.
///
/// Of both files, float32 of shape (positions, vocabulary), the likeliest token, the logits and the probabilities
/// are compared. A limit that is not given is not applied; without any, --max-abs is 1e-3 and --mean-kl 3e-3.
#[derive(Args)]
pub struct Arguments {
    /// The reference, such as logits of another program
    #[arg(value_name = "REF.npy")]
    reference: PathBuf,

    /// What is to be judged
    #[arg(value_name = "CAND.npy")]
    candidate: PathBuf,

    /// The largest difference of two logits that still counts as equal
    #[arg(long, value_name = "X", value_parser = parse_limit)]
    max_abs: Option<f64>,

    /// The largest mean KL divergence from the reference, in nats, that still counts as equal
    #[arg(long, value_name = "Y", value_parser = parse_limit)]
    mean_kl: Option<f64>,

    /// Print a line for every position
    #[arg(short, long)]
    verbose: bool,
}

/// The limits where none is given: an engine that computes in f32 stays below them by far.
const DEFAULT_LIMITS: Limits = Limits { max_abs: Some(1e-3), mean_kl: Some(3e-3) };

/// Compares, prints and says whether the differences are within the limits.
pub fn run(arguments: &Arguments) -> Outcome<bool> {
    let reference = Array::<f32>::read(&arguments.reference)?;
    let candidate = Array::<f32>::read(&arguments.candidate)?;
    let differences = compare((&reference.shape, &reference.values), (&candidate.shape, &candidate.values))?;
    let mut lines = String::new();
    if arguments.verbose {
        for (position, difference) in differences.iter().enumerate() {
            let argmax = if difference.same_argmax { "equal" } else { "other" };
            let (max_abs, kl) = (difference.max_abs, difference.kl);
            lines += &format!("position {position}: argmax {argmax}, max abs {max_abs:.3e}, KL {kl:.3e}\n");
        }
    }
    let limits = match (arguments.max_abs, arguments.mean_kl) {
        (None, None) => DEFAULT_LIMITS,
        (max_abs, mean_kl) => Limits { max_abs, mean_kl },
    };
    let summary = Summary::of(&differences);
    let yes = summary.within(&limits);
    let verdict = if yes { "YES" } else { "NO" };
    lines += &format!("{}; PARITY: {verdict} ({})\n", figures(&summary), describe(&limits));
    print(lines)?;
    Ok(yes)
}

fn figures(summary: &Summary) -> String {
    format!(
        "argmax equal {} of {}, worst max abs {:.3e}, worst KL {:.3e}, mean KL {:.3e}",
        summary.same_argmax, summary.positions, summary.worst_max_abs, summary.worst_kl, summary.mean_kl
    )
}

fn describe(limits: &Limits) -> String {
    let describe = |name: &str, limit: Option<f64>| match limit {
        Some(limit) => format!("{name} at most {limit:e}"),
        None => format!("{name} not limited"),
    };
    format!("limits: {}, {}", describe("max abs", limits.max_abs), describe("mean KL", limits.mean_kl))
}

fn parse_limit(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(limit) if limit >= 0.0 && limit.is_finite() => Ok(limit),
        _ => Err("expected a number, 0 or more".into()),
    }
}

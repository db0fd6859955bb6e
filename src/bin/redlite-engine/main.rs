//! The engineering command: logits, comparisons and figures for those who work on the engine.

mod files;
mod logits;
mod model;
mod parity;
mod perplexity;
mod prefill;
mod run;

use clap::{Parser, Subcommand};
use redlite::cli::{self, Failure};
use std::error::Error;
use std::process::ExitCode;

/// Logits, comparisons and figures for those who work on the engine.
///
/// Exit codes: 0 done (of parity: YES), 1 failed (of parity: NO, or it cannot be compared), 2 wrong usage.
#[derive(Parser)]
#[command(name = "redlite-engine", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Logits(logits::Arguments),
    Parity(parity::Arguments),
    Perplexity(perplexity::Arguments),
    Prefill(prefill::Arguments),
}

/// Arguments that each are well-formed and make no sense together.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Usage(String);

/// What messages begin with.
const PROGRAM: &str = "redlite-engine";

const FAILED: u8 = 1;
const USAGE: u8 = 2;

fn main() -> ExitCode {
    cli::report_panics_as(PROGRAM);
    cli::report_file_size_limit();
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return Failure::Usage(error).report_as(PROGRAM),
    };
    cli::start_logging(0);
    let done = match arguments.command {
        Command::Logits(arguments) => logits::run(&arguments).map(|()| true),
        Command::Parity(arguments) => parity::run(&arguments),
        Command::Perplexity(arguments) => perplexity::run(&arguments).map(|()| true),
        Command::Prefill(arguments) => prefill::run(&arguments),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(FAILED),
        Err(error) => fail(error),
    }
}

fn fail(error: Box<dyn Error>) -> ExitCode {
    match error.downcast::<Failure>() {
        Ok(failure) => failure.report_as(PROGRAM),
        Err(error) => {
            cli::report_as(PROGRAM, &cli::printable(&error.to_string()));
            ExitCode::from(if error.is::<Usage>() { USAGE } else { FAILED })
        }
    }
}

/// What a subcommand returns: an error of any kind is shown as it is.
type Outcome<T> = Result<T, Box<dyn Error>>;

//! The engineering command: logits, comparisons and figures for those who work on the engine.

mod files;
mod logits;
mod model;
mod parity;
mod perplexity;

use clap::error::ErrorKind;
use clap::{Parser, Subcommand};
use std::error::Error;
use std::process::ExitCode;

/// Logits, comparisons and figures for those who work on the engine.
///
/// Exit codes: 0 done, 1 failed (or `PARITY: NO`), 2 wrong usage.
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
}

/// Arguments that each are well-formed and make no sense together.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Usage(String);

const FAILED: u8 = 1;
const USAGE: u8 = 2;

fn main() -> ExitCode {
    env_logger::init();
    redlite::cli::report_file_size_limit();
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => error.exit(),
        Err(error) => {
            let text = error.to_string();
            return fail(text.strip_prefix("error: ").unwrap_or(&text).trim_end(), USAGE);
        }
    };
    let done = match arguments.command {
        Command::Logits(arguments) => logits::run(&arguments).map(|()| true),
        Command::Parity(arguments) => parity::run(&arguments),
        Command::Perplexity(arguments) => perplexity::run(&arguments).map(|()| true),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(FAILED),
        Err(error) => fail(&error.to_string(), if error.is::<Usage>() { USAGE } else { FAILED }),
    }
}

fn fail(message: &str, code: u8) -> ExitCode {
    eprintln!("redlite-engine: {message}");
    ExitCode::from(code)
}

/// What a subcommand returns: an error of any kind is shown as it is.
type Outcome<T> = Result<T, Box<dyn Error>>;

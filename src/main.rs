//! The `redlite` command.

use redlite::cli::{self, Command, Failure, Invocation, bench, doctor, generate, inspect, synthesize, tokenize};
use std::process::ExitCode;

fn main() -> ExitCode {
    cli::report_panics();
    match cli::parse(std::env::args_os()).and_then(run) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

fn run(invocation: Invocation) -> Result<(), Failure> {
    cli::start_logging(invocation.verbosity);
    cli::report_file_size_limit();
    match invocation.command {
        Command::Generate(options) => generate::run(&options),
        Command::Inspect(options) => inspect::run(&options),
        Command::Tokenize(options) => tokenize::tokenize(&options),
        Command::Detokenize(options) => tokenize::detokenize(&options),
        Command::Doctor(options) => doctor::run(&options),
        Command::Bench(options) => bench::run(&options),
        Command::Synthesize(options) => synthesize::run(&options),
    }
}

//! The `redlite` command: one file a subcommand, and what they share.
//!
//! Arguments are read in two steps: [`arguments`] knows what can be typed, each subcommand's options what it means.

pub mod arguments;
pub mod bench;
pub mod doctor;
mod failure;
pub mod generate;
pub mod inspect;
pub mod interrupt;
mod logging;
mod model;
mod output;
mod progress;
pub mod prompt;
pub mod synthesize;
pub mod tokenize;

pub use arguments::{Command, Invocation, parse};
pub use failure::Failure;
pub use logging::start as start_logging;
pub use output::{print, printable, report_as, report_file_size_limit, report_panics, report_panics_as};

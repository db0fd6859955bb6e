//! Why a command did not do what was asked, and what the user and the shell are told.

use super::output::{PROGRAM, printable, report_as, to_standard_error};
use crate::error::Error;
use std::io;
use std::process::ExitCode;

/// Why a command ended early.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The command line cannot be understood, or `--help` was asked for.
    #[error("{0}")]
    Usage(clap::Error),
    /// The work itself failed.
    #[error(transparent)]
    Work(Error),
    /// A file or standard input cannot be read.
    #[error("{what}: cannot be read: {source}")]
    Read {
        /// The file.
        what: String,
        /// The system's reason.
        source: io::Error,
    },
    /// A text is not UTF-8.
    #[error("{what} is not UTF-8 text: the byte at offset {offset} is 0x{byte:02x}, which cannot stand there")]
    NotText {
        /// The text.
        what: String,
        /// Where it stops being text.
        offset: usize,
        /// What stands there.
        byte: u8,
    },
    /// Something that should be a token id.
    #[error("{what} contains {found:?}, which is not a token id; ids are whole numbers, separated by spaces or commas")]
    NotAnId {
        /// Where it stands.
        what: String,
        /// The word.
        found: String,
    },
    /// A prompt without anything in it.
    #[error("{what} is empty: give the model at least one token to continue, as in `redlite generate \"fn main\"`")]
    EmptyPrompt {
        /// The prompt.
        what: String,
    },
    /// A prompt that does not fit the context.
    #[error("the prompt is {tokens} tokens long and the context holds {context}: {}", advice(*context, *limit))]
    PromptTooLong {
        /// Tokens of the prompt.
        tokens: usize,
        /// Tokens of the context.
        context: u32,
        /// The model's own context.
        limit: u32,
    },
    /// `--chat` with a model that has no template.
    #[error("{model} has no chat template (tokenizer.chat_template); leave out --chat to continue the prompt as it is")]
    NoChatTemplate {
        /// The file.
        model: String,
    },
    /// Standard output cannot be written.
    #[error("cannot write to standard output: {0}")]
    Write(io::Error),
}

impl<E: Into<Error>> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure::Work(error.into())
    }
}

impl Failure {
    /// Tells the user, on standard error, and gives the exit code: 2 where the command line is wrong, 1 where the
    /// work failed, 0 where help was asked for or whoever read the output has seen enough.
    pub fn report(&self) -> ExitCode {
        self.report_as(PROGRAM)
    }

    /// [`Failure::report`] in the name of another program.
    pub fn report_as(&self, program: &str) -> ExitCode {
        match self {
            Failure::Write(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
            Failure::Usage(message) if !message.use_stderr() => match message.print() {
                Err(error) => Failure::Write(error).report_as(program),
                Ok(()) => ExitCode::SUCCESS,
            },
            Failure::Usage(message) => {
                let text = message.render().to_string();
                match text.strip_prefix("error: ") {
                    Some(text) => report_as(program, text.trim_end()),
                    // The help that `redlite` alone prints.
                    None => to_standard_error(&text),
                }
                ExitCode::from(2)
            }
            failure => {
                report_as(program, &printable(&failure.to_string()));
                ExitCode::FAILURE
            }
        }
    }
}

fn advice(context: u32, limit: u32) -> String {
    if context < limit {
        format!("shorten it, or raise --ctx-size (this model's limit is {limit})")
    } else {
        "shorten it; this is all that the model can hold".to_owned()
    }
}

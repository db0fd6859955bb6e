//! Runs the command.

use serde_json::Value;
use std::ffi::OsStr;
use std::io::Write;
use std::process::{Command, Output, Stdio};

/// The command, run from a directory that has nothing to do with the repository.
pub fn redlite(arguments: &[impl AsRef<OsStr>]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_redlite"));
    command.args(arguments).current_dir(std::env::temp_dir()).env_remove("RUST_LOG").stdin(Stdio::null());
    command
}

/// How a command ended.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub out: Vec<u8>,
    pub error: String,
}

impl From<Output> for Ended {
    fn from(output: Output) -> Ended {
        let error = String::from_utf8(output.stderr).expect("what users are told is text");
        Ended { code: output.status.code(), out: output.stdout, error }
    }
}

impl Ended {
    /// Standard output of a command that did what it was asked.
    #[track_caller]
    pub fn text(&self) -> &str {
        assert_eq!(self.code, Some(0), "{}", self.error);
        std::str::from_utf8(&self.out).expect("the output is text")
    }

    /// The JSON object of a command that did what it was asked.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(self.text()).expect("the output is one JSON value")
    }

    /// What the user was told by a command that ended with `code` and put nothing on standard output.
    #[track_caller]
    pub fn refusal(&self, code: i32) -> &str {
        assert_eq!((self.code, &*self.out), (Some(code), &b""[..]), "{}", self.error);
        assert!(self.error.starts_with("redlite: "), "{}", self.error);
        &self.error
    }
}

pub fn run(arguments: &[impl AsRef<OsStr>]) -> Ended {
    redlite(arguments).output().expect("the command starts").into()
}

pub fn run_with_input(arguments: &[impl AsRef<OsStr>], input: &[u8]) -> Ended {
    let mut command = redlite(arguments);
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().expect("the command starts");
    // It may refuse its arguments without reading anything.
    let _ = child.stdin.take().expect("standard input is piped").write_all(input);
    child.wait_with_output().expect("the command ends").into()
}

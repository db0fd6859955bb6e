//! Work on behalf of a template that nobody has looked at, in a thread of its own.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use crate::tokenizer::shortened;

/// The name of these threads. A panic in one of them is an error of the template and not of the program.
pub const TEMPLATE_THREAD: &str = "chat template";

/// How long the work may take; it takes milliseconds as a rule.
const LIMIT: Duration = Duration::from_secs(5);

/// Why there is no result.
#[derive(Debug)]
pub(super) enum Stopped {
    /// The work took longer than it may.
    TooSlow {
        /// The limit.
        seconds: u64,
    },
    /// The work panicked, or no thread could be started.
    Failed {
        /// What happened.
        message: String,
    },
}

/// Does the work on a stack of so many bytes, of which memory is taken only as they are used.
///
/// Work that takes too long is left alone: a thread cannot be ended from outside, so it goes on until it ends or the
/// program does, and its result is dropped where it was made.
///
/// # Errors
/// The work took too long or panicked.
pub(super) fn run<T: Send + 'static>(stack: usize, work: impl FnOnce() -> T + Send + 'static) -> Result<T, Stopped> {
    let (sender, receiver) = mpsc::sync_channel(1);
    let work = move || {
        // Nothing that the work might have left half done is used after a panic.
        let result = catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
            Stopped::Failed { message: format!("the template engine panicked: {}", shortened(text, 200)) }
        });
        // Nobody receives the result of work that took too long.
        let _ = sender.send(result);
    };
    let started = thread::Builder::new().name(TEMPLATE_THREAD.to_owned()).stack_size(stack).spawn(work);
    started.map_err(|error| Stopped::Failed { message: format!("no thread can be started: {error}") })?;
    match receiver.recv_timeout(LIMIT) {
        Ok(result) => result,
        Err(RecvTimeoutError::Timeout) => Err(Stopped::TooSlow { seconds: LIMIT.as_secs() }),
        Err(RecvTimeoutError::Disconnected) => Err(Stopped::Failed { message: "its thread ended early".to_owned() }),
    }
}

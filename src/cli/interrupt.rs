//! Ctrl-C: the first asks for an end, the second does not wait for it.

use super::output;
use std::sync::atomic::{AtomicBool, Ordering};

/// The exit code shells expect of a program that Ctrl-C has ended.
const KILLED: i32 = 130;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);
static IN_CHUNK: AtomicBool = AtomicBool::new(false);

/// From here on, Ctrl-C sets [`interrupted`] instead of ending the program.
pub fn watch() {
    let watched = ctrlc::set_handler(|| {
        if interrupted() {
            std::process::exit(KILLED);
        }
        // Said before it is set, or the program might end first.
        if IN_CHUNK.load(Ordering::Relaxed) {
            output::report("stopping after this chunk; Ctrl-C again ends at once");
        }
        INTERRUPTED.store(true, Ordering::Relaxed);
    });
    if let Err(error) = watched {
        log::warn!("Ctrl-C will end the program without a summary: {error}");
    }
}

/// Whether the first Ctrl-C is to say that it takes effect only after the chunk under way.
pub(super) fn explain(in_chunk: bool) {
    IN_CHUNK.store(in_chunk, Ordering::Relaxed);
}

/// Whether Ctrl-C was pressed.
pub fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

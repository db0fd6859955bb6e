//! Ctrl-C: the first asks for an end, the second does not wait for it.

use std::sync::atomic::{AtomicBool, Ordering};

/// The exit code shells expect of a program that Ctrl-C has ended.
const KILLED: i32 = 130;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// From here on, Ctrl-C sets [`interrupted`] instead of ending the program.
pub fn watch() {
    let watched = ctrlc::set_handler(|| {
        if INTERRUPTED.swap(true, Ordering::Relaxed) {
            std::process::exit(KILLED);
        }
    });
    if let Err(error) = watched {
        log::warn!("Ctrl-C will end the program without a summary: {error}");
    }
}

/// Whether Ctrl-C was pressed.
pub fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

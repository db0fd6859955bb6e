//! Standard output and standard error. Either may be closed or full at any time.

use super::Failure;
use std::io::{self, Write};

/// What messages begin with.
pub(super) const PROGRAM: &str = "redlite";

/// Writes to standard output, at once.
///
/// # Errors
/// [`Failure::Write`].
pub fn print(bytes: impl AsRef<[u8]>) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(bytes.as_ref()).and_then(|()| out.flush()).map_err(Failure::Write)
}

/// Writes one JSON value and a newline to standard output.
pub(super) fn print_json(value: &impl serde::Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).map_err(|error| Failure::Write(error.into()))?;
    print(text + "\n")
}

/// A number as JSON, with the digits that an `f32` has; null where it is none.
pub(super) fn json_number(value: f32) -> serde_json::Value {
    value.to_string().parse::<f64>().ok().filter(|value| value.is_finite()).into()
}

/// "1 token", "2 tokens".
pub(super) fn counted(count: usize, thing: &str) -> String {
    format!("{count} {}", plural(count, thing))
}

/// The word for so many things.
pub(super) fn plural(count: usize, thing: &str) -> String {
    if count == 1 { thing.to_owned() } else { format!("{thing}s") }
}

/// Tells the user something on standard error.
pub(super) fn report(message: &str) {
    report_as(PROGRAM, message);
}

/// Tells the user something on standard error, in the name of a program.
pub fn report_as(program: &str, message: &str) {
    to_standard_error(&format!("{program}: {message}\n"));
}

/// Writes to standard error. Where that fails there is nobody left to tell.
pub(super) fn to_standard_error(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Text from a file as a terminal may show it: characters that are not printable are escaped.
pub fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' | '"' | '\'' => shown.push(c),
            c => shown.extend(c.escape_debug()),
        }
    }
    shown
}

/// Bytes of a token in double quotes, so that every byte can be told: quotes, backslashes and what is not printable
/// are escaped.
pub(super) fn quoted(bytes: &[u8]) -> String {
    let mut shown = String::from("\"");
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\'' => shown.push(c),
                c => shown.extend(c.escape_debug()),
            }
        }
        for byte in chunk.invalid() {
            shown += &format!("\\x{byte:02x}");
        }
    }
    shown.push('"');
    shown
}

/// From here on, a bug is reported as one and ends the program with exit code 1.
pub fn report_panics() {
    report_panics_as(PROGRAM);
}

/// [`report_panics`] in the name of another program.
pub fn report_panics_as(program: &'static str) {
    std::panic::set_hook(Box::new(move |panic| {
        if std::thread::current().name() == Some(crate::chat::TEMPLATE_THREAD) {
            return;
        }
        let message = panic.payload_as_str().unwrap_or("no message");
        let place = panic.location().map(|place| format!(" ({place})")).unwrap_or_default();
        report_as(program, &printable(&format!("internal error: {message}{place}; this is a bug, please report it")));
        std::process::exit(1);
    }));
}

/// From here on, a write beyond the size that files may have (`ulimit -f`) is an error of that write; without this the
/// system ends the program by a signal.
pub fn report_file_size_limit() {
    #[cfg(unix)]
    {
        // Nobody reads the flag. That the signal is handled is what lets the write fail.
        let flag = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        if let Err(error) = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, flag) {
            log::warn!("a file beyond the size limit will end the program without a message: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_from_a_file_reaches_the_terminal_as_a_control_character() {
        assert_eq!(printable("a\u{1b}[2J\r\n\u{202e}b"), "a\\u{1b}[2J\\r\\n\\u{202e}b");
        assert_eq!(printable("\"C:\\models\" é 中"), "\"C:\\models\" é 中");
    }

    #[test]
    fn a_quoted_token_shows_every_byte() {
        assert_eq!(quoted(b" it's \"\\\n"), "\" it's \\\"\\\\\\n\"");
        assert_eq!(quoted(b"\xf0\x9f\x98"), "\"\\xf0\\x9f\\x98\"");
        assert_eq!(quoted("é\u{301}".as_bytes()), "\"é\\u{301}\"");
    }
}

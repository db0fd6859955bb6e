//! Texts and token ids that are typed, piped in, or stand in a file.

use super::Failure;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;

/// Where a text comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The command line.
    Argument(OsString),
    /// Standard input, to its end.
    StandardInput,
    /// A file.
    File(PathBuf),
}

impl Source {
    /// An argument, of which `-` means standard input.
    pub(super) fn argument(argument: OsString) -> Source {
        if argument == "-" { Source::StandardInput } else { Source::Argument(argument) }
    }

    /// What messages call it.
    pub(super) fn name(&self) -> String {
        match self {
            Source::Argument(_) => "the text on the command line".to_owned(),
            Source::StandardInput => "standard input".to_owned(),
            Source::File(path) => path.display().to_string(),
        }
    }

    /// All of it, byte for byte.
    pub(super) fn read(&self) -> Result<String, Failure> {
        let failed = |source| Failure::Read { what: self.name(), source };
        let bytes = match self {
            Source::Argument(argument) => argument.as_encoded_bytes().to_vec(),
            Source::StandardInput => limited(io::stdin().lock()).map_err(failed)?,
            Source::File(path) => File::open(path).and_then(limited).map_err(failed)?,
        };
        text(bytes, || self.name())
    }
}

/// Bytes of the longest text that is read. Some files and pipes never end.
const LONGEST: u64 = 64 << 20;

/// All bytes of a text.
fn limited(source: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(LONGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LONGEST {
        let message = format!("it has {} bytes or more, where at most {LONGEST} are supported", bytes.len());
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(bytes)
}

fn text(bytes: Vec<u8>, what: impl Fn() -> String) -> Result<String, Failure> {
    String::from_utf8(bytes).map_err(|error| {
        let offset = error.utf8_error().valid_up_to();
        Failure::NotText { what: what(), offset, byte: error.as_bytes()[offset] }
    })
}

/// The token ids in a text, separated by white space and commas. `what` names the text.
///
/// # Errors
/// [`Failure::NotAnId`].
pub fn token_ids(text: &str, what: impl Fn() -> String) -> Result<Vec<u32>, Failure> {
    const SHOWN: usize = 40;
    let words = text.split(|c: char| c == ',' || c.is_whitespace()).filter(|word| !word.is_empty());
    words
        .map(|word| {
            word.parse().map_err(|_| Failure::NotAnId { what: what(), found: word.chars().take(SHOWN).collect() })
        })
        .collect()
}

/// The token ids in arguments, of which `-` alone means standard input.
pub(super) fn token_ids_of(arguments: &[OsString]) -> Result<Vec<u32>, Failure> {
    let source = match arguments {
        [argument] => Source::argument(argument.clone()),
        arguments => Source::Argument(arguments.join(OsStr::new(" "))),
    };
    token_ids(&source.read()?, || source.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_may_be_separated_by_white_space_and_commas() {
        assert_eq!(token_ids("1, 2\n3,4\t 5\n", || "text".into()).unwrap(), [1, 2, 3, 4, 5]);
        assert!(token_ids(" \n", || "text".into()).unwrap().is_empty());
    }

    #[test]
    fn what_is_no_id_is_named() {
        for word in ["-1", "4294967296", "x", "1.5"] {
            let error = token_ids(word, || "standard input".into()).unwrap_err().to_string();
            assert!(error.contains(&format!("{word:?}")), "{error}");
        }
    }

    #[test]
    fn a_text_that_does_not_end_is_refused() {
        let error = limited(io::repeat(0)).unwrap_err().to_string();
        assert_eq!(error, "it has 67108865 bytes or more, where at most 67108864 are supported");
        assert_eq!(limited(&b"text"[..]).unwrap(), b"text");
    }

    #[test]
    fn bytes_that_are_no_text_are_named_by_their_offset() {
        let error = text(b"ab\xffc".to_vec(), || "notes.txt".into()).unwrap_err().to_string();
        assert!(error.starts_with("notes.txt is not UTF-8 text") && error.contains("offset 2 is 0xff"), "{error}");
    }
}

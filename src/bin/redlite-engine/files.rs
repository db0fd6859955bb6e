//! Files that go in and out.

use super::{Outcome, Usage};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

/// Reads token ids separated by white space.
pub fn read_tokens(path: &Path) -> Outcome<Vec<u32>> {
    let text = read_text(path)?;
    let id = |word: &str| {
        word.parse().map_err(|_| format!("{}: `{}` is no token id", path.display(), word.escape_debug()).into())
    };
    let tokens: Vec<u32> = text.split_whitespace().map(id).collect::<Outcome<_>>()?;
    if tokens.is_empty() { Err(format!("{} holds no token ids", path.display()).into()) } else { Ok(tokens) }
}

/// Reads a text.
pub fn read_text(path: &Path) -> Outcome<String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()).into())
}

/// Removes what an earlier run left, so that a run that fails leaves no results that could be taken for its own.
/// A file that is also read, or written twice, is refused.
pub fn remove_older(outputs: &[&Path], inputs: &[&Path]) -> Outcome<()> {
    let same =
        |a: &Path, b: &Path| a == b || fs::canonicalize(a).is_ok_and(|a| fs::canonicalize(b).is_ok_and(|b| a == b));
    for (index, output) in outputs.iter().enumerate() {
        let others = inputs.iter().chain(&outputs[..index]);
        if others.into_iter().any(|other| same(output, other)) {
            return Err(Usage(format!("{} is named twice; it would be overwritten", output.display())).into());
        }
    }
    for output in outputs {
        match fs::remove_file(output) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(format!("{}: {error}", output.display()).into());
            }
            _ => {}
        }
    }
    Ok(())
}

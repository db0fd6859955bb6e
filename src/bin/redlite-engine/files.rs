//! Files that go in and out.

use super::{Outcome, Usage};
use redlite::cli::prompt::token_ids;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

/// Most bytes of a text or of a list of token ids.
const TEXT_LIMIT: u64 = 256 << 20;

/// Reads token ids separated by white space and commas.
pub fn read_tokens(path: &Path) -> Outcome<Vec<u32>> {
    let tokens = token_ids(&read_text(path)?, || path.display().to_string())?;
    if tokens.is_empty() { Err(format!("{} holds no token ids", path.display()).into()) } else { Ok(tokens) }
}

/// Reads a text.
pub fn read_text(path: &Path) -> Outcome<String> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(TEXT_LIMIT + 1).read_to_end(&mut bytes));
    read.map_err(|error| format!("{}: {error}", path.display()))?;
    if bytes.len() as u64 > TEXT_LIMIT {
        return Err(format!("{} is longer than {} MiB, the most that is read", path.display(), TEXT_LIMIT >> 20).into());
    }
    String::from_utf8(bytes).map_err(|error| format!("{}: {}", path.display(), error.utf8_error()).into())
}

/// Refuses outputs that would overwrite an input or each other, and those that are something else than a file.
pub fn check_outputs(outputs: &[&Path], inputs: &[&Path]) -> Outcome<()> {
    // An input that was a pipe may be gone.
    let mut taken: Vec<PathBuf> = inputs.iter().filter_map(|input| place(input).ok()).collect();
    for output in outputs {
        if fs::metadata(output).is_ok_and(|found| !found.is_file()) {
            return Err(Usage(format!("{} is not a regular file; it is not written", output.display())).into());
        }
        let place = place(output).map_err(|error| format!("{}: {error}", output.display()))?;
        if taken.contains(&place) {
            return Err(Usage(format!("{} is named twice; it would be overwritten", output.display())).into());
        }
        taken.push(place);
    }
    Ok(())
}

/// Removes outputs that are there: those of an earlier run, which could be taken for this one's, or of one that failed.
pub fn remove(outputs: &[&Path]) -> Outcome<()> {
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

/// The one path of a file, whether it is there or not, by which two names of it are seen to be the same.
fn place(path: &Path) -> io::Result<PathBuf> {
    match fs::canonicalize(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let name = path.file_name().ok_or(error)?;
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            Ok(fs::canonicalize(folder)?.join(name))
        }
        place => place,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_names_of_a_file_are_seen_to_be_one_even_before_it_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir(path("inner")).unwrap();
        let (plain, round) = (path("a.npy"), path("inner/../a.npy"));
        let refused = |outputs: &[&Path], inputs: &[&Path]| check_outputs(outputs, inputs).unwrap_err().to_string();
        for _ in ["absent", "present"] {
            check_outputs(&[&plain, &path("b.npy")], &[&path("c.txt")]).unwrap();
            assert!(refused(&[&plain, &round], &[]).contains("named twice"));
            assert!(refused(&[&round], &[&plain]).contains("named twice"));
            fs::write(&plain, "").unwrap();
        }
        assert!(refused(&[&path("inner")], &[]).contains("not a regular file"));
        assert!(refused(&[&path("missing/a.npy")], &[]).contains("a.npy: "));
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("model.gguf"), "").unwrap();
        std::os::unix::fs::symlink(path("model.gguf"), path("link.npy")).unwrap();
        std::os::unix::fs::symlink("/dev/null", path("null.npy")).unwrap();
        let refused = |output: &str| check_outputs(&[&path(output)], &[&path("model.gguf")]).unwrap_err().to_string();
        assert!(refused("link.npy").contains("named twice"));
        assert!(refused("null.npy").contains("not a regular file"));
    }
}

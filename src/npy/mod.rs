//! NumPy's `.npy` files of `f32` and `i32`, in which logits and routing are exchanged with other programs.
//!
//! The crates for this format pull in C or are many times its size: a file is a magic, a header in Python's syntax,
//! and the values (<https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>).

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

const MAGIC: &[u8] = b"\x93NUMPY";

/// Why an array could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file system refused.
    #[error("{path}: {error}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// No array file, or one of another kind.
    #[error("{path}: {problem}")]
    Format {
        /// The file.
        path: PathBuf,
        /// What was found and what was expected.
        problem: String,
    },
}

/// A number that an array can hold.
pub trait Number: Copy {
    /// The type's name in the header.
    const NAME: &'static str;
    /// Its little-endian bytes.
    fn bytes(self) -> [u8; 4];
    /// From its little-endian bytes.
    fn from_bytes(bytes: [u8; 4]) -> Self;
}

impl Number for f32 {
    const NAME: &'static str = "<f4";
    fn bytes(self) -> [u8; 4] {
        self.to_le_bytes()
    }
    fn from_bytes(bytes: [u8; 4]) -> f32 {
        f32::from_le_bytes(bytes)
    }
}

impl Number for i32 {
    const NAME: &'static str = "<i4";
    fn bytes(self) -> [u8; 4] {
        self.to_le_bytes()
    }
    fn from_bytes(bytes: [u8; 4]) -> i32 {
        i32::from_le_bytes(bytes)
    }
}

/// An array, last dimension contiguous.
#[derive(Clone, Debug, PartialEq)]
pub struct Array<T> {
    /// Its dimensions.
    pub shape: Vec<usize>,
    /// Its values.
    pub values: Vec<T>,
}

impl<T: Number> Array<T> {
    /// Reads a file.
    ///
    /// # Errors
    /// The file cannot be read, is no array file, is of another number type or order, or is truncated.
    pub fn read(path: &Path) -> Result<Array<T>, Error> {
        let bytes = fs::read(path).map_err(|error| Error::Io { path: path.into(), error })?;
        parse(&bytes).map_err(|problem| Error::Format { path: path.into(), problem })
    }
}

fn parse<T: Number>(bytes: &[u8]) -> Result<Array<T>, String> {
    let rest = bytes.strip_prefix(MAGIC).ok_or("not a .npy file (it does not start with \\x93NUMPY)")?;
    let (length, rest) = match rest {
        [1, _, a, b, rest @ ..] => (usize::from(u16::from_le_bytes([*a, *b])), rest),
        [2 | 3, _, a, b, c, d, rest @ ..] => (u32::from_le_bytes([*a, *b, *c, *d]) as usize, rest),
        _ => return Err("an unknown version of the .npy format, or a truncated header".into()),
    };
    let (header, data) = rest.split_at_checked(length).ok_or("the header is truncated")?;
    let header = std::str::from_utf8(header).map_err(|_| "the header is no text")?;
    let kind = field(header, "descr").map(|kind| kind.trim_matches(['\'', '"'])).ok_or("the header names no type")?;
    if kind != T::NAME {
        return Err(format!("values of type {kind}; expected {}", T::NAME));
    }
    if field(header, "fortran_order") != Some("False") {
        return Err("values in Fortran order; expected C order".into());
    }
    let shape = shape(header).ok_or("the header names no shape")?;
    let count = shape.iter().try_fold(1usize, |count, dimension| count.checked_mul(*dimension));
    let (values, tail) = data.as_chunks::<4>();
    if count != Some(values.len()) || !tail.is_empty() {
        return Err(format!("{} bytes of values; the shape {shape:?} asks for another number", data.len()));
    }
    Ok(Array { shape, values: values.iter().map(|bytes| T::from_bytes(*bytes)).collect() })
}

/// The text of a simple value in the header.
fn field<'a>(header: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = header.split_once(&format!("'{name}':"))?;
    Some(rest.split([',', '}']).next()?.trim())
}

fn shape(header: &str) -> Option<Vec<usize>> {
    let (_, rest) = header.split_once("'shape':")?;
    let (dimensions, _) = rest.trim_start().strip_prefix('(')?.split_once(')')?;
    dimensions.split(',').map(str::trim).filter(|text| !text.is_empty()).map(|text| text.parse().ok()).collect()
}

/// Writes an array row by row under a temporary name, and renames it when it is whole. A file that was there before
/// is gone from the start, so that a run that fails leaves none.
pub struct Writer {
    path: PathBuf,
    temporary: PathBuf,
    out: BufWriter<File>,
    left: usize,
}

impl Writer {
    /// Starts an array of this shape.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn create<T: Number>(path: &Path, shape: &[usize]) -> Result<Writer, Error> {
        let io = |error| Error::Io { path: path.into(), error };
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(io(error)),
            _ => {}
        }
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{}.partial", std::process::id()));
        let temporary = PathBuf::from(name);
        let mut out = BufWriter::new(File::create(&temporary).map_err(io)?);
        out.write_all(&header(T::NAME, shape)).map_err(io)?;
        Ok(Writer { path: path.into(), temporary, out, left: shape.iter().product() })
    }

    /// Writes the next values.
    ///
    /// # Errors
    /// The file cannot be written.
    ///
    /// # Panics
    /// If there are more values than the shape has: a bug of the caller.
    pub fn write<T: Number>(&mut self, values: &[T]) -> Result<(), Error> {
        self.left = self.left.checked_sub(values.len()).expect("no more values than the shape has");
        let io = |error| Error::Io { path: self.path.clone(), error };
        values.iter().try_for_each(|value| self.out.write_all(&value.bytes())).map_err(io)
    }

    /// Gives the whole array its name.
    ///
    /// # Errors
    /// The file cannot be written, or values are missing.
    pub fn finish(mut self) -> Result<(), Error> {
        let io = |error| Error::Io { path: self.path.clone(), error };
        if self.left != 0 {
            return Err(Error::Format { path: self.path.clone(), problem: format!("{} values missing", self.left) });
        }
        self.out.flush().map_err(io)?;
        fs::rename(&self.temporary, &self.path).map_err(io)
    }
}

impl Drop for Writer {
    /// Removes what was not finished; after [`Writer::finish`] there is nothing of that name.
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.temporary);
    }
}

/// Magic, version, length and header, 64-byte aligned as the format asks.
fn header(kind: &str, shape: &[usize]) -> Vec<u8> {
    let dimensions: String = shape.iter().map(|dimension| format!("{dimension}, ")).collect();
    let mut text = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({dimensions}), }}");
    let unpadded = MAGIC.len() + 4 + text.len() + 1;
    text.push_str(&" ".repeat(unpadded.next_multiple_of(64) - unpadded));
    text.push('\n');
    [MAGIC, &[1, 0], &(text.len() as u16).to_le_bytes(), text.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &Path, shape: &[usize], values: &[f32]) -> Result<(), Error> {
        let mut writer = Writer::create::<f32>(path, shape)?;
        writer.write(values)?;
        writer.finish()
    }

    #[test]
    fn what_is_written_is_read_back() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.npy");
        write(&path, &[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, -6.5]).unwrap();
        let array = Array::<f32>::read(&path).unwrap();
        assert_eq!(array, Array { shape: vec![2, 3], values: vec![1.0, 2.0, 3.0, 4.0, 5.0, -6.5] });
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "no temporary file is left");
    }

    #[test]
    fn a_run_that_fails_leaves_no_file_not_even_an_older_one() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.npy");
        write(&path, &[1], &[1.0]).unwrap();
        assert!(write(&path, &[2], &[1.0]).is_err());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn damaged_files_are_refused_at_every_length() {
        let mut bytes = header("<f4", &[3]);
        bytes.extend([0; 12]);
        assert!(parse::<f32>(&bytes).is_ok());
        for length in 0..bytes.len() {
            assert!(parse::<f32>(&bytes[..length]).is_err(), "{length} bytes");
        }
        assert!(parse::<i32>(&bytes).unwrap_err().contains("<f4; expected <i4"));
    }
}

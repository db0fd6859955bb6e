//! NumPy's `.npy` files of `f32` and `i32`, in which logits and routing are exchanged with other programs.
//!
//! The crates for this format pull in C or are many times its size: a file is a magic, a header in Python's syntax,
//! and the values (<https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>).

mod header;

use header::parse_header;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

const MAGIC: &[u8] = b"\x93NUMPY";

/// Bytes of a value.
const VALUE: usize = 4;

/// Bytes of the longest header: as many as the first version of the format can have.
const MAX_HEADER: u32 = u16::MAX as u32;

const NOT_REGULAR: &str = "not a regular file";

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
    /// The file cannot be read, is not a regular file or no array file, is of another number type or order, or is
    /// truncated.
    pub fn read(path: &Path) -> Result<Array<T>, Error> {
        let io = |error| Error::Io { path: path.into(), error };
        // Looked at before it is opened, since opening a pipe waits for its other end.
        if !fs::metadata(path).map_err(io)?.is_file() {
            return Err(Error::Format { path: path.into(), problem: NOT_REGULAR.into() });
        }
        let file = File::open(path).map_err(io)?;
        let length = file.metadata().map_err(io)?.len();
        parse(BufReader::new(file), length).map_err(|fault| match fault {
            Fault::Io(error) => io(error),
            Fault::Format(problem) => Error::Format { path: path.into(), problem },
        })
    }
}

/// Why bytes are no array.
#[derive(Debug)]
enum Fault {
    Io(io::Error),
    Format(String),
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Fault {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Fault::Format("the file is truncated".into()),
            _ => Fault::Io(error),
        }
    }
}

impl From<String> for Fault {
    fn from(problem: String) -> Fault {
        Fault::Format(problem)
    }
}

impl From<&str> for Fault {
    fn from(problem: &str) -> Fault {
        Fault::Format(problem.into())
    }
}

/// Reads an array of `length` bytes. Nothing is allocated that these bytes do not fill.
fn parse<T: Number>(mut bytes: impl Read, length: u64) -> Result<Array<T>, Fault> {
    let mut start = [0; MAGIC.len() + 2];
    bytes.read_exact(&mut start)?;
    if !start.starts_with(MAGIC) {
        return Err("not a .npy file (it does not start with \\x93NUMPY)".into());
    }
    let (header_length, field) = match start[MAGIC.len()..] {
        [1, 0] => (u32::from(u16::from_le_bytes(read_bytes(&mut bytes)?)), size_of::<u16>()),
        [2 | 3, 0] => (u32::from_le_bytes(read_bytes(&mut bytes)?), size_of::<u32>()),
        [major, minor] => return Err(format!("version {major}.{minor} of the .npy format; expected 1, 2 or 3").into()),
        _ => return Err("the header is truncated".into()),
    };
    if header_length > MAX_HEADER {
        return Err(format!("a header of {header_length} bytes; expected at most {MAX_HEADER}").into());
    }
    let mut header = vec![0; header_length as usize];
    bytes.read_exact(&mut header)?;
    let header = std::str::from_utf8(&header).map_err(|_| "the header is no text")?;
    let shape = parse_header::<T>(header)?;

    let data = length.saturating_sub((start.len() + field + header.len()) as u64);
    let expected = shape.iter().try_fold(VALUE as u64, |bytes, dimension| bytes.checked_mul(*dimension as u64));
    if expected != Some(data) {
        return Err(format!("{data} bytes of values; the shape {shape:?} asks for another number").into());
    }
    let count = usize::try_from(data).map_err(|_| "more values than can be addressed")? / VALUE;
    let mut values = Vec::new();
    values.try_reserve_exact(count).map_err(|_| format!("not enough memory for {data} bytes of values"))?;
    let mut buffer = [0; 1 << 14];
    while values.len() < count {
        let length = (count - values.len()).min(buffer.len() / VALUE) * VALUE;
        bytes.read_exact(&mut buffer[..length])?;
        values.extend(buffer[..length].as_chunks().0.iter().map(|bytes| T::from_bytes(*bytes)));
    }
    Ok(Array { shape, values })
}

fn read_bytes<const N: usize>(bytes: &mut impl Read) -> io::Result<[u8; N]> {
    let mut read = [0; N];
    bytes.read_exact(&mut read)?;
    Ok(read)
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
    /// The file cannot be written, or something stands there that is not a regular file. This is left alone.
    pub fn create<T: Number>(path: &Path, shape: &[usize]) -> Result<Writer, Error> {
        let io = |error| Error::Io { path: path.into(), error };
        if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
            return Err(Error::Format { path: path.into(), problem: NOT_REGULAR.into() });
        }
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
        let parse_f32 = |bytes: &[u8]| parse::<f32>(bytes, bytes.len() as u64);
        assert!(parse_f32(&bytes).is_ok());
        for length in 0..bytes.len() {
            assert!(matches!(parse_f32(&bytes[..length]), Err(Fault::Format(_))), "{length} bytes");
        }
        let Err(Fault::Format(problem)) = parse::<i32>(&bytes[..], bytes.len() as u64) else { panic!("accepted") };
        assert!(problem.contains("<f4") && problem.contains("expected <i4"), "{problem}");
    }

    #[test]
    fn a_shape_beyond_the_file_is_refused_before_it_fills_the_memory() {
        for shape in [&[1 << 40][..], &[usize::MAX, 2], &[usize::MAX; 64]] {
            let bytes = header("<f4", shape);
            assert!(matches!(parse::<f32>(&bytes[..], bytes.len() as u64), Err(Fault::Format(_))), "{shape:?}");
        }
        let long = [MAGIC, &[2, 0], &u32::MAX.to_le_bytes()].concat();
        assert!(matches!(parse::<f32>(&long[..], long.len() as u64), Err(Fault::Format(_))));
    }

    #[cfg(unix)]
    #[test]
    fn only_regular_files_are_read_or_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        for path in [folder.path(), &socket, Path::new("/dev/zero")] {
            let read = Array::<f32>::read(path).unwrap_err().to_string();
            assert!(read.ends_with("not a regular file"), "{read}");
        }
        for path in [folder.path(), &socket] {
            assert!(write(path, &[1], &[1.0]).unwrap_err().to_string().ends_with("not a regular file"));
            assert!(path.exists(), "{}", path.display());
        }
    }
}

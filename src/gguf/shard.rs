//! One file: on the disk or part of the program.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use memmap2::MmapMut;

use super::HEADER_LIMIT;
use super::error::Error;
use super::parse::{Contents, parse};
use super::tensor::TensorInfo;

/// Bytes of a file that are read first. A small vocabulary fits.
const FIRST_WINDOW: usize = 1 << 20;

/// How many times as many bytes are read where the header is longer.
const WINDOW_GROWTH: usize = 4;

/// An opened file.
#[derive(Debug)]
pub(super) struct Shard {
    name: String,
    length: u64,
    source: Source,
}

#[derive(Debug)]
enum Source {
    File { path: PathBuf, file: File },
    Static(&'static [u8]),
}

impl Shard {
    pub(super) fn open(path: &Path) -> Result<Shard, Error> {
        let name = path.display().to_string();
        let failed = |source: io::Error| match source.kind() {
            io::ErrorKind::NotFound => Error::Missing { file: name.clone() },
            _ => Error::Open { file: name.clone(), source },
        };
        // Looked at before it is opened, since opening a pipe waits for its other end.
        let kind = std::fs::metadata(path).map_err(failed)?.file_type();
        if kind.is_dir() {
            return Err(Error::Directory { file: name });
        }
        if !kind.is_file() {
            return Err(Error::NotRegular { file: name });
        }
        let file = File::open(path).map_err(failed)?;
        let length = file.metadata().map_err(failed)?.len();
        Ok(Shard { name, length, source: Source::File { path: path.to_owned(), file } })
    }

    pub(super) fn from_static(name: &str, bytes: &'static [u8]) -> Shard {
        Shard { name: name.to_owned(), length: bytes.len() as u64, source: Source::Static(bytes) }
    }

    /// The path or name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Where it is, unless it is part of the program.
    pub(super) fn path(&self) -> Option<&Path> {
        match &self.source {
            Source::File { path, .. } => Some(path),
            Source::Static(_) => None,
        }
    }

    /// The size in bytes when it was opened.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Parses the header. `index` is the file's place in the set.
    pub(super) fn parse(&self, index: usize) -> Result<Contents, Error> {
        if self.length == 0 {
            return Err(Error::Empty { file: self.name.clone() });
        }
        let visible = self.length.min(HEADER_LIMIT) as usize;
        match &self.source {
            Source::Static(bytes) => parse(&self.name, &bytes[..visible], self.length, index),
            Source::File { file, .. } => self.parse_file(file, visible, index),
        }
    }

    /// Parses the header of a file from a copy of its first bytes, of which more are read until the header ends.
    ///
    /// The file itself is not mapped: one that shrinks meanwhile would end the program by a signal. The copy is in
    /// an anonymous map, which takes memory only for what has been read and gives all of it back at once, and of
    /// which a lack is an error.
    fn parse_file(&self, file: &File, visible: usize, index: usize) -> Result<Contents, Error> {
        let failed = |source: io::Error| {
            let source = match source.kind() {
                io::ErrorKind::UnexpectedEof => io::Error::other("the file was cut short while it was read"),
                _ => source,
            };
            Error::Open { file: self.name.clone(), source }
        };
        let mut window = MmapMut::map_anon(visible).map_err(failed)?;
        let mut filled = 0;
        loop {
            let end = visible.min((filled * WINDOW_GROWTH).max(FIRST_WINDOW));
            read_exact_at(file, &mut window[filled..end], filled as u64).map_err(failed)?;
            filled = end;
            match parse(&self.name, &window[..filled], self.length, index) {
                Err(Error::HeaderTooLong { .. }) if filled < visible => {}
                parsed => return parsed,
            }
        }
    }

    /// Reads bytes of a tensor from `offset` within it. The range has been checked against the tensor.
    pub(super) fn read(&self, tensor: &TensorInfo, offset: u64, into: &mut [u8]) -> Result<(), Error> {
        let position = tensor.position + offset;
        let result = match &self.source {
            Source::File { file, .. } => read_exact_at(file, into, position),
            Source::Static(bytes) => copy_at(bytes, into, position),
        };
        result.map_err(|source| {
            let (file, tensor) = (self.name.clone(), tensor.name.clone());
            match source.kind() {
                io::ErrorKind::UnexpectedEof => Error::Shrunk { file, tensor },
                _ => Error::Read { file, tensor, source },
            }
        })
    }
}

fn copy_at(bytes: &[u8], into: &mut [u8], position: u64) -> io::Result<()> {
    let start = usize::try_from(position).map_err(|_| io::ErrorKind::UnexpectedEof)?;
    let source = bytes.get(start..).and_then(|rest| rest.get(..into.len())).ok_or(io::ErrorKind::UnexpectedEof)?;
    into.copy_from_slice(source);
    Ok(())
}

#[cfg(unix)]
fn read_exact_at(file: &File, into: &mut [u8], position: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, into, position)
}

#[cfg(windows)]
fn read_exact_at(file: &File, mut into: &mut [u8], mut position: u64) -> io::Result<()> {
    while !into.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, into, position) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => {
                into = &mut into[count..];
                position += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gguf::writer::Writer;

    /// A file with one array of this many bytes in its header, and the open file.
    fn file_with(bytes: usize, folder: &Path) -> (PathBuf, Shard) {
        let path = folder.join("model.gguf");
        let mut writer = Writer::new("model.gguf");
        writer.set("array", vec![1u8; bytes]).unwrap().set("last", "value").unwrap();
        std::fs::write(&path, writer.begin(Vec::new()).unwrap().finish().unwrap()).unwrap();
        let shard = Shard::open(&path).unwrap();
        (path, shard)
    }

    #[test]
    fn a_header_is_read_as_far_as_it_reaches() {
        let folder = tempfile::tempdir().unwrap();
        for bytes in [1, FIRST_WINDOW - 100, FIRST_WINDOW, FIRST_WINDOW * (WINDOW_GROWTH + 1)] {
            let (_, shard) = file_with(bytes, folder.path());
            let metadata = shard.parse(0).unwrap().metadata;
            assert_eq!(metadata.get("array").unwrap(), &vec![1u8; bytes].into());
            assert_eq!(metadata.str("last").unwrap(), Some("value"), "{bytes} bytes");
        }
    }

    #[test]
    fn a_file_cut_short_before_its_header_is_read_is_an_error_and_no_signal() {
        let folder = tempfile::tempdir().unwrap();
        for length in [0, 100, FIRST_WINDOW as u64 + 1] {
            let (path, shard) = file_with(2 * FIRST_WINDOW, folder.path());
            File::options().write(true).open(&path).unwrap().set_len(length).unwrap();
            let error = shard.parse(0).err().unwrap().to_string();
            assert!(error.ends_with("the file was cut short while it was read"), "{error}");
        }
    }
}

//! One file: on the disk or part of the program.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use memmap2::MmapOptions;

use super::HEADER_LIMIT;
use super::error::Error;
use super::parse::{Contents, parse};
use super::tensor::TensorInfo;

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
            Source::File { file, .. } => {
                // SAFETY: the map is only read, and it is gone when this function returns, which copies all it
                // keeps. Should another process write the file meanwhile, the bytes read are other bytes, and all
                // bytes are checked as they are copied.
                let map = unsafe { MmapOptions::new().len(visible).map(file) }
                    .map_err(|source| Error::Open { file: self.name.clone(), source })?;
                parse(&self.name, &map, self.length, index)
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

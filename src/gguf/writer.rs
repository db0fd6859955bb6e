//! Writes model files of any size: first what is in the file, then tensor after tensor.
//!
//! A part of a split set is a file with the keys `split.no`, `split.count` and `split.tensors.count`.

use std::collections::HashSet;
use std::io::{self, Read, Write};

use super::HEADER_LIMIT;
use super::encoding::{Element, write_string};
use super::error::{Error, quoted};
use super::metadata::Metadata;
use super::parse::{MAGIC, alignment};
use super::tensor::checked_bytes;
use super::value::Value;
use crate::quant;

const VERSION: u32 = 3;

/// A file to be: its metadata and tensor directory.
///
/// The key `general.alignment` (a `u32`, a power of two), where set, is the alignment of the tensors' data.
pub struct Writer {
    metadata: Metadata,
    tensors: Vec<Planned>,
    names: HashSet<String>,
}

struct Planned {
    name: String,
    shape: Vec<u64>,
    kind: quant::Type,
    bytes: u64,
}

impl Writer {
    /// A file with nothing in it. `file` is what errors call it.
    pub fn new(file: &str) -> Writer {
        Writer { metadata: Metadata::new(file), tensors: Vec::new(), names: HashSet::new() }
    }

    /// Adds a key to the metadata.
    ///
    /// # Errors
    /// [`Error::DuplicateKey`].
    pub fn set(&mut self, key: &str, value: impl Into<Value>) -> Result<&mut Writer, Error> {
        self.metadata.insert(key.to_owned(), value.into())?;
        Ok(self)
    }

    /// Adds a tensor to the directory. `shape[0]` is the contiguous dimension.
    ///
    /// # Errors
    /// Where the name is taken, or the shape is none that a file can hold or does not suit the type.
    pub fn tensor(&mut self, name: &str, shape: &[u64], kind: quant::Type) -> Result<&mut Writer, Error> {
        let bytes = checked_bytes(self.metadata.file(), name, shape, kind)?;
        if !self.names.insert(name.to_owned()) {
            return Err(Error::DuplicateTensor { file: self.metadata.file().to_owned(), tensor: name.to_owned() });
        }
        self.tensors.push(Planned { name: name.to_owned(), shape: shape.to_vec(), kind, bytes });
        Ok(self)
    }

    /// Writes the header. The tensors' bytes follow, through the [`Body`]. `out` should be buffered.
    ///
    /// # Errors
    /// Where the alignment is not a power of two, the data would be longer than a file can be, the header longer
    /// than [`Gguf::open`](super::Gguf::open) reads, or `out` fails.
    pub fn begin<W: Write>(self, mut out: W) -> Result<Body<W>, Error> {
        let file = self.metadata.file().to_owned();
        let alignment = alignment(&self.metadata)?;
        let header = self.header(alignment)?;
        let length = header.len() as u64;
        if length > HEADER_LIMIT {
            let place = "the tensor directory".to_owned();
            return Err(Error::HeaderTooLong { file, place, limit: HEADER_LIMIT });
        }
        let written = out.write_all(&header).and_then(|()| pad(&mut out, length, alignment));
        written.map_err(|source| Error::Write { file: file.clone(), source })?;
        Ok(Body { file, out, alignment, tensors: self.tensors.into_iter() })
    }

    fn header(&self, alignment: u64) -> Result<Vec<u8>, Error> {
        let mut header = MAGIC.to_vec();
        VERSION.write(&mut header);
        (self.tensors.len() as u64).write(&mut header);
        (self.metadata.len() as u64).write(&mut header);
        for (key, value) in self.metadata.iter() {
            write_string(key, &mut header);
            value.write(&mut header);
        }
        let mut offset: u64 = 0;
        for tensor in &self.tensors {
            write_string(&tensor.name, &mut header);
            (tensor.shape.len() as u32).write(&mut header);
            for dimension in &tensor.shape {
                dimension.write(&mut header);
            }
            tensor.kind.info().id.write(&mut header);
            offset.write(&mut header);
            let end = offset.checked_add(tensor.bytes).and_then(|end| end.checked_next_multiple_of(alignment));
            offset = end.ok_or_else(|| Error::ShapeOverflow {
                file: self.metadata.file().to_owned(),
                tensor: tensor.name.clone(),
                shape: tensor.shape.clone(),
            })?;
        }
        Ok(header)
    }
}

/// A file whose header is written and whose tensors are being written, in the order of the directory.
pub struct Body<W> {
    file: String,
    out: W,
    alignment: u64,
    tensors: std::vec::IntoIter<Planned>,
}

impl<W: Write> Body<W> {
    /// Writes the next tensor's bytes in as many pieces as `write` likes, and the padding after them.
    ///
    /// # Errors
    /// [`Error::WrittenOrder`] where the directory has another tensor next, [`Error::WrittenSize`] where `write`
    /// gave fewer or more bytes than the tensor has, [`Error::Write`] where it or the output failed. The file is
    /// unusable then.
    pub fn tensor(&mut self, name: &str, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Error> {
        let tensor = match self.tensors.next() {
            Some(tensor) if tensor.name == name => tensor,
            other => {
                let expected = other.map_or("the end".to_owned(), |tensor| format!("tensor {}", quoted(&tensor.name)));
                let found = format!("tensor {}", quoted(name));
                return Err(Error::WrittenOrder { file: self.file.clone(), found, expected });
            }
        };
        let failed = |source| Error::Write { file: self.file.clone(), source };
        let mut counted = Counted { out: &mut self.out, bytes: 0 };
        write(&mut counted).map_err(failed)?;
        let found = counted.bytes;
        if found != tensor.bytes {
            let (file, tensor, expected) = (self.file.clone(), tensor.name, tensor.bytes);
            return Err(Error::WrittenSize { file, tensor, found, expected });
        }
        pad(&mut self.out, found, self.alignment).map_err(failed)
    }

    /// Writes the next tensor from bytes in memory.
    ///
    /// # Errors
    /// As [`Body::tensor`].
    pub fn tensor_bytes(&mut self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        self.tensor(name, |out| out.write_all(bytes))
    }

    /// Flushes and hands back the output.
    ///
    /// # Errors
    /// [`Error::WrittenOrder`] where tensors are missing, [`Error::Write`] where the output failed.
    pub fn finish(mut self) -> Result<W, Error> {
        if let Some(tensor) = self.tensors.next() {
            let (found, expected) = ("the end".to_owned(), format!("tensor {}", quoted(&tensor.name)));
            return Err(Error::WrittenOrder { file: self.file, found, expected });
        }
        self.out.flush().map_err(|source| Error::Write { file: self.file, source })?;
        Ok(self.out)
    }
}

/// Writes zeros from `length` to the next multiple of `alignment`.
fn pad(out: &mut impl Write, length: u64, alignment: u64) -> io::Result<()> {
    let padding = length.next_multiple_of(alignment) - length;
    io::copy(&mut io::repeat(0).take(padding), out).map(|_| ())
}

/// Counts the bytes that pass through.
struct Counted<'a, W> {
    out: &'a mut W,
    bytes: u64,
}

impl<W: Write> Write for Counted<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.out.write(bytes)?;
        self.bytes += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

//! The model file (GGUF versions 2 and 3, little endian): metadata, tensor directory, positioned reads.
//!
//! A file is hostile until checked: every count, length and offset in it is compared with the file's own size
//! before anything is allocated or read. It is read by position and never mapped, so that a file that shrinks while it
//! is parsed, or under a running engine, is an error and not a signal.
//!
//! Format: <https://github.com/ggml-org/ggml/blob/master/docs/gguf.md>.

mod encoding;
mod error;
mod metadata;
mod parse;
mod shard;
mod split;
mod tensor;
mod value;
pub mod writer;

use std::collections::HashMap;
use std::path::Path;

pub use error::Error;
pub use metadata::Metadata;
pub use tensor::TensorInfo;
pub use value::{Array, Value};

use parse::Contents;
use shard::Shard;
use split::Part;

/// The most bytes of a file that its metadata and tensor directory may take. The largest vocabularies need about
/// 20 MB; the limit keeps a hostile file from filling the memory. It also bounds an array of strings, to 16 Mi of them.
const HEADER_LIMIT: u64 = 128 << 20;

/// An opened model: one file, or all the files of a split set.
#[derive(Debug)]
pub struct Gguf {
    name: String,
    metadata: Metadata,
    tensors: Vec<TensorInfo>,
    by_name: HashMap<String, usize>,
    shards: Vec<Shard>,
}

impl Gguf {
    /// Opens a file and, where it is part of a split set, the other files of the set, which stand beside it.
    /// Any file of the set may be given.
    ///
    /// # Errors
    /// Whatever is wrong with the file, its split set, its metadata or its tensor directory.
    pub fn open(path: &Path) -> Result<Gguf, Error> {
        let shard = Shard::open(path)?;
        let name = shard.name().to_owned();
        let contents = shard.parse(0)?;
        let Some(part) = Part::of(Some(path), &name, &contents.metadata)? else {
            return Gguf::assemble(name, vec![(shard, contents)]);
        };
        if part.count == 1 {
            part.check_tensor_count(&name, contents.tensors.len())?;
            return Gguf::assemble(name, vec![(shard, contents)]);
        }
        drop((shard, contents));
        let set = split::open_set(path, &name, &part)?;
        Gguf::assemble(name, set)
    }

    /// Opens a file that is part of the program. `name` is what errors call it.
    ///
    /// # Errors
    /// As [`Gguf::open`]; a part of a split set is refused, as there is no place to look for the others.
    pub fn from_static(name: &str, bytes: &'static [u8]) -> Result<Gguf, Error> {
        let shard = Shard::from_static(name, bytes);
        let contents = shard.parse(0)?;
        if let Some(part) = Part::of(None, name, &contents.metadata)? {
            part.check_tensor_count(name, contents.tensors.len())?;
        }
        Gguf::assemble(name.to_owned(), vec![(shard, contents)])
    }

    /// The path or name the model was opened by.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The files of the model. One that is part of the program has none.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.shards.iter().filter_map(Shard::path)
    }

    /// The model's metadata: that of the first file of a split set.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// The tensors of all files, in the order of the directories.
    pub fn tensors(&self) -> &[TensorInfo] {
        &self.tensors
    }

    /// The tensor of this name.
    pub fn tensor(&self, name: &str) -> Option<&TensorInfo> {
        self.by_name.get(name).map(|&index| &self.tensors[index])
    }

    /// The size of all files together, in bytes.
    pub fn file_bytes(&self) -> u64 {
        self.shards.iter().map(Shard::length).sum()
    }

    /// Reads `into.len()` bytes of a tensor, from `offset` bytes after its first. Any number of threads may read.
    ///
    /// # Errors
    /// [`Error::ReadRange`] where the range leaves the tensor, [`Error::Shrunk`] where the file no longer has the
    /// bytes it had when it was opened, [`Error::Read`] where the system cannot read it.
    ///
    /// # Panics
    /// May panic if `tensor` is of another model: a bug of the caller.
    pub fn read(&self, tensor: &TensorInfo, offset: u64, into: &mut [u8]) -> Result<(), Error> {
        let shard = &self.shards[tensor.shard];
        let length = into.len() as u64;
        if offset.checked_add(length).is_none_or(|end| end > tensor.bytes) {
            return Err(Error::ReadRange {
                file: shard.name().to_owned(),
                tensor: tensor.name.clone(),
                offset,
                length,
                bytes: tensor.bytes,
            });
        }
        shard.read(tensor, offset, into)
    }

    /// Joins the files of a set, of which the first holds the metadata.
    fn assemble(name: String, set: Vec<(Shard, Contents)>) -> Result<Gguf, Error> {
        let mut first = None;
        let mut tensors: Vec<TensorInfo> = Vec::new();
        let mut by_name = HashMap::new();
        let mut shards: Vec<Shard> = Vec::with_capacity(set.len());
        for (shard, contents) in set {
            for tensor in contents.tensors {
                if let Some(earlier) = by_name.insert(tensor.name.clone(), tensors.len()) {
                    return Err(Error::TensorInTwoFiles {
                        file: shard.name().to_owned(),
                        tensor: tensor.name,
                        other: shards[tensors[earlier].shard].name().to_owned(),
                    });
                }
                tensors.push(tensor);
            }
            first.get_or_insert(contents.metadata);
            shards.push(shard);
        }
        let metadata = first.unwrap_or_else(|| Metadata::new(&name));
        Ok(Gguf { name, metadata, tensors, by_name, shards })
    }
}

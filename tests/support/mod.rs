//! Model files taken apart, changed and put together again.
#![allow(dead_code, reason = "each test program uses some of it")]

use redlite::gguf::{Gguf, Value, writer::Writer};
use redlite::quant::Type;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

/// A file of the repository's fixtures.
pub fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name)
}

/// A tensor in memory.
#[derive(Clone)]
pub struct Tensor {
    pub name: String,
    pub shape: Vec<u64>,
    pub kind: Type,
    pub bytes: Vec<u8>,
}

/// A model file in memory.
#[derive(Clone)]
pub struct Blueprint {
    pub metadata: Vec<(String, Value)>,
    pub tensors: Vec<Tensor>,
}

impl Blueprint {
    /// Reads a fixture.
    pub fn of(name: &str) -> Blueprint {
        let file = Gguf::open(&fixture(name)).unwrap();
        let tensor = |info: &redlite::gguf::TensorInfo| {
            let mut bytes = vec![0; info.bytes as usize];
            file.read(info, 0, &mut bytes).unwrap();
            Tensor { name: info.name.clone(), shape: info.shape.clone(), kind: info.kind, bytes }
        };
        Blueprint {
            metadata: file.metadata().iter().map(|(key, value)| (key.to_owned(), value.clone())).collect(),
            tensors: file.tensors().iter().map(tensor).collect(),
        }
    }

    /// Sets a key, new or not.
    pub fn set(&mut self, key: &str, value: impl Into<Value>) -> &mut Blueprint {
        self.unset(key);
        self.metadata.push((key.to_owned(), value.into()));
        self
    }

    /// Removes a key if it is there.
    pub fn unset(&mut self, key: &str) -> &mut Blueprint {
        self.metadata.retain(|(name, _)| name != key);
        self
    }

    /// The tensor of this name, to be changed.
    pub fn tensor(&mut self, name: &str) -> &mut Tensor {
        self.tensors.iter_mut().find(|tensor| tensor.name == name).expect(name)
    }

    /// Removes a tensor.
    pub fn take(&mut self, name: &str) -> Tensor {
        let index = self.tensors.iter().position(|tensor| tensor.name == name).expect(name);
        self.tensors.remove(index)
    }

    /// Adds a tensor.
    pub fn add(&mut self, tensor: Tensor) -> &mut Blueprint {
        self.tensors.push(tensor);
        self
    }

    /// Writes the file as a set of `parts` files with names as such sets have them, and gives these.
    pub fn write_split(&self, directory: &Path, stem: &str, parts: u16) -> Vec<PathBuf> {
        let share = self.tensors.len().div_ceil(parts.into());
        let mut paths = Vec::new();
        for (number, tensors) in (0..parts).zip(self.tensors.chunks(share)) {
            let metadata = if number == 0 { self.metadata.clone() } else { Vec::new() };
            let mut part = Blueprint { metadata, tensors: tensors.to_vec() };
            part.set("split.no", number).set("split.count", parts);
            part.set("split.tensors.count", self.tensors.len() as i32);
            let path = directory.join(format!("{stem}-{:05}-of-{parts:05}.gguf", number + 1));
            part.write(&path);
            paths.push(path);
        }
        paths
    }

    /// Writes the file.
    pub fn write(&self, path: &Path) {
        let mut writer = Writer::new(&path.display().to_string());
        for (key, value) in &self.metadata {
            writer.set(key, value.clone()).unwrap();
        }
        for tensor in &self.tensors {
            writer.tensor(&tensor.name, &tensor.shape, tensor.kind).unwrap();
        }
        let mut body = writer.begin(BufWriter::new(File::create(path).unwrap())).unwrap();
        for tensor in &self.tensors {
            body.tensor_bytes(&tensor.name, &tensor.bytes).unwrap();
        }
        body.finish().unwrap();
    }
}

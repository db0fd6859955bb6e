//! Builds files byte by byte, right or wrong, and opens them.

use redlite::gguf::{Error, Gguf};

pub const U32: u32 = 4;
pub const F32: u32 = 6;
pub const BOOL: u32 = 7;
pub const STRING: u32 = 8;
pub const ARRAY: u32 = 9;

/// What errors call the files opened here.
pub const NAME: &str = "model.gguf";

/// A file of which every field may be wrong.
#[derive(Clone)]
pub struct Raw {
    version: u32,
    tensor_count: u64,
    key_count: u64,
    alignment: usize,
    keys: Vec<u8>,
    directory: Vec<u8>,
    data: Vec<u8>,
}

impl Raw {
    pub fn new() -> Raw {
        let (keys, directory, data) = (Vec::new(), Vec::new(), Vec::new());
        Raw { version: 3, tensor_count: 0, key_count: 0, alignment: 32, keys, directory, data }
    }

    pub fn version(mut self, version: u32) -> Raw {
        self.version = version;
        self
    }

    /// What the file says it has, whatever it has.
    pub fn counts(mut self, tensors: u64, keys: u64) -> Raw {
        (self.tensor_count, self.key_count) = (tensors, keys);
        self
    }

    pub fn key(mut self, key: impl AsRef<[u8]>, kind: u32, value: &[u8]) -> Raw {
        self.keys.extend(string(key));
        self.keys.extend(kind.to_le_bytes());
        self.keys.extend(value);
        self.key_count += 1;
        self
    }

    pub fn u32(self, key: &str, value: u32) -> Raw {
        self.key(key, U32, &value.to_le_bytes())
    }

    pub fn aligned(mut self, alignment: u32) -> Raw {
        self.alignment = alignment as usize;
        self.u32("general.alignment", alignment)
    }

    pub fn tensor(mut self, name: impl AsRef<[u8]>, shape: &[u64], kind: u32, offset: u64) -> Raw {
        self.directory.extend(string(name));
        self.directory.extend((shape.len() as u32).to_le_bytes());
        self.directory.extend(shape.iter().flat_map(|dimension| dimension.to_le_bytes()));
        self.directory.extend(kind.to_le_bytes());
        self.directory.extend(offset.to_le_bytes());
        self.tensor_count += 1;
        self
    }

    pub fn data(mut self, bytes: usize) -> Raw {
        self.data = (0..bytes).map(|index| index as u8).collect();
        self
    }

    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = b"GGUF".to_vec();
        bytes.extend(self.version.to_le_bytes());
        bytes.extend(self.tensor_count.to_le_bytes());
        bytes.extend(self.key_count.to_le_bytes());
        bytes.extend(&self.keys);
        bytes.extend(&self.directory);
        if !self.data.is_empty() {
            bytes.resize(bytes.len().next_multiple_of(self.alignment), 0);
            bytes.extend(&self.data);
        }
        bytes
    }

    pub fn open(&self) -> Result<Gguf, Error> {
        open(&self.bytes())
    }
}

/// A string as it stands in the file.
pub fn string(text: impl AsRef<[u8]>) -> Vec<u8> {
    let text = text.as_ref();
    [&(text.len() as u64).to_le_bytes(), text].concat()
}

/// An array as it stands in the file: element type, count, elements.
pub fn array(kind: u32, count: u64, elements: &[u8]) -> Vec<u8> {
    [&kind.to_le_bytes()[..], &count.to_le_bytes(), elements].concat()
}

pub fn open(bytes: &[u8]) -> Result<Gguf, Error> {
    Gguf::from_static(NAME, Vec::leak(bytes.to_vec()))
}

/// All bytes of all tensors, as read from an opened file.
pub fn read_all(model: &Gguf) -> Result<Vec<Vec<u8>>, Error> {
    let read = |tensor: &redlite::gguf::TensorInfo| {
        let mut bytes = vec![0; tensor.bytes as usize];
        model.read(tensor, 0, &mut bytes).map(|()| bytes)
    };
    model.tensors().iter().map(read).collect()
}

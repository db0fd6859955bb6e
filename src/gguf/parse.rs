//! The header of one file: version, metadata, tensor directory.

use std::collections::HashSet;
use std::io;

use super::encoding::{Cursor, Place};
use super::error::Error;
use super::metadata::Metadata;
use super::tensor::{TensorInfo, checked_bytes};
use super::value::Value;
use crate::quant;

pub(super) const MAGIC: &[u8] = b"GGUF";

const DEFAULT_ALIGNMENT: u32 = 32;

/// Most keys. Models have some dozens; a small key takes many times its bytes in memory.
const MAX_KEYS: u64 = 1 << 16;

/// A key takes at least the length of its name, the type and one byte of value.
const LEAST_KEY_BYTES: u64 = 8 + 4 + 1;

/// A tensor takes at least the length of its name, the number of dimensions, one of them, the type and the offset.
const LEAST_TENSOR_BYTES: u64 = 8 + 4 + 8 + 4 + 8;

/// What one file holds.
pub(super) struct Contents {
    pub(super) metadata: Metadata,
    pub(super) tensors: Vec<TensorInfo>,
}

/// Parses the header of a file of `length` bytes, of which `window` is the beginning.
pub(super) fn parse(file: &str, window: &[u8], length: u64, shard: usize) -> Result<Contents, Error> {
    let mut cursor = Cursor::new(file, window, length);
    check_magic(&mut cursor, window)?;
    check_version(&mut cursor)?;
    let tensor_count = cursor.read::<u64>(Place::Counts)?;
    let key_count = cursor.read::<u64>(Place::Counts)?;
    let metadata = parse_metadata(&mut cursor, key_count)?;
    let mut tensors = parse_directory(&mut cursor, tensor_count, shard)?;
    place_tensors(&cursor, alignment(&metadata)?, &mut tensors)?;
    Ok(Contents { metadata, tensors })
}

/// The alignment of tensor data in bytes: a power of two.
pub(super) fn alignment(metadata: &Metadata) -> Result<u64, Error> {
    let found = metadata.u32("general.alignment")?.unwrap_or(DEFAULT_ALIGNMENT);
    if !found.is_power_of_two() {
        return Err(Error::Alignment { file: metadata.file().to_owned(), found });
    }
    Ok(found.into())
}

fn check_magic(cursor: &mut Cursor, window: &[u8]) -> Result<(), Error> {
    let found = &window[..window.len().min(MAGIC.len())];
    if MAGIC.starts_with(found) {
        return cursor.take(MAGIC.len() as u64, Place::Magic).map(|_| ());
    }
    Err(other_format(cursor.file, window))
}

fn check_version(cursor: &mut Cursor) -> Result<(), Error> {
    let file = || cursor.file.to_owned();
    let found = cursor.read::<u32>(Place::Version)?;
    match found {
        2 | 3 => Ok(()),
        _ if (1..=3).contains(&found.swap_bytes()) => Err(Error::BigEndian { file: file() }),
        _ => Err(Error::Version { file: file(), found }),
    }
}

fn parse_metadata(cursor: &mut Cursor, count: u64) -> Result<Metadata, Error> {
    cursor.require(count.saturating_mul(LEAST_KEY_BYTES), Place::Metadata { keys: count })?;
    if count > MAX_KEYS {
        let problem = format!("its metadata has {count} keys, where at most {MAX_KEYS} are expected");
        return Err(Error::Open { file: cursor.file.to_owned(), source: io::Error::other(problem) });
    }
    let mut metadata = Metadata::new(cursor.file);
    for index in 0..count {
        let key = cursor.read::<String>(Place::KeyName { index })?;
        let value = Value::read(cursor, &key)?;
        metadata.insert(key, value)?;
    }
    Ok(metadata)
}

/// Reads the directory. Positions are still relative to the data.
fn parse_directory(cursor: &mut Cursor, count: u64, shard: usize) -> Result<Vec<TensorInfo>, Error> {
    cursor.require(count.saturating_mul(LEAST_TENSOR_BYTES), Place::Directory { tensors: count })?;
    let mut tensors = Vec::new();
    let mut names = HashSet::new();
    for index in 0..count {
        let tensor = parse_tensor(cursor, index, shard)?;
        if !names.insert(tensor.name.clone()) {
            return Err(Error::DuplicateTensor { file: cursor.file.to_owned(), tensor: tensor.name });
        }
        tensors.push(tensor);
    }
    Ok(tensors)
}

fn parse_tensor(cursor: &mut Cursor, index: u64, shard: usize) -> Result<TensorInfo, Error> {
    let name = cursor.read::<String>(Place::TensorName { index })?;
    let place = Place::Tensor { name: &name };
    let dimensions = cursor.read::<u32>(place)?;
    if !(1..=4).contains(&dimensions) {
        return Err(Error::Dimensions { file: cursor.file.to_owned(), tensor: name, found: dimensions.into() });
    }
    let shape = (0..dimensions).map(|_| cursor.read::<u64>(place)).collect::<Result<Vec<_>, _>>()?;
    let kind = match quant::Type::from_id(cursor.read::<u32>(place)?) {
        Ok(kind) => kind,
        Err(kind) => return Err(Error::TensorType { file: cursor.file.to_owned(), tensor: name, kind }),
    };
    let position = cursor.read::<u64>(place)?;
    let bytes = checked_bytes(cursor.file, &name, &shape, kind)?;
    Ok(TensorInfo { name, shape, kind, bytes, shard, position })
}

/// Turns offsets within the data, which begins after the directory, into positions in the file and checks them.
fn place_tensors(cursor: &Cursor, alignment: u64, tensors: &mut [TensorInfo]) -> Result<(), Error> {
    let (file, length) = (|| cursor.file.to_owned(), cursor.length);
    // The header is far shorter than 2^63 and the alignment at most 2^31, so this cannot overflow.
    let data = cursor.position().next_multiple_of(alignment);
    for tensor in tensors.iter_mut() {
        let offset = tensor.position;
        if !offset.is_multiple_of(alignment) {
            return Err(Error::TensorAlignment { file: file(), tensor: tensor.name.clone(), offset, alignment });
        }
        let position = data.checked_add(offset);
        let end = position.and_then(|position| position.checked_add(tensor.bytes));
        match (position, end) {
            (Some(position), Some(end)) if end <= length => tensor.position = position,
            _ => {
                let (tensor, bytes) = (tensor.name.clone(), tensor.bytes);
                return Err(Error::TensorPastEnd { file: file(), tensor, offset, bytes, data, length });
            }
        }
    }
    let mut by_position: Vec<&TensorInfo> = tensors.iter().collect();
    by_position.sort_unstable_by_key(|tensor| tensor.position);
    for pair in by_position.windows(2) {
        if pair[0].position + pair[0].bytes > pair[1].position {
            let (first, second) = (pair[0].name.clone(), pair[1].name.clone());
            return Err(Error::Overlap { file: file(), first, second });
        }
    }
    Ok(())
}

/// Says what a file that is not GGUF is, and what can be done about it.
fn other_format(file: &str, window: &[u8]) -> Error {
    let convert = "convert it with llama.cpp's convert_hf_to_gguf.py, or look for a GGUF file of the model";
    let known: &[(&[u8], &'static str, String)] = &[
        (b"\xfd7zXZ\0", "xz-compressed", format!("unpack it with `xz -dk {file}`")),
        (b"\x1f\x8b", "gzip-compressed", format!("unpack it with `gzip -dk {file}`")),
        (b"\x28\xb5\x2f\xfd", "zstd-compressed", format!("unpack it with `zstd -dk {file}`")),
        (b"BZh", "bzip2-compressed", format!("unpack it with `bzip2 -dk {file}`")),
        (b"7z\xbc\xaf\x27\x1c", "a 7z archive", format!("unpack it with `7z x {file}`")),
        (
            b"PK\x03\x04",
            "a zip archive or a PyTorch checkpoint",
            format!("unpack it with `unzip {file}`, or, if it is a checkpoint, {convert}"),
        ),
        (
            b"version https://git-lfs",
            "a Git LFS pointer",
            "the model itself was not fetched; run `git lfs pull` in its folder".to_owned(),
        ),
        (b"<!DOCTYPE", "a web page", "the download gave a page; fetch the file itself".to_owned()),
        (b"<html", "a web page", "the download gave a page; fetch the file itself".to_owned()),
        (b"tjgg", "a GGJT file, a format that GGUF replaced in 2023", convert.to_owned()),
        (b"lmgg", "a GGML file, a format that GGUF replaced in 2023", convert.to_owned()),
        (b"FUGG", "a byte-swapped GGUF file", "look for the little-endian file of the model".to_owned()),
    ];
    if let Some((_, what, advice)) = known.iter().find(|(magic, ..)| window.starts_with(magic)) {
        return Error::OtherFormat { file: file.to_owned(), what, advice: advice.clone() };
    }
    if is_safetensors(window) {
        return Error::OtherFormat { file: file.to_owned(), what: "a safetensors file", advice: convert.to_owned() };
    }
    if window.get(257..262) == Some(b"ustar") {
        let advice = format!("unpack it with `tar -xf {file}`");
        return Error::OtherFormat { file: file.to_owned(), what: "a tar archive", advice };
    }
    Error::NotGguf { file: file.to_owned(), found: window[..window.len().min(4)].to_vec() }
}

/// A safetensors file begins with the length of a JSON object, in eight bytes, and the object.
fn is_safetensors(window: &[u8]) -> bool {
    window.get(5..10).is_some_and(|bytes| bytes[..3] == [0, 0, 0] && &bytes[3..] == b"{\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_keys_than_any_model_has_are_refused() {
        let header = |keys: u64| {
            let mut bytes = [MAGIC, &3u32.to_le_bytes(), &0u64.to_le_bytes(), &keys.to_le_bytes()].concat();
            for index in 0..keys {
                let name = format!("{index:x}");
                bytes.extend((name.len() as u64).to_le_bytes());
                bytes.extend(name.as_bytes());
                bytes.extend([0; 5]); // A u8 of 0.
            }
            bytes
        };
        let parse_all = |bytes: &[u8]| parse("model.gguf", bytes, bytes.len() as u64, 0);
        assert_eq!(parse_all(&header(MAX_KEYS)).unwrap().metadata.len() as u64, MAX_KEYS);
        let error = parse_all(&header(MAX_KEYS + 1)).err().unwrap().to_string();
        assert!(error.contains("has 65537 keys, where at most 65536 are expected"), "{error}");
    }
}

//! What can be wrong with a model file, told to the person who has it.

use std::io;

use crate::quant;

/// A fault of a model file. `file` is the path or name it was opened by.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each variant's message says what it is")]
#[non_exhaustive]
pub enum Error {
    // The file as a whole.
    #[error("{file}: there is no such file")]
    Missing { file: String },
    #[error("{file}: is a directory; give the .gguf file itself")]
    Directory { file: String },
    #[error("{file}: is not a regular file, and a model file has to be one")]
    NotRegular { file: String },
    #[error("{file}: cannot be opened: {source}")]
    Open { file: String, source: io::Error },
    #[error("{file}: is empty, where a GGUF file is expected; the download may not have begun")]
    Empty { file: String },
    #[error("{file}: is {what}, not a GGUF file: {advice}")]
    OtherFormat { file: String, what: &'static str, advice: String },
    #[error("{file}: begins with the bytes {found:02x?}, where a GGUF file begins with \"GGUF\"")]
    NotGguf { file: String, found: Vec<u8> },
    #[error("{file}: is GGUF version {found}, where versions 2 and 3 are read")]
    Version { file: String, found: u32 },
    #[error(
        "{file}: is a big-endian GGUF file, where little-endian ones are read: \
         look for the little-endian file, or convert it with `gguf-convert-endian FILE little` of the `gguf` package"
    )]
    BigEndian { file: String },
    #[error(
        "{file}: is cut short or damaged: {place} needs {needed} bytes from byte {at} on, \
         but the file ends at byte {length}"
    )]
    Truncated { file: String, place: String, at: u64, needed: u64, length: u64 },
    #[error(
        "{file}: {place} reaches past the first {limit} bytes, the most that metadata and tensor directory may take"
    )]
    HeaderTooLong { file: String, place: String, limit: u64 },
    #[error("{file}: {place}, at byte {at}, is not valid UTF-8 text")]
    InvalidUtf8 { file: String, place: String, at: u64 },
    #[error("{file}: {place} holds a bool of {found}, where 0 or 1 is expected")]
    InvalidBool { file: String, place: String, found: u8 },

    // Metadata.
    #[error("{file}: key {} occurs twice", quoted(key))]
    DuplicateKey { file: String, key: String },
    #[error("{file}: key {} has value type {found}, where 0 to 12 are known", quoted(key))]
    ValueType { file: String, key: String, found: u32 },
    #[error("{file}: key {} is an array of arrays, which is not supported", quoted(key))]
    NestedArray { file: String, key: String },
    #[error("{file}: key {} is of type {found}, where {expected} is expected", quoted(key))]
    WrongType { file: String, key: String, found: &'static str, expected: &'static str },
    #[error("{file}: key {} holds {found}, which does not fit {expected}", quoted(key))]
    OutOfRange { file: String, key: String, found: String, expected: &'static str },
    #[error("{file}: key \"general.alignment\" is {found}, where a power of two is expected")]
    Alignment { file: String, found: u32 },

    // The tensor directory.
    #[error("{file}: tensor {} occurs twice", quoted(tensor))]
    DuplicateTensor { file: String, tensor: String },
    #[error("{file}: tensor {} has {found} dimensions, where 1 to 4 are expected", quoted(tensor))]
    Dimensions { file: String, tensor: String, found: u64 },
    #[error("{file}: tensor {} has the shape {shape:?}, with a dimension of zero", quoted(tensor))]
    ZeroDimension { file: String, tensor: String, shape: Vec<u64> },
    #[error("{file}: tensor {} has the shape {shape:?}, more values than can be counted", quoted(tensor))]
    ShapeOverflow { file: String, tensor: String, shape: Vec<u64> },
    #[error("{file}: tensor {} is of type {kind}", quoted(tensor))]
    TensorType { file: String, tensor: String, kind: quant::UnknownType },
    #[error(
        "{file}: tensor {} has rows of {row_length} values, where type {kind} needs a multiple of {}",
        quoted(tensor), kind.block_length()
    )]
    RowLength { file: String, tensor: String, kind: quant::Type, row_length: u64 },
    #[error("{file}: tensor {} is at offset {offset}, where a multiple of {alignment} is expected", quoted(tensor))]
    TensorAlignment { file: String, tensor: String, offset: u64, alignment: u64 },
    #[error(
        "{file}: is cut short or damaged: tensor {} takes {bytes} bytes at offset {offset} of the data, \
         which begins at byte {data}, but the file ends at byte {length}; fetch it again",
        quoted(tensor)
    )]
    TensorPastEnd { file: String, tensor: String, offset: u64, bytes: u64, data: u64, length: u64 },
    #[error("{file}: tensors {} and {} overlap", quoted(first), quoted(second))]
    Overlap { file: String, first: String, second: String },

    // Split sets. Parts are counted from 1 as in the files' names.
    #[error("{file}: is part of a split model but has no key {}", quoted(key))]
    SplitKey { file: String, key: &'static str },
    #[error(
        "{file}: is part {number} of {count} of a split model, but is not named like \
         \"NAME-{number:05}-of-{count:05}.gguf\", so the other parts cannot be found"
    )]
    SplitName { file: String, number: u32, count: u32 },
    #[error("{file}: is part {number} of a split model that has {count} parts, one too many: it does not belong there")]
    SplitExtra { file: String, number: u32, count: u32 },
    #[error("{file}: is part {found} of a split model by its key \"split.no\", but part {expected} by its name")]
    SplitNumber { file: String, found: u32, expected: u32 },
    #[error(
        "{file}: belongs to a split model of {found} parts by its key \"split.count\", but of {expected} by its name"
    )]
    SplitCount { file: String, found: u32, expected: u32 },
    #[error("{file}: part {number} of {count} of this split model is missing: {missing}")]
    SplitMissing { file: String, number: u32, count: u32, missing: String },
    #[error("{file}: the model has {expected} tensors by the key \"split.tensors.count\", but {found} were found")]
    SplitTensorCount { file: String, found: u64, expected: u64 },
    #[error("{file}: tensor {} is also in {other}", quoted(tensor))]
    TensorInTwoFiles { file: String, tensor: String, other: String },

    // Reading tensors.
    #[error("{file}: tensor {} has {bytes} bytes, and {length} from byte {offset} on were asked for", quoted(tensor))]
    ReadRange { file: String, tensor: String, offset: u64, length: u64, bytes: u64 },
    #[error("{file}: tensor {} can no longer be read: the file was cut short after it was opened", quoted(tensor))]
    Shrunk { file: String, tensor: String },
    #[error("{file}: tensor {} cannot be read: {source}", quoted(tensor))]
    Read { file: String, tensor: String, source: io::Error },

    // Writing.
    #[error("{file}: cannot be written: {source}")]
    Write { file: String, source: io::Error },
    #[error(
        "{file}: tensor {} was written with {found} bytes, where its shape and type need {expected}",
        quoted(tensor)
    )]
    WrittenSize { file: String, tensor: String, found: u64, expected: u64 },
    #[error("{file}: {found} was written, where the tensor directory has {expected} next")]
    WrittenOrder { file: String, found: String, expected: String },
}

/// A name from a file as it may be shown: quoted, control characters escaped, cut to a readable length.
pub(super) fn quoted(name: &str) -> String {
    const SHOWN: usize = 100;
    let more = if name.chars().nth(SHOWN).is_some() { "..." } else { "" };
    let shown: String = name.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    format!("\"{shown}{more}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hostile_name_is_shown_short_and_without_control_characters() {
        assert_eq!(quoted("blk.0.attn_q.weight"), "\"blk.0.attn_q.weight\"");
        assert_eq!(quoted("a\u{1b}[2Jb\n"), "\"a\\u{1b}[2Jb\\n\"");
        assert_eq!(quoted(&"x".repeat(1 << 20)), format!("\"{}...\"", "x".repeat(100)));
    }
}

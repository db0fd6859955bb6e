//! How single values stand in the file: little endian, strings with their length before them.

use std::fmt;

use super::error::{Error, quoted};

/// A position in the header of a file.
pub(super) struct Cursor<'a> {
    /// What errors call the file.
    pub(super) file: &'a str,
    /// The file from its first byte, as far as a header may reach.
    window: &'a [u8],
    /// Bytes of the whole file.
    pub(super) length: u64,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(file: &'a str, window: &'a [u8], length: u64) -> Cursor<'a> {
        Cursor { file, window, length, at: 0 }
    }

    /// Bytes from the start of the file.
    pub(super) fn position(&self) -> u64 {
        self.at as u64
    }

    /// Takes the next `count` bytes.
    pub(super) fn take(&mut self, count: u64, place: Place) -> Result<&'a [u8], Error> {
        self.require(count, place)?;
        let start = self.at;
        self.at += count as usize;
        Ok(&self.window[start..self.at])
    }

    /// Checks that `count` more bytes are there, before anything is allocated for them.
    pub(super) fn require(&self, count: u64, place: Place) -> Result<(), Error> {
        if count <= (self.window.len() - self.at) as u64 {
            return Ok(());
        }
        let (file, place, at) = (self.file.to_owned(), place.to_string(), self.position());
        Err(if count > self.length - at {
            Error::Truncated { file, place, at, needed: count, length: self.length }
        } else {
            Error::HeaderTooLong { file, place, limit: self.window.len() as u64 }
        })
    }

    /// Reads one value.
    pub(super) fn read<T: Element>(&mut self, place: Place) -> Result<T, Error> {
        T::read(self, place)
    }

    /// Reads a count and as many values.
    pub(super) fn read_array<T: Element>(&mut self, place: Place) -> Result<Vec<T>, Error> {
        let count = self.read::<u64>(place)?;
        self.require(count.saturating_mul(T::LEAST_BYTES), place)?;
        let mut values = Vec::with_capacity(count as usize);
        for _ in 0..count {
            values.push(T::read(self, place)?);
        }
        Ok(values)
    }
}

/// What is being read, for errors.
#[derive(Clone, Copy)]
pub(super) enum Place<'a> {
    Magic,
    Version,
    Counts,
    Metadata { keys: u64 },
    KeyName { index: u64 },
    Value { key: &'a str },
    Directory { tensors: u64 },
    TensorName { index: u64 },
    Tensor { name: &'a str },
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Magic => write!(f, "the magic number"),
            Place::Version => write!(f, "the version"),
            Place::Counts => write!(f, "the number of tensors and keys"),
            Place::Metadata { keys } => write!(f, "the metadata of {keys} keys"),
            Place::KeyName { index } => write!(f, "the name of key number {index}"),
            Place::Value { key } => write!(f, "the value of key {}", quoted(key)),
            Place::Directory { tensors } => write!(f, "the directory of {tensors} tensors"),
            Place::TensorName { index } => write!(f, "the name of tensor number {index}"),
            Place::Tensor { name } => write!(f, "the directory entry of tensor {}", quoted(name)),
        }
    }
}

/// A value that can stand alone or in an array.
pub(super) trait Element: Sized {
    /// The fewest bytes one value takes in the file.
    const LEAST_BYTES: u64;

    fn read(cursor: &mut Cursor, place: Place) -> Result<Self, Error>;

    fn write(&self, out: &mut Vec<u8>);
}

macro_rules! numbers {
    ($($number:ty)*) => {$(
        impl Element for $number {
            const LEAST_BYTES: u64 = size_of::<$number>() as u64;

            fn read(cursor: &mut Cursor, place: Place) -> Result<Self, Error> {
                let mut bytes = [0; size_of::<$number>()];
                bytes.copy_from_slice(cursor.take(Self::LEAST_BYTES, place)?);
                Ok(<$number>::from_le_bytes(bytes))
            }

            fn write(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }
        }
    )*};
}

numbers!(u8 i8 u16 i16 u32 i32 u64 i64 f32 f64);

impl Element for bool {
    const LEAST_BYTES: u64 = 1;

    fn read(cursor: &mut Cursor, place: Place) -> Result<Self, Error> {
        match cursor.read::<u8>(place)? {
            0 => Ok(false),
            1 => Ok(true),
            found => Err(Error::InvalidBool { file: cursor.file.to_owned(), place: place.to_string(), found }),
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }
}

impl Element for String {
    const LEAST_BYTES: u64 = u64::LEAST_BYTES;

    fn read(cursor: &mut Cursor, place: Place) -> Result<Self, Error> {
        let length = cursor.read::<u64>(place)?;
        let at = cursor.position();
        match std::str::from_utf8(cursor.take(length, place)?) {
            Ok(text) => Ok(text.to_owned()),
            Err(_) => Err(Error::InvalidUtf8 { file: cursor.file.to_owned(), place: place.to_string(), at }),
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        write_string(self, out);
    }
}

/// Writes a string as [`Element`] does for owned ones.
pub(super) fn write_string(text: &str, out: &mut Vec<u8>) {
    (text.len() as u64).write(out);
    out.extend_from_slice(text.as_bytes());
}

/// Writes a count and the values.
pub(super) fn write_array<T: Element>(values: &[T], out: &mut Vec<u8>) {
    (values.len() as u64).write(out);
    for value in values {
        value.write(out);
    }
}

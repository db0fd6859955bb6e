//! Metadata: named values in the order of the file, and typed access to them.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::error::Error;
use super::value::{Array, Value};

/// The metadata of a model file.
///
/// The typed accessors give `None` where the key is absent, and an error that names the file, the key and both
/// types where the value is of another type or does not fit.
#[derive(Clone, Debug)]
pub struct Metadata {
    file: String,
    entries: Vec<(String, Value)>,
    by_key: HashMap<String, usize>,
}

impl Metadata {
    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.by_key.get(key).map(|&index| &self.entries[index].1)
    }

    /// Keys and values in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.entries.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// An integer of any width that fits.
    pub fn u32(&self, key: &str) -> Result<Option<u32>, Error> {
        self.typed(key, "u32", |value| Some(self.fit(key, "u32", value.integer()?)))
    }

    /// A float of either width. An `f64` is rounded.
    pub fn f32(&self, key: &str) -> Result<Option<f32>, Error> {
        self.typed(key, "f32", |value| match *value {
            Value::F32(value) => Some(Ok(value)),
            Value::F64(value) => Some(self.rounded(key, value)),
            _ => None,
        })
    }

    /// A truth value.
    pub fn bool(&self, key: &str) -> Result<Option<bool>, Error> {
        self.typed(key, "bool", |value| match *value {
            Value::Bool(value) => Some(Ok(value)),
            _ => None,
        })
    }

    /// A string.
    pub fn str(&self, key: &str) -> Result<Option<&str>, Error> {
        self.typed(key, "string", |value| match value {
            Value::String(value) => Some(Ok(value.as_str())),
            _ => None,
        })
    }

    /// An array of strings.
    pub fn strings(&self, key: &str) -> Result<Option<&[String]>, Error> {
        self.typed(key, "array of string", |value| match value {
            Value::Array(Array::String(values)) => Some(Ok(values.as_slice())),
            _ => None,
        })
    }

    /// An array of integers of any width that fit.
    pub fn u32s(&self, key: &str) -> Result<Option<Vec<u32>>, Error> {
        self.integers(key, "u32", "array of u32")
    }

    /// An array of integers of any width that fit.
    pub fn i32s(&self, key: &str) -> Result<Option<Vec<i32>>, Error> {
        self.integers(key, "i32", "array of i32")
    }

    /// An array of floats of either width. An `f64` is rounded.
    pub fn f32s(&self, key: &str) -> Result<Option<Vec<f32>>, Error> {
        self.typed(key, "array of f32", |value| match value {
            Value::Array(Array::F32(values)) => Some(Ok(values.clone())),
            Value::Array(Array::F64(values)) => Some(values.iter().map(|&value| self.rounded(key, value)).collect()),
            _ => None,
        })
    }

    /// An array of truth values.
    pub fn bools(&self, key: &str) -> Result<Option<Vec<bool>>, Error> {
        self.typed(key, "array of bool", |value| match value {
            Value::Array(Array::Bool(values)) => Some(Ok(values.clone())),
            _ => None,
        })
    }

    /// An array of integers as [`Metadata::u32s`], or a single integer, which gives one element.
    pub fn u32_or_array(&self, key: &str) -> Result<Option<Vec<u32>>, Error> {
        self.typed(key, "u32 or array of u32", |value| match value {
            Value::Array(array) => Some(array.integers()?.map(|value| self.fit(key, "u32", value)).collect()),
            value => Some(self.fit(key, "u32", value.integer()?).map(|value| vec![value])),
        })
    }

    pub(super) fn new(file: &str) -> Metadata {
        Metadata { file: file.to_owned(), entries: Vec::new(), by_key: HashMap::new() }
    }

    /// What errors call the file.
    pub(super) fn file(&self) -> &str {
        &self.file
    }

    /// The number of keys.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn insert(&mut self, key: String, value: Value) -> Result<(), Error> {
        match self.by_key.entry(key) {
            Entry::Occupied(entry) => Err(Error::DuplicateKey { file: self.file.clone(), key: entry.key().clone() }),
            Entry::Vacant(entry) => {
                self.entries.push((entry.key().clone(), value));
                entry.insert(self.entries.len() - 1);
                Ok(())
            }
        }
    }

    /// Applies `convert`, which gives `None` for a value of a wrong type.
    fn typed<'a, T>(
        &'a self,
        key: &str,
        expected: &'static str,
        convert: impl FnOnce(&'a Value) -> Option<Result<T, Error>>,
    ) -> Result<Option<T>, Error> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let wrong_type =
            || Error::WrongType { file: self.file.clone(), key: key.to_owned(), found: value.type_name(), expected };
        convert(value).ok_or_else(wrong_type)?.map(Some)
    }

    fn integers<T: TryFrom<i128>>(
        &self,
        key: &str,
        element: &'static str,
        expected: &'static str,
    ) -> Result<Option<Vec<T>>, Error> {
        self.typed(key, expected, |value| match value {
            Value::Array(array) => Some(array.integers()?.map(|value| self.fit(key, element, value)).collect()),
            _ => None,
        })
    }

    fn fit<T: TryFrom<i128>>(&self, key: &str, expected: &'static str, value: i128) -> Result<T, Error> {
        T::try_from(value).map_err(|_| self.out_of_range(key, value.to_string(), expected))
    }

    fn rounded(&self, key: &str, value: f64) -> Result<f32, Error> {
        let rounded = value as f32;
        if value.is_finite() && rounded.is_infinite() {
            return Err(self.out_of_range(key, format!("{value:e}"), "f32"));
        }
        Ok(rounded)
    }

    fn out_of_range(&self, key: &str, found: String, expected: &'static str) -> Error {
        Error::OutOfRange { file: self.file.clone(), key: key.to_owned(), found, expected }
    }
}

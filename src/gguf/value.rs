//! The types a metadata value can have.

use super::encoding::{Cursor, Element, Place, write_array};
use super::error::Error;

/// The number of the array type in a file.
const ARRAY: u32 = 9;

macro_rules! value_types {
    ($($variant:ident $id:literal $type:ty, $name:literal;)*) => {
        /// A metadata value.
        #[derive(Clone, Debug, PartialEq)]
        #[expect(missing_docs, reason = "each variant is named as what it holds")]
        pub enum Value { $($variant($type),)* Array(Array) }

        /// A metadata array. An empty one has an element type, too.
        #[derive(Clone, Debug, PartialEq)]
        #[expect(missing_docs, reason = "each variant is named as what it holds")]
        pub enum Array { $($variant(Vec<$type>),)* }

        impl Value {
            /// The type as errors name it, such as `u32` or `array of string`.
            pub fn type_name(&self) -> &'static str {
                match self {
                    $(Value::$variant(_) => $name,)*
                    Value::Array(array) => array.type_name(),
                }
            }

            /// Reads a value's type and the value.
            pub(super) fn read(cursor: &mut Cursor, key: &str) -> Result<Value, Error> {
                let place = Place::Value { key };
                match cursor.read::<u32>(place)? {
                    $($id => Ok(Value::$variant(cursor.read(place)?)),)*
                    ARRAY => Array::read(cursor, key).map(Value::Array),
                    found => Err(unknown_type(cursor, key, found)),
                }
            }

            /// Writes the value's type and the value.
            pub(super) fn write(&self, out: &mut Vec<u8>) {
                match self {
                    $(Value::$variant(value) => {
                        u32::write(&$id, out);
                        value.write(out);
                    })*
                    Value::Array(array) => {
                        ARRAY.write(out);
                        array.write(out);
                    }
                }
            }
        }

        impl Array {
            /// The type as errors name it, such as `array of u32`.
            pub fn type_name(&self) -> &'static str {
                match self {
                    $(Array::$variant(_) => concat!("array of ", $name),)*
                }
            }

            /// The number of elements.
            pub fn len(&self) -> usize {
                match self {
                    $(Array::$variant(values) => values.len(),)*
                }
            }

            /// Whether there are no elements.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            fn read(cursor: &mut Cursor, key: &str) -> Result<Array, Error> {
                let place = Place::Value { key };
                match cursor.read::<u32>(place)? {
                    $($id => Ok(Array::$variant(cursor.read_array(place)?)),)*
                    ARRAY => Err(Error::NestedArray { file: cursor.file.to_owned(), key: key.to_owned() }),
                    found => Err(unknown_type(cursor, key, found)),
                }
            }

            fn write(&self, out: &mut Vec<u8>) {
                match self {
                    $(Array::$variant(values) => {
                        u32::write(&$id, out);
                        write_array(values, out);
                    })*
                }
            }
        }

        $(
            impl From<$type> for Value {
                fn from(value: $type) -> Value {
                    Value::$variant(value)
                }
            }

            impl From<Vec<$type>> for Value {
                fn from(values: Vec<$type>) -> Value {
                    Value::Array(Array::$variant(values))
                }
            }
        )*
    };
}

value_types! {
    U8     0  u8,     "u8";
    I8     1  i8,     "i8";
    U16    2  u16,    "u16";
    I16    3  i16,    "i16";
    U32    4  u32,    "u32";
    I32    5  i32,    "i32";
    F32    6  f32,    "f32";
    Bool   7  bool,   "bool";
    String 8  String, "string";
    U64    10 u64,    "u64";
    I64    11 i64,    "i64";
    F64    12 f64,    "f64";
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::String(text.to_owned())
    }
}

impl Value {
    /// The value where it is an integer of any width.
    pub(super) fn integer(&self) -> Option<i128> {
        Some(match *self {
            Value::U8(value) => value.into(),
            Value::I8(value) => value.into(),
            Value::U16(value) => value.into(),
            Value::I16(value) => value.into(),
            Value::U32(value) => value.into(),
            Value::I32(value) => value.into(),
            Value::U64(value) => value.into(),
            Value::I64(value) => value.into(),
            _ => return None,
        })
    }
}

impl Array {
    /// The values where they are integers of any width.
    pub(super) fn integers(&self) -> Option<Box<dyn Iterator<Item = i128> + '_>> {
        Some(match self {
            Array::U8(values) => Box::new(values.iter().map(|&value| value.into())),
            Array::I8(values) => Box::new(values.iter().map(|&value| value.into())),
            Array::U16(values) => Box::new(values.iter().map(|&value| value.into())),
            Array::I16(values) => Box::new(values.iter().map(|&value| value.into())),
            Array::U32(values) => Box::new(values.iter().map(|&value| value.into())),
            Array::I32(values) => Box::new(values.iter().map(|&value| value.into())),
            Array::U64(values) => Box::new(values.iter().map(|&value| value.into())),
            Array::I64(values) => Box::new(values.iter().map(|&value| value.into())),
            _ => return None,
        })
    }
}

fn unknown_type(cursor: &Cursor, key: &str, found: u32) -> Error {
    Error::ValueType { file: cursor.file.to_owned(), key: key.to_owned(), found }
}

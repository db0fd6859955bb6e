//! An entry of the tensor directory.

use super::error::Error;
use crate::quant;

/// A tensor of a model file.
#[derive(Clone, Debug)]
pub struct TensorInfo {
    /// The name, unique in the model.
    pub name: String,
    /// One to four dimensions, none of them zero. The first is contiguous.
    pub shape: Vec<u64>,
    /// How the values are stored.
    pub kind: quant::Type,
    /// Bytes of all values.
    pub bytes: u64,
    /// Which file of the set holds it.
    pub(super) shard: usize,
    /// Bytes from the start of that file.
    pub(super) position: u64,
}

impl TensorInfo {
    /// The number of values.
    pub fn elements(&self) -> u64 {
        self.shape.iter().product()
    }

    /// Values in a row: the first, contiguous dimension.
    pub fn row_length(&self) -> u64 {
        self.shape[0]
    }

    /// The number of rows.
    pub fn rows(&self) -> u64 {
        self.shape[1..].iter().product()
    }
}

/// Checks a shape and gives the bytes a tensor of it takes.
pub(super) fn checked_bytes(file: &str, tensor: &str, shape: &[u64], kind: quant::Type) -> Result<u64, Error> {
    let (file, tensor) = (|| file.to_owned(), || tensor.to_owned());
    if !(1..=4).contains(&shape.len()) {
        return Err(Error::Dimensions { file: file(), tensor: tensor(), found: shape.len() as u64 });
    }
    if shape.contains(&0) {
        return Err(Error::ZeroDimension { file: file(), tensor: tensor(), shape: shape.to_vec() });
    }
    if !shape[0].is_multiple_of(kind.block_length() as u64) {
        return Err(Error::RowLength { file: file(), tensor: tensor(), kind, row_length: shape[0] });
    }
    let product = |start: u64, factors: &[u64]| factors.iter().try_fold(start, |product, &n| product.checked_mul(n));
    let bytes = kind.row_bytes(shape[0]).and_then(|row_bytes| product(row_bytes, &shape[1..]));
    match (product(1, shape), bytes) {
        (Some(_), Some(bytes)) => Ok(bytes),
        _ => Err(Error::ShapeOverflow { file: file(), tensor: tensor(), shape: shape.to_vec() }),
    }
}

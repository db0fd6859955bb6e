//! Reads what the inventory describes.

use super::inventory::{DeltaNet, ExpertMatrix, Matrix, Piece, Vector};
use crate::gguf::{Error, Gguf, TensorInfo};

impl Matrix {
    /// Reads all rows, in order, into `into` ([`Matrix::bytes`] long).
    ///
    /// # Errors
    /// The file could not be read, or has become shorter.
    pub fn read(&self, file: &Gguf, into: &mut [u8]) -> Result<(), Error> {
        let mut rest = into;
        for piece in &self.pieces {
            let (part, tail) = rest.split_at_mut(piece.bytes(file));
            piece.read(file, part)?;
            rest = tail;
        }
        Ok(())
    }
}

impl ExpertMatrix {
    /// Reads one expert's rows into `into` ([`ExpertMatrix::expert_bytes`] long).
    ///
    /// # Errors
    /// The file could not be read, or has become shorter.
    pub fn read(&self, file: &Gguf, expert: usize, into: &mut [u8]) -> Result<(), Error> {
        self.piece(expert).read(file, into)
    }
}

impl Vector {
    /// Reads the values.
    ///
    /// # Errors
    /// The file could not be read, or has become shorter.
    pub fn read(&self, file: &Gguf) -> Result<Vec<f32>, Error> {
        let tensor = checked(file, &self.tensor);
        let mut bytes = vec![0; tensor.bytes as usize];
        file.read(tensor, 0, &mut bytes)?;
        let mut values = vec![0.0; self.length];
        tensor.kind.decode(&bytes, &mut values);
        Ok(values)
    }
}

impl DeltaNet {
    /// Reads the convolution's taps as (taps, channels): the other way round than in the file, so that channels are
    /// contiguous.
    ///
    /// # Errors
    /// The file could not be read, or has become shorter.
    pub fn taps(&self, file: &Gguf, taps: usize) -> Result<Vec<f32>, Error> {
        let by_channel = self.conv.read(file)?;
        Ok((0..taps).flat_map(|tap| by_channel.iter().skip(tap).step_by(taps)).copied().collect())
    }
}

impl Piece {
    fn bytes(&self, file: &Gguf) -> usize {
        (self.rows * row_bytes(checked(file, &self.tensor))) as usize
    }

    fn read(&self, file: &Gguf, into: &mut [u8]) -> Result<(), Error> {
        let tensor = checked(file, &self.tensor);
        file.read(tensor, self.first_row * row_bytes(tensor), into)
    }
}

fn row_bytes(tensor: &TensorInfo) -> u64 {
    tensor.bytes / tensor.rows()
}

/// A tensor that the inventory found in this file.
fn checked<'a>(file: &'a Gguf, name: &str) -> &'a TensorInfo {
    file.tensor(name).expect("the inventory names tensors of the file it was taken from")
}

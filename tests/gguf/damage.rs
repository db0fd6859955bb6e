//! Files damaged at every place: an error or a model whose tensors can be read, never a panic.

use redlite::gguf::writer::Writer;
use redlite::gguf::{Error, Gguf};
use redlite::quant::Type;

use crate::raw::{open, read_all};

/// A small file with every kind of thing in it; its last tensor ends where the file ends.
fn small_file() -> Result<Vec<u8>, Error> {
    let mut writer = Writer::new("small.gguf");
    writer
        .set("general.architecture", "qwen3next")?
        .set("general.alignment", 64_u32)?
        .set("a.u8", 1_u8)?
        .set("a.f64", 0.5_f64)?
        .set("a.bool", true)?
        .set("a.flags", vec![true, false])?
        .set("a.numbers", vec![-1_i32, 2])?
        .set("a.words", vec!["one".to_owned(), String::new()])?
        .tensor("first", &[3, 2], Type::F32)?
        .tensor("second", &[32, 1, 2], Type::Q8_0)?
        .tensor("last", &[8, 2, 2, 1], Type::F16)?;
    let mut body = writer.begin(Vec::new())?;
    body.tensor_bytes("first", &[1; 24])?;
    body.tensor_bytes("second", &[2; 68])?;
    body.tensor_bytes("last", &[3; 64])?;
    body.finish()
}

#[test]
fn a_file_cut_at_any_byte_is_refused() {
    let whole = small_file().unwrap();
    assert_eq!(read_all(&open(&whole).unwrap()).unwrap(), [vec![1; 24], vec![2; 68], vec![3; 64]]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cut.gguf");
    for length in 0..whole.len() {
        std::fs::write(&path, &whole[..length]).unwrap();
        let message = Gguf::open(&path).expect_err("a cut file was accepted").to_string();
        let expected = if length == 0 { "is empty" } else { "is cut short or damaged" };
        assert!(message.contains(expected), "{length} bytes: {message}");
        assert!(open(&whole[..length]).is_err());
    }
}

#[test]
fn a_file_with_any_bit_flipped_is_refused_or_read() {
    let whole = small_file().unwrap();
    let (mut refused, mut read) = (0, 0);
    for bit in 0..whole.len() * 8 {
        let mut damaged = whole.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        match open(&damaged) {
            Ok(model) => {
                read_all(&model).unwrap();
                read += 1;
            }
            Err(error) => {
                assert!(!error.to_string().is_empty());
                refused += 1;
            }
        }
    }
    assert!(refused > 1000 && read > 1000, "{refused} refused, {read} read");
}

#[test]
fn bytes_after_the_last_tensor_are_ignored() {
    let mut longer = small_file().unwrap();
    longer.extend([9; 100]);
    assert_eq!(open(&longer).unwrap().tensors().len(), 3);
}

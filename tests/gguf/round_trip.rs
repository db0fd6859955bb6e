//! What the writer writes, the reader reads.

use std::collections::BTreeMap;

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use redlite::gguf::Value;
use redlite::gguf::writer::Writer;
use redlite::quant::Type;

use crate::raw::{open, read_all};

/// A value of the type, or an array of values of it.
fn of_type<T: Arbitrary + 'static>() -> BoxedStrategy<Value>
where
    Value: From<T> + From<Vec<T>>,
{
    prop_oneof![any::<T>().prop_map(Value::from), vec(any::<T>(), 0..20).prop_map(Value::from)].boxed()
}

fn value() -> impl Strategy<Value = Value> {
    let integers = prop_oneof![
        of_type::<u8>(),
        of_type::<i8>(),
        of_type::<u16>(),
        of_type::<i16>(),
        of_type::<u32>(),
        of_type::<i32>(),
        of_type::<u64>(),
        of_type::<i64>(),
    ];
    prop_oneof![integers, of_type::<f32>(), of_type::<f64>(), of_type::<bool>(), of_type::<String>()]
}

/// Shapes of 1 to 4 dimensions of whole blocks.
fn tensor() -> impl Strategy<Value = (Vec<u64>, Type)> {
    (vec(1_u64..4, 1..=4), proptest::sample::select(Type::ALL)).prop_map(|(mut shape, kind)| {
        shape[0] *= kind.block_length() as u64;
        (shape, kind)
    })
}

proptest! {
    #[test]
    fn metadata_and_tensors_come_back_as_they_were_written(
        keys in btree_map("[a-z][a-z0-9_.]{0,20}", value(), 0..12),
        tensors in btree_map(any::<String>(), tensor(), 0..6),
        alignment in proptest::option::of((0_u32..12).prop_map(|power| 1 << power)),
    ) {
        let mut expected: BTreeMap<String, Value> = keys;
        expected.extend(alignment.map(|alignment: u32| ("general.alignment".to_owned(), alignment.into())));
        let mut writer = Writer::new("written.gguf");
        for (key, value) in &expected {
            writer.set(key, value.clone()).unwrap();
        }
        for (name, (shape, kind)) in &tensors {
            writer.tensor(name, shape, *kind).unwrap();
        }
        let mut body = writer.begin(Vec::new()).unwrap();
        let mut contents = Vec::new();
        for (index, (name, (shape, kind))) in tensors.iter().enumerate() {
            let rows: u64 = shape[1..].iter().product();
            let bytes = vec![index as u8 + 1; (kind.row_bytes(shape[0]).unwrap() * rows) as usize];
            body.tensor(name, |out| bytes.chunks(7).try_for_each(|piece| out.write_all(piece))).unwrap();
            contents.push(bytes);
        }
        let file = body.finish().unwrap();

        let model = open(&file).unwrap();
        let found: Vec<_> = model.metadata().iter().map(|(key, value)| (key.to_owned(), value.clone())).collect();
        prop_assert_eq!(found, expected.into_iter().collect::<Vec<_>>());
        prop_assert_eq!(read_all(&model).unwrap(), contents);
        for (found, (name, (shape, kind))) in model.tensors().iter().zip(&tensors) {
            prop_assert_eq!((&found.name, &found.shape, found.kind), (name, shape, *kind));
        }
        prop_assert_eq!(file.len() % alignment.unwrap_or(32) as usize, 0);
    }
}

#[test]
fn the_writer_refuses_what_the_reader_would() {
    let mut writer = Writer::new("written.gguf");
    writer.set("a", 1_u32).unwrap().tensor("t", &[256], Type::Q4K).unwrap();
    let says = |error: redlite::gguf::Error, text: &str| assert_eq!(error.to_string(), format!("written.gguf: {text}"));
    says(writer.set("a", 2_u32).err().unwrap(), "key \"a\" occurs twice");
    says(writer.tensor("t", &[4], Type::F32).err().unwrap(), "tensor \"t\" occurs twice");
    says(
        writer.tensor("u", &[255], Type::Q4K).err().unwrap(),
        "tensor \"u\" has rows of 255 values, where type Q4_K needs a multiple of 256",
    );
    says(
        writer.tensor("u", &[1; 5], Type::F32).err().unwrap(),
        "tensor \"u\" has 5 dimensions, where 1 to 4 are expected",
    );
    writer.set("general.alignment", 48_u32).unwrap();
    says(writer.begin(Vec::new()).err().unwrap(), "key \"general.alignment\" is 48, where a power of two is expected");
}

#[test]
fn tensors_are_written_whole_and_in_order() {
    let begin = || {
        let mut writer = Writer::new("written.gguf");
        writer.tensor("a", &[4], Type::F32).unwrap().tensor("b", &[4], Type::F32).unwrap();
        writer.begin(Vec::new()).unwrap()
    };
    let says = |error: redlite::gguf::Error, text: &str| assert_eq!(error.to_string(), format!("written.gguf: {text}"));
    for wrong in [0, 15, 17] {
        says(
            begin().tensor_bytes("a", &vec![0; wrong]).unwrap_err(),
            &format!("tensor \"a\" was written with {wrong} bytes, where its shape and type need 16"),
        );
    }
    says(
        begin().tensor_bytes("b", &[0; 16]).unwrap_err(),
        "tensor \"b\" was written, where the tensor directory has tensor \"a\" next",
    );
    let mut body = begin();
    body.tensor_bytes("a", &[0; 16]).unwrap();
    says(body.finish().unwrap_err(), "the end was written, where the tensor directory has tensor \"b\" next");
}

//! What an opened file answers.

use std::fs::{self, File};

use redlite::gguf::writer::Writer;
use redlite::gguf::{Error, Gguf, Metadata, Value};
use redlite::quant::Type;

use crate::raw::{Raw, open};

fn metadata(set: impl FnOnce(&mut Writer) -> Result<&mut Writer, Error>) -> Metadata {
    let mut writer = Writer::new("model.gguf");
    set(&mut writer).unwrap();
    let bytes = writer.begin(Vec::new()).and_then(|body| body.finish()).unwrap();
    open(&bytes).unwrap().metadata().clone()
}

#[test]
fn an_opened_model_can_be_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Gguf>();
}

#[test]
fn tensors_are_found_by_name_and_know_their_shape() {
    let model = Raw::new().tensor("b", &[256, 3, 2], 12, 0).tensor("a", &[7], 1, 896).data(910).open().unwrap();
    assert_eq!(model.tensors().iter().map(|tensor| tensor.name.as_str()).collect::<Vec<_>>(), ["b", "a"]);
    let tensor = model.tensor("b").unwrap();
    assert_eq!((tensor.kind, tensor.bytes), (Type::Q4K, 6 * 144));
    assert_eq!((tensor.elements(), tensor.row_length(), tensor.rows()), (1536, 256, 6));
    assert_eq!(model.tensor("a").unwrap().rows(), 1);
    assert!(model.tensor("c").is_none());
    assert_eq!(model.name(), "model.gguf");
}

#[test]
fn part_of_a_tensor_can_be_read_and_nothing_beyond_it() {
    let file = Raw::new().tensor("a", &[8], 0, 0).tensor("b", &[8], 0, 32).data(64);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.gguf");
    fs::write(&path, file.bytes()).unwrap();
    for model in [file.open().unwrap(), Gguf::open(&path).unwrap()] {
        let tensor = model.tensor("b").unwrap();
        let mut bytes = [0; 4];
        model.read(tensor, 28, &mut bytes).unwrap();
        assert_eq!(bytes, [60, 61, 62, 63]);
        model.read(tensor, 32, &mut []).unwrap();
        for offset in [29, 32, u64::MAX] {
            let message = model.read(tensor, offset, &mut bytes).unwrap_err().to_string();
            assert!(
                message.contains("tensor \"b\" has 32 bytes") && message.contains(&offset.to_string()),
                "{message}"
            );
        }
        assert_eq!(model.file_bytes(), file.bytes().len() as u64);
    }
}

#[test]
fn threads_read_at_once_without_disturbing_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.gguf");
    fs::write(&path, Raw::new().tensor("t", &[64], 0, 0).data(256).bytes()).unwrap();
    let model = Gguf::open(&path).unwrap();
    std::thread::scope(|scope| {
        for start in 0..4_u8 {
            let model = &model;
            scope.spawn(move || {
                for offset in (start * 50..start * 50 + 50).cycle().take(5000) {
                    let mut bytes = [0; 2];
                    model.read(&model.tensors()[0], offset.into(), &mut bytes).unwrap();
                    assert_eq!(bytes, [offset, offset + 1]);
                }
            });
        }
    });
}

#[test]
fn a_file_cut_short_after_it_was_opened_is_an_error_of_the_tensor() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.gguf");
    fs::write(&path, Raw::new().tensor("kept", &[8], 0, 0).tensor("lost", &[8], 0, 32).data(64).bytes()).unwrap();
    let model = Gguf::open(&path).unwrap();
    let file = File::options().write(true).open(&path).unwrap();
    file.set_len(model.file_bytes() - 1).unwrap();
    let mut bytes = [0; 32];
    model.read(model.tensor("kept").unwrap(), 0, &mut bytes).unwrap();
    let error = model.read(model.tensor("lost").unwrap(), 0, &mut bytes).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "{}: tensor \"lost\" can no longer be read: the file was cut short after it was opened",
            path.display()
        )
    );
}

#[test]
fn integers_of_any_width_are_read_where_they_fit() {
    let metadata = metadata(|writer| {
        writer
            .set("u8", 200_u8)?
            .set("i64", 70_000_i64)?
            .set("negative", -1_i8)?
            .set("large", 1_u64 << 32)?
            .set("list", vec![1_i16, 2])?
            .set("signed", vec![-1_i64, 5])
    });
    assert_eq!(metadata.u32("u8").unwrap(), Some(200));
    assert_eq!(metadata.u32("i64").unwrap(), Some(70_000));
    assert_eq!(metadata.u32("absent").unwrap(), None);
    assert_eq!(metadata.u32s("list").unwrap(), Some(vec![1, 2]));
    assert_eq!(metadata.i32s("signed").unwrap(), Some(vec![-1, 5]));
    assert_eq!(metadata.u32_or_array("u8").unwrap(), Some(vec![200]));
    assert_eq!(metadata.u32_or_array("list").unwrap(), Some(vec![1, 2]));
    for (key, found) in [("negative", "-1"), ("large", "4294967296")] {
        let message = metadata.u32(key).unwrap_err().to_string();
        assert_eq!(message, format!("model.gguf: key \"{key}\" holds {found}, which does not fit u32"));
    }
    assert!(metadata.u32s("signed").is_err());
    assert!(metadata.u32_or_array("signed").is_err());
}

#[test]
fn floats_of_either_width_are_read_where_they_fit() {
    let metadata = metadata(|writer| {
        writer
            .set("single", 1e-6_f32)?
            .set("double", 0.5_f64)?
            .set("huge", 1e300_f64)?
            .set("singles", vec![0.25_f32])?
            .set("doubles", vec![0.25_f64, f64::INFINITY])
    });
    assert_eq!(metadata.f32("single").unwrap(), Some(1e-6));
    assert_eq!(metadata.f32("double").unwrap(), Some(0.5));
    assert!(metadata.f32("huge").unwrap_err().to_string().contains("1e300, which does not fit f32"));
    assert_eq!(metadata.f32s("singles").unwrap(), Some(vec![0.25]));
    assert_eq!(metadata.f32s("doubles").unwrap(), Some(vec![0.25, f32::INFINITY]));
}

#[test]
fn strings_and_truth_values_are_read() {
    let words = vec!["a".to_owned(), String::new()];
    let metadata = metadata(|writer| {
        writer.set("text", "é")?.set("words", words.clone())?.set("yes", true)?.set("flags", vec![false, true])
    });
    assert_eq!(metadata.str("text").unwrap(), Some("é"));
    assert_eq!(metadata.strings("words").unwrap(), Some(&words[..]));
    assert_eq!(metadata.bool("yes").unwrap(), Some(true));
    assert_eq!(metadata.bools("flags").unwrap(), Some(vec![false, true]));
    assert_eq!(metadata.get("text"), Some(&Value::from("é")));
    assert_eq!(metadata.iter().map(|(key, _)| key).collect::<Vec<_>>(), ["text", "words", "yes", "flags"]);
}

#[test]
fn a_key_of_a_wrong_type_is_an_error_of_every_accessor() {
    let metadata = metadata(|writer| writer.set("list", vec![1_u8])?.set("text", "x"));
    let says = |error: Error, key: &str, found: &str, expected: &str| {
        let expected = format!("model.gguf: key \"{key}\" is of type {found}, where {expected} is expected");
        assert_eq!(error.to_string(), expected);
    };
    says(metadata.u32("text").unwrap_err(), "text", "string", "u32");
    says(metadata.f32("text").unwrap_err(), "text", "string", "f32");
    says(metadata.bool("text").unwrap_err(), "text", "string", "bool");
    says(metadata.str("list").unwrap_err(), "list", "array of u8", "string");
    says(metadata.strings("list").unwrap_err(), "list", "array of u8", "array of string");
    says(metadata.u32s("text").unwrap_err(), "text", "string", "array of u32");
    says(metadata.i32s("text").unwrap_err(), "text", "string", "array of i32");
    says(metadata.f32s("list").unwrap_err(), "list", "array of u8", "array of f32");
    says(metadata.bools("list").unwrap_err(), "list", "array of u8", "array of bool");
    says(metadata.u32_or_array("text").unwrap_err(), "text", "string", "u32 or array of u32");
}

//! Every fault is refused in one sentence that names the file, the key or tensor, what was found and what was
//! expected.

use std::fs::{self, File};
use std::path::Path;

use redlite::gguf::{Error, Gguf};

use crate::raw::{ARRAY, BOOL, F32, NAME, Raw, STRING, U32, array, open, string};

const Q4_K: u32 = 12;

/// Asserts that opening failed and that the message names the file and holds every one of `parts`.
#[track_caller]
fn assert_says<T>(result: Result<T, Error>, file: impl AsRef<Path>, parts: &[&str]) {
    let message = result.err().expect("the file was accepted").to_string();
    assert!(message.starts_with(&format!("{}: ", file.as_ref().display())), "{message}");
    for part in parts {
        assert!(message.contains(part), "no {part:?} in: {message}");
    }
}

#[track_caller]
fn refused(file: &Raw, parts: &[&str]) {
    assert_says(file.open(), NAME, parts);
}

#[test]
fn versions_2_and_3_are_read_and_others_refused() {
    for version in [2, 3] {
        assert!(Raw::new().version(version).open().is_ok());
    }
    for version in [0, 1, 4, 1000] {
        refused(&Raw::new().version(version), &[&format!("version {version}"), "versions 2 and 3"]);
    }
}

#[test]
fn a_big_endian_file_is_recognised() {
    refused(&Raw::new().version(3_u32.swap_bytes()), &["big-endian", "gguf-convert-endian"]);
}

#[test]
fn files_of_other_formats_are_recognised_and_the_next_step_told() {
    let mut tar = vec![b'x'; 512];
    tar[257..262].copy_from_slice(b"ustar");
    let safetensors = [&60_u64.to_le_bytes()[..], b"{\"lm_head.weight\":{}}"].concat();
    let cases: [(&[u8], &[&str]); 12] = [
        (b"\xfd7zXZ\0rest", &["xz-compressed", "`xz -dk model.gguf`"]),
        (b"\x1f\x8b\x08rest", &["gzip-compressed", "`gzip -dk model.gguf`"]),
        (b"\x28\xb5\x2f\xfdrest", &["zstd-compressed", "`zstd -dk model.gguf`"]),
        (b"BZh91AY", &["bzip2-compressed", "`bzip2 -dk model.gguf`"]),
        (b"7z\xbc\xaf\x27\x1crest", &["7z archive", "`7z x model.gguf`"]),
        (b"PK\x03\x04rest", &["zip archive", "PyTorch", "`unzip model.gguf`"]),
        (b"version https://git-lfs.github.com/spec/v1", &["Git LFS pointer", "`git lfs pull`"]),
        (b"<!DOCTYPE html>", &["web page"]),
        (b"tjgg\x03\0\0\0", &["GGJT", "convert_hf_to_gguf.py"]),
        (&tar, &["tar archive", "`tar -xf model.gguf`"]),
        (&safetensors, &["safetensors", "convert_hf_to_gguf.py"]),
        (b"\x00\x01\x02\x03\x04", &["[00, 01, 02, 03]", "\"GGUF\""]),
    ];
    for (bytes, parts) in cases {
        assert_says(open(bytes), NAME, parts);
    }
}

#[test]
fn what_is_no_file_with_content_is_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let refused = |path: &Path, parts: &[&str]| assert_says(Gguf::open(path), path, parts);

    refused(folder.path(), &["is a directory", ".gguf file"]);
    refused(&path("absent.gguf"), &["no such file"]);
    fs::write(path("empty.gguf"), []).unwrap();
    refused(&path("empty.gguf"), &["is empty"]);
    assert_says(open(&[]), NAME, &["is empty"]);
    #[cfg(unix)]
    {
        refused(Path::new("/dev/zero"), &["not a regular file"]);
        refused(&path("empty.gguf/model.gguf"), &["cannot be opened"]);
    }
}

#[test]
fn a_header_that_fills_the_file_is_refused_before_it_fills_the_memory() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sparse.gguf");
    let count = 1 << 30;
    fs::write(&path, Raw::new().key("big", ARRAY, &array(0, count, &[])).bytes()).unwrap();
    File::options().write(true).open(&path).unwrap().set_len(2 << 30).unwrap();
    assert_says(Gguf::open(&path), &path, &["the value of key \"big\"", "134217728 bytes"]);
}

#[test]
fn counts_and_lengths_beyond_the_file_are_refused_whatever_they_count() {
    for count in [1 << 20, 1 << 32, 1 << 60, u64::MAX] {
        let needs = ["cut short or damaged", "ends at byte"];
        refused(&Raw::new().counts(0, count), &[&needs[..], &[&format!("{count} keys")]].concat());
        refused(&Raw::new().counts(count, 0), &[&needs[..], &[&format!("{count} tensors")]].concat());
        for kind in (0..=8).chain(10..=12) {
            let file = Raw::new().key("list", ARRAY, &array(kind, count, &[0; 64]));
            refused(&file, &[&needs[..], &["the value of key \"list\""]].concat());
        }
        let long = [&count.to_le_bytes()[..], b"abc"].concat();
        refused(&Raw::new().key("text", STRING, &long), &[&needs[..], &["the value of key \"text\""]].concat());
    }
}

#[test]
fn keys_are_unique() {
    refused(&Raw::new().u32("a", 1).u32("b", 1).u32("a", 2), &["key \"a\" occurs twice"]);
}

#[test]
fn values_of_unknown_type_are_refused() {
    refused(&Raw::new().key("a", 13, &[0; 16]), &["key \"a\" has value type 13", "0 to 12"]);
    refused(&Raw::new().key("a", ARRAY, &array(77, 1, &[0; 16])), &["key \"a\" has value type 77"]);
}

#[test]
fn arrays_of_arrays_are_refused_by_name() {
    let inner = array(U32, 1, &[0; 4]);
    refused(&Raw::new().key("a", ARRAY, &array(ARRAY, 1, &inner)), &["key \"a\"", "array of arrays"]);
}

#[test]
fn bools_are_0_or_1() {
    refused(&Raw::new().key("a", BOOL, &[2]), &["key \"a\"", "bool of 2", "0 or 1"]);
    refused(&Raw::new().key("a", ARRAY, &array(BOOL, 2, &[1, 255])), &["key \"a\"", "bool of 255"]);
}

#[test]
fn names_and_strings_are_utf_8() {
    let utf8 = "not valid UTF-8";
    refused(&Raw::new().key(b"a\xff", U32, &[0; 4]), &["the name of key number 0", utf8]);
    refused(&Raw::new().key("a", STRING, &string(b"\xc3\x28")), &["the value of key \"a\"", utf8]);
    let list = array(STRING, 2, &[string("fine"), string(b"\xf0")].concat());
    refused(&Raw::new().key("list", ARRAY, &list), &["the value of key \"list\"", utf8]);
    refused(&Raw::new().tensor(b"\x80", &[4], 0, 0).data(16), &["the name of tensor number 0", utf8]);
}

#[test]
fn the_alignment_is_a_power_of_two() {
    for alignment in [0, 3, 33] {
        let file = Raw::new().u32("general.alignment", alignment);
        refused(&file, &["\"general.alignment\"", &format!("is {alignment}"), "power of two"]);
    }
    let file = Raw::new().key("general.alignment", F32, &32_f32.to_le_bytes());
    refused(&file, &["\"general.alignment\"", "f32", "u32"]);
}

#[test]
fn tensors_have_one_to_four_dimensions_none_of_them_zero() {
    refused(&Raw::new().tensor("t", &[], 0, 0).data(64), &["tensor \"t\" has 0 dimensions", "1 to 4"]);
    refused(&Raw::new().tensor("t", &[1; 5], 0, 0).data(64), &["tensor \"t\" has 5 dimensions", "1 to 4"]);
    refused(&Raw::new().tensor("t", &[4, 0], 0, 0).data(64), &["tensor \"t\"", "[4, 0]", "zero"]);
}

#[test]
fn shapes_that_overflow_are_refused() {
    for shape in [&[1 << 62, 4][..], &[u64::MAX], &[1 << 32, 1 << 31, 2], &[1 << 16; 4]] {
        refused(&Raw::new().tensor("t", shape, 0, 0).data(64), &["tensor \"t\"", "more values than can be counted"]);
    }
}

#[test]
fn rows_are_whole_blocks() {
    refused(&Raw::new().tensor("t", &[300, 2], Q4_K, 0).data(512), &["tensor \"t\"", "300", "Q4_K", "multiple of 256"]);
}

#[test]
fn unknown_types_are_named() {
    refused(&Raw::new().tensor("t", &[32], 15, 0).data(64), &["tensor \"t\"", "Q8_K, which is not supported"]);
    refused(&Raw::new().tensor("t", &[32], 200, 0).data(64), &["tensor \"t\"", "number 200"]);
}

#[test]
fn offsets_are_aligned() {
    refused(&Raw::new().tensor("t", &[4], 0, 8).data(64), &["tensor \"t\"", "offset 8", "multiple of 32"]);
    let file = Raw::new().aligned(64).tensor("t", &[4], 0, 32).data(64);
    refused(&file, &["tensor \"t\"", "offset 32", "multiple of 64"]);
}

#[test]
fn tensors_end_within_the_file() {
    let missing_byte = Raw::new().tensor("t", &[16], 0, 32).data(95);
    refused(
        &missing_byte,
        &["cut short", "tensor \"t\"", "64 bytes at offset 32", "ends at byte 159", "fetch it again"],
    );
    refused(&Raw::new().tensor("t", &[4], 0, u64::MAX - 31).data(64), &["cut short", "tensor \"t\""]);
}

#[test]
fn tensors_have_their_own_names_and_bytes() {
    let twice = Raw::new().tensor("t", &[4], 0, 0).tensor("t", &[4], 0, 32).data(64);
    refused(&twice, &["tensor \"t\" occurs twice"]);
    let overlapping = Raw::new().tensor("late", &[4], 0, 32).tensor("early", &[9], 0, 0).data(64);
    refused(&overlapping, &["tensors \"early\" and \"late\" overlap"]);
    let same_place = Raw::new().tensor("a", &[4], 0, 0).tensor("b", &[4], 0, 0).data(64);
    refused(&same_place, &["overlap"]);
}

//! Split sets: `NAME-00001-of-00003.gguf` and its siblings.

use std::fs;
use std::path::{Path, PathBuf};

use redlite::gguf::Gguf;

use crate::raw::{NAME, Raw, read_all};

/// A file of a set, to be named and written.
#[derive(Clone)]
struct Part {
    number: u32,
    count: u32,
    tensors: u32,
    names: Vec<&'static str>,
}

impl Part {
    fn raw(&self) -> Raw {
        let mut raw = Raw::new();
        if self.number == 0 {
            raw = raw.key("general.architecture", 8, &crate::raw::string("qwen3next"));
        }
        raw = raw
            .key("split.no", 2, &(self.number as u16).to_le_bytes())
            .key("split.count", 2, &(self.count as u16).to_le_bytes())
            .key("split.tensors.count", 5, &self.tensors.to_le_bytes());
        for (index, name) in self.names.iter().enumerate() {
            raw = raw.tensor(name, &[8], 0, index as u64 * 32);
        }
        raw.data(self.names.len() * 32)
    }
}

/// Three parts with four tensors in all.
fn three_parts() -> [Part; 3] {
    let part = |number, names: &[&'static str]| Part { number, count: 3, tensors: 4, names: names.to_vec() };
    [part(0, &["a"]), part(1, &["b", "c"]), part(2, &["d"])]
}

struct Set {
    folder: tempfile::TempDir,
}

impl Set {
    fn write(parts: &[Part]) -> Set {
        let set = Set { folder: tempfile::tempdir().unwrap() };
        for (number, part) in (1..).zip(parts) {
            fs::write(set.path(number), part.raw().bytes()).unwrap();
        }
        set
    }

    fn path(&self, number: u32) -> PathBuf {
        self.folder.path().join(format!("big-{number:05}-of-00003.gguf"))
    }

    /// The message when the set is opened from a part, without the folder's name.
    fn refusal(&self, path: &Path) -> String {
        let message = Gguf::open(path).expect_err("the set was accepted").to_string();
        let folder = format!("{}{}", self.folder.path().display(), std::path::MAIN_SEPARATOR);
        message.replace(&folder, "")
    }
}

#[test]
fn a_set_opens_from_any_part() {
    let set = Set::write(&three_parts());
    for number in 1..=3 {
        let model = Gguf::open(&set.path(number)).unwrap();
        assert_eq!(model.name(), set.path(number).display().to_string());
        assert_eq!(model.metadata().str("general.architecture").unwrap(), Some("qwen3next"));
        assert_eq!(model.tensors().iter().map(|tensor| tensor.name.as_str()).collect::<Vec<_>>(), ["a", "b", "c", "d"]);
        let first_bytes: Vec<u8> = read_all(&model).unwrap().iter().map(|bytes| bytes[0]).collect();
        assert_eq!(first_bytes, [0, 0, 32, 0]);
        let sizes = (1..=3).map(|number| fs::metadata(set.path(number)).unwrap().len());
        assert_eq!(model.file_bytes(), sizes.sum::<u64>());
    }
}

#[test]
fn a_missing_part_is_named() {
    let set = Set::write(&three_parts());
    fs::remove_file(set.path(3)).unwrap();
    assert_eq!(
        set.refusal(&set.path(2)),
        "big-00002-of-00003.gguf: part 3 of 3 of this split model is missing: big-00003-of-00003.gguf"
    );
}

#[test]
fn a_part_that_counts_other_parts_than_its_name_is_refused() {
    let mut parts = three_parts();
    parts[1].count = 2;
    let set = Set::write(&parts);
    for number in 1..=3 {
        assert_eq!(
            set.refusal(&set.path(number)),
            "big-00002-of-00003.gguf: belongs to a split model of 2 parts by its key \"split.count\", \
             but of 3 by its name"
        );
    }
}

#[test]
fn a_part_under_the_name_of_another_is_refused() {
    let mut parts = three_parts();
    parts.swap(0, 1);
    let set = Set::write(&parts);
    let expected =
        "big-00001-of-00003.gguf: is part 2 of a split model by its key \"split.no\", but part 1 by its name";
    assert_eq!(set.refusal(&set.path(1)), expected);
    assert_eq!(set.refusal(&set.path(3)), expected);
}

#[test]
fn a_part_too_many_is_refused() {
    let extra = Part { number: 3, count: 3, tensors: 4, names: vec!["e"] };
    let set = Set::write(&[&three_parts()[..], &[extra]].concat());
    assert_eq!(
        set.refusal(&set.path(4)),
        "big-00004-of-00003.gguf: is part 4 of a split model that has 3 parts, one too many: it does not belong there"
    );
    assert!(Gguf::open(&set.path(1)).is_ok());
}

#[test]
fn a_tensor_in_two_parts_is_refused() {
    let mut parts = three_parts();
    parts[2].names = vec!["b"];
    let set = Set::write(&parts);
    assert_eq!(set.refusal(&set.path(1)), "big-00003-of-00003.gguf: tensor \"b\" is also in big-00002-of-00003.gguf");
}

#[test]
fn the_number_of_tensors_is_that_of_the_set() {
    let mut parts = three_parts();
    parts[1].names.pop();
    let set = Set::write(&parts);
    assert_eq!(
        set.refusal(&set.path(2)),
        "big-00001-of-00003.gguf: the model has 4 tensors by the key \"split.tensors.count\", but 3 were found"
    );
}

#[test]
fn a_file_of_another_model_among_the_parts_is_refused() {
    let set = Set::write(&three_parts());
    fs::write(set.path(2), Raw::new().tensor("b", &[8], 0, 0).data(32).bytes()).unwrap();
    assert_eq!(
        set.refusal(&set.path(1)),
        "big-00002-of-00003.gguf: is part of a split model but has no key \"split.count\""
    );
}

#[test]
fn a_damaged_part_is_named() {
    let set = Set::write(&three_parts());
    let bytes = fs::read(set.path(3)).unwrap();
    fs::write(set.path(3), &bytes[..bytes.len() - 1]).unwrap();
    let message = set.refusal(&set.path(1));
    assert!(message.starts_with("big-00003-of-00003.gguf: is cut short or damaged: tensor \"d\""), "{message}");
}

#[test]
fn a_renamed_part_cannot_find_the_others_and_says_so() {
    let set = Set::write(&three_parts());
    let renamed = set.folder.path().join("renamed.gguf");
    fs::rename(set.path(2), &renamed).unwrap();
    let expected = "is part 2 of 3 of a split model, but is not named like \"NAME-00002-of-00003.gguf\", \
                    so the other parts cannot be found";
    assert_eq!(set.refusal(&renamed), format!("renamed.gguf: {expected}"));
    let embedded = three_parts()[1].raw().open().unwrap_err().to_string();
    assert_eq!(embedded, format!("{NAME}: {expected}"));
}

#[test]
fn a_set_of_one_needs_no_name_and_counts_its_tensors() {
    let mut part = Part { number: 0, count: 1, tensors: 1, names: vec!["a"] };
    assert!(part.raw().open().is_ok());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("whole.gguf");
    fs::write(&path, part.raw().bytes()).unwrap();
    assert!(Gguf::open(&path).is_ok());
    part.tensors = 2;
    fs::write(&path, part.raw().bytes()).unwrap();
    assert!(Gguf::open(&path).unwrap_err().to_string().contains("the model has 2 tensors"));
}

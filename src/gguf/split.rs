//! Split sets: a model in several files named `NAME-00001-of-00003.gguf`.
//!
//! Names count from one, the key `split.no` from zero. Each file has its own tensor directory and the keys of the
//! split; only the first has the model's metadata.

use std::path::{Path, PathBuf};

use super::error::Error;
use super::metadata::Metadata;
use super::parse::Contents;
use super::shard::Shard;

/// What a file says about the set it is part of.
pub(super) struct Part {
    /// Counted from one, as in the name.
    number: u32,
    /// Files in the set.
    pub(super) count: u32,
    /// Tensors in all files together.
    tensors: Option<u32>,
}

impl Part {
    /// The part a file is by its metadata, checked against its name; `None` where it is a whole model.
    pub(super) fn of(path: Option<&Path>, file: &str, metadata: &Metadata) -> Result<Option<Part>, Error> {
        let count = match metadata.u32("split.count")? {
            None | Some(0) => return Ok(None),
            Some(count) => count,
        };
        let tensors = metadata.u32("split.tensors.count")?;
        let Some(number) = metadata.u32("split.no")?.map(|number| number.saturating_add(1)) else {
            return Err(Error::SplitKey { file: file.to_owned(), key: "split.no" });
        };
        if count > 1 {
            let Some(name) = path.and_then(SplitName::of) else {
                return Err(Error::SplitName { file: file.to_owned(), number, count });
            };
            name.check(file, number, count)?;
        }
        if number > count {
            return Err(Error::SplitExtra { file: file.to_owned(), number, count });
        }
        Ok(Some(Part { number, count, tensors }))
    }

    /// Checks the number of tensors found in all files.
    pub(super) fn check_tensor_count(&self, file: &str, found: usize) -> Result<(), Error> {
        match self.tensors {
            Some(expected) if found as u64 != u64::from(expected) => {
                Err(Error::SplitTensorCount { file: file.to_owned(), found: found as u64, expected: expected.into() })
            }
            _ => Ok(()),
        }
    }
}

/// Opens all files of the set in which the file at `path` is `part`.
pub(super) fn open_set(path: &Path, file: &str, part: &Part) -> Result<Vec<(Shard, Contents)>, Error> {
    let (number, count) = (part.number, part.count);
    let name = SplitName::of(path).ok_or_else(|| Error::SplitName { file: file.to_owned(), number, count })?;
    let mut set = Vec::new();
    let mut parts = Vec::new();
    for number in 1..=count {
        let (shard, contents, part) = open_part(file, &name.path_of(path, number), number, count)?;
        parts.push(part);
        set.push((shard, contents));
    }
    let found = set.iter().map(|(_, contents)| contents.tensors.len()).sum();
    for (part, (shard, _)) in parts.iter().zip(&set) {
        part.check_tensor_count(shard.name(), found)?;
    }
    Ok(set)
}

fn open_part(file: &str, path: &Path, number: u32, count: u32) -> Result<(Shard, Contents, Part), Error> {
    let shard = Shard::open(path).map_err(|error| match error {
        Error::Missing { file: missing } => Error::SplitMissing { file: file.to_owned(), number, count, missing },
        error => error,
    })?;
    let contents = shard.parse(number as usize - 1)?;
    let name = shard.name().to_owned();
    let part = Part::of(Some(path), &name, &contents.metadata)?;
    match part {
        Some(part) => Ok((shard, contents, part)),
        None => Err(Error::SplitKey { file: name, key: "split.count" }),
    }
}

/// The name of a file of a split set, in its parts.
struct SplitName<'a> {
    stem: &'a str,
    number: u32,
    count: u32,
}

impl SplitName<'_> {
    fn of(path: &Path) -> Option<SplitName<'_>> {
        let rest = path.file_name()?.to_str()?.strip_suffix(".gguf")?;
        let (rest, count) = rest.rsplit_once("-of-")?;
        let (stem, number) = rest.rsplit_once('-')?;
        Some(SplitName { stem, number: five_digits(number)?, count: five_digits(count)? })
    }

    fn check(&self, file: &str, number: u32, count: u32) -> Result<(), Error> {
        if self.count != count {
            return Err(Error::SplitCount { file: file.to_owned(), found: count, expected: self.count });
        }
        if self.number != number {
            return Err(Error::SplitNumber { file: file.to_owned(), found: number, expected: self.number });
        }
        Ok(())
    }

    /// The path of another file of the set.
    fn path_of(&self, path: &Path, number: u32) -> PathBuf {
        path.with_file_name(format!("{}-{number:05}-of-{:05}.gguf", self.stem, self.count))
    }
}

fn five_digits(text: &str) -> Option<u32> {
    (text.len() == 5 && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_part_tells_its_siblings() {
        let path = Path::new("models/big-of-all-Q4_K-00002-of-00003.gguf");
        let name = SplitName::of(path).unwrap();
        assert_eq!((name.number, name.count), (2, 3));
        assert_eq!(name.path_of(path, 3), Path::new("models/big-of-all-Q4_K-00003-of-00003.gguf"));
    }

    #[test]
    fn names_of_other_forms_are_not_taken_for_parts() {
        for name in ["a.gguf", "a-1-of-3.gguf", "a-00001-of-00003.bin", "a-+0001-of-00003.gguf", "00001-of-00003.gguf"]
        {
            assert!(SplitName::of(Path::new(name)).is_none(), "{name}");
        }
    }
}

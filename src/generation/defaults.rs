//! Sampling options that a model file recommends.

use crate::engine::sampling::{OutOfRange, SamplingOptions};
use crate::gguf::{Error, Gguf, Metadata, Value};

/// The sampling options a file recommends by its keys `general.sampling.*`; where it has none, the engine's own.
///
/// # Errors
/// A key of another type, or a value that is out of range.
pub fn recommended_sampling(file: &Gguf) -> Result<SamplingOptions, Error> {
    let metadata = file.metadata();
    let default = SamplingOptions::default();
    let float = |name: &str, default: f32| Ok(metadata.f32(&key(name))?.unwrap_or(default));
    let temperature = float("temp", default.temperature)?;
    let options = SamplingOptions {
        // Zero and below mean greedy in these files.
        temperature: if temperature < 0.0 { 0.0 } else { temperature },
        repeat_penalty: float("penalty_repeat", default.repeat_penalty)?,
        penalty_window: count(metadata, "penalty_last_n", usize::MAX)?.unwrap_or(default.penalty_window),
        top_k: count(metadata, "top_k", 0)?.unwrap_or(default.top_k),
        top_p: float("top_p", default.top_p)?,
        min_p: float("min_p", default.min_p)?,
        ..default
    };
    match options.out_of_range() {
        None => Ok(options),
        Some(OutOfRange { name, found, expected }) => Err(Error::OutOfRange {
            file: file.name().to_owned(),
            key: key(match name {
                "repeat-penalty" => "penalty_repeat",
                "top-p" => "top_p",
                "min-p" => "min_p",
                name => name,
            }),
            found: found.to_string(),
            expected,
        }),
    }
}

/// A count whose negative values mean `unlimited`.
fn count(metadata: &Metadata, name: &str, unlimited: usize) -> Result<Option<usize>, Error> {
    let key = key(name);
    match metadata.get(&key) {
        Some(Value::I8(..0) | Value::I16(..0) | Value::I32(..0) | Value::I64(..0)) => Ok(Some(unlimited)),
        _ => Ok(metadata.u32(&key)?.map(|value| value as usize)),
    }
}

fn key(name: &str) -> String {
    format!("general.sampling.{name}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gguf::writer::Writer;

    fn sampling(keys: &[(&str, Value)]) -> Result<SamplingOptions, Error> {
        let mut writer = Writer::new("test");
        for (name, value) in keys {
            writer.set(&key(name), value.clone()).unwrap();
        }
        let bytes = writer.begin(Vec::new()).unwrap().finish().unwrap();
        recommended_sampling(&Gguf::from_static("test", bytes.leak()).unwrap())
    }

    #[test]
    fn a_file_without_recommendations_gets_the_engines_defaults() {
        assert_eq!(sampling(&[]).unwrap(), SamplingOptions::default());
    }

    #[test]
    fn what_a_file_recommends_is_taken() {
        let keys = [
            ("temp", 0.7f32.into()),
            ("top_k", 20i32.into()),
            ("top_p", 0.8f32.into()),
            ("min_p", 0.0f32.into()),
            ("penalty_repeat", 1.05f32.into()),
            ("penalty_last_n", 128i32.into()),
        ];
        let expected = SamplingOptions {
            temperature: 0.7,
            top_k: 20,
            top_p: 0.8,
            min_p: 0.0,
            repeat_penalty: 1.05,
            penalty_window: 128,
            ..SamplingOptions::default()
        };
        assert_eq!(sampling(&keys).unwrap(), expected);
    }

    #[test]
    fn negative_counts_mean_all_and_a_negative_temperature_means_greedy() {
        let keys = [("top_k", Value::I32(-1)), ("penalty_last_n", Value::I32(-1)), ("temp", Value::F32(-1.0))];
        let options = sampling(&keys).unwrap();
        assert_eq!((options.top_k, options.penalty_window, options.temperature), (0, usize::MAX, 0.0));
    }

    #[test]
    fn a_key_of_another_type_is_named() {
        let error = sampling(&[("temp", "hot".into())]).unwrap_err().to_string();
        assert!(error.contains("general.sampling.temp"), "{error}");
    }

    #[test]
    fn a_value_out_of_range_is_blamed_on_the_file_and_its_key() {
        for (name, value, expected) in [
            ("temp", f32::NAN, "0 or more"),
            ("penalty_repeat", 0.0, "a number above 0"),
            ("top_p", 1.5, "a number above 0, at most 1"),
            ("min_p", -0.5, "a number from 0 to 1"),
        ] {
            let error = sampling(&[(name, value.into())]).unwrap_err().to_string();
            let start = format!("test: key \"general.sampling.{name}\" holds {value}, ");
            assert!(error.starts_with(&start) && error.ends_with(expected), "{error}");
        }
    }
}

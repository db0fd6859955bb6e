//! What templates can call that would otherwise do unlimited work in one step, or panic.

use minijinja::{Error, ErrorKind, State, Value};
use minijinja_contrib::pycompat::unknown_method_callback;

/// The widest field of `str.format`.
const WIDEST_FIELD: u64 = 4096;

/// The most numbers of a `range`.
const LONGEST_RANGE: u128 = 100_000;

/// Python's methods of texts, lists and maps, with fields of `str.format` of a limited width.
pub(super) fn method(state: &mut State, value: &Value, name: &str, args: &[Value]) -> Result<Value, Error> {
    if let ("format", Some(text)) = (name, value.as_str())
        && let Some(width) = widest_field(text).filter(|width| *width > WIDEST_FIELD)
    {
        let message = format!("format: a field is {width} characters wide, supported are at most {WIDEST_FIELD}");
        return Err(Error::new(ErrorKind::InvalidOperation, message));
    }
    unknown_method_callback(state, value, name, args)
}

/// The largest number inside the braces of a format.
fn widest_field(format: &str) -> Option<u64> {
    let fields = format.split('{').skip(1).map(|rest| rest.split('}').next().unwrap_or_default());
    let words = fields.flat_map(|field| field.split(|c: char| !c.is_ascii_digit())).filter(|word| !word.is_empty());
    words.map(|word| word.parse().unwrap_or(u64::MAX)).max()
}

/// The function `range(end)`, `range(start, end)` and `range(start, end, step)`.
pub(super) fn range(first: i64, second: Option<i64>, step: Option<i64>) -> Result<Value, Error> {
    let refused = |message: String| Err(Error::new(ErrorKind::InvalidOperation, message));
    let (start, end) = second.map_or((0, first), |end| (first, end));
    let step = step.unwrap_or(1);
    if step == 0 {
        return refused("range: a step of 0 leads nowhere".to_owned());
    }
    let ahead = if step > 0 { i128::from(end) - i128::from(start) } else { i128::from(start) - i128::from(end) };
    let count = ahead.max(0).unsigned_abs().div_ceil(u128::from(step.unsigned_abs()));
    if count > LONGEST_RANGE {
        return refused(format!("range: {count} numbers are too many, supported are at most {LONGEST_RANGE}"));
    }
    // All numbers lie between start and end, so that a product that wraps around comes back with the sum.
    Ok(Value::make_iterable(move || (0..count as i64).map(move |index| start.wrapping_add(index.wrapping_mul(step)))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(first: i64, second: Option<i64>, step: Option<i64>) -> Vec<i64> {
        let range = range(first, second, step).unwrap();
        range.try_iter().unwrap().map(|value| i64::try_from(value).unwrap()).collect()
    }

    #[test]
    fn ranges_are_those_of_python() {
        assert_eq!(numbers(3, None, None), [0, 1, 2]);
        assert_eq!(numbers(2, Some(4), None), [2, 3]);
        assert_eq!(numbers(0, Some(5), Some(2)), [0, 2, 4]);
        assert_eq!(numbers(5, Some(0), Some(-2)), [5, 3, 1]);
        assert!(numbers(5, Some(0), None).is_empty());
        assert_eq!(numbers(i64::MIN, Some(i64::MAX), Some(i64::MAX)), [i64::MIN, -1, i64::MAX - 1]);
        assert!(range(i64::MAX, Some(i64::MIN), Some(-1)).is_err());
        assert!(range(1, Some(2), Some(0)).is_err());
    }

    #[test]
    fn the_width_of_a_field_is_found_and_numbers_in_the_text_are_not() {
        assert_eq!(widest_field("9999 {0:>50.2f} 9999 {}"), Some(50));
        assert_eq!(widest_field("{:>99999999999999999999}"), Some(u64::MAX));
        assert_eq!(widest_field("9999 {}"), None);
    }
}

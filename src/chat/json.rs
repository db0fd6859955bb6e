//! JSON as Python prints it, which is what models saw in training: a space after `,` and `:`, and nothing escaped
//! that need not be.

use std::fmt::Write;

use minijinja::value::{Kwargs, ValueKind};
use minijinja::{Error, ErrorKind, State, Value};

/// How the filter's arguments want the text.
struct Style {
    indent: Option<usize>,
    ascii: bool,
    between_items: String,
    after_key: String,
}

/// The widest indentation a template may ask for, so that it cannot multiply the text.
const WIDEST_INDENT: usize = 16;

/// The filter `tojson(indent=None, ensure_ascii=False, separators=None)`.
pub(super) fn tojson(state: &State, value: &Value, indent: Option<usize>, args: Kwargs) -> Result<Value, Error> {
    let indent = match indent {
        Some(indent) => Some(indent),
        None => args.get("indent")?,
    };
    if indent.is_some_and(|indent| indent > WIDEST_INDENT) {
        let message = format!("tojson: the indentation is {indent:?}, supported are at most {WIDEST_INDENT} blanks");
        return Err(Error::new(ErrorKind::InvalidOperation, message));
    }
    let separators: Option<(String, String)> = match args.get::<Option<Vec<String>>>("separators")? {
        None => None,
        Some(pair) => match <[String; 2]>::try_from(pair) {
            Ok([items, key]) => Some((items, key)),
            Err(_) => return Err(Error::new(ErrorKind::InvalidOperation, "tojson: separators are two strings")),
        },
    };
    let between_items = if indent.is_some() { "," } else { ", " };
    let (between_items, after_key) = separators.unwrap_or_else(|| (between_items.to_owned(), ": ".to_owned()));
    let ascii = args.get::<Option<bool>>("ensure_ascii")?.unwrap_or(false);
    args.assert_all_used()?;

    let mut printer = Printer { state, style: Style { indent, ascii, between_items, after_key }, text: String::new() };
    printer.value(value, 0)?;
    Ok(Value::from_safe_string(printer.text))
}

struct Printer<'s, 't, 'e> {
    state: &'s State<'t, 'e>,
    style: Style,
    text: String,
}

impl Printer<'_, '_, '_> {
    fn value(&mut self, value: &Value, depth: usize) -> Result<(), Error> {
        // Each value pays, so that the text ends with the template's budget.
        self.state.consume_fuel(1)?;
        match value.kind() {
            ValueKind::None => self.text.push_str("null"),
            ValueKind::Bool => self.text.push_str(if value.is_true() { "true" } else { "false" }),
            ValueKind::Number => self.number(value)?,
            ValueKind::String => self.string(value.as_str().unwrap_or_default())?,
            ValueKind::Seq | ValueKind::Iterable => {
                self.container('[', ']', depth, value, |printer, item| printer.value(&item, depth + 1))?;
            }
            ValueKind::Map => self.container('{', '}', depth, value, |printer, key| {
                printer.string(&key.to_string())?;
                printer.state.consume_fuel(printer.style.after_key.len() as u64 / 64)?;
                printer.text.push_str(&printer.style.after_key);
                printer.value(&value.get_item(&key)?, depth + 1)
            })?,
            kind => {
                let message = format!("tojson: a value of type {kind} cannot be written as JSON");
                return Err(Error::new(ErrorKind::BadSerialization, message));
            }
        }
        Ok(())
    }

    fn container(
        &mut self,
        open: char,
        close: char,
        depth: usize,
        value: &Value,
        mut item: impl FnMut(&mut Self, Value) -> Result<(), Error>,
    ) -> Result<(), Error> {
        /// The template engine's own limit on nesting is of this size.
        const DEEPEST: usize = 128;
        if depth >= DEEPEST {
            return Err(Error::new(ErrorKind::BadSerialization, "tojson: the value is nested too deeply"));
        }
        self.text.push(open);
        let mut empty = true;
        for element in value.try_iter()? {
            if !empty {
                self.state.consume_fuel(self.style.between_items.len() as u64 / 64)?;
                self.text.push_str(&self.style.between_items);
            }
            empty = false;
            self.new_line(depth + 1)?;
            item(self, element)?;
        }
        if !empty {
            self.new_line(depth)?;
        }
        self.text.push(close);
        Ok(())
    }

    fn new_line(&mut self, depth: usize) -> Result<(), Error> {
        if let Some(indent) = self.style.indent {
            let blanks = indent * depth;
            self.state.consume_fuel(blanks as u64 / 64)?;
            self.text.push('\n');
            self.text.extend(std::iter::repeat_n(' ', blanks));
        }
        Ok(())
    }

    /// Numbers as Python writes them: exponents have a sign and two digits.
    fn number(&mut self, value: &Value) -> Result<(), Error> {
        let float = if value.is_integer() { None } else { f64::try_from(value.clone()).ok() };
        match float {
            Some(float) if !float.is_finite() => {
                return Err(Error::new(ErrorKind::BadSerialization, "tojson: a number is not finite"));
            }
            Some(float) => self.text.push_str(&python_float(float)),
            None => self.text.push_str(&value.to_string()),
        }
        Ok(())
    }

    fn string(&mut self, text: &str) -> Result<(), Error> {
        self.state.consume_fuel(text.len() as u64 / 16)?;
        self.text.push('"');
        for character in text.chars() {
            match character {
                '"' => self.text.push_str("\\\""),
                '\\' => self.text.push_str("\\\\"),
                '\n' => self.text.push_str("\\n"),
                '\r' => self.text.push_str("\\r"),
                '\t' => self.text.push_str("\\t"),
                '\u{8}' => self.text.push_str("\\b"),
                '\u{c}' => self.text.push_str("\\f"),
                control if control < ' ' => self.escaped(control),
                other if self.style.ascii && !other.is_ascii() => self.escaped(other),
                plain => self.text.push(plain),
            }
        }
        self.text.push('"');
        Ok(())
    }

    fn escaped(&mut self, character: char) {
        self.text.push_str(&escape(character));
    }
}

/// The `\u` notation of a character.
pub(super) fn escape(character: char) -> String {
    let mut text = String::new();
    for unit in character.encode_utf16(&mut [0; 2]) {
        // Writing to a string does not fail.
        let _ = write!(text, "\\u{unit:04x}");
    }
    text
}

/// A finite number as Python's `repr` writes it: digits where the exponent is from -4 to 15.
fn python_float(value: f64) -> String {
    let scientific = format!("{value:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    match exponent.parse::<i32>() {
        Ok(exponent) if !(-4..16).contains(&exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", exponent.abs())
        }
        _ => format!("{value:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_written_as_python_writes_them() {
        let expected = [
            (0.0, "0.0"),
            (-0.5, "-0.5"),
            (0.1, "0.1"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (1.5e300, "1.5e+300"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (-2.5e-7, "-2.5e-07"),
        ];
        for (value, text) in expected {
            assert_eq!(python_float(value), text);
        }
    }

    #[test]
    fn characters_beyond_the_first_plane_are_escaped_as_a_pair() {
        assert_eq!(escape('\u{1f600}'), "\\ud83d\\ude00");
        assert_eq!(escape('\u{1}'), "\\u0001");
    }
}

//! The header of an array file: a dictionary in Python's syntax with exactly three keys.

use super::Number;

/// Most dimensions of an array, as in NumPy.
const MAX_DIMENSIONS: usize = 64;

/// Characters of a header's own words that errors show.
const SHOWN: usize = 40;

/// Checks that a header describes values of `T` in C order, and gives their shape.
pub(super) fn parse_header<T: Number>(header: &str) -> Result<Vec<usize>, String> {
    let mut parser = Parser { rest: header };
    let (mut kind, mut fortran_order, mut shape) = (None, None, None);
    parser.symbol('{')?;
    while !parser.takes('}') {
        let key = parser.string()?;
        parser.symbol(':')?;
        let earlier = match key {
            "descr" => kind.replace(parser.string()?).is_some(),
            "fortran_order" => fortran_order.replace(parser.bool()?).is_some(),
            "shape" => shape.replace(parser.shape()?).is_some(),
            _ => return Err(format!("the header has a key {}; expected descr, fortran_order and shape", excerpt(key))),
        };
        if earlier {
            return Err(format!("the header has the key {key} twice"));
        }
        if !parser.takes(',') {
            parser.symbol('}')?;
            break;
        }
    }
    parser.end()?;
    let kind = kind.ok_or("the header names no type")?;
    if kind != T::NAME {
        return Err(format!("values of type {}; expected {}", excerpt(kind), T::NAME));
    }
    if fortran_order.ok_or("the header names no order")? {
        return Err("values in Fortran order; expected C order".into());
    }
    shape.ok_or_else(|| "the header names no shape".into())
}

/// What is left of a header.
struct Parser<'a> {
    rest: &'a str,
}

impl<'a> Parser<'a> {
    /// Takes a symbol if it is next.
    fn takes(&mut self, symbol: char) -> bool {
        self.rest = self.rest.trim_start();
        match self.rest.strip_prefix(symbol) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn symbol(&mut self, symbol: char) -> Result<(), String> {
        if self.takes(symbol) { Ok(()) } else { Err(self.unexpected(&format!("`{symbol}`"))) }
    }

    /// A string in quotes of either kind. None that a header of numbers needs has a backslash.
    fn string(&mut self) -> Result<&'a str, String> {
        let rest = self.rest.trim_start();
        let quote = rest.chars().next().filter(|c| ['\'', '"'].contains(c));
        let inner = quote.and_then(|quote| rest[1..].split_once(quote)).filter(|(text, _)| !text.contains('\\'));
        let (text, rest) = inner.ok_or_else(|| self.unexpected("a string"))?;
        self.rest = rest;
        Ok(text)
    }

    fn bool(&mut self) -> Result<bool, String> {
        self.rest = self.rest.trim_start();
        let (word, rest) = self.split(|c| c.is_alphanumeric() || c == '_');
        let value = match word {
            "False" => false,
            "True" => true,
            _ => return Err(self.unexpected("True or False")),
        };
        self.rest = rest;
        Ok(value)
    }

    /// A tuple of whole numbers. One of a single number ends with a comma.
    fn shape(&mut self) -> Result<Vec<usize>, String> {
        self.symbol('(')?;
        let mut shape = Vec::new();
        while !self.takes(')') {
            if shape.len() == MAX_DIMENSIONS {
                return Err(format!("more than {MAX_DIMENSIONS} dimensions"));
            }
            let (digits, rest) = self.split(|c| c.is_ascii_digit());
            shape.push(digits.parse().map_err(|_| self.unexpected("a dimension"))?);
            self.rest = rest;
            if !self.takes(',') {
                self.symbol(')')?;
                if shape.len() == 1 {
                    return Err("the shape is a number in brackets; expected a tuple".into());
                }
                break;
            }
        }
        Ok(shape)
    }

    fn end(&self) -> Result<(), String> {
        if self.rest.trim().is_empty() { Ok(()) } else { Err(self.unexpected("its end")) }
    }

    /// Splits off the characters that belong.
    fn split(&self, belongs: impl Fn(char) -> bool) -> (&'a str, &'a str) {
        self.rest.split_at(self.rest.find(|c| !belongs(c)).unwrap_or(self.rest.len()))
    }

    fn unexpected(&self, expected: &str) -> String {
        format!("the header has {}, where {expected} is expected", excerpt(self.rest.trim_start()))
    }
}

/// The beginning of a text of the header, quoted.
fn excerpt(text: &str) -> String {
    let more = if text.chars().nth(SHOWN).is_some() { "..." } else { "" };
    format!("{:?}{more}", text.chars().take(SHOWN).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(header: &str) -> Result<Vec<usize>, String> {
        parse_header::<f32>(header)
    }

    #[test]
    fn keys_may_stand_in_any_order_and_in_either_kind_of_quotes() {
        let numpy = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }            \n";
        assert_eq!(shape(numpy).unwrap(), [2, 3]);
        assert_eq!(shape("{\"shape\":(5,),\"fortran_order\":False,\"descr\":\"<f4\"}").unwrap(), [5]);
        assert!(shape("{'descr': '<f4', 'fortran_order': False, 'shape': ()}").unwrap().is_empty());
    }

    #[test]
    fn a_header_that_is_not_as_it_should_be_is_refused_in_a_short_sentence() {
        let with_shape = |shape: &str| format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}}}");
        let long = "x".repeat(10_000);
        for (header, words) in [
            ("{'x': \"'shape': (2, 3)\", 'descr': '<f4', 'fortran_order': False}".into(), "a key \"x\""),
            ("{'descr': \"'shape': (2, 3)\", 'fortran_order': False}".into(), "values of type \"'shape': (2, 3)\""),
            ("{'descr': '<f4', 'descr': '<f4'}".into(), "descr twice"),
            ("{'descr': '<f4', 'fortran_order': False}".into(), "no shape"),
            ("{'descr': [('a', '<f4')], 'fortran_order': False}".into(), "a string is expected"),
            ("{'descr': '<f4', 'fortran_order': Falsely}".into(), "True or False is expected"),
            ("{'descr': '<f4', 'fortran_order': True, 'shape': (1,)}".into(), "Fortran order"),
            (with_shape("(+2, 3)"), "\"+2, 3)}\", where a dimension is expected"),
            (with_shape("(-2, 3)"), "a dimension is expected"),
            (with_shape("(2 3)"), "`)` is expected"),
            (with_shape("(99999999999999999999,)"), "a dimension is expected"),
            (with_shape("(3)"), "expected a tuple"),
            (with_shape("(1,) (2,)"), "`}` is expected"),
            (with_shape(&format!("({})", "1, ".repeat(65))), "more than 64 dimensions"),
            (with_shape("(1,)") + "x", "its end is expected"),
            (format!("{{'{long}': 1}}"), "a key \"xxx"),
            (long.clone(), "`{` is expected"),
        ] {
            let error = shape(&header).unwrap_err();
            assert!(error.contains(words) && error.len() < 200, "{header:.80}: {error}");
        }
    }

    #[test]
    fn a_header_cut_anywhere_is_refused() {
        let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
        for length in 0..header.len() {
            assert!(shape(&header[..length]).is_err(), "{length} bytes");
        }
    }
}

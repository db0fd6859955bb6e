//! The byte-level alphabet: one visible character for each byte.
//!
//! Printable ASCII and Latin-1 characters stand for their own byte; the other 68 bytes, in ascending order, are
//! written as the characters from U+0100 on. Source: GPT-2's `encoder.py`.

/// The character of each byte.
const SYMBOLS: [char; 256] = symbols();

const fn symbols() -> [char; 256] {
    let mut symbols = ['\0'; 256];
    let mut next = 0x100;
    let mut byte = 0;
    while byte < 256 {
        let code = if stands_for_itself(byte as u8) {
            byte as u32
        } else {
            next += 1;
            next - 1
        };
        symbols[byte] = match char::from_u32(code) {
            Some(symbol) => symbol,
            None => unreachable!(),
        };
        byte += 1;
    }
    symbols
}

const fn stands_for_itself(byte: u8) -> bool {
    matches!(byte, b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff)
}

/// The character of a byte.
pub(crate) fn symbol(byte: u8) -> char {
    SYMBOLS[usize::from(byte)]
}

/// Writes bytes in the alphabet.
pub(super) fn encode(bytes: &[u8], text: &mut String) {
    text.extend(bytes.iter().map(|&byte| symbol(byte)));
}

/// The bytes of a text in the alphabet; `None` where another character occurs.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    text.chars().map(byte).collect()
}

fn byte(symbol: char) -> Option<u8> {
    let code = u32::from(symbol);
    match u8::try_from(code) {
        Ok(byte) => stands_for_itself(byte).then_some(byte),
        Err(_) => (0..=255u8).filter(|&byte| !stands_for_itself(byte)).nth((code - 0x100) as usize),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_a_character_of_its_own_and_comes_back() {
        let bytes: Vec<u8> = (0..=255).collect();
        let mut text = String::new();
        encode(&bytes, &mut text);
        assert_eq!(text.chars().count(), 256);
        assert_eq!(decode(&text), Some(bytes));
    }

    #[test]
    fn space_and_newline_are_the_well_known_characters() {
        assert_eq!(symbol(b' '), 'Ġ');
        assert_eq!(symbol(b'\n'), 'Ċ');
        assert_eq!(symbol(0xad), '\u{143}');
    }

    #[test]
    fn characters_outside_the_alphabet_have_no_byte() {
        for text in [" ", "中", "\u{144}", "\u{ad}"] {
            assert_eq!(decode(text), None, "{text:?}");
        }
    }
}

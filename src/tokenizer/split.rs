//! The rules that cut a text into pieces before merging; merges never cross a piece.

use tokenizers::utils::SysRegex;

use super::Error;

/// The supported rules: the name in `tokenizer.ggml.pre` and what a piece is, in order of preference.
///
/// Each ends in `\s+`. The families' own expressions try `\s+(?!\S)` before it, so that the last blank before a
/// word belongs to the word; [`Splitter::split`] does that instead of the expression. Without look-ahead the
/// expression runs as an automaton: in linear time, without a limit on backtracking that a long run of blanks
/// could reach.
const RULES: [(&str, &str); 2] = [
    ("qwen2", r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+"),
    (
        "qwen35",
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+",
    ),
];

/// The names of the supported rules, for messages.
pub(super) fn supported() -> String {
    RULES.map(|(name, _)| format!("{name:?}")).join(" and ")
}

/// One of the rules, ready for use.
pub(super) struct Splitter {
    piece: SysRegex,
}

impl Splitter {
    pub(super) fn new(name: &str) -> Result<Splitter, Error> {
        let rule = RULES.iter().find(|(known, _)| *known == name);
        let (_, expression) = rule.ok_or_else(|| Error::UnsupportedSplit { found: name.to_owned() })?;
        Ok(Splitter { piece: SysRegex::new(expression).map_err(Error::library)? })
    }

    /// Calls `each` with the pieces in order; joined they are the text.
    pub(super) fn split(&self, text: &str, mut each: impl FnMut(&str) -> Result<(), Error>) -> Result<(), Error> {
        let mut rest = text;
        'rest: loop {
            // Every character begins or continues some piece, so matches follow one another without a gap.
            for (start, end) in self.piece.find_iter(rest) {
                let piece = &rest[start..end];
                if end < rest.len()
                    && is_blank(piece)
                    && let Some((last, _)) = piece.char_indices().next_back()
                    && last > 0
                {
                    each(&piece[..last])?;
                    rest = &rest[start + last..];
                    continue 'rest;
                }
                each(piece)?;
            }
            return Ok(());
        }
    }
}

/// Is this a match of the last alternative, `\s+`? One that ends in a line break is not.
fn is_blank(piece: &str) -> bool {
    !piece.ends_with(['\r', '\n']) && piece.chars().all(char::is_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(rule: &str, text: &str) -> Vec<String> {
        let mut pieces = Vec::new();
        let splitter = Splitter::new(rule).expect("a supported rule");
        splitter
            .split(text, |piece| {
                pieces.push(piece.to_owned());
                Ok(())
            })
            .expect("nothing refuses a piece");
        pieces
    }

    #[test]
    fn the_last_blank_of_a_run_belongs_to_the_word_after_it() {
        assert_eq!(pieces("qwen2", "a   b"), ["a", "  ", " b"]);
        assert_eq!(pieces("qwen2", "a  1"), ["a", " ", " ", "1"]);
        assert_eq!(pieces("qwen2", "a\t\t("), ["a", "\t", "\t", "("]);
        assert_eq!(pieces("qwen2", "a   "), ["a", "   "]);
        assert_eq!(pieces("qwen2", " \u{3000}\u{a0}x"), [" \u{3000}", "\u{a0}x"]);
    }

    #[test]
    fn blanks_before_a_line_break_stay_with_it() {
        assert_eq!(pieces("qwen2", "a  \r\n \n  b"), ["a", "  \r\n \n", " ", " b"]);
        assert_eq!(pieces("qwen2", "x;\n\n  y"), ["x", ";\n\n", " ", " y"]);
    }

    #[test]
    fn digits_stand_alone_and_contractions_come_off_in_either_case() {
        assert_eq!(pieces("qwen2", "it's WE'LL 123"), ["it", "'s", " WE", "'LL", " ", "1", "2", "3"]);
    }

    #[test]
    fn combining_marks_are_part_of_a_word_in_the_newer_rule_only() {
        assert_eq!(pieces("qwen2", "e\u{301}a"), ["e", "\u{301}a"]);
        assert_eq!(pieces("qwen35", "e\u{301}a"), ["e\u{301}a"]);
    }

    #[test]
    fn every_character_is_in_exactly_one_piece() {
        let text: String = ('\0'..=char::MAX).step_by(7).collect();
        for (rule, _) in RULES {
            assert_eq!(pieces(rule, &text).concat(), text, "{rule}");
        }
    }
}

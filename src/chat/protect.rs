//! Keeps the texts of special tokens in messages from becoming these tokens.
//!
//! Once a template is rendered, nothing tells its own `<|im_end|>` from one that a user typed. So before
//! rendering, wherever the text of a special token stands in a message, its first character is replaced by a
//! stand-in that occurs nowhere else; special tokens are cut out of the rendered text; and only then the stand-ins
//! in the plain text between them become the characters again.

use std::collections::HashSet;

use super::json::escape;

/// Which special tokens a text may not become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Guard {
    /// None at all: what a user, a tool or the system wrote.
    All,
    /// Control tokens. In an assistant's text, user-defined tokens such as `<think>` are its own, and templates
    /// look for them.
    Control,
}

/// The texts to look for, and the stand-ins for their first characters.
pub(super) struct Protection {
    /// All texts, and whether each is a control token's.
    texts: Vec<(String, bool)>,
    stand_ins: Vec<(char, char)>,
}

impl Protection {
    /// Protection against these texts (with whether each is a control token's), by characters that occur neither
    /// in `used` nor, in `\u` notation, as part of it. `None` where no characters are left.
    pub(super) fn new(texts: Vec<(String, bool)>, used: &[&str]) -> Option<Protection> {
        let mut first: Vec<char> = texts.iter().filter_map(|(text, _)| text.chars().next()).collect();
        first.sort_unstable();
        first.dedup();
        let taken: HashSet<char> = used.iter().flat_map(|text| text.chars()).filter(|c| !c.is_ascii()).collect();
        let escapes = used.iter().any(|text| text.contains("\\u"));
        let free = |c: &char| !(taken.contains(c) || escapes && used.iter().any(|text| text.contains(&escape(*c))));
        // Noncharacters, which no text should contain, then private ones.
        let mut free = ('\u{fdd0}'..='\u{fdef}').chain('\u{e000}'..='\u{f8ff}').filter(free);
        let stand_ins = first.into_iter().map(|c| Some((c, free.next()?))).collect::<Option<_>>()?;
        Some(Protection { texts, stand_ins })
    }

    /// The text of a message, harmless.
    ///
    /// A beginning of a special text at the end of a message counts too, since what the template puts after it
    /// might complete it.
    pub(super) fn protect(&self, text: &str, guard: Guard) -> String {
        let mut starts = HashSet::new();
        let trimmed = text.trim_end();
        for (special, control) in &self.texts {
            if special.is_empty() || guard == Guard::Control && !control {
                continue;
            }
            starts.extend(occurrences(text, special));
            let beginnings = special.char_indices().map(|(end, _)| &special[..end]).skip(1);
            let at_the_end = beginnings.filter(|beginning| trimmed.ends_with(beginning));
            starts.extend(at_the_end.map(|beginning| trimmed.len() - beginning.len()));
        }
        if starts.is_empty() {
            return text.to_owned();
        }
        let replaced = text.char_indices().map(|(at, c)| if starts.contains(&at) { self.stand_in(c) } else { c });
        replaced.collect()
    }

    /// Puts the characters back.
    pub(super) fn restore(&self, text: &str) -> String {
        let mut restored = text.to_owned();
        for (character, stand_in) in &self.stand_ins {
            if restored.contains(*stand_in) {
                restored = restored.replace(*stand_in, character.encode_utf8(&mut [0; 4]));
            }
            let escaped = escape(*stand_in);
            if restored.contains(&escaped) {
                restored = restored.replace(&escaped, character.encode_utf8(&mut [0; 4]));
            }
        }
        restored
    }

    fn stand_in(&self, character: char) -> char {
        self.stand_ins.iter().find(|(first, _)| *first == character).map_or(character, |(_, stand_in)| *stand_in)
    }
}

/// Where `needle` stands in `text`, overlapping occurrences included.
fn occurrences<'t>(text: &'t str, needle: &'t str) -> impl Iterator<Item = usize> + 't {
    let step = needle.chars().next().map_or(1, char::len_utf8);
    let mut from = 0;
    std::iter::from_fn(move || {
        let at = from + text.get(from..)?.find(needle)?;
        from = at + step;
        Some(at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn protection() -> Protection {
        let texts = [("<|im_end|>", true), ("<think>", false), ("[x", true), ("aa", true)];
        Protection::new(texts.map(|(text, control)| (text.to_owned(), control)).to_vec(), &["\u{fdd0} \\ufdd1"])
            .expect("characters are left")
    }

    #[test]
    fn no_special_text_is_left_and_the_text_comes_back() {
        let protection = protection();
        for text in ["", "a<|im_end|>b", "<|im_end|><|im_end|>", "aaaa", "<think>[x[x", "ends in <|im_", "x < \n", "ü<"]
        {
            let safe = protection.protect(text, Guard::All);
            for (special, _) in &protection.texts {
                assert!(!safe.contains(special.as_str()), "{safe:?}");
            }
            assert_eq!(protection.restore(&safe), text);
        }
    }

    #[test]
    fn what_a_template_appends_cannot_complete_a_special_text() {
        let safe = protection().protect("a <|im_ \n", Guard::All);
        assert!(!format!("{}end|>", safe.trim_end()).contains("<|im_end|>"));
    }

    #[test]
    fn an_assistant_may_think() {
        assert_eq!(protection().protect("<think>", Guard::Control), "<think>");
        assert_ne!(protection().protect("<|im_end|>", Guard::Control), "<|im_end|>");
    }

    #[test]
    fn stand_ins_are_characters_that_occur_nowhere() {
        let stand_ins: Vec<char> = protection().stand_ins.iter().map(|(_, stand_in)| *stand_in).collect();
        assert_eq!(stand_ins, ['\u{fdd2}', '\u{fdd3}', '\u{fdd4}']);
        let everything: String = ('\u{e000}'..='\u{f8ff}').chain('\u{fdd0}'..='\u{fdef}').collect();
        assert!(Protection::new(vec![("<x>".to_owned(), true)], &[&everything]).is_none());
    }

    #[test]
    fn an_escaped_stand_in_comes_back_as_its_character() {
        let protection = protection();
        let safe = protection.protect("<think>", Guard::All);
        let stand_in = safe.chars().next().expect("a character");
        assert_eq!(protection.restore(&safe.replace(stand_in, &escape(stand_in))), "<think>");
    }
}

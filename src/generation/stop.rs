//! Stop strings in a text that arrives in pieces.

/// Looks for stop strings, and holds back what may turn out to be the beginning of one.
///
/// What comes out does not depend on how the text was cut into pieces: the stop string that is complete first ends
/// the text, and of two that are complete at once the longer one.
pub struct StopStrings {
    stops: Vec<String>,
    held: String,
}

/// What is known after another piece of text.
#[derive(Debug, PartialEq, Eq)]
pub struct Screened {
    /// Text that is part of no stop string.
    pub text: String,
    /// The stop string that was found; everything from its first character on is dropped.
    pub stop: Option<String>,
}

impl StopStrings {
    /// Looks for these; empty ones are never found.
    pub fn new(stops: &[String]) -> StopStrings {
        let stops = stops.iter().filter(|stop| !stop.is_empty()).cloned().collect();
        StopStrings { stops, held: String::new() }
    }

    /// Takes the next piece of text. After a stop string was found, nothing more may be pushed.
    pub fn push(&mut self, piece: &str) -> Screened {
        self.held.push_str(piece);
        let found = self.stops.iter().filter_map(|stop| self.held.find(stop.as_str()).map(|start| (start, stop)));
        if let Some((start, stop)) = found.min_by_key(|(start, stop)| (start + stop.len(), *start)) {
            let text = self.held[..start].to_owned();
            return Screened { text, stop: Some(stop.clone()) };
        }
        let open = self.stops.iter().map(|stop| beginning_at_the_end(&self.held, stop)).max().unwrap_or(0);
        let text = self.held.drain(..self.held.len() - open).collect();
        Screened { text, stop: None }
    }

    /// What was held back and is no stop string after all, since nothing follows.
    pub fn finish(self) -> String {
        self.held
    }
}

/// Bytes at the end of `text` with which `stop` begins.
fn beginning_at_the_end(text: &str, stop: &str) -> usize {
    let beginnings = stop.char_indices().map(|(end, _)| end).filter(|end| text.ends_with(&stop[..*end]));
    beginnings.max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Everything that comes out of these pieces, and the stop string that was found.
    fn screen(pieces: &[&str], stops: &[&str]) -> (String, Option<String>) {
        let stops: Vec<String> = stops.iter().map(ToString::to_string).collect();
        let mut screen = StopStrings::new(&stops);
        let mut text = String::new();
        for piece in pieces {
            let screened = screen.push(piece);
            text += &screened.text;
            if screened.stop.is_some() {
                return (text, screened.stop);
            }
        }
        (text + &screen.finish(), None)
    }

    #[test]
    fn a_stop_string_split_over_pieces_is_found_and_nothing_of_it_comes_out() {
        assert_eq!(screen(&["one\n", "\ntwo"], &["\n\n"]), ("one".into(), Some("\n\n".into())));
        assert_eq!(screen(&["a e", "n", "d", "x"], &["end"]), ("a ".into(), Some("end".into())));
    }

    #[test]
    fn text_that_only_begins_like_a_stop_string_comes_out() {
        assert_eq!(screen(&["a e", "n", "x"], &["end"]), ("a enx".into(), None));
        assert_eq!(screen(&["the e", "n"], &["end"]), ("the en".into(), None));
        assert_eq!(screen(&["eend"], &["end"]), ("e".into(), Some("end".into())));
    }

    #[test]
    fn the_beginning_of_a_stop_string_is_held_back_until_it_is_decided() {
        let mut screen = StopStrings::new(&["end".into()]);
        assert_eq!(screen.push("an en"), Screened { text: "an ".into(), stop: None });
        assert_eq!(screen.push("en"), Screened { text: "en".into(), stop: None });
        assert_eq!(screen.finish(), "en");
    }

    #[test]
    fn an_empty_stop_string_stops_nothing() {
        assert_eq!(screen(&["text"], &[""]), ("text".into(), None));
    }

    proptest! {
        #[test]
        fn what_comes_out_does_not_depend_on_how_the_text_was_cut(
            characters in "[abé]{0,12}",
            stops in prop::collection::vec("[abé]{1,4}", 0..3),
        ) {
            let stops: Vec<&str> = stops.iter().map(String::as_str).collect();
            let pieces: Vec<String> = characters.chars().map(String::from).collect();
            let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
            let (text, stop) = screen(&pieces, &stops);
            prop_assert_eq!(&screen(&[&characters], &stops), &(text.clone(), stop.clone()));
            prop_assert!(stops.iter().all(|stop| !text.contains(stop)));
            prop_assert!(characters.starts_with(&(text + stop.as_deref().unwrap_or(""))));
        }
    }
}

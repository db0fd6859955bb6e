//! Text from tokens that arrive one by one.

use super::Tokenizer;

/// Turns tokens into text as they arrive, in whole characters: bytes of a character that a later token may
/// complete are held back.
pub struct StreamDecoder<'t> {
    tokenizer: &'t Tokenizer,
    show_special: bool,
    /// The beginning of a character, at most three bytes between calls.
    pending: Vec<u8>,
}

impl<'t> StreamDecoder<'t> {
    pub(super) fn new(tokenizer: &'t Tokenizer, show_special: bool) -> StreamDecoder<'t> {
        StreamDecoder { tokenizer, show_special, pending: Vec::new() }
    }

    /// The text that this token completes. Bytes that cannot become a character appear as U+FFFD.
    pub fn push(&mut self, id: u32) -> String {
        let Some(piece) = self.tokenizer.shown_piece(id, self.show_special) else { return String::new() };
        self.pending.extend_from_slice(piece);
        let complete = self.pending.len() - incomplete_tail(&self.pending);
        let text = String::from_utf8_lossy(&self.pending[..complete]).into_owned();
        self.pending.drain(..complete);
        text
    }

    /// What is left at the end: nothing, or U+FFFD for a character that was never completed.
    pub fn finish(self) -> String {
        String::from_utf8_lossy(&self.pending).into_owned()
    }
}

/// Bytes at the end that are the beginning of a character, zero where the text is complete or wrong.
fn incomplete_tail(bytes: &[u8]) -> usize {
    match bytes.utf8_chunks().last() {
        Some(chunk) if std::str::from_utf8(chunk.invalid()).is_err_and(|error| error.error_len().is_none()) => {
            chunk.invalid().len()
        }
        _ => 0,
    }
}

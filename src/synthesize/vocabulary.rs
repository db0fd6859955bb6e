//! A vocabulary of any size that texts can be encoded with: all bytes, pairs of letters, and words that fill it up.

use crate::tokenizer::byte_symbol;

/// Control tokens that stand last.
const CONTROL: [&str; 4] = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|pad|>"];

/// The least entries that all bytes and the control tokens take.
const LEAST: usize = 256 + CONTROL.len();

/// The numbers of kinds of tokens in a file.
const NORMAL: i32 = 1;
const CONTROL_KIND: i32 = 3;

/// A vocabulary, as a file has it.
pub(super) struct Vocabulary {
    pub(super) tokens: Vec<String>,
    pub(super) kinds: Vec<i32>,
    pub(super) merges: Vec<String>,
    /// The end of a turn.
    pub(super) end: u32,
    /// Beginning of a text, and padding.
    pub(super) begin: u32,
}

/// A vocabulary of `size` entries; none where these are too few for all bytes.
pub(super) fn vocabulary(size: usize) -> Option<Vocabulary> {
    let plain = size.checked_sub(CONTROL.len()).filter(|_| size >= LEAST)?;
    let mut tokens: Vec<String> = (0..=255).map(|byte| byte_symbol(byte).to_string()).collect();
    let letters = || 'a'..='z';
    let pairs = letters().flat_map(|first| letters().map(move |second| (first, second)));
    let mut merges = Vec::new();
    for (first, second) in pairs.take(plain - tokens.len()) {
        tokens.push(format!("{first}{second}"));
        merges.push(format!("{first} {second}"));
    }
    let space = byte_symbol(b' ');
    let words = plain - tokens.len();
    tokens.extend((0..words).map(|number| format!("{space}w{number}")));
    tokens.extend(CONTROL.map(str::to_owned));
    let mut kinds = vec![NORMAL; plain];
    kinds.extend([CONTROL_KIND; CONTROL.len()]);
    Some(Vocabulary { tokens, kinds, merges, end: plain as u32 + 2, begin: plain as u32 })
}

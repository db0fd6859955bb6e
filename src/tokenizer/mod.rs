//! Byte-level BPE from a model file's own vocabulary, and the way back from tokens to text.
//!
//! Text is cut by the model family's rule, its bytes are written in the byte-level alphabet and joined by merge
//! rank. No Unicode normalisation takes place: what is encoded decodes to the same bytes.

mod alphabet;
mod end;
mod error;
mod metadata;
mod special;
mod split;
mod stream;
mod vocabulary;

use std::collections::HashSet;

use tokenizers::Model;
use tokenizers::models::bpe::{BPE, Vocab};

pub(crate) use alphabet::symbol as byte_symbol;
pub use error::Error;
pub(crate) use error::shortened;
pub use special::Fragment;
pub use stream::StreamDecoder;
pub use vocabulary::{TokenKind, Vocabulary};

/// Whether the texts of special tokens are recognised in a text that is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Special {
    /// Everything is plain text: nothing typed becomes a control, user-defined or unknown token.
    Text,
    /// The texts of control, user-defined and unknown tokens become these tokens, the longest text first.
    Parse,
}

/// A byte-level BPE tokenizer.
pub struct Tokenizer {
    vocabulary: Vocabulary,
    /// The bytes of all tokens, one after the other, and where each ends.
    bytes: Vec<u8>,
    bytes_end: Vec<usize>,
    splitter: split::Splitter,
    bpe: BPE,
    /// The token of each byte, where the vocabulary has one.
    byte_tokens: [Option<u32>; 256],
    /// The bytes of symbols that merging can produce and the vocabulary lacks; the first has the id `len()`.
    symbols_beyond: Vec<Vec<u8>>,
    special: special::SpecialTexts,
    end_tokens: Vec<u32>,
}

impl Tokenizer {
    /// A tokenizer of this vocabulary.
    ///
    /// # Errors
    /// What contradicts itself in the vocabulary, and a splitting rule that is not supported, each by name.
    pub fn new(vocabulary: Vocabulary) -> Result<Tokenizer, Error> {
        vocabulary.check()?;
        let splitter = split::Splitter::new(&vocabulary.pre)?;
        let Symbols { bpe, byte_tokens, beyond } = symbols(&vocabulary)?;
        let mut bytes = Vec::new();
        let mut bytes_end = Vec::with_capacity(vocabulary.tokens.len());
        for (text, kind) in vocabulary.tokens.iter().zip(&vocabulary.kinds) {
            match alphabet::decode(text) {
                Some(decoded) if !kind.is_special() && *kind != TokenKind::Unused => bytes.extend(decoded),
                _ => bytes.extend(text.as_bytes()),
            }
            bytes_end.push(bytes.len());
        }
        let special = special::SpecialTexts::new(&vocabulary);
        let end_tokens = end::end_tokens(&vocabulary);
        Ok(Tokenizer {
            vocabulary,
            bytes,
            bytes_end,
            splitter,
            bpe,
            byte_tokens,
            symbols_beyond: beyond,
            special,
            end_tokens,
        })
    }

    /// The tokens of a text. Nothing is added at either end (see [`Tokenizer::add_begin`]).
    ///
    /// # Errors
    /// [`Error::ByteWithoutToken`] where the vocabulary cannot express a byte of the text.
    pub fn encode(&self, text: &str, special: Special) -> Result<Vec<u32>, Error> {
        let mut ids = Vec::new();
        match special {
            Special::Text => self.encode_plain(text, &mut ids)?,
            Special::Parse => {
                for fragment in self.fragments(text) {
                    match fragment {
                        Fragment::Token(id) => ids.push(id),
                        Fragment::Text(text) => self.encode_plain(text, &mut ids)?,
                    }
                }
            }
        }
        Ok(ids)
    }

    /// Cuts the texts of control, user-defined and unknown tokens out of a text. Where two overlap, the longer one
    /// is the token, and of equally long ones the first.
    pub fn fragments<'t>(&self, text: &'t str) -> Vec<Fragment<'t>> {
        self.special.cut(text)
    }

    /// The tokens that [`Special::Parse`] recognises by their text: control, user-defined and unknown ones.
    pub fn special_tokens(&self) -> impl Iterator<Item = (u32, &str, TokenKind)> {
        let entries = self.vocabulary.tokens.iter().zip(&self.vocabulary.kinds);
        (0..).zip(entries).filter(|(_, (_, kind))| kind.is_special()).map(|(id, (text, kind))| (id, &**text, *kind))
    }

    /// The text of these tokens as bytes. Control, unknown and unused tokens are left out unless `show_special`;
    /// ids beyond the vocabulary are left out always.
    pub fn decode(&self, ids: &[u32], show_special: bool) -> Vec<u8> {
        ids.iter().filter_map(|&id| self.shown_piece(id, show_special)).flatten().copied().collect()
    }

    /// A decoder for tokens that arrive one by one; `show_special` as in [`Tokenizer::decode`].
    pub fn stream(&self, show_special: bool) -> StreamDecoder<'_> {
        StreamDecoder::new(self, show_special)
    }

    /// The bytes a token stands for; for control, unknown, user-defined and unused tokens, its text.
    /// `None` beyond the vocabulary.
    pub fn piece(&self, id: u32) -> Option<&[u8]> {
        let id = id as usize;
        let end = *self.bytes_end.get(id)?;
        let start = id.checked_sub(1).map_or(0, |before| self.bytes_end[before]);
        Some(&self.bytes[start..end])
    }

    fn shown_piece(&self, id: u32, show_special: bool) -> Option<&[u8]> {
        let shown = match self.kind(id)? {
            TokenKind::Control | TokenKind::Unknown | TokenKind::Unused => show_special,
            TokenKind::Normal | TokenKind::UserDefined | TokenKind::Byte => true,
        };
        if shown { self.piece(id) } else { None }
    }

    /// A token as the vocabulary writes it (bytes in the byte-level alphabet).
    pub fn text(&self, id: u32) -> Option<&str> {
        self.vocabulary.tokens.get(id as usize).map(String::as_str)
    }

    /// What sort of token this is.
    pub fn kind(&self, id: u32) -> Option<TokenKind> {
        self.vocabulary.kinds.get(id as usize).copied()
    }

    /// Entries of the vocabulary; token ids are below it.
    #[expect(clippy::len_without_is_empty, reason = "an empty vocabulary is refused")]
    pub fn len(&self) -> u32 {
        // `Vocabulary::check` keeps the length within u32.
        self.vocabulary.tokens.len() as u32
    }

    /// Does this token end a generation?
    pub fn is_end(&self, id: u32) -> bool {
        self.end_tokens.binary_search(&id).is_ok()
    }

    /// All tokens that end a generation, in ascending order.
    pub fn end_tokens(&self) -> &[u32] {
        &self.end_tokens
    }

    /// The end-of-sequence token the file names.
    pub fn end(&self) -> Option<u32> {
        self.vocabulary.end
    }

    /// The begin-of-sequence token the file names.
    pub fn begin(&self) -> Option<u32> {
        self.vocabulary.begin
    }

    /// Does the file want the begin-of-sequence token before every prompt?
    pub fn add_begin(&self) -> bool {
        self.vocabulary.add_begin && self.vocabulary.begin.is_some()
    }

    /// The vocabulary in figures.
    pub fn summary(&self) -> Summary {
        let counts = TokenKind::ALL.iter().map(|kind| {
            let count = self.vocabulary.kinds.iter().filter(|found| *found == kind).count();
            (*kind, count)
        });
        Summary {
            pre: self.vocabulary.pre.clone(),
            tokens: self.vocabulary.tokens.len(),
            kinds: counts.filter(|(_, count)| *count > 0).collect(),
            merges: self.vocabulary.merges.len(),
            begin: self.vocabulary.begin,
            end: self.vocabulary.end,
            padding: self.vocabulary.padding,
            add_begin: self.add_begin(),
            end_tokens: self.end_tokens.iter().filter_map(|&id| Some((id, self.text(id)?.to_owned()))).collect(),
        }
    }

    fn encode_plain(&self, text: &str, ids: &mut Vec<u32>) -> Result<(), Error> {
        let mut word = String::new();
        self.splitter.split(text, |piece| {
            word.clear();
            alphabet::encode(piece.as_bytes(), &mut word);
            for symbol in self.bpe.tokenize(&word).map_err(Error::library)? {
                match (symbol.id as usize).checked_sub(self.vocabulary.tokens.len()) {
                    None => ids.push(symbol.id),
                    Some(beyond) => self.push_bytes(&self.symbols_beyond[beyond], ids)?,
                }
            }
            Ok(())
        })
    }

    fn push_bytes(&self, bytes: &[u8], ids: &mut Vec<u32>) -> Result<(), Error> {
        for &byte in bytes {
            ids.push(self.byte_tokens[usize::from(byte)].ok_or(Error::ByteWithoutToken { byte })?);
        }
        Ok(())
    }
}

/// A vocabulary in figures, as [`Tokenizer::summary`] counts them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The name of the splitting rule.
    pub pre: String,
    /// Entries of the vocabulary.
    pub tokens: usize,
    /// Entries of each kind that occurs.
    pub kinds: Vec<(TokenKind, usize)>,
    /// Merges.
    pub merges: usize,
    /// The begin-of-sequence token.
    pub begin: Option<u32>,
    /// The end-of-sequence token.
    pub end: Option<u32>,
    /// The padding token.
    pub padding: Option<u32>,
    /// Whether the file wants `begin` before every prompt.
    pub add_begin: bool,
    /// The tokens that end a generation, with their texts.
    pub end_tokens: Vec<(u32, String)>,
}

/// What merging works on.
struct Symbols {
    bpe: BPE,
    byte_tokens: [Option<u32>; 256],
    beyond: Vec<Vec<u8>>,
}

/// The symbols and merges of a vocabulary. Special tokens take no part, so that no plain text can become one.
fn symbols(vocabulary: &Vocabulary) -> Result<Symbols, Error> {
    let entries = (0u32..).zip(vocabulary.tokens.iter().zip(&vocabulary.kinds));
    let mut ids: Vocab =
        entries.filter(|(_, (_, kind))| !kind.is_special()).map(|(id, (text, _))| (text.clone(), id)).collect();

    // Ids from here on are symbols that are no tokens.
    let tokens = vocabulary.tokens.len() as u32;
    let mut beyond = Vec::new();
    let mut add_beyond = |text: String, bytes: Vec<u8>, ids: &mut Vocab| {
        ids.insert(text, tokens + beyond.len() as u32);
        beyond.push(bytes);
    };
    let mut byte_tokens = [None; 256];
    for byte in 0..=255u8 {
        let text = alphabet::symbol(byte).to_string();
        match ids.get(&text) {
            Some(&id) => byte_tokens[usize::from(byte)] = Some(id),
            None => add_beyond(text, vec![byte], &mut ids),
        }
    }

    let mut merges = Vec::with_capacity(vocabulary.merges.len());
    let mut seen = HashSet::with_capacity(vocabulary.merges.len());
    for (index, merge) in vocabulary.merges.iter().enumerate() {
        let (left, right) = vocabulary::merge_sides(merge).ok_or_else(|| Error::merge_without_space(index, merge))?;
        let token = |side: &str| ids.get(side).copied().filter(|&id| id < tokens);
        let left_id = token(left).ok_or_else(|| Error::merge_of_unknown(index, merge, left))?;
        let right_id = token(right).ok_or_else(|| Error::merge_of_unknown(index, merge, right))?;
        // Of two equal merges the first, stronger one counts.
        if !seen.insert((left_id, right_id)) {
            continue;
        }
        let joined = format!("{left}{right}");
        if !ids.contains_key(&joined) {
            let bytes = alphabet::decode(&joined).unwrap_or_else(|| joined.clone().into_bytes());
            add_beyond(joined, bytes, &mut ids);
        }
        merges.push((left.to_owned(), right.to_owned()));
    }
    // Without the library's cache of words: it would live on in every thread that ever encoded.
    let bpe = BPE::builder().vocab_and_merges(ids, merges).cache_capacity(0).build().map_err(Error::library)?;
    Ok(Symbols { bpe, byte_tokens, beyond })
}

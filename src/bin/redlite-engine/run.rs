//! Running tokens through an engine, in chunks or one by one.

use super::Outcome;
use redlite::backend::Logits;
use redlite::engine::{Engine, Wanted};

/// The logits of all positions, by running the tokens in chunks.
pub fn all_logits(engine: &mut Engine, tokens: &[u32]) -> Outcome<Logits> {
    let vocabulary = engine.model().config.vocabulary;
    let mut all = Logits { vocabulary, values: Vec::with_capacity(tokens.len() * vocabulary) };
    let mut session = engine.open(u32::try_from(tokens.len())?)?;
    let mut show = |_: u32, logits: &Logits| all.values.extend_from_slice(&logits.values);
    engine.run(&mut session, tokens, Wanted { logits: Some(&mut show), ..Wanted::default() })?;
    engine.close(session);
    Ok(all)
}

/// (positions, vocabulary).
pub fn shape(logits: &Logits) -> [usize; 2] {
    [logits.values.len() / logits.vocabulary, logits.vocabulary]
}

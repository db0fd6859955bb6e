//! Text from a prompt: ingest, choose, decode, stop. It prints nothing; a command or a server shows what it is told.

mod defaults;
mod stop;

pub use defaults::recommended_sampling;
pub use stop::{Screened, StopStrings};

use crate::engine::sampling::Sampler;
use crate::engine::{Engine, Session};
use crate::error::{Error, Result};
use crate::tokenizer::Tokenizer;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// When to end.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// Most tokens to make; as many as the context holds where absent.
    pub tokens: Option<usize>,
    /// Texts that end the generation. Nothing of them and nothing after them is given out.
    pub stops: Vec<String>,
}

/// What happens while text is made. Whoever is told answers with `Break` to end it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// So many tokens of the prompt have been taken in.
    Ingested(usize),
    /// A token was chosen. Its text may come with a later token, or not at all.
    Token(u32),
    /// More text, in whole characters.
    Text(&'a str),
}

/// Why a generation ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finish {
    /// It has as many tokens as were asked for.
    Length,
    /// A stop string came up.
    Stop(String),
    /// The model ended its text, with this token.
    EndToken(u32),
    /// Prompt and text together have as many tokens as the context holds.
    ContextFull,
    /// It was broken off.
    Interrupted,
}

impl Finish {
    /// The reason in one word.
    pub fn name(&self) -> &'static str {
        match self {
            Finish::Length => "length",
            Finish::Stop(_) => "stop",
            Finish::EndToken(_) => "end_token",
            Finish::ContextFull => "context_full",
            Finish::Interrupted => "interrupted",
        }
    }
}

/// What a generation came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// All the text that was given out.
    pub text: String,
    /// The tokens that were made, without the one that ended the text. The last one is not in the session.
    pub tokens: Vec<u32>,
    /// Why it ended.
    pub finish: Finish,
    /// The prompt.
    pub ingest: Work,
    /// The text: the steps after the prompt, of which each gives one token more.
    pub decode: Work,
}

impl Outcome {
    /// That of a generation that never began.
    pub fn interrupted() -> Outcome {
        let (text, tokens, finish) = (String::new(), Vec::new(), Finish::Interrupted);
        Outcome { text, tokens, finish, ingest: Work::default(), decode: Work::default() }
    }
}

/// Tokens that went through the model, and how long that took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Tokens.
    pub tokens: usize,
    /// Time.
    pub time: Duration,
}

impl Work {
    /// Tokens a second, where there were any.
    pub fn rate(&self) -> Option<f64> {
        (self.tokens > 0 && !self.time.is_zero()).then(|| self.tokens as f64 / self.time.as_secs_f64())
    }
}

/// Continues a session by a prompt and by what the model makes of it.
///
/// # Errors
/// The prompt is empty or does not fit, the model's output is no number, or the device failed.
pub fn generate(
    engine: &mut Engine,
    session: &mut Session,
    tokenizer: &Tokenizer,
    prompt: &[u32],
    sampler: &mut Sampler,
    limits: &Limits,
    tell: &mut dyn FnMut(Event) -> ControlFlow<()>,
) -> Result<Outcome> {
    let mut outcome = Outcome::interrupted();
    let before = session.tokens().len();
    let start = Instant::now();
    let mut stopped = false;
    let ingested = engine.ingest(session, prompt, &mut |count| {
        stopped = tell(Event::Ingested(count)).is_break();
        !stopped
    });
    outcome.ingest = Work { tokens: session.tokens().len() - before, time: start.elapsed() };
    let mut logits = match ingested {
        Err(Error::Cancelled) => return Ok(outcome),
        Ok(_) if stopped => return Ok(outcome),
        ingested => ingested?,
    };

    let mut writer = Writer { decoder: tokenizer.stream(false), stops: StopStrings::new(&limits.stops), tell };
    let start = Instant::now();
    outcome.finish = loop {
        if limits.tokens.is_some_and(|limit| outcome.tokens.len() >= limit) {
            break Finish::Length;
        }
        // The last token that was made is not in the session yet, and counts all the same.
        if session.room() == usize::from(!outcome.tokens.is_empty()) {
            break Finish::ContextFull;
        }
        if let Some(last) = outcome.tokens.last() {
            logits = engine.step(session, *last)?;
            outcome.decode.tokens += 1;
        }
        let token = sampler.sample(&logits, session.tokens())?;
        if tokenizer.is_end(token) {
            break Finish::EndToken(token);
        }
        outcome.tokens.push(token);
        if let ControlFlow::Break(finish) = writer.push(token, &mut outcome.text) {
            break finish;
        }
    };
    outcome.decode.time = start.elapsed();
    if !matches!(outcome.finish, Finish::Stop(_))
        && let ControlFlow::Break(finish) = writer.finish(&mut outcome.text)
    {
        outcome.finish = finish;
    }
    Ok(outcome)
}

/// From tokens to what is told of them.
struct Writer<'a> {
    decoder: crate::tokenizer::StreamDecoder<'a>,
    stops: StopStrings,
    tell: &'a mut dyn FnMut(Event) -> ControlFlow<()>,
}

impl Writer<'_> {
    /// Takes a token, adds the text that it completes to `all`, and says whether this is the end.
    fn push(&mut self, token: u32, all: &mut String) -> ControlFlow<Finish> {
        let piece = self.decoder.push(token);
        let Screened { text, stop } = self.stops.push(&piece);
        let told = (self.tell)(Event::Token(token));
        let given = give(self.tell, &text, all);
        match stop {
            Some(stop) => ControlFlow::Break(Finish::Stop(stop)),
            None if told.is_break() || given.is_break() => ControlFlow::Break(Finish::Interrupted),
            None => ControlFlow::Continue(()),
        }
    }

    /// Gives out what was held back. A stop string may still be completed by the tail of an incomplete character.
    fn finish(mut self, all: &mut String) -> ControlFlow<Finish> {
        let Screened { text, stop } = self.stops.push(&self.decoder.finish());
        let rest = if stop.is_none() { self.stops.finish() } else { String::new() };
        // There is nothing left to break off.
        let _ = give(self.tell, &(text + &rest), all);
        stop.map_or(ControlFlow::Continue(()), |stop| ControlFlow::Break(Finish::Stop(stop)))
    }
}

fn give(tell: &mut dyn FnMut(Event) -> ControlFlow<()>, text: &str, all: &mut String) -> ControlFlow<()> {
    if text.is_empty() {
        return ControlFlow::Continue(());
    }
    all.push_str(text);
    tell(Event::Text(text))
}

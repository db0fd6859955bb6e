//! Sessions: one timeline of tokens each.

use super::Engine;
use super::pass::PassOutput;
use crate::backend::{Batch, Block, Hidden, Logits, Phase, Routing, Row, RowInput, SequenceId};
use crate::error::{Error, RequestError, Result};

/// One timeline of tokens.
#[derive(Debug)]
pub struct Session {
    sequence: SequenceId,
    tokens: Vec<u32>,
    /// Tokens that went through the next-token block.
    drafted: u32,
    context: u32,
}

impl Session {
    /// The tokens so far.
    pub fn tokens(&self) -> &[u32] {
        &self.tokens
    }

    /// Most tokens it can hold.
    pub fn context(&self) -> u32 {
        self.context
    }

    /// How many more tokens it can hold.
    pub fn room(&self) -> usize {
        self.context as usize - self.tokens.len()
    }
}

/// Is shown logits of consecutive positions, from the one given on.
pub type ShowLogits<'a> = &'a mut dyn FnMut(u32, &Logits);

/// Is shown a layer's choice of experts for consecutive positions: first position, layer, choice.
pub type ShowRouting<'a> = &'a mut dyn FnMut(u32, usize, &Routing);

/// What [`Engine::run`] gives back of each chunk.
#[derive(Default)]
pub struct Wanted<'a> {
    /// Is shown the logits of every position of a chunk; without it only the last position's are made.
    pub logits: Option<ShowLogits<'a>>,
    /// Is shown the next-token block's logits of every position of a chunk.
    pub next_token: Option<ShowLogits<'a>>,
    /// Is shown each layer's choice of experts in a chunk.
    pub routing: Option<ShowRouting<'a>>,
    /// Is told how many tokens have been ingested; returns false to stop after this chunk.
    pub progress: Option<&'a mut dyn FnMut(usize) -> bool>,
}

impl Engine {
    /// Opens an empty session.
    ///
    /// # Errors
    /// A context of no tokens or beyond the model's, or no memory.
    pub fn open(&mut self, context: u32) -> Result<Session> {
        let limit = self.model.config.context_length;
        if context == 0 || context > limit {
            return Err(RequestError::BadContext { asked: context, limit }.into());
        }
        let sequence = self.backend.open(context)?;
        Ok(Session { sequence, tokens: Vec::new(), drafted: 0, context })
    }

    /// Frees a session.
    pub fn close(&mut self, session: Session) {
        self.backend.close(session.sequence);
    }

    /// Takes in a prompt, chunk by chunk, and returns the logits of its last position.
    ///
    /// # Errors
    /// The prompt is empty, does not fit or has an unknown token (then nothing is taken in); the device failed; or
    /// `progress` returned false, after which the chunks before are in the session.
    pub fn ingest(
        &mut self,
        session: &mut Session,
        tokens: &[u32],
        progress: &mut dyn FnMut(usize) -> bool,
    ) -> Result<Vec<f32>> {
        self.run(session, tokens, Wanted { progress: Some(progress), ..Wanted::default() })
    }

    /// Takes in one token and returns the logits of its position.
    ///
    /// # Errors
    /// The context is full, the token unknown, or the device failed.
    pub fn step(&mut self, session: &mut Session, token: u32) -> Result<Vec<f32>> {
        self.check(session, &[token])?;
        let logits = self.chunk(session, &[token], Phase::Decode, &mut Wanted::default())?;
        Ok(logits.last().to_vec())
    }

    /// [`Engine::ingest`] that shows more of what happens.
    ///
    /// Chunks end at absolute multiples of the batch, so that a prompt taken in by parts equals one taken in whole.
    ///
    /// # Errors
    /// As [`Engine::ingest`].
    pub fn run(&mut self, session: &mut Session, tokens: &[u32], mut wanted: Wanted) -> Result<Vec<f32>> {
        if tokens.is_empty() {
            return Err(RequestError::EmptyPrompt.into());
        }
        self.check(session, tokens)?;
        if wanted.next_token.is_some() && !self.next_token {
            return Err(RequestError::NoNextTokenBlock.into());
        }
        let mut rest = tokens;
        loop {
            let position = session.tokens.len() as u32;
            let to_boundary = self.batch - position % self.batch;
            let (chunk, tail) = rest.split_at(rest.len().min(to_boundary as usize));
            rest = tail;
            let logits = self.chunk(session, chunk, Phase::Ingest, &mut wanted)?;
            if let Some(progress) = &mut wanted.progress
                && !progress(tokens.len() - rest.len())
                && !rest.is_empty()
            {
                return Err(Error::Cancelled);
            }
            if rest.is_empty() {
                return Ok(logits.last().to_vec());
            }
        }
    }

    /// One chunk through the trunk, and through the next-token block where its logits are wanted.
    fn chunk(&mut self, session: &mut Session, chunk: &[u32], phase: Phase, wanted: &mut Wanted) -> Result<Logits> {
        let first = session.tokens.len() as u32;
        let rows = rows(session.sequence, first, chunk);
        let batch = Batch { rows: &rows, phase, block: Block::Trunk, provisional: false };
        let all: Vec<u32> = (0..chunk.len() as u32).collect();
        let head = if wanted.logits.is_some() { &all[..] } else { &all[all.len() - 1..] };
        let mut show =
            wanted.routing.as_mut().map(|show| |layer: usize, routing: &Routing| show(first, layer, routing));
        let routing = show.as_mut().map(|show| show as &mut dyn FnMut(usize, &Routing));
        let logits = self.pass(&batch, PassOutput { head, routing, keep: &[] })?;
        session.tokens.extend_from_slice(chunk);
        if let Some(show) = &mut wanted.logits {
            show(first, &logits);
        }
        if let Some(show) = &mut wanted.next_token {
            show(first, &self.draft_rows(session, &all)?);
        }
        Ok(logits)
    }

    /// Runs the next-token block over the tokens of the last chunk, and gives the logits of these rows.
    fn draft_rows(&mut self, session: &mut Session, head: &[u32]) -> Result<Logits> {
        let first = session.drafted;
        let rows: Vec<Row> = (first..)
            .zip(&session.tokens[first as usize..])
            .map(|(position, token)| Row {
                sequence: session.sequence,
                position,
                input: RowInput::Draft {
                    token: *token,
                    hidden: match position.checked_sub(1) {
                        Some(position) => Hidden::Trunk { position },
                        None => Hidden::Zeros,
                    },
                },
            })
            .collect();
        let batch = Batch { rows: &rows, phase: Phase::Ingest, block: Block::NextToken, provisional: false };
        let logits = self.pass(&batch, PassOutput { head, routing: None, keep: &[] })?;
        session.drafted = session.tokens.len() as u32;
        Ok(logits)
    }

    /// Refuses tokens that do not fit or do not exist, before anything is changed.
    fn check(&self, session: &Session, tokens: &[u32]) -> Result<()> {
        if tokens.len() > session.room() {
            let (used, context) = (session.tokens.len(), session.context);
            return Err(RequestError::ContextFull { tokens: tokens.len(), used, context }.into());
        }
        let vocabulary = self.model.config.vocabulary;
        match tokens.iter().find(|token| **token as usize >= vocabulary) {
            Some(&id) => Err(RequestError::UnknownToken { id, vocabulary }.into()),
            None => Ok(()),
        }
    }
}

fn rows(sequence: SequenceId, first: u32, tokens: &[u32]) -> Vec<Row> {
    let row = |(position, token): (u32, &u32)| Row { sequence, position, input: RowInput::Token(*token) };
    (first..).zip(tokens).map(row).collect()
}

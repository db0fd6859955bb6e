//! `redlite-engine logits`: what a model makes of every position of a list of tokens.

use super::files::{check_outputs, read_tokens, remove};
use super::model::ModelArguments;
use super::{Outcome, PROGRAM, Usage};
use clap::Args;
use redlite::backend::{Logits, Routing};
use redlite::cli::{interrupt, printable, report_as};
use redlite::engine::{Engine, Wanted};
use redlite::error::{Error, RequestError};
use redlite::gguf::Gguf;
use redlite::model::Model;
use redlite::npy::{self, Writer};
use std::cell::RefCell;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Writes the logits of every position of a list of tokens
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    model: ModelArguments,

    /// A text file of token ids, separated by white space or commas
    #[arg(long, value_name = "FILE")]
    tokens: PathBuf,

    /// Where the logits go: float32 of shape (positions, vocabulary)
    ///
    /// An older file of this name is removed when computing begins, and the new one appears when it is whole.
    #[arg(long, value_name = "OUT.npy")]
    out: PathBuf,

    /// Only the positions from A up to, not including, B [default: all]
    #[arg(long, value_name = "A..B", value_parser = parse_range)]
    positions: Option<Range<usize>>,

    /// Of these, write only the first and every N-th after it
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    every: u32,

    /// Write the logits of the next-token-prediction block instead
    ///
    /// Row p reads token p and the trunk's hidden row of position p - 1 (zeros at position 0), and predicts token
    /// p + 1.
    #[arg(long)]
    mtp: bool,

    /// Also write which experts each layer of the trunk chose: int32 of shape (layers, positions, experts used)
    ///
    /// The ids are in descending order of their router logit. These logits go to a second file, OUT.logits.npy for
    /// OUT.npy: float32 of shape (layers, positions, experts used + 1), the last being the largest logit that was not
    /// chosen, so that a near-tie can be seen (it is missing where a token uses all experts).
    #[arg(long, value_name = "OUT.npy")]
    routing: Option<PathBuf>,
}

pub fn run(arguments: &Arguments) -> Outcome<()> {
    let job = check(arguments)?;
    let routing_paths = arguments.routing.as_deref().map(|ids| (ids, ids.with_extension("logits.npy")));
    let mut outputs = vec![arguments.out.as_path()];
    if let Some((ids, logits)) = &routing_paths {
        outputs.extend([*ids, logits]);
    }
    let inputs: Vec<&Path> = job.file.paths().chain([arguments.tokens.as_path()]).collect();
    check_outputs(&outputs, &inputs)?;

    interrupt::watch();
    let context = job.tokens.len();
    let mut engine = arguments.model.load(job.file.clone(), context, arguments.mtp, &|| !interrupt::interrupted())?;
    // Only now, so that a run that is refused removes nothing.
    remove(&outputs)?;
    let mut write = || -> Outcome<()> {
        let shape = [job.positions.len(), engine.model().config.vocabulary];
        let mut out = Writer::create::<f32>(&arguments.out, &shape)?;
        let recorded = record(&mut engine, &job, arguments, &mut out)?;
        out.finish()?;
        if let Some((ids, logits)) = &routing_paths {
            recorded.write(ids, logits)?;
        }
        Ok(())
    };
    if let Err(error) = write() {
        // None of a set of files is left where another could not be written.
        remove(&outputs)?;
        return Err(error);
    }
    let files: Vec<String> = outputs.iter().map(|path| path.display().to_string()).collect();
    let written = format!("{} positions written to {}", job.positions.len(), files.join(", "));
    report_as(PROGRAM, &printable(&written));
    Ok(())
}

/// What is to be computed, found to be possible.
struct Job {
    tokens: Vec<u32>,
    positions: Positions,
    file: Arc<Gguf>,
}

/// Reads tokens and model, and refuses what cannot work before any weights are loaded.
fn check(arguments: &Arguments) -> Outcome<Job> {
    let tokens = read_tokens(&arguments.tokens)?;
    let range = arguments.positions.clone().unwrap_or(0..tokens.len());
    let positions = Positions { start: range.start, end: range.end, every: arguments.every as usize };
    if positions.end > tokens.len() {
        let (start, end) = (positions.start, positions.end);
        return Err(Usage(format!("--positions {start}..{end} of {} tokens", tokens.len())).into());
    }
    let file = arguments.model.open()?;
    let config = Model::open(file.clone())?.config;
    let refused = |error: RequestError| Err(Error::from(error).into());
    let (vocabulary, limit) = (config.vocabulary, config.context_length);
    if let Some(&id) = tokens.iter().find(|id| **id as usize >= vocabulary) {
        return refused(RequestError::UnknownToken { id, vocabulary });
    }
    if tokens.len() > limit as usize {
        let asked = u32::try_from(tokens.len()).unwrap_or(u32::MAX);
        return refused(RequestError::BadContext { asked, limit });
    }
    if arguments.mtp && !config.next_token {
        return refused(RequestError::NoNextTokenBlock);
    }
    Ok(Job { tokens, positions, file })
}

/// The positions that are written.
struct Positions {
    start: usize,
    end: usize,
    every: usize,
}

impl Positions {
    fn contains(&self, position: usize) -> bool {
        (self.start..self.end).contains(&position) && (position - self.start).is_multiple_of(self.every)
    }

    fn len(&self) -> usize {
        (self.end - self.start).div_ceil(self.every)
    }
}

/// Runs the tokens, writes the logits of the positions and gives their routing.
fn record(engine: &mut Engine, job: &Job, arguments: &Arguments, out: &mut Writer) -> Outcome<RecordedRouting> {
    let Job { tokens, positions, .. } = job;
    // The cuts are where chunks end anyway, so that a range has the bytes of a run over all positions.
    let batch = arguments.model.machine.batch as usize;
    let end = positions.end.next_multiple_of(batch).min(tokens.len());
    // The next-token block has keys and values of its own and so has to see every position.
    let start = if arguments.mtp { 0 } else { positions.start / batch * batch };

    let mut session = engine.open(tokens.len() as u32)?;
    if start > 0 {
        engine.ingest(&mut session, &tokens[..start], &mut |_| !interrupt::interrupted())?;
    }
    let config = &engine.model().config;
    let mut recorded = RecordedRouting::new(config.layers, config.experts.used, config.experts.count);
    let failure: RefCell<Option<Box<dyn std::error::Error>>> = RefCell::new(None);
    let mut show_logits = |first: u32, logits: &Logits| {
        let mut failure = failure.borrow_mut();
        for (position, row) in (first as usize..).zip(logits.rows()) {
            if positions.contains(position) && failure.is_none() {
                *failure = write_row(out, row).err();
            }
        }
    };
    let mut show_routing = |first: u32, layer: usize, routing: &Routing| {
        recorded.add(layer, first as usize, positions, routing);
    };
    let mut proceed = |_| failure.borrow().is_none() && !interrupt::interrupted();
    let mut wanted = Wanted { progress: Some(&mut proceed), ..Wanted::default() };
    if arguments.mtp {
        wanted.next_token = Some(&mut show_logits);
    } else {
        wanted.logits = Some(&mut show_logits);
    }
    if arguments.routing.is_some() {
        wanted.routing = Some(&mut show_routing);
    }
    let run = engine.run(&mut session, &tokens[start..end], wanted);
    engine.close(session);
    match failure.into_inner() {
        Some(failure) => Err(failure),
        None => run.map(|_| recorded).map_err(Into::into),
    }
}

fn write_row(out: &mut Writer, row: &[f32]) -> Outcome<()> {
    if row.iter().any(|logit| logit.is_nan()) {
        return Err(Error::NotANumber.into());
    }
    Ok(out.write(row)?)
}

/// The routing of some positions, layer by layer.
struct RecordedRouting {
    used: usize,
    experts: usize,
    ids: Vec<Vec<i32>>,
    logits: Vec<Vec<f32>>,
}

impl RecordedRouting {
    fn new(layers: usize, used: usize, experts: usize) -> RecordedRouting {
        RecordedRouting { used, experts, ids: vec![Vec::new(); layers], logits: vec![Vec::new(); layers] }
    }

    /// How many logits of a row are kept.
    fn kept(&self) -> usize {
        (self.used + 1).min(self.experts)
    }

    /// Adds those rows of a chunk of one layer that are of `positions`.
    fn add(&mut self, layer: usize, first: usize, positions: &Positions, routing: &Routing) {
        let kept = self.kept();
        let rows = routing.ids.chunks_exact(self.used).zip(routing.logits.chunks_exact(self.experts));
        for (position, (ids, logits)) in (first..).zip(rows) {
            if positions.contains(position) {
                self.ids[layer].extend(ids.iter().map(|id| *id as i32));
                let mut sorted = logits.to_vec();
                sorted.sort_unstable_by(|a, b| b.total_cmp(a));
                self.logits[layer].extend_from_slice(&sorted[..kept]);
            }
        }
    }

    fn write(&self, ids: &Path, logits: &Path) -> Result<(), npy::Error> {
        write_layers(ids, &self.ids, self.used)?;
        write_layers(logits, &self.logits, self.kept())
    }
}

/// Writes an array of shape (layers, positions, `width`).
fn write_layers<T: npy::Number>(path: &Path, layers: &[Vec<T>], width: usize) -> Result<(), npy::Error> {
    let positions = layers.first().map_or(0, Vec::len) / width;
    let mut out = Writer::create::<T>(path, &[layers.len(), positions, width])?;
    layers.iter().try_for_each(|layer| out.write(layer))?;
    out.finish()
}

fn parse_range(text: &str) -> Result<Range<usize>, String> {
    let expected = "expected two numbers A..B with A below B, such as 0..100";
    let (start, end) = text.split_once("..").ok_or(expected)?;
    match (start.parse(), end.parse()) {
        (Ok(start), Ok(end)) if start < end => Ok(start..end),
        _ => Err(expected.into()),
    }
}

//! `redlite-engine logits`: what a model makes of every position of a list of tokens.

use super::files::{read_tokens, remove_older};
use super::model::ModelArguments;
use super::{Outcome, Usage};
use clap::Args;
use redlite::backend::{Logits, Routing};
use redlite::engine::{Engine, Wanted};
use redlite::npy::{self, Writer};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Writes the logits of every position of a list of tokens
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    model: ModelArguments,

    /// A text file of token ids, separated by white space
    #[arg(long, value_name = "FILE")]
    tokens: PathBuf,

    /// Where the logits go: float32 of shape (positions, vocabulary)
    ///
    /// An older file of this name is removed at the start, and the new one appears when it is whole.
    #[arg(long, value_name = "OUT.npy")]
    out: PathBuf,

    /// Only the positions from A up to, not including, B [default: all]
    #[arg(long, value_name = "A..B", value_parser = parse_range)]
    positions: Option<Range<usize>>,

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
    let routing_paths = arguments.routing.as_deref().map(|ids| (ids, ids.with_extension("logits.npy")));
    let mut outputs = vec![arguments.out.as_path()];
    if let Some((ids, logits)) = &routing_paths {
        outputs.extend([*ids, logits]);
    }
    let inputs: Vec<&Path> = arguments.model.model.iter().chain([&arguments.tokens]).map(PathBuf::as_path).collect();
    remove_older(&outputs, &inputs)?;

    let tokens = read_tokens(&arguments.tokens)?;
    let positions = arguments.positions.clone().unwrap_or(0..tokens.len());
    if positions.end > tokens.len() {
        let (start, end) = (positions.start, positions.end);
        return Err(Usage(format!("--positions {start}..{end} of {} tokens", tokens.len())).into());
    }
    let file = arguments.model.open()?;
    let mut engine = arguments.model.load(file, tokens.len(), arguments.mtp)?;
    let mut out = Writer::create::<f32>(&arguments.out, &[positions.len(), engine.model().config.vocabulary])?;
    let recorded = record(&mut engine, &tokens, &positions, arguments, &mut out)?;
    out.finish()?;
    if let Some((ids, logits)) = routing_paths {
        recorded.write(ids, &logits)?;
    }
    Ok(())
}

/// Runs the tokens, writes the logits of `positions` and gives their routing.
fn record(
    engine: &mut Engine,
    tokens: &[u32],
    positions: &Range<usize>,
    arguments: &Arguments,
    out: &mut Writer,
) -> Outcome<RecordedRouting> {
    // The cuts are where chunks end anyway, so that a range has the bytes of a run over all positions.
    let batch = arguments.model.batch as usize;
    let end = positions.end.next_multiple_of(batch).min(tokens.len());
    // The next-token block has keys and values of its own and so has to see every position.
    let start = if arguments.mtp { 0 } else { positions.start / batch * batch };

    let mut session = engine.open(tokens.len() as u32)?;
    if start > 0 {
        engine.ingest(&mut session, &tokens[..start], &mut |_| true)?;
    }
    let config = &engine.model().config;
    let mut recorded = RecordedRouting::new(config.layers, config.experts.used, config.experts.count);
    let mut written = Ok(());
    let mut show_logits = |first: u32, logits: &Logits| {
        for (position, row) in (first as usize..).zip(logits.rows()) {
            if positions.contains(&position) && written.is_ok() {
                written = out.write(row);
            }
        }
    };
    let mut show_routing = |first: u32, layer: usize, routing: &Routing| {
        recorded.add(layer, first as usize, positions, routing);
    };
    let mut wanted = Wanted::default();
    if arguments.mtp {
        wanted.next_token = Some(&mut show_logits);
    } else {
        wanted.logits = Some(&mut show_logits);
    }
    if arguments.routing.is_some() {
        wanted.routing = Some(&mut show_routing);
    }
    engine.run(&mut session, &tokens[start..end], wanted)?;
    engine.close(session);
    written?;
    Ok(recorded)
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
    fn add(&mut self, layer: usize, first: usize, positions: &Range<usize>, routing: &Routing) {
        let kept = self.kept();
        let rows = routing.ids.chunks_exact(self.used).zip(routing.logits.chunks_exact(self.experts));
        for (position, (ids, logits)) in (first..).zip(rows) {
            if positions.contains(&position) {
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

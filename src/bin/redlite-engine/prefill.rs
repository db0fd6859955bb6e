//! `redlite-engine prefill`: a prompt taken in by chunks against the same prompt token by token.

use super::Outcome;
use super::files::read_tokens;
use super::model::ModelArguments;
use super::parity::{LimitArguments, figures, one, verdict, within};
use super::run::{all_logits, shape};
use clap::Args;
use redlite::backend::Logits;
use redlite::cli::print;
use redlite::engine::{BackendKind, Engine};
use redlite::parity::{Summary, compare};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Compares a prompt taken in by chunks of --batch with the same prompt token by token
///
/// Each way runs in a session of its own. Compared are the last position as `generate` computes it, where no other
/// has logits, and all positions. The rates are of tokens a second. Exits with 1 where the two differ by more than
/// the limits; without any, --max-abs is 1e-3 and --mean-kl 3e-3.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    model: ModelArguments,

    /// A text file of token ids, separated by white space
    #[arg(long, value_name = "FILE")]
    tokens: PathBuf,

    /// Also compare with the CPU reference
    #[arg(long)]
    reference: bool,

    #[command(flatten)]
    limits: LimitArguments,
}

/// Compares, prints and says whether the differences are within the limits.
pub fn run(arguments: &Arguments) -> Outcome<bool> {
    let tokens = read_tokens(&arguments.tokens)?;
    let file = arguments.model.open()?;
    let mut engine = arguments.model.load(file.clone(), tokens.len(), false, &|| true)?;
    let backend = engine.capabilities().name;
    let (batch, count) = (arguments.model.machine.batch, tokens.len());

    let (last, chunked_time) = last_position(&mut engine, &tokens)?;
    let chunked = all_logits(&mut engine, &tokens)?;
    let (stepped, stepped_time) = token_by_token(&mut engine, &tokens)?;
    drop(engine);
    print(format!("{backend}, {count} tokens in chunks of {batch}: {:.2} tok/s\n", rate(count, chunked_time)))?;
    print(format!("{backend}, {count} tokens one by one: {:.2} tok/s\n", rate(count, stepped_time)))?;

    let mut summaries = vec![
        show("last position against token by token", &last_row(&stepped), &last)?,
        show("all positions against token by token", &stepped, &chunked)?,
    ];
    if arguments.reference {
        let mut reference = arguments.model.machine.load(file, BackendKind::Reference, count, false, &|| true)?;
        let start = Instant::now();
        let expected = all_logits(&mut reference, &tokens)?;
        let name = reference.capabilities().name;
        print(format!("{name}, with the logits of all positions: {:.2} tok/s\n", rate(count, start.elapsed())))?;

        summaries.push(show("last position against the reference", &last_row(&expected), &last)?);
        summaries.push(show("all positions against the reference", &expected, &chunked)?);
    }
    let limits = arguments.limits.limits();
    let worst = |value: fn(&Summary) -> f64| summaries.iter().map(value).fold(0.0, f64::max);
    let (max_abs, mean_kl) = (worst(|summary| summary.worst_max_abs), worst(|summary| summary.mean_kl));
    print(format!("worst max abs {max_abs:.3e}, worst mean KL {mean_kl:.3e}; {}\n", verdict(&summaries, &limits)))?;
    Ok(within(&summaries, &limits))
}

/// The logits of the last position, by a prefill as `generate` does it, and its time.
fn last_position(engine: &mut Engine, tokens: &[u32]) -> Outcome<(Logits, Duration)> {
    let vocabulary = engine.model().config.vocabulary;
    let mut session = engine.open(u32::try_from(tokens.len())?)?;
    let start = Instant::now();
    let values = engine.ingest(&mut session, tokens, &mut |_| true)?;
    let time = start.elapsed();
    engine.close(session);
    Ok((Logits { vocabulary, values }, time))
}

/// The logits of all positions, each by a step, and the time of all steps.
fn token_by_token(engine: &mut Engine, tokens: &[u32]) -> Outcome<(Logits, Duration)> {
    let vocabulary = engine.model().config.vocabulary;
    let mut values = Vec::with_capacity(tokens.len() * vocabulary);
    let mut session = engine.open(u32::try_from(tokens.len())?)?;
    let mut time = Duration::ZERO;
    for token in tokens {
        let start = Instant::now();
        let logits = engine.step(&mut session, *token)?;
        time += start.elapsed();
        values.extend(logits);
    }
    engine.close(session);
    Ok((Logits { vocabulary, values }, time))
}

/// Compares and prints a line.
fn show(what: &str, expected: &Logits, found: &Logits) -> Outcome<Summary> {
    let differences = compare((&shape(expected), &expected.values), (&shape(found), &found.values))?;
    let summary = Summary::of(&differences);
    let text = match differences.as_slice() {
        [single] => one(single),
        _ => figures(&summary),
    };
    print(format!("{what}: {text}\n"))?;
    Ok(summary)
}

fn rate(tokens: usize, time: Duration) -> f64 {
    tokens as f64 / time.as_secs_f64().max(f64::MIN_POSITIVE)
}

fn last_row(logits: &Logits) -> Logits {
    Logits { vocabulary: logits.vocabulary, values: logits.last().to_vec() }
}

//! `redlite-engine perplexity`: how well a model predicts a text.

use super::files::{read_text, read_tokens};
use super::model::ModelArguments;
use super::{Outcome, Usage};
use clap::Args;
use redlite::backend::Logits;
use redlite::cli::print;
use redlite::engine::{Engine, Wanted};
use redlite::error::Error;
use redlite::parity::log_probability;
use redlite::tokenizer::{Special, Tokenizer};
use std::cell::Cell;
use std::path::PathBuf;

/// Measures how well a model predicts a text
///
/// The text is cut into full windows; what is left over is not used. Each window starts from an empty state, its
/// first half is context, and the second half is predicted token by token. The perplexity is the exponential of the
/// mean negative log-likelihood.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    model: ModelArguments,

    /// The text; what looks like a control token is text
    #[arg(long, value_name = "TEXT", required_unless_present = "tokens", conflicts_with = "tokens")]
    file: Option<PathBuf>,

    /// Token ids separated by white space or commas, instead of a text
    #[arg(long, value_name = "FILE")]
    tokens: Option<PathBuf>,

    /// Tokens of a window
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(4..))]
    window: u32,
}

pub fn run(arguments: &Arguments) -> Outcome<()> {
    let file = arguments.model.open()?;
    let tokens = match (&arguments.file, &arguments.tokens) {
        (Some(path), _) => Tokenizer::from_metadata(file.metadata())?.encode(&read_text(path)?, Special::Text)?,
        (None, Some(path)) => read_tokens(path)?,
        (None, None) => return Err(Usage("give a text with --file".into()).into()),
    };
    let window = arguments.window as usize;
    let windows = tokens.len() / window;
    if windows == 0 {
        return Err(format!("the text has {} tokens; a window takes {window}", tokens.len()).into());
    }
    let mut engine = arguments.model.load(file, window, false, &|| true)?;
    let (mut total, mut predictions) = (0.0, 0);
    for (number, tokens) in (1..).zip(tokens.chunks_exact(window)) {
        let log_probabilities = predict_second_half(&mut engine, tokens)?;
        let sum: f64 = log_probabilities.iter().sum();
        total += sum;
        predictions += log_probabilities.len();
        let own = (-sum / log_probabilities.len() as f64).exp();
        let so_far = (-total / predictions as f64).exp();
        print(format!("window {number} of {windows}: {own:.4}, so far {so_far:.4}\n"))?;
    }
    let perplexity = (-total / predictions as f64).exp();
    print(format!("perplexity {perplexity:.4} ({predictions} predictions in {windows} windows of {window} tokens)\n"))?;
    Ok(())
}

/// The log-probabilities that the model gives to the tokens after the middle one, from an empty state.
fn predict_second_half(engine: &mut Engine, tokens: &[u32]) -> Outcome<Vec<f64>> {
    let half = tokens.len() / 2;
    let mut session = engine.open(tokens.len() as u32)?;
    engine.ingest(&mut session, &tokens[..half], &mut |_| true)?;
    let mut log_probabilities = Vec::with_capacity(half);
    let numbers = Cell::new(true);
    let mut show = |first: u32, logits: &Logits| {
        numbers.set(numbers.get() && !logits.values.iter().any(|logit| logit.is_nan()));
        let next = &tokens[first as usize + 1..];
        log_probabilities.extend(logits.rows().zip(next).map(|(logits, token)| log_probability(logits, *token)));
    };
    let wanted = Wanted { logits: Some(&mut show), progress: Some(&mut |_| numbers.get()), ..Wanted::default() };
    let run = engine.run(&mut session, &tokens[half..], wanted);
    engine.close(session);
    if !numbers.get() {
        return Err(Error::NotANumber.into());
    }
    run?;
    Ok(log_probabilities)
}

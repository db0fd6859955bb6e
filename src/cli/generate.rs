//! `redlite generate`.

use super::progress::{self, Stage};
use super::prompt::{Source, token_ids};
use super::{Failure, interrupt, model, output};
use crate::chat::{ChatTemplate, Message, RenderOptions};
use crate::embedded;
use crate::engine::sampling::{Sampler, SamplingOptions};
use crate::engine::{Engine, LoadOptions};
use crate::error::{Error, RequestError};
use crate::generation::{self, Event, Finish, Limits, Outcome, Work};
use crate::gguf::Gguf;
use crate::model::Model;
use crate::tokenizer::{Special, Tokenizer};
use serde_json::json;
use std::io::IsTerminal;
use std::num::NonZero;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// The context where none is asked for and the model has a longer one.
pub(super) const DEFAULT_CONTEXT: u32 = 32_768;

/// What `generate` is asked to do.
#[derive(Clone, Debug)]
pub struct GenerateOptions {
    /// The model file; the embedded model where absent.
    pub model: Option<PathBuf>,
    /// Where the prompt comes from.
    pub prompt: Source,
    /// What the prompt is.
    pub form: PromptForm,
    /// When to end.
    pub limits: Limits,
    /// Tokens of context.
    pub context: Option<u32>,
    /// How to choose, where it differs from what the model recommends.
    pub sampling: SamplingChanges,
    /// The seed; a new one where absent.
    pub seed: Option<u64>,
    /// How to use the machine.
    pub machine: LoadOptions,
    /// What to print.
    pub output: Output,
    /// No summary and no progress bar.
    pub quiet: bool,
}

/// What a prompt is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptForm {
    /// Text to be continued.
    Text(Special),
    /// A user's message.
    Chat,
    /// Token ids.
    TokenIds,
}

/// Sampling options that were given.
#[derive(Clone, Copy, Debug, Default)]
#[expect(missing_docs, reason = "the fields are those of SamplingOptions")]
pub struct SamplingChanges {
    pub temperature: Option<f32>,
    pub top_k: Option<usize>,
    pub top_p: Option<f32>,
    pub min_p: Option<f32>,
    pub repeat_penalty: Option<f32>,
    pub presence_penalty: Option<f32>,
    pub frequency_penalty: Option<f32>,
}

impl SamplingChanges {
    /// # Errors
    /// The first option that is out of range.
    pub fn check(&self) -> Result<(), Error> {
        self.applied_to(SamplingOptions::default()).check()
    }

    fn applied_to(&self, options: SamplingOptions) -> SamplingOptions {
        // Whoever asks for the likeliest token gets it, whatever penalties the model recommends.
        let options = if self.temperature == Some(0.0) { options.without_penalties() } else { options };
        SamplingOptions {
            temperature: self.temperature.unwrap_or(options.temperature),
            top_k: self.top_k.unwrap_or(options.top_k),
            top_p: self.top_p.unwrap_or(options.top_p),
            min_p: self.min_p.unwrap_or(options.min_p),
            repeat_penalty: self.repeat_penalty.unwrap_or(options.repeat_penalty),
            presence_penalty: self.presence_penalty.unwrap_or(options.presence_penalty),
            frequency_penalty: self.frequency_penalty.unwrap_or(options.frequency_penalty),
            ..options
        }
    }
}

/// What to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// The text, as it is made.
    Text,
    /// One JSON object at the end.
    Json,
}

/// Everything that is known before the weights are loaded.
struct Job<'a> {
    options: &'a GenerateOptions,
    file: Arc<Gguf>,
    model_name: String,
    tokenizer: Tokenizer,
    prompt: Vec<u32>,
    context: u32,
    sampling: SamplingOptions,
}

/// What came of it.
struct Done {
    outcome: Outcome,
    load: Duration,
    /// The backend's name and device, where it came to that.
    backend: Option<(&'static str, String)>,
}

/// Writes text.
///
/// # Errors
/// The model or the prompt cannot be read or used, or the output cannot be written. Ctrl-C is no error.
pub fn run(options: &GenerateOptions) -> Result<(), Failure> {
    let job = prepare(options)?;
    log::info!("{}", in_words(&job.sampling));
    // Only now, so that Ctrl-C ends a command that still waits for its prompt.
    interrupt::watch();
    let done = job.run()?;
    match options.output {
        Output::Text if std::io::stdout().is_terminal() && !done.outcome.text.ends_with('\n') => output::print("\n")?,
        Output::Text => {}
        Output::Json => output::print_json(&job.report(&done))?,
    }
    if !options.quiet {
        output::report(&summary(job.prompt.len(), &done.outcome));
    }
    Ok(())
}

/// Reads file and prompt, and refuses what cannot work before any weights are loaded.
fn prepare(options: &GenerateOptions) -> Result<Job<'_>, Failure> {
    let file = Arc::new(model::open(options.model.as_deref())?);
    let model = Model::open(file.clone())?;
    let tokenizer = Tokenizer::from_metadata(file.metadata())?;
    let recommended = match options.model {
        Some(_) => generation::recommended_sampling(&file)?,
        None => embedded::sampling(),
    };
    let seed = options.seed.unwrap_or_else(new_seed);
    let sampling = SamplingOptions { seed, ..options.sampling.applied_to(recommended) };
    sampling.check()?;

    let limit = model.config.context_length;
    let context = options.context.unwrap_or(limit.min(DEFAULT_CONTEXT));
    if context > limit {
        return Err(RequestError::BadContext { asked: context, limit }.into());
    }
    let prompt = prompt_tokens(options, &file, &tokenizer)?;
    if prompt.is_empty() {
        return Err(Failure::EmptyPrompt { what: options.prompt.name() });
    }
    if prompt.len() > context as usize {
        return Err(Failure::PromptTooLong { tokens: prompt.len(), context, limit });
    }
    let vocabulary = model.config.vocabulary;
    if let Some(&id) = prompt.iter().find(|id| **id as usize >= vocabulary) {
        return Err(RequestError::UnknownToken { id, vocabulary }.into());
    }
    let model_name = model.config.name.clone();
    Ok(Job { options, file, model_name, tokenizer, prompt, context, sampling })
}

fn prompt_tokens(options: &GenerateOptions, file: &Gguf, tokenizer: &Tokenizer) -> Result<Vec<u32>, Failure> {
    let text = options.prompt.read()?;
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let mut ids = match options.form {
        PromptForm::TokenIds => return token_ids(&text, || options.prompt.name()),
        PromptForm::Text(special) => tokenizer.encode(&text, special)?,
        PromptForm::Chat => {
            let template = file.metadata().str("tokenizer.chat_template")?;
            let template = template.ok_or_else(|| Failure::NoChatTemplate { model: file.name().to_owned() })?;
            let options = RenderOptions { add_generation_prompt: true, ..RenderOptions::default() };
            ChatTemplate::new(template)?.render_tokens(tokenizer, &[Message::new("user", text)], &options)?
        }
    };
    if let Some(begin) = tokenizer.begin()
        && tokenizer.add_begin()
        && ids.first() != Some(&begin)
    {
        ids.insert(0, begin);
    }
    Ok(ids)
}

/// A seed that no earlier run had.
fn new_seed() -> u64 {
    // JSON readers that hold numbers in floating point keep 53 bits exactly.
    const KEPT_BY_JSON: u64 = (1 << 53) - 1;
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    // Fibonacci hashing: the clock's low bits, which differ most, reach all bits of the seed.
    let mixed = (since_1970.as_nanos() as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed >> 7) & KEPT_BY_JSON
}

impl Job<'_> {
    fn run(&self) -> Result<Done, Failure> {
        let start = Instant::now();
        let engine = self.load();
        let load = start.elapsed();
        let mut engine = match engine {
            Err(Error::Cancelled) => return Ok(Done { outcome: Outcome::interrupted(), load, backend: None }),
            engine => engine?,
        };
        let backend = engine.capabilities();
        let backend = Some((backend.name, backend.device.clone()));
        Ok(Done { outcome: self.generate(&mut engine)?, load, backend })
    }

    fn load(&self) -> Result<Engine, Error> {
        let machine = &self.options.machine;
        let bar = progress::bar(Stage::Loading, 0, self.options.quiet);
        let threads = machine.threads.map(useful_threads);
        let options = LoadOptions { context: self.context, threads, ..machine.clone() };
        let engine = Engine::load(self.file.clone(), &options, &|progress| {
            bar.set_length(progress.total);
            bar.set_position(progress.read);
            !interrupt::interrupted()
        });
        bar.finish_and_clear();
        engine
    }

    fn generate(&self, engine: &mut Engine) -> Result<Outcome, Failure> {
        let mut session = engine.open(self.context)?;
        let mut sampler = Sampler::new(self.sampling.clone())?;
        let bar = progress::bar(Stage::Ingesting, self.prompt.len() as u64, self.options.quiet);
        interrupt::explain(!self.options.quiet);
        log::info!("reading the prompt: {}", output::counted(self.prompt.len(), "token"));
        let mut written = Ok(());
        let mut tell = |event: Event| {
            match event {
                Event::Ingested(count) => {
                    bar.set_position(count as u64);
                    if count == self.prompt.len() {
                        bar.finish_and_clear();
                        interrupt::explain(false);
                    }
                }
                Event::Text(text) if self.options.output == Output::Text => written = output::print(text),
                Event::Text(_) | Event::Token(_) => {}
            }
            if written.is_err() || interrupt::interrupted() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        let limits = &self.options.limits;
        let made =
            generation::generate(engine, &mut session, &self.tokenizer, &self.prompt, &mut sampler, limits, &mut tell);
        bar.finish_and_clear();
        engine.close(session);
        written?;
        Ok(made?)
    }

    fn report(&self, done: &Done) -> serde_json::Value {
        let Outcome { text, tokens, finish, ingest, decode } = &done.outcome;
        let sampling = &self.sampling;
        json!({
            "text": text,
            "finish_reason": finish.name(),
            "stop": if let Finish::Stop(stop) = finish { Some(stop) } else { None },
            "end_token": if let Finish::EndToken(token) = finish { Some(token) } else { None },
            "prompt_tokens": self.prompt,
            "tokens": tokens,
            "model": self.model_name,
            "file": self.file.name(),
            "backend": done.backend.as_ref().map(|(name, _)| name),
            "device": done.backend.as_ref().map(|(_, device)| device),
            "context": self.context,
            "batch": self.options.machine.batch,
            "kv_type": self.options.machine.kv_type.name(),
            "seed": sampling.seed,
            "sampling": {
                "temperature": output::json_number(sampling.temperature),
                "top_k": sampling.top_k,
                "top_p": output::json_number(sampling.top_p),
                "min_p": output::json_number(sampling.min_p),
                "repeat_penalty": output::json_number(sampling.repeat_penalty),
                "presence_penalty": output::json_number(sampling.presence_penalty),
                "frequency_penalty": output::json_number(sampling.frequency_penalty),
                "penalty_window": sampling.penalty_window,
            },
            "timings": {
                "load_seconds": done.load.as_secs_f64(),
                "prompt_seconds": ingest.time.as_secs_f64(),
                "prompt_tokens_per_second": ingest.rate(),
                "decode_seconds": decode.time.as_secs_f64(),
                "decode_tokens_per_second": decode.rate(),
            },
        })
    }
}

/// The sampling options for the log.
fn in_words(sampling: &SamplingOptions) -> String {
    let SamplingOptions { temperature, repeat_penalty, presence_penalty, frequency_penalty, penalty_window, .. } =
        sampling;
    let SamplingOptions { top_k, top_p, min_p, seed, .. } = sampling;
    format!(
        "seed {seed}; temperature {temperature}, top-k {top_k}, top-p {top_p}, min-p {min_p}; over the last \
         {penalty_window} tokens repeat penalty {repeat_penalty}, presence penalty {presence_penalty}, frequency \
         penalty {frequency_penalty}"
    )
}

/// At most four threads for each processor: more only take turns, and hundreds of them take many times as long.
fn useful_threads(asked: usize) -> usize {
    let most = 4 * std::thread::available_parallelism().map_or(1, NonZero::get);
    if asked > most {
        log::info!("{most} threads instead of {asked}: four for each processor");
    }
    asked.min(most)
}

/// One line about what was done.
fn summary(prompt: usize, outcome: &Outcome) -> String {
    let rate = |work: &Work| work.rate().map(|rate| format!(" ({rate:.1} tok/s)")).unwrap_or_default();
    let ingested = outcome.ingest.tokens;
    let all = output::counted(prompt, "token");
    let prompt = if ingested == prompt { all } else { format!("{ingested} of {all}") };
    let reason = match &outcome.finish {
        Finish::Length => "reached the limit of -n".to_owned(),
        Finish::Stop(stop) => format!("came to the stop string {}", output::quoted(stop.as_bytes())),
        Finish::EndToken(_) => "the model ended its text".to_owned(),
        Finish::ContextFull => "the context is full; --ctx-size sets its length".to_owned(),
        Finish::Interrupted => "interrupted".to_owned(),
    };
    format!(
        "prompt {prompt}{}, text {}{}: {reason}",
        rate(&outcome.ingest),
        output::counted(outcome.tokens.len(), "token"),
        rate(&outcome.decode)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_says_how_much_how_fast_and_why_it_ended() {
        let outcome = Outcome {
            tokens: vec![1; 9],
            finish: Finish::Stop("\n".into()),
            ingest: Work { tokens: 4, time: Duration::from_millis(10) },
            decode: Work { tokens: 8, time: Duration::from_millis(100) },
            ..Outcome::interrupted()
        };
        let expected = "prompt 4 tokens (400.0 tok/s), text 9 tokens (80.0 tok/s): came to the stop string \"\\n\"";
        assert_eq!(summary(4, &outcome), expected);
        assert_eq!(summary(7, &Outcome::interrupted()), "prompt 0 of 7 tokens, text 0 tokens: interrupted");
        let one = Outcome { tokens: vec![1], ingest: Work { tokens: 1, ..Work::default() }, ..Outcome::interrupted() };
        assert_eq!(summary(1, &one), "prompt 1 token, text 1 token: interrupted");
    }

    #[test]
    fn threads_are_at_most_four_a_processor() {
        assert_eq!(useful_threads(1), 1);
        assert_eq!(useful_threads(4096), useful_threads(usize::MAX));
        assert!(useful_threads(usize::MAX) >= 4);
    }

    #[test]
    fn temperature_zero_takes_the_likeliest_token_whatever_penalties_are_recommended() {
        let recommended = SamplingOptions { repeat_penalty: 1.1, presence_penalty: 0.5, ..SamplingOptions::default() };
        let greedy = SamplingChanges { temperature: Some(0.0), ..SamplingChanges::default() };
        let applied = greedy.applied_to(recommended.clone());
        assert_eq!((applied.repeat_penalty, applied.presence_penalty), (1.0, 0.0));
        let asked = SamplingChanges { repeat_penalty: Some(1.2), ..greedy }.applied_to(recommended.clone());
        assert_eq!((asked.repeat_penalty, asked.presence_penalty), (1.2, 0.0));
        assert_eq!(SamplingChanges::default().applied_to(recommended).repeat_penalty, 1.1);
    }

    #[test]
    fn seeds_survive_readers_that_hold_numbers_in_floating_point() {
        let seed = new_seed();
        assert_eq!((seed as f64) as u64, seed);
    }
}

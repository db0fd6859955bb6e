//! The chat template of a model file, rendered as the Hugging Face library renders it.
//!
//! A template comes from a file that nobody has looked at. Its length is limited, its work is counted in steps, and it
//! is compiled and rendered apart ([`super::apart`]): on a stack that holds the deepest value its steps can build, for
//! a limited time, and with panics of the template engine turned into errors. Two things
//! are not limited: the memory that a single instruction takes before its steps are counted, so that a template can use
//! up the machine's memory within its time, and the depth of a namespace that was made to contain itself, whose
//! printing or comparing ends the program for lack of stack.

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, ErrorKind, Value};
use serde::Serialize;

use super::apart::{self, Stopped};
use super::protect::{Guard, Protection};
use super::{bounded, json, time};
use crate::tokenizer::{self, Fragment, Special, TokenKind, Tokenizer, shortened};

/// Bytes of the longest template; those of published models have less than 20,000.
const LONGEST: usize = 256 << 10;

/// What a template may spend whatever it is given: one unit is an instruction or 64 bytes of text that it makes, so
/// this is also a limit on memory, of 128 MB.
const BUDGET: u64 = 2_000_000;
/// What it may spend on top for each message, and for each byte of the request.
const BUDGET_OF_A_MESSAGE: u64 = 10_000;
const BUDGET_OF_A_BYTE: u64 = 1;
/// What it may spend at most, since the stack has to hold what it can build.
const LARGEST_BUDGET: u64 = 8_000_000;
/// Bytes of stack for each step: a level of nesting takes at least seven steps, and printing one at most 1,000 bytes.
const STACK_OF_A_STEP: u64 = 256;
/// Bytes of stack to compile the longest template, whatever it consists of.
const COMPILING_STACK: usize = 1 << 30;

/// A compiled chat template.
#[derive(Debug)]
pub struct ChatTemplate {
    source: String,
    environment: Environment<'static>,
}

/// One message of a conversation. What is `None` does not exist for the template.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Message {
    /// Who speaks: `system`, `user`, `assistant` or `tool`.
    pub role: String,
    /// What is said.
    pub content: String,
    /// What a thinking model thought before its answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_content: Option<String>,
    /// The calls an assistant made, in the API's form: `[{"type": "function", "function": {"name": ..}}, ..]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<serde_json::Value>,
    /// The call that a tool answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// The speaker's or the tool's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl Message {
    /// A message with a text and nothing else.
    pub fn new(role: impl Into<String>, content: impl Into<String>) -> Message {
        Message { role: role.into(), content: content.into(), ..Message::default() }
    }
}

/// What a template is given beside the messages.
#[derive(Clone, Debug, Default)]
pub struct RenderOptions {
    /// End with the beginning of the assistant's turn.
    pub add_generation_prompt: bool,
    /// The tools on offer, in the API's form: a list of functions.
    pub tools: Option<serde_json::Value>,
    /// The text of the begin-of-sequence token (`bos_token`); [`ChatTemplate::render_tokens`] knows it.
    pub begin_token: Option<String>,
    /// The text of the end-of-sequence token (`eos_token`); [`ChatTemplate::render_tokens`] knows it.
    pub end_token: Option<String>,
    /// Further variables, such as `enable_thinking`.
    pub extra: serde_json::Map<String, serde_json::Value>,
}

/// Why a template or a rendering failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The template is not valid Jinja.
    #[error("the chat template is not valid{}: {message}", at_line(*line))]
    Syntax {
        /// The line of the template, from 1.
        line: Option<usize>,
        /// What is wrong there.
        message: String,
    },
    /// The template called `raise_exception`.
    #[error("the chat template refuses these messages: {message}")]
    Refused {
        /// The template's own words.
        message: String,
    },
    /// The template did too much.
    #[error(
        "the chat template was stopped after {budget} steps{}: it does not end, or makes far more text than it is given",
        at_line(*line)
    )]
    Endless {
        /// The line of the template, from 1.
        line: Option<usize>,
        /// The steps it was granted; 64 bytes of text are a step, too.
        budget: u64,
    },
    /// The template took too long.
    #[error(
        "the chat template was stopped after {seconds} seconds: it does not end, or makes far more than it is given"
    )]
    TooSlow {
        /// The seconds it was granted.
        seconds: u64,
    },
    /// The template is too long.
    #[error("the chat template has {found} bytes, where at most {limit} are supported")]
    TooLong {
        /// Its bytes.
        found: usize,
        /// The bytes of the longest.
        limit: usize,
    },
    /// Something else went wrong while rendering.
    #[error("the chat template failed{}: {message}", at_line(*line))]
    Failed {
        /// The line of the template, from 1.
        line: Option<usize>,
        /// What went wrong.
        message: String,
    },
    /// The messages use all characters by which user text is kept apart.
    #[error("the messages contain every private-use character of Unicode; one has to be left over")]
    NoCharacterLeft,
    /// The template rendered to nothing, so that a model has nothing to continue.
    #[error("the chat template makes no text of these messages")]
    NoText,
    /// The rendered text cannot be encoded.
    #[error(transparent)]
    Tokenizer(#[from] tokenizer::Error),
}

fn at_line(line: Option<usize>) -> String {
    line.map(|line| format!(" at line {line}")).unwrap_or_default()
}

impl ChatTemplate {
    /// Compiles a template.
    ///
    /// # Errors
    /// [`Error::Syntax`] with the line; a template that is too long.
    pub fn new(source: &str) -> Result<ChatTemplate, Error> {
        if source.len() > LONGEST {
            return Err(Error::TooLong { found: source.len(), limit: LONGEST });
        }
        let template = source.to_owned();
        apart::run(COMPILING_STACK, move || ChatTemplate::compile(template))?
    }

    fn compile(source: String) -> Result<ChatTemplate, Error> {
        let failed = |error: minijinja::Error| Error::Syntax { line: error.line(), message: describe(&error) };
        let mut environment = Environment::new();
        environment.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build().map_err(failed)?);
        environment.set_unknown_method_callback(bounded::method);
        environment.add_function("range", bounded::range);
        environment.add_filter("tojson", json::tojson);
        environment.add_function("raise_exception", raise_exception);
        environment.add_function("strftime_now", time::strftime_now);
        environment.add_template_owned(NAME, source.clone()).map_err(failed)?;
        Ok(ChatTemplate { source, environment })
    }

    /// The template's text.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The text of a conversation.
    ///
    /// In this text, what a message says and what the template says cannot be told apart any more; for a model use
    /// [`ChatTemplate::render_tokens`].
    ///
    /// # Errors
    /// What the template refuses, where it fails, and a template that does not end.
    pub fn render(&self, messages: &[Message], options: &RenderOptions) -> Result<String, Error> {
        let messages_value = json_of(messages);
        let extra = serde_json::Value::Object(options.extra.clone());
        let bytes = [Some(&messages_value), Some(&extra), options.tools.as_ref()];
        let bytes: usize = bytes.into_iter().flatten().map(|value| value.to_string().len()).sum();
        let budget = BUDGET + BUDGET_OF_A_MESSAGE * messages.len() as u64 + BUDGET_OF_A_BYTE * bytes as u64;
        let budget = budget.min(LARGEST_BUDGET);

        let entries = options.extra.iter();
        let mut variables: Vec<(String, Value)> =
            entries.map(|(name, value)| (name.clone(), template_value(value))).collect();
        let mut set = |name: &str, value: Value| variables.push((name.to_owned(), value));
        set("messages", template_value(&messages_value));
        // As with Hugging Face, what is not there is none and not undefined.
        set("tools", options.tools.as_ref().map_or(Value::from(()), template_value));
        set("documents", Value::from(()));
        set("add_generation_prompt", Value::from(options.add_generation_prompt));
        for (name, token) in [("bos_token", &options.begin_token), ("eos_token", &options.end_token)] {
            if let Some(token) = token {
                set(name, Value::from(token));
            }
        }

        let mut environment = self.environment.clone();
        environment.set_fuel(Some(budget));
        apart::run((budget * STACK_OF_A_STEP) as usize, move || {
            let failed = |error: minijinja::Error| failure(&error, budget);
            let template = environment.get_template(NAME).map_err(failed)?;
            template.render(Value::from_pairs(variables)).map_err(failed)
        })?
    }

    /// The tokens of a conversation. Control tokens come from the template alone: where a message, a tool or a
    /// variable contains the text of a special token, it stays text. An assistant's text may contain user-defined
    /// tokens such as `<think>`, since it was made of them.
    ///
    /// # Errors
    /// As [`ChatTemplate::render`], a text that is empty, and what the tokenizer cannot encode.
    pub fn render_tokens(
        &self,
        tokenizer: &Tokenizer,
        messages: &[Message],
        options: &RenderOptions,
    ) -> Result<Vec<u32>, Error> {
        let specials = tokenizer.special_tokens();
        let specials = specials.map(|(_, text, kind)| (text.to_owned(), kind != TokenKind::UserDefined)).collect();
        let extra = serde_json::Value::Object(options.extra.clone());
        let tools = options.tools.clone().unwrap_or_default();
        let used = [&json_of(messages), &extra, &tools].map(serde_json::Value::to_string);
        let used = [&self.source, &used[0], &used[1], &used[2]].map(String::as_str);
        let protection = Protection::new(specials, &used).ok_or(Error::NoCharacterLeft)?;

        let messages: Vec<Message> = messages.iter().map(|message| protected(message, &protection)).collect();
        let token_text = |id: Option<u32>| id.and_then(|id| tokenizer.text(id)).map(str::to_owned);
        let options = RenderOptions {
            add_generation_prompt: options.add_generation_prompt,
            tools: options.tools.as_ref().map(|tools| protected_json(tools, &protection)),
            begin_token: options.begin_token.clone().or_else(|| token_text(tokenizer.begin())),
            end_token: options.end_token.clone().or_else(|| token_text(tokenizer.end())),
            extra: protected_entries(&options.extra, &protection),
        };

        let text = self.render(&messages, &options)?;
        if text.is_empty() {
            return Err(Error::NoText);
        }
        let mut ids = Vec::new();
        for fragment in tokenizer.fragments(&text) {
            match fragment {
                Fragment::Token(id) => ids.push(id),
                Fragment::Text(text) => ids.extend(tokenizer.encode(&protection.restore(text), Special::Text)?),
            }
        }
        Ok(ids)
    }
}

/// What the template is called inside its environment.
const NAME: &str = "chat";

/// Characters of a message from a template that are shown.
const MESSAGE_SHOWN: usize = 500;

impl From<Stopped> for Error {
    fn from(stopped: Stopped) -> Error {
        match stopped {
            Stopped::TooSlow { seconds } => Error::TooSlow { seconds },
            Stopped::Failed { message } => Error::Failed { line: None, message },
        }
    }
}

/// The words of a template that refuses its messages, inside the engine's error.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Raised(String);

fn raise_exception(message: String) -> Result<Value, minijinja::Error> {
    Err(minijinja::Error::new(ErrorKind::InvalidOperation, "the template refuses").with_source(Raised(message)))
}

fn failure(error: &minijinja::Error, budget: u64) -> Error {
    let mut source: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(cause) = source {
        if let Some(Raised(message)) = cause.downcast_ref() {
            return Error::Refused { message: shortened(message, MESSAGE_SHOWN) };
        }
        if cause.downcast_ref().is_some_and(|cause: &minijinja::Error| cause.kind() == ErrorKind::OutOfFuel) {
            return Error::Endless { line: error.line(), budget };
        }
        source = cause.source();
    }
    Error::Failed { line: error.line(), message: describe(error) }
}

/// The engine's own words, without the place, and those of its causes.
fn describe(error: &minijinja::Error) -> String {
    let mut text = match error.detail() {
        Some(detail) => format!("{}: {detail}", error.kind()),
        None => error.kind().to_string(),
    };
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text += &format!(": {cause}");
        source = cause.source();
        if text.len() > 4 * MESSAGE_SHOWN {
            break;
        }
    }
    shortened(&text, MESSAGE_SHOWN)
}

fn json_of(messages: &[Message]) -> serde_json::Value {
    // Strings and JSON values become JSON without fail.
    serde_json::to_value(messages).unwrap_or_default()
}

fn template_value(value: &serde_json::Value) -> Value {
    match value {
        serde_json::Value::Null => Value::from(()),
        serde_json::Value::Bool(value) => Value::from(*value),
        serde_json::Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(integer), _) => Value::from(integer),
            (None, Some(integer)) => Value::from(integer),
            (None, None) => Value::from(number.as_f64().unwrap_or(f64::NAN)),
        },
        serde_json::Value::String(text) => Value::from(text),
        serde_json::Value::Array(items) => items.iter().map(template_value).collect(),
        serde_json::Value::Object(entries) => {
            Value::from_pairs(entries.iter().map(|(key, value)| (key.as_str(), template_value(value))))
        }
    }
}

fn protected(message: &Message, protection: &Protection) -> Message {
    let guard = if message.role == "assistant" { Guard::Control } else { Guard::All };
    let all = |text: &String| protection.protect(text, Guard::All);
    Message {
        role: all(&message.role),
        content: protection.protect(&message.content, guard),
        reasoning_content: message.reasoning_content.as_ref().map(|text| protection.protect(text, guard)),
        tool_calls: message.tool_calls.as_ref().map(|calls| protected_json(calls, protection)),
        tool_call_id: message.tool_call_id.as_ref().map(all),
        name: message.name.as_ref().map(all),
    }
}

fn protected_json(value: &serde_json::Value, protection: &Protection) -> serde_json::Value {
    match value {
        serde_json::Value::String(text) => protection.protect(text, Guard::All).into(),
        serde_json::Value::Array(items) => items.iter().map(|item| protected_json(item, protection)).collect(),
        serde_json::Value::Object(entries) => protected_entries(entries, protection).into(),
        other => other.clone(),
    }
}

fn protected_entries(
    entries: &serde_json::Map<String, serde_json::Value>,
    protection: &Protection,
) -> serde_json::Map<String, serde_json::Value> {
    let entries = entries.iter();
    entries.map(|(key, value)| (protection.protect(key, Guard::All), protected_json(value, protection))).collect()
}

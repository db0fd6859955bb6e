//! Conversations: from messages to the text and the tokens a model was trained on.

mod json;
mod protect;
mod template;
mod time;

pub use template::{ChatTemplate, Error, Message, RenderOptions};

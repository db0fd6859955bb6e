//! Conversations: from messages to the text and the tokens a model was trained on.

mod apart;
mod bounded;
mod json;
mod protect;
mod template;
mod time;

pub use apart::TEMPLATE_THREAD;
pub use template::{ChatTemplate, Error, Message, RenderOptions};

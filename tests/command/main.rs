//! The `redlite` command as a user and a shell meet it.

mod command;
mod generate;
mod inspect;
mod models;
mod refusals;
mod signals;
#[path = "../support/mod.rs"]
mod support;
mod synthesize;
mod tokens;

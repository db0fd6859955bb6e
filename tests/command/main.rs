//! The `redlite` command as a user and a shell meet it.

#[path = "../support/adapter.rs"]
mod adapter;
mod command;
mod doctor;
mod generate;
mod inspect;
mod models;
mod refusals;
mod signals;
#[path = "../support/mod.rs"]
mod support;
mod synthesize;
mod tokens;

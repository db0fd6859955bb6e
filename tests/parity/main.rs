//! The engine's numbers, against recordings of llama.cpp and against themselves.

mod command;
mod exact;
mod generation;
mod recording;
mod repacked;
mod reproducible;
mod sequences;
#[path = "../support/mod.rs"]
mod support;
mod trained;

//! The engine's numbers, against recordings of llama.cpp and against themselves.

#[path = "../support/adapter.rs"]
mod adapter;
mod command;
mod compare;
mod exact;
mod generation;
mod recording;
mod repacked;
mod reproducible;
mod sequences;
#[path = "../support/mod.rs"]
mod support;
mod trained;

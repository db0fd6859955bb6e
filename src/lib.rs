//! Red Lite runs very large mixture-of-experts language models in little GPU memory.
//!
//! # Code map, from the lowest layer to the highest
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`quant`] | the table of quantisation types and their decoders |
//! | [`npy`] | arrays of numbers, to compare with other programs |
//! | [`parity`] | how logits differ from another program's |
//! | [`gguf`] | the model file: metadata, tensor directory, positioned reads |
//! | [`tokenizer`] | byte-level BPE from a file's vocabulary, streaming decoder |
//! | [`chat`] | the file's chat template |
//! | [`model`] | hyper-parameters and the checked inventory of tensors |
//! | [`memory`] | the memory plan |
//! | [`error`] | one error type, sorted by who can mend it |
//! | [`synthesize`] | model files of any shape with random weights |
//! | [`backend`] | the seam between scheduler and device, the CPU reference, and the GPU |
//! | [`experts`] | which expert is in which slot |
//! | [`engine`] | sessions, the layer loop, ingest, sampling |
//! | [`bench`](mod@bench) | how fast an engine takes in and makes tokens |
//! | [`embedded`] | the small model that comes with the program |
//! | [`generation`] | text from a prompt: stop strings, reasons to end, timings |
//! | [`cli`] | the `redlite` command |
//!
//! # Layer order
//!
//! A module uses only modules in rows above its own in this table, which are the lower layers;
//! `tests/architecture.rs` keeps it so.

pub mod backend;
pub mod bench;
pub mod chat;
pub mod cli;
pub mod embedded;
pub mod engine;
pub mod error;
pub mod experts;
pub mod generation;
pub mod gguf;
pub mod memory;
pub mod model;
pub mod npy;
pub mod parity;
pub mod quant;
pub mod synthesize;
pub mod tokenizer;

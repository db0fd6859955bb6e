//! The GPU kernels and the GPU backend, against the CPU reference, on whatever adapter the machine has.

#[path = "../support/adapter.rs"]
mod adapter;
mod kernels;
mod launcher;
mod matrices;
mod support;

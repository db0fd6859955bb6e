//! Progress bars on standard error, where that is a terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// What is under way.
#[derive(Clone, Copy)]
pub(super) enum Stage {
    /// Bytes of weights are read.
    Loading,
    /// Tokens of the prompt are taken in.
    Ingesting,
    /// Bytes of a model file are written.
    Writing,
}

/// A bar that is gone once the stage is over. `quiet` hides it.
pub(super) fn bar(stage: Stage, total: u64, quiet: bool) -> ProgressBar {
    // indicatif hides what goes to standard error where that is no terminal.
    let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    let template = match stage {
        Stage::Loading => "loading model  {wide_bar} {binary_bytes}/{binary_total_bytes} {eta}",
        Stage::Writing => "writing {wide_bar} {binary_bytes}/{binary_total_bytes} {binary_bytes_per_sec} {eta}",
        Stage::Ingesting => "reading prompt {wide_bar} {pos}/{len} tokens {eta}",
    };
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::with_draw_target(Some(total), target).with_style(style)
}

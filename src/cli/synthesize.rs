//! `redlite synthesize`.

use super::progress::{self, Stage};
use super::{Failure, interrupt, output};
use crate::memory::Bytes;
use crate::quant::Type;
use crate::synthesize::Plan;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

/// What `synthesize` is asked to do.
#[derive(Clone, Debug)]
pub struct SynthesizeOptions {
    /// The file to be.
    pub plan: Plan,
    /// Where it goes; without, only its sizes are printed.
    pub target: Option<Target>,
    /// No summary and no progress bar.
    pub quiet: bool,
}

/// Where the file goes.
#[derive(Clone, Debug)]
pub struct Target {
    /// Its path.
    pub path: PathBuf,
    /// Whether a file of this name may be lost.
    pub overwrite: bool,
}

/// Writes a model file with random weights, or prints its sizes.
///
/// # Errors
/// The file cannot be written, exists already, or Ctrl-C was pressed: then nothing of it is left.
pub fn run(options: &SynthesizeOptions) -> Result<(), Failure> {
    let plan = &options.plan;
    let Some(target) = &options.target else {
        return output::print(sizes(plan)?);
    };
    interrupt::watch();
    let start = Instant::now();
    let bar = progress::bar(Stage::Writing, plan.tensor_bytes(), options.quiet);
    let written = plan.write_file(&target.path, target.overwrite, &mut |bytes| {
        bar.set_position(bytes);
        !interrupt::interrupted()
    });
    bar.finish_and_clear();
    written?;
    if options.quiet {
        return Ok(());
    }
    let (seconds, bytes) = (start.elapsed().as_secs_f64(), plan.file_bytes()?);
    output::print(format!(
        "{}: {bytes} bytes ({}), {} tensors, {seconds:.1} s ({:.2} GB/s)\n",
        output::printable(&target.path.display().to_string()),
        Bytes(bytes),
        plan.tensors().len(),
        bytes as f64 / 1e9 / seconds
    ))
}

/// Bytes by type, of the experts, and of the file.
fn sizes(plan: &Plan) -> Result<String, Failure> {
    let mut by_type: BTreeMap<Type, (usize, u64)> = BTreeMap::new();
    for tensor in plan.tensors() {
        let (count, bytes) = by_type.entry(tensor.kind).or_default();
        *count += 1;
        *bytes += tensor.bytes;
    }
    let row = |name: &str, tensors: usize, bytes: u64| {
        format!("{name:<8} {tensors:>5} tensors {bytes:>15} bytes {:>12}\n", Bytes(bytes).to_string())
    };
    let mut text: String = by_type.iter().map(|(kind, (count, bytes))| row(kind.name(), *count, *bytes)).collect();
    let experts: Vec<u64> = plan.tensors().iter().filter(|tensor| tensor.is_experts()).map(|t| t.bytes).collect();
    text += &row("experts", experts.len(), experts.iter().sum());
    text += &row("file", plan.tensors().len(), plan.file_bytes()?);
    Ok(text)
}

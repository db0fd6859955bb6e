//! The GPU adapter that tests run on.

use redlite::backend::gpu::device::{adapters, choose};

/// The name of the machine's adapter: hardware where there is any, else software.
///
/// Where there is none, `CI=true` makes that an error; elsewhere the test says that it was not run.
pub fn adapter() -> Option<String> {
    let adapters = adapters();
    let chosen = choose(&adapters, None).or(if adapters.is_empty() { None } else { Some(0) });
    if chosen.is_none() {
        let ci = std::env::var("CI").is_ok_and(|ci| ci == "true");
        assert!(!ci, "no GPU adapter, not even a software one");
        eprintln!("not run on a GPU: this machine has no adapter, not even a software one");
    }
    Some(adapters[chosen?].name.clone())
}

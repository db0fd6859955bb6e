//! What the program says about its work, on standard error.

use log::LevelFilter;

/// Starts logging. `RUST_LOG` decides where it is set, else how often `-v` was given.
pub fn start(verbosity: u8) {
    let level = match verbosity {
        0 => LevelFilter::Warn,
        1 => LevelFilter::Info,
        2 => LevelFilter::Debug,
        _ => LevelFilter::Trace,
    };
    let mut builder = env_logger::Builder::new();
    builder.filter_level(level).format_timestamp_millis().parse_default_env();
    // It fails only where a logger has been set before, which then serves as well.
    let _ = builder.try_init();
}

//! What every higher folder uses: errors, log lines, settings, and the way to end the job for a fatal error.
//!
//! It uses `os` and `sync` only.

pub mod config;
pub mod error;
pub mod fatal;
pub mod log;

pub use fatal::fatal;

//! What the engines need of a job where loom checks them: there are no processes, and no environment.

/// A fatal error fails the model.
pub fn fatal(text: std::fmt::Arguments<'_>) -> ! {
    panic!("{text}")
}

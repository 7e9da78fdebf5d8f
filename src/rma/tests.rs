//! Events through the whole engine.

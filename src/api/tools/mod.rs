//! The functions that `gasnet_tools.h` calls in the library. They work without a job.

pub mod check;
pub mod debug;
pub mod env;
pub mod heap;
pub mod lock;
pub mod sys;
mod text;
pub mod timer;
pub mod trace;

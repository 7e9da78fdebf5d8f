//! The face of `gasnet_tools.h`: what its headers call in the library. It works without a job.

pub mod check;
pub mod debug;
pub mod env;
pub mod heap;
pub mod lock;
pub mod sys;
mod text;
pub mod timer;
pub mod trace;

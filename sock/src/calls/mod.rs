//! libc's calls, as programs make them. Each looks whether the descriptor is ours; if not, it is libc's call and nothing else.

#![allow(clippy::missing_safety_doc)] // what each demands is what libc's function of the same name demands

pub(crate) mod descriptors;
mod inout;
mod messages;
mod net;
mod ready;
mod run;

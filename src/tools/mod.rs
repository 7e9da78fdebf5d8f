//! The parts of the GASNet tools that are not inline in their header; work without a job. Must not know: jobs, segments,
//! messages, C types.

pub mod timer;

//! GASNet-EX: what `gasnetex.h` calls (contract: ex-core.md, ex-rma.md, ex-coll.md). The engines are those of GASNet-1.

pub mod am;
pub mod atomic;
pub mod check;
pub mod coll;
pub mod guest;
pub mod job;
pub mod kind;
pub mod npam;
pub mod rma;
pub mod segment;
pub mod team;

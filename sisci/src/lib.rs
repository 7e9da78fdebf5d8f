//! SISCI without hardware: `libsisci.so` for programs that are written for SCI cards and PCIe non-transparent bridges, between the processes of one
//! host, or of several (docs/sisci.md).
//!
//! 1. A resource that peers reach is a *name*: a socket that one process has bound. The kernel decides who has an id, and takes it back when the
//!    process ends in whatever way. There is no daemon, no file (but sockets in SISCI_DIR), no table that processes share.
//! 2. A connection to a resource is a socket that stays open. Over it comes the memory; its end is the other side's.
//! 3. Loads and stores go to memory that both sides map. Nothing of the library is on their way. With SISCI_TIMING, and
//!    on another host, a peer's memory is a shadow instead (`far`).
//! 4. A connection to another host is one of TCP. A thread of the owner stands in for the caller, as a peer of this host (`agent`): so all else is as
//!    on one host.
//!
//! `api` is what C calls, one file for each chapter of the contract. Below it: `segment`, `map`, `pio` (copies and sequences), `dma` and `flow`, `interrupt`,
//! `message` (interrupts with data), `query`; `survey` (what there is on this host), `library` (start and end), `descriptor` and `handle` (numbers that name all of these); `door` (who comes in), `service` (the
//! thread that looks), `worker` (threads), `calm` (signals), `event`; `memory`, `name`, `state`, `packet`, `report` (what an owner tells), `fault`, `trace`; `far`
//! and `dirty` (shadows), `card` and `model` (timing); `hosts`, `net` (to other hosts), `entry`, `agent` and `watch` (from them); `config`, `constants`, `error`.

mod agent;
pub mod api;
mod calm;
mod card;
mod config;
mod constants;
mod descriptor;
mod dirty;
mod dma;
mod door;
mod entry;
mod error;
mod event;
mod far;
mod fault;
mod flow;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod handle;
mod hosts;
mod interrupt;
mod library;
mod map;
mod memory;
mod message;
mod model;
mod name;
mod nap;
mod net;
mod packet;
mod pio;
mod query;
mod report;
mod segment;
mod service;
mod state;
pub mod survey;
mod trace;
mod watch;
mod worker;

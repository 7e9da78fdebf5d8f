//! Collectives and teams (contract: coll.md).
//!
//! | module | part |
//! |---|---|
//! | `engine` | the engine's state, and the look-ups in it |
//! | `run` | starts a collective: calls the algorithm |
//! | `typed` | the calls of GASNet-EX |
//! | `rooted`, `mutual`, `reduce` | the algorithms, as futures |
//! | `meeting` | barriers without names |
//! | `exchange` | short reductions to all |
//! | `moves`, `recv`, `ways` | bytes between two members |
//! | `cells` | words between members |
//! | `book` | their sequence numbers |
//! | `select` | the choice of the algorithm |
//! | `tree` | trees, which know hosts |
//! | `progress` | polls the collectives under way |
//!
//! With mapped memory, receivers read bytes from the source in its segment, or through the sender's stage. To members on other
//! hosts, and in the reference implementation, words and bytes are Active Messages, and trees and rounds replace direct transfers.
//!
//! Budget of a short blocking broadcast: no allocation, no lock in SEQ, one line stored for each receiver.
//!
//! Must not know: `gasnet_*` names, error codes, processes.

pub mod area;
pub mod audit;
mod book;
pub mod call;
pub mod cells;
pub mod combine;
pub mod description;
mod engine;
mod exchange;
pub mod handlers;
pub mod images;
pub mod landing;
pub mod meeting;
pub mod moves;
pub mod mutual;
pub mod operator;
mod patience;
pub mod phase;
pub mod progress;
pub mod reach;
pub mod recv;
pub mod reduce;
pub mod rooted;
mod run;
pub mod select;
mod setup;
mod short;
pub mod span;
pub mod split;
pub mod stage;
pub mod tasks;
pub mod team;
pub mod tree;
mod typed;
mod ways;

pub use call::{Addresses, Call, Kind, flags};
pub use engine::{ALL, Coll, ImagePlace, Setting};
pub use short::Plain;

//! GASNet-1 as its headers call it: `gasnet_init` to `gasnet_exit`, Active Messages, transfers, VIS and collectives.

pub mod am;
pub mod barrier;
pub mod coll;
pub mod coll_team;
pub mod init;
pub mod query;
pub mod rma;

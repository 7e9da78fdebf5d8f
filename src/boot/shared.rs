//! The exchange through the head of the job's memory on this host. On several hosts the fence brings what the nodes of the others put
//! (`supervise/header/hosts`).

use super::{BootError, Bootstrap, Key, board};
use crate::supervise::{JobHeader, exit};

/// One node of a job that gasnetrun_sci or gasnet_init started, or PMIx on one host.
pub struct Shared {
    header: JobHeader,
    rank: u32,
}

impl Shared {
    /// Node `rank` of the job that `header` belongs to.
    pub fn new(header: JobHeader, rank: u32) -> Shared {
        assert!(rank < header.nodes());
        Shared { header, rank }
    }
}

impl Bootstrap for Shared {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn size(&self) -> u32 {
        self.header.nodes()
    }

    fn put(&self, key: Key, value: &[u8]) -> Result<(), BootError> {
        board::add(self.header.half_to_write(self.rank), self.header.round(), key, value)
    }

    fn get(&self, rank: u32, key: Key, value: &mut [u8]) -> Result<(), BootError> {
        if rank >= self.size() {
            return Err(BootError::Missing { rank, key });
        }
        board::find(self.header.half_to_read(rank), self.header.round().wrapping_sub(1), rank, key, value)
    }

    fn fence(&self) -> Result<(), BootError> {
        self.header.fence();
        Ok(())
    }

    fn abort(&self, code: u8) -> ! {
        exit::at_once(code)
    }
}

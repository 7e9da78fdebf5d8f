//! The exchange between threads of one process, for tests that need a [`Bootstrap`] but no processes.

use super::{BootError, Bootstrap, Key, LIMIT};
use std::collections::HashMap;
use std::panic::resume_unwind;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

type Values = HashMap<Key, Vec<u8>>;

#[derive(Default)]
struct State {
    // By rank: the values of this round, and the values of the round before.
    put: Vec<(Values, usize)>,
    posted: Vec<Values>,
    arrived: u32,
    round: u64,
    aborted: Option<u8>,
}

struct Table {
    size: u32,
    state: Mutex<State>,
    changed: Condvar,
}

/// One node of such a job.
pub struct Memory {
    table: Arc<Table>,
    rank: u32,
}

/// The payload with which a thread that aborts unwinds. It holds the code.
#[derive(Debug)]
pub struct Aborted(pub u8);

impl Memory {
    /// The nodes of a job of `size`, by rank.
    pub fn job(size: u32) -> Vec<Memory> {
        let mut state = State::default();
        state.put.resize_with(size as usize, Default::default);
        state.posted.resize_with(size as usize, Default::default);
        let table = Arc::new(Table { size, state: Mutex::new(state), changed: Condvar::new() });
        (0..size).map(|rank| Memory { table: table.clone(), rank }).collect()
    }

    // A node that panicked has failed its test already, so a poisoned lock is no further error.
    fn state(&self) -> MutexGuard<'_, State> {
        self.table.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Bootstrap for Memory {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn size(&self) -> u32 {
        self.table.size
    }

    fn put(&self, key: Key, value: &[u8]) -> Result<(), BootError> {
        let (values, used) = &mut self.state().put[self.rank as usize];
        let more = 8 + value.len().next_multiple_of(8);
        if *used + more > LIMIT {
            return Err(BootError::Full { key, len: value.len() });
        }
        *used += more;
        values.insert(key, value.to_vec());
        Ok(())
    }

    fn get(&self, rank: u32, key: Key, value: &mut [u8]) -> Result<(), BootError> {
        let state = self.state();
        let found = state.posted.get(rank as usize).and_then(|values| values.get(&key));
        let found = found.ok_or(BootError::Missing { rank, key })?;
        if found.len() != value.len() {
            return Err(BootError::Length { rank, key, is: found.len(), wanted: value.len() });
        }
        value.copy_from_slice(found);
        Ok(())
    }

    fn fence(&self) -> Result<(), BootError> {
        let mut state = self.state();
        state.arrived += 1;
        let round = state.round;
        if state.arrived == self.table.size {
            state.arrived = 0;
            state.round += 1;
            state.posted = state
                .put
                .iter_mut()
                .map(|(values, used)| {
                    *used = 0;
                    std::mem::take(values)
                })
                .collect();
            self.table.changed.notify_all();
        }
        while state.round == round && state.aborted.is_none() {
            state = self.table.changed.wait(state).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
        match state.aborted {
            Some(code) if state.round == round => Err(BootError::Lost(format!("a node has aborted with {code}"))),
            _ => Ok(()),
        }
    }

    fn abort(&self, code: u8) -> ! {
        self.state().aborted.get_or_insert(code);
        self.table.changed.notify_all();
        resume_unwind(Box::new(Aborted(code)))
    }
}

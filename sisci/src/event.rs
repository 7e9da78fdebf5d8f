//! What happens to a segment: peers come and go, owners withdraw. It goes to the program's callback, or waits until somebody asks for it.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::error::{Error, Result};
use crate::name::Deadline;
use crate::nap::Nap;
use crate::worker::Caller;

/// `sci_segment_cb_reason_t`. A connection between hosts has no time in which it is neither up nor lost, so two reasons never come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Reason {
    /// A peer has connected, or this side is connected.
    Connect = 1,
    /// A peer has gone, or the owner has withdrawn the segment.
    Disconnect,
    /// The peer's host gives no sign of life.
    Lost = 5,
}

/// Something that happened.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// What.
    pub reason: Reason,
    /// The peer's node.
    pub node: u32,
    /// This side's adapter.
    pub adapter: u32,
    /// How it went.
    pub status: Error,
}

/// What the program wants to be called with; false ends it.
pub type Callback = Arc<dyn Fn(Event) -> bool + Send + Sync>;

/// Events that are kept until somebody asks; later ones take the place of the last.
const KEPT: usize = 32;

/// The events of one segment.
#[derive(Default)]
pub struct Events {
    state: Mutex<(VecDeque<Event>, bool)>,
    changed: Nap,
    callback: Option<(Callback, Arc<Caller>)>,
}

impl Events {
    /// Events that go to `callback`, or are kept.
    pub fn new(callback: Option<Callback>) -> Events {
        Events { callback: callback.map(|callback| (callback, Arc::default())), ..Events::default() }
    }

    /// Whether they go to a callback.
    pub fn has_callback(&self) -> bool {
        self.callback.is_some()
    }

    /// It happened.
    pub fn push(&self, event: Event) {
        crate::state::say(|| format!("{event:?}"));
        if let Some((callback, caller)) = &self.callback {
            let callback = callback.clone();
            caller.call(Box::new(move || callback(event)));
            return;
        }
        let mut state = self.state.lock();
        if state.0.len() == KEPT {
            state.0.pop_back();
        }
        state.0.push_back(event);
        self.changed.changed();
    }

    /// Takes the oldest event; waits for one. CANCELLED when the segment is gone.
    pub fn wait(&self, deadline: Deadline) -> Result<Event> {
        if self.callback.is_some() {
            return Err(Error::IllegalOperation);
        }
        let mut is_over = false;
        loop {
            let count = {
                let mut state = self.state.lock();
                if state.1 {
                    return Err(Error::Cancelled);
                }
                if let Some(event) = state.0.pop_front() {
                    return Ok(event);
                }
                self.changed.count()
            };
            if is_over {
                return Err(Error::Timeout);
            }
            // One more look when the time is over.
            is_over = !self.changed.sleep(count, deadline);
        }
    }

    /// The segment is going: ends waits.
    pub fn cancel(&self) {
        let mut state = self.state.lock();
        state.1 = true;
        self.changed.changed();
    }

    /// The segment is gone: ends waits, waits for the callback.
    pub fn close(&self) {
        self.cancel();
        if let Some((_, caller)) = &self.callback {
            caller.finish();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::deadline;

    fn event(node: u32) -> Event {
        Event { reason: Reason::Connect, node, adapter: 0, status: Error::Ok }
    }

    #[test]
    fn old_events_stay_and_the_newest_is_kept() {
        let events = Events::new(None);
        (0..100).for_each(|node| events.push(event(node)));
        let nodes: Vec<u32> = (0..KEPT).map(|_| events.wait(deadline(0)).unwrap().node).collect();
        assert_eq!(nodes[..31], (0..31).collect::<Vec<u32>>());
        assert_eq!(nodes[31], 99);
        assert_eq!(events.wait(deadline(0)).unwrap_err(), Error::Timeout);
        events.close();
        assert_eq!(events.wait(None).unwrap_err(), Error::Cancelled);
    }

    #[test]
    fn a_callback_may_end_its_own_segment() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let own: Arc<Mutex<Option<Arc<Events>>>> = Arc::default();
        let events = Arc::new(Events::new(Some({
            let (seen, own) = (seen.clone(), own.clone());
            Arc::new(move |event| {
                seen.lock().push(event.node);
                if event.node == 2 {
                    own.lock().as_ref().unwrap().close();
                }
                true
            })
        })));
        *own.lock() = Some(events.clone());
        (0..5).for_each(|node| events.push(event(node)));
        while seen.lock().len() < 3 {
            std::thread::yield_now();
        }
        events.close();
        assert_eq!(*seen.lock(), [0, 1, 2]);
    }
}

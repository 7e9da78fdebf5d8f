//! The thread that serves the network while the client computes or blocks. It stores what peers have sent and answers their gets, but
//! runs no handlers, so a SEQ client stays one with a single thread of its own.
//!
//! | setting | the thread works |
//! |---|---|
//! | GASNET_SCI_PROGRESS=poll | as long as something of this node waits to be sent or answered, and as often as the wire needs it (`Wire::heartbeat`) |
//! | GASNET_SCI_PROGRESS=thread | always |
//!
//! Something waits when a flood keeps messages back, a contact is being made, or a socket is full. The thread then sends it within
//! about [`TICK`], even if the client never polls again.
//!
//! While client threads look at the network, the thread keeps out of their way.
//!
//! Must not know: what is stored.

use super::{Far, FarSink};
use crate::os::{signal, sys};
use crate::sync::{AtomicU32, Ordering, fence};
use std::io;
use std::thread::Builder;
use std::time::{Duration, Instant};

/// What waits is left to client threads for so long.
const TICK: Duration = Duration::from_millis(1);
/// The longest sleep of a thread that always works, after which it looks for what waits, and at clocks: contacts that take too long,
/// peers that were lost.
const LONGEST: Duration = Duration::from_millis(5);
/// The same for a wire without a descriptor to wait for.
const BLIND: Duration = Duration::from_micros(100);
/// A sleep that ends with a call.
const LONG: Duration = Duration::from_secs(3600);
/// Bytes of its stack.
const STACK: usize = 256 << 10;

/// Wakes the thread when something waits. There is no lock in it: who leaves the job calls as well, and may have interrupted itself here.
#[derive(Default)]
pub(super) struct Call {
    /// 1: the thread was called, and has not found since that nothing waits. It sleeps on this word while it is 0.
    is_called: AtomicU32,
}

impl Call {
    /// Something waits. Said after it can be seen.
    pub(super) fn call(&self) {
        // ORDERING: full fence ↔ the one in `wait`: the thread sees what waits, or this one sees that it was not called.
        fence(Ordering::SeqCst);
        // Relaxed, both: the fence. A thread that is called already is not called again, so a flood has no line that goes to and fro.
        if self.is_called.load(Ordering::Relaxed) == 0 && self.is_called.swap(1, Ordering::Relaxed) == 0 {
            sys::futex_wake_all(&self.is_called);
        }
    }

    /// Returns as soon as `waits` is true, or after `most`. It is asked when callers see that the thread was not called, so nothing that
    /// begins to wait is overlooked.
    fn wait(&self, waits: impl Fn() -> bool, most: Option<Duration>) {
        self.is_called.store(0, Ordering::Relaxed); // Relaxed: the fence
        // ORDERING: full fence ↔ the one in `call`.
        fence(Ordering::SeqCst);
        if waits() {
            self.is_called.store(1, Ordering::Relaxed); // Relaxed: a caller that has not seen it makes a call in vain
            return;
        }
        let end = most.map(|most| Instant::now() + most);
        while self.is_called.load(Ordering::Relaxed) == 0 {
            // Relaxed, above: what waits is looked at behind locks, or by a fence.
            let left = end.map_or(LONG, |end| end.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return;
            }
            sys::futex_wait(&self.is_called, 0, left);
        }
    }
}

impl Far {
    /// Starts the thread. `wake` wakes client threads that sleep. It never ends: the process takes it along.
    pub fn start_thread(&'static self, always: bool, wake: impl Fn() + Send + 'static) -> io::Result<()> {
        if always {
            self.wire.watch_always();
        }
        let builder = Builder::new().name("sci-net".into()).stack_size(STACK);
        signal::with_all_blocked(|| builder.spawn(move || self.serve(always, wake)))?;
        self.is_helped.store(true, Ordering::Relaxed); // Relaxed: before it is seen, floods go out one by one
        Ok(())
    }

    fn serve(&self, always: bool, wake: impl Fn()) -> ! {
        loop {
            if !always {
                self.call.wait(|| self.is_waiting(), self.wire.heartbeat());
            }
            let before = self.looks.load(Ordering::Relaxed); // Relaxed: a hint, here and below
            match if always { self.wire.descriptor() } else { None } {
                Some(fd) => _ = sys::await_readable(&[fd], LONGEST),
                None => sys::nap(if always { BLIND } else { TICK }),
            }
            if self.looks.load(Ordering::Relaxed) != before {
                if always {
                    sys::nap(TICK); // the descriptor may have ended the sleep at once
                }
                continue;
            }
            self.settle();
            if self.wire.progress(&FarSink(self), true) {
                wake();
            }
            self.look_for_losses();
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::record::Kind;
    use super::super::tcp::Tcp;
    use super::super::wire::{Lost, Sink, Wire};
    use super::*;
    use crate::boot::contact::address::Endpoint;
    use crate::sci::SegmentId;
    use crate::sync::AtomicU64;
    use std::net::Ipv4Addr;

    /// Counts the frames' bytes.
    struct Count(AtomicU64);

    impl Sink for Count {
        fn frame(&self, _: u32, frame: &[u8]) {
            self.0.fetch_add(frame.len() as u64, Ordering::Relaxed); // Relaxed: one thread
        }
        fn place(&self, _: u32, _: u64, _: usize, _: bool) -> Option<*mut u8> {
            None
        }
        fn written(&self, _: u64) {}
        fn lost(&self, _: u32, Lost(why): &Lost) {
            panic!("lost: {why}");
        }
        fn left(&self, _: u32) {}
    }

    /// As a signal handler finds it that has interrupted its thread here: it waits for nobody, and its call counts.
    #[test]
    fn a_call_in_the_middle_of_a_call_or_of_a_wait_ends_the_wait() {
        let call = Call::default();
        call.wait(
            || {
                call.call();
                call.call();
                false
            },
            None,
        );
        call.wait(|| false, Some(Duration::ZERO));
        call.wait(|| true, None);
    }

    /// The contact must be made, and the last messages of a flood are kept back.
    #[test]
    fn what_a_node_has_sent_leaves_although_it_never_looks_at_the_network() {
        const FLUSHES: u64 = 30;
        let wire = |me| Tcp::new(me, 2, 1, [9; 16], &Endpoint::at(Ipv4Addr::LOCALHOST.into(), 0)).unwrap();
        let (ours, theirs) = (wire(0), wire(1));
        let addresses = vec![ours.address(), theirs.address()];
        ours.set_peers(addresses.clone());
        theirs.set_peers(addresses);
        let far = Far::new(2, Box::new(ours), [SegmentId(1), SegmentId(2)]);
        far.start_thread(false, || ()).unwrap();
        let (came, start) = (Count(AtomicU64::new(0)), Instant::now());
        let mut sent = 0;
        for round in 1..=3 {
            for _ in 0..FLUSHES {
                far.record(1, SegmentId(1), 0, Kind::Bytes, &[b"x"]);
                far.flush(1);
            }
            let one = (super::super::record::HEAD + 1) as u64;
            sent += FLUSHES * one;
            while came.0.load(Ordering::Relaxed) < sent {
                theirs.progress(&came, true); // Relaxed, above: as in `frame`
                assert!(
                    start.elapsed() < Duration::from_secs(20),
                    "round {round}: {} of {sent}",
                    came.0.load(Ordering::Relaxed)
                );
            }
            std::thread::sleep(5 * TICK); // the thread waits for the next call
        }
        assert_eq!(came.0.load(Ordering::Relaxed), sent);
    }
}

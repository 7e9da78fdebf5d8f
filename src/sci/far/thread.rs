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
use crate::os::{own_threads, sys};
use crate::sync::Ordering;
use std::io;
use std::time::Duration;

/// What waits is left to client threads for so long.
const TICK: Duration = Duration::from_millis(1);
/// The longest sleep of a thread that always works, after which it looks for what waits, and at clocks: contacts that take too long,
/// peers that were lost.
const LONGEST: Duration = Duration::from_millis(5);
/// The same for a wire without a descriptor to wait for.
const BLIND: Duration = Duration::from_micros(100);
/// Bytes of its stack.
const STACK: usize = 256 << 10;

impl Far {
    /// Starts the thread. `wake` wakes client threads that sleep. It never ends: the process takes it along.
    pub fn start_thread(&'static self, always: bool, wake: impl Fn() + Send + 'static) -> io::Result<()> {
        if always {
            self.wire.watch_always();
        }
        own_threads::spawn("sci-net", STACK, move || self.serve(always, wake))?;
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
    use std::time::Instant;

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

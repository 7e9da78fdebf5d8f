//! A thread that serves the network while the client computes (GASNET_SCI_PROGRESS=thread): it stores what peers have sent, and
//! answers their gets. It runs no handlers, so a SEQ client stays one with a single thread of its own.
//!
//! While client threads poll, the thread keeps out of their way: it looks once in a while whether they still do.
//!
//! Must not know: what is stored.

use super::{Far, FarSink};
use crate::os::{signal, sys};
use crate::sync::Ordering;
use std::io;
use std::thread::Builder;
use std::time::Duration;

/// How long it leaves the network to client threads that poll.
const ASIDE: Duration = Duration::from_millis(1);
/// Its longest sleep, after which it looks at clocks: contacts that take too long, peers that were lost.
const LONGEST: Duration = Duration::from_millis(200);
/// The same for a wire without a descriptor to wait for.
const BLIND: Duration = Duration::from_micros(100);
/// Bytes of its stack.
const STACK: usize = 256 << 10;

impl Far {
    /// Starts the thread. `wake` wakes client threads that sleep. It never ends: the process takes it along.
    pub fn start_thread(&'static self, wake: impl Fn() + Send + 'static) -> io::Result<()> {
        self.wire.watch_always();
        let builder = Builder::new().name("sci-net".into()).stack_size(STACK);
        signal::with_all_blocked(|| builder.spawn(move || self.serve(wake))).map(drop)
    }

    fn serve(&self, wake: impl Fn()) -> ! {
        loop {
            let before = self.looks.load(Ordering::Relaxed); // Relaxed: a hint, here and below
            match self.wire.descriptor() {
                Some(fd) => sys::await_readable(&[fd], LONGEST),
                None => sys::nap(BLIND),
            }
            if self.looks.load(Ordering::Relaxed) != before {
                sys::nap(ASIDE);
                continue;
            }
            if self.wire.progress(&FarSink(self), true) {
                wake();
            }
            self.look_for_losses();
        }
    }
}

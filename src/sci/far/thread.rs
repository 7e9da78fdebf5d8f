//! A thread that serves the network while the client computes (GASNET_SCI_PROGRESS=thread): it stores what peers have sent, and
//! answers their gets. It runs no handlers, so a SEQ client stays one with a single thread of its own.
//!
//! While client threads poll, the thread keeps out of their way: it looks once in a while whether they still do.
//!
//! Must not know: what is stored.

use super::{Far, FarSink};
use crate::os::{signal, sys};
use crate::sync::{AtomicBool, Ordering};
use std::io;
use std::thread::Builder;
use std::time::Duration;

/// How long it leaves the network to client threads that poll.
const ASIDE: Duration = Duration::from_millis(1);
/// Its longest sleep, after which it looks at clocks: contacts that take too long, peers that were lost.
const LONGEST: Duration = Duration::from_millis(200);
/// The same for a wire without a descriptor to wait for.
const BLIND: Duration = Duration::from_micros(100);
/// Between two looks while another thread of this node blocks.
const BESIDE: Duration = Duration::from_millis(1);
/// Bytes of its stack.
const STACK: usize = 256 << 10;

impl Far {
    /// Starts the thread. `wake` wakes client threads that sleep. It never ends: the process takes it along.
    pub fn start_thread(&'static self, wake: impl Fn() + Send + 'static) -> io::Result<()> {
        self.wire.watch_always();
        let builder = Builder::new().name("sci-net".into()).stack_size(STACK);
        signal::with_all_blocked(|| builder.spawn(move || self.serve(wake))).map(drop)
    }

    /// Calls `act`, which blocks without a poll, and serves the network meanwhile. So what this node has sent before reaches its peers,
    /// also those with which the contact is still being made.
    ///
    /// # Errors
    /// There can be no thread; then `act` was not called.
    pub fn serve_beside<T>(&self, act: impl FnOnce() -> T) -> io::Result<T> {
        let over = AtomicBool::new(false);
        let serve = || {
            while !over.load(Ordering::Relaxed) {
                self.look(0, true); // Relaxed, above: the scope's end orders all else
                match self.wire.descriptor() {
                    Some(fd) => sys::await_readable(&[fd], BESIDE),
                    None => sys::nap(BLIND),
                }
            }
        };
        std::thread::scope(|scope| {
            let builder = Builder::new().name("sci-net".into()).stack_size(STACK);
            signal::with_all_blocked(|| builder.spawn_scoped(scope, serve))?;
            let result = act();
            over.store(true, Ordering::Relaxed); // Relaxed: as above
            Ok(result)
        })
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

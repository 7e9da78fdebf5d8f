//! iceoryx2's side of ci/bench-deck: the patterns of mbox-deck.c between two pinned processes, by publish and subscribe with
//! payloads of a fixed size, which are its quickest. The subscriber looks again without sleeping.
//!
//! usage: mbox-iceoryx2 [quick]

use iceoryx2::port::{publisher::Publisher, subscriber::Subscriber};
use iceoryx2::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

type Any<T> = Result<T, Box<dyn std::error::Error>>;

/// Messages that may wait.
const ROOM: usize = 1024;

/// What both processes have mapped.
#[derive(Default)]
#[repr(C)]
struct Shared {
    barriers: [AtomicU64; 2],
    nanoseconds: [AtomicU64; 2],
}

/// This process, and its peer.
struct Pair {
    me: usize,
    shared: &'static Shared,
    quick: bool,
}

impl Pair {
    /// Forks the other process. Each has a core.
    fn fork(quick: bool) -> Pair {
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping, which stays.
        let at = unsafe { libc::mmap(std::ptr::null_mut(), size_of::<Shared>(), protection, flags, -1, 0) };
        assert!(at != libc::MAP_FAILED);
        // SAFETY: zeroes are a Shared.
        let shared = unsafe { &*at.cast::<Shared>() };
        // SAFETY: this process has one thread.
        let child = unsafe { libc::fork() };
        assert!(child >= 0);
        let me = usize::from(child == 0);
        if me == 1 {
            // SAFETY: this process alone.
            unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
        }
        pin(me);
        Pair { me, shared, quick }
    }

    fn meet(&self) {
        let [mine, theirs] = [self.me, 1 - self.me].map(|node| &self.shared.barriers[node]);
        let turn = mine.load(Ordering::Relaxed) + 1;
        mine.store(turn, Ordering::Release);
        while theirs.load(Ordering::Acquire) < turn {
            std::hint::spin_loop();
        }
    }

    /// Nanoseconds that the slower one took for a pattern.
    fn time(&self, pattern: &mut dyn FnMut(u64), count: u64) -> f64 {
        self.meet();
        let begin = Instant::now();
        pattern(count);
        self.shared.nanoseconds[self.me].store(begin.elapsed().as_nanos() as u64, Ordering::Relaxed);
        self.meet();
        let most = self.shared.nanoseconds.iter().map(|one| one.load(Ordering::Relaxed)).max();
        self.meet();
        most.unwrap_or(0) as f64
    }

    /// Nanoseconds of one, as peers.h measures: the best of several batches.
    fn best(&self, mut pattern: impl FnMut(u64)) -> f64 {
        let (enough, batches) = if self.quick { (1e6, 3) } else { (2e6, 5) };
        let mut count = 2;
        loop {
            let took = self.time(&mut pattern, count);
            if took >= enough / 2.0 {
                break;
            }
            count = if took < enough / 64.0 { count * 8 } else { (count as f64 * enough / took) as u64 + 1 };
        }
        (0..batches).map(|_| self.time(&mut pattern, count) / count as f64).fold(f64::MAX, f64::min)
    }

    fn row(&self, operation: &str, bytes: usize, ns: f64) {
        if self.me == 0 {
            let section = if operation.starts_with("message") { "trip" } else { "flood" };
            println!("iceoryx2|{section}|{operation}|2|{bytes}|ns|{ns:.6}");
        }
    }
}

/// Binds this process to the core of this number of those that it may use.
fn pin(number: usize) {
    // SAFETY: plain sets of bits, which the calls fill and read.
    unsafe {
        let mut may: libc::cpu_set_t = std::mem::zeroed();
        let mut one: libc::cpu_set_t = std::mem::zeroed();
        libc::sched_getaffinity(0, size_of_val(&may), &mut may);
        let cores: Vec<usize> = (0..libc::CPU_SETSIZE as usize).filter(|core| libc::CPU_ISSET(*core, &may)).collect();
        libc::CPU_SET(cores[number % cores.len()], &mut one);
        libc::sched_setaffinity(0, size_of_val(&one), &one);
    }
}

/// One direction each way, of messages of N bytes.
struct Flow<const N: usize> {
    publisher: Publisher<ipc::Service, [u8; N], ()>,
    subscriber: Subscriber<ipc::Service, [u8; N], ()>,
    sent: u64,
    taken: u64,
}

impl<const N: usize> Flow<N> {
    fn open(pair: &Pair, node: &Node<ipc::Service>, what: &str) -> Any<Flow<N>> {
        // SAFETY: a number.
        let job = unsafe { libc::getpgrp() };
        let service = |to: usize| {
            let name = format!("mbox/{job}/{what}/{N}/{to}");
            let builder = node.service_builder(&name.as_str().try_into()?).publish_subscribe::<[u8; N]>();
            let builder = builder.enable_safe_overflow(false).subscriber_max_buffer_size(ROOM);
            Ok::<_, Box<dyn std::error::Error>>(
                builder.max_publishers(1).max_subscribers(1).history_size(0).open_or_create()?,
            )
        };
        let subscriber = service(pair.me)?.subscriber_builder().create()?;
        pair.meet();
        let out = service(1 - pair.me)?;
        let publisher =
            out.publisher_builder().backpressure_strategy(BackpressureStrategy::RetryUntilDelivered).create()?;
        pair.meet();
        Ok(Flow { publisher, subscriber, sent: 0, taken: 0 })
    }

    fn send(&mut self) {
        let mut bytes = [0; N];
        bytes[..8].copy_from_slice(&self.sent.to_ne_bytes());
        self.sent += 1;
        let sample = self.publisher.loan_uninit().expect("a free sample");
        sample.write_payload(bytes).send().expect("sent");
    }

    fn take(&mut self) {
        let sample = loop {
            match self.subscriber.receive().expect("received") {
                Some(sample) => break sample,
                None => std::hint::spin_loop(),
            }
        };
        let number = u64::from_ne_bytes(sample[..8].try_into().expect("8 bytes"));
        assert_eq!(number, self.taken, "a message is lost");
        self.taken += 1;
    }
}

fn trip<const N: usize>(pair: &Pair, node: &Node<ipc::Service>) -> Any<()> {
    let mut flow = Flow::<N>::open(pair, node, "trip")?;
    let ns = pair.best(|count| {
        for _ in 0..count {
            if pair.me == 0 {
                flow.send();
            }
            flow.take();
            if pair.me == 1 {
                flow.send();
            }
        }
    });
    pair.row("message, one way", N, ns / 2.0);
    pair.meet();
    Ok(())
}

fn flood<const N: usize>(pair: &Pair, node: &Node<ipc::Service>) -> Any<()> {
    let mut flow = Flow::<N>::open(pair, node, "flood")?;
    let ns = pair.best(|count| {
        if pair.me == 0 {
            (0..count).for_each(|_| flow.send());
            flow.take();
        } else {
            (0..count).for_each(|_| flow.take());
            flow.send();
        }
    });
    pair.row("one sender", N, ns);
    pair.meet();
    Ok(())
}

fn main() -> Any<()> {
    let pair = Pair::fork(std::env::args().nth(1).is_some());
    let node = NodeBuilder::new().create::<ipc::Service>()?;
    trip::<8>(&pair, &node)?;
    trip::<16>(&pair, &node)?;
    trip::<24>(&pair, &node)?;
    trip::<32>(&pair, &node)?;
    trip::<40>(&pair, &node)?;
    trip::<48>(&pair, &node)?;
    trip::<52>(&pair, &node)?;
    flood::<16>(&pair, &node)?;
    drop(node);
    if pair.me == 0 {
        let mut status = 0;
        // SAFETY: waits for the only child.
        unsafe { libc::wait(&mut status) };
        assert_eq!(status, 0, "the other process failed");
    }
    Ok(())
}

//! What a provider does, as opposed to what it says: messages, writes and reads between an endpoint and itself.

#![allow(unsafe_code)] // memory of the probe

use super::super::wire::{Kept, Lost, SEGMENT, Sink, Wire};
use super::OfiWire;
use super::fabric::Endpoint;
use super::message::FRAME;
use crate::os::sys;
use crate::sync::fixed::{AtomicU64, Ordering};
use parking_lot::Mutex;
use std::time::{Duration, Instant};

/// Bytes of the longest transfer.
const BYTES: usize = 64 << 10;
/// Writes with a frame behind each.
const ROUNDS: u64 = 32;
/// A descriptor that does not show a message within this time is of no use.
const SHOWN: Duration = Duration::from_millis(200);
/// A provider that needs longer for all of it is not taken.
const LIMIT: Duration = Duration::from_secs(10);

/// The memory of the probe: half for peers, half of its own. Leaked if the provider fails, because it may still write there.
struct Memory(*mut u64);

const WORDS: usize = BYTES / 8;

/// What the frames have shown.
#[derive(Default)]
struct Seen {
    frames: u64,
    wrong: Option<String>,
    /// Frames that came before the write that they followed.
    overtaken: u64,
}

struct Probe {
    memory: *mut u64,
    seen: Mutex<Seen>,
}

impl Sink for Probe {
    fn frame(&self, _peer: u32, frame: &[u8]) {
        let mut seen = self.seen.lock();
        let number = seen.frames;
        seen.frames += 1;
        let (head, rest) = frame.split_at(8.min(frame.len()));
        if head != number.to_le_bytes() || rest.iter().any(|byte| *byte != number as u8) {
            seen.wrong = Some(format!("message {number} came broken"));
        }
        for word in [0, WORDS / 2, WORDS - 1] {
            // SAFETY: inside the probe's memory; the provider may write it, so it is read as a volatile.
            if unsafe { self.memory.wrapping_add(word).read_volatile() } <= number {
                seen.overtaken += 1;
                break;
            }
        }
    }

    fn place(&self, _peer: u32, _offset: u64, _len: usize, _write: bool) -> Option<*mut u8> {
        None // nobody asks: registered memory is written without
    }

    fn written(&self, _: u64) {}

    fn lost(&self, _peer: u32, why: &Lost) {
        self.seen.lock().wrong.get_or_insert_with(|| why.0.clone());
    }

    fn left(&self, _: u32) {}
}

/// What a provider that works can do.
pub struct Found {
    /// It keeps frames behind writes.
    pub ordered: bool,
    /// Its descriptor shows that a message has come.
    pub wakes: bool,
}

/// What the provider can do. Otherwise: what does not work.
pub fn works(endpoint: Endpoint) -> Result<Found, String> {
    let says = endpoint.traits.ordered;
    let mut secret = [0; 16];
    getrandom::fill(&mut secret).map_err(|why| format!("getrandom: {why}"))?;
    let wire = OfiWire::new(endpoint, secret, 0, 1, says)?;
    let memory = Memory(Box::leak(vec![0u64; WORDS * 2].into_boxed_slice()).as_mut_ptr());
    let probe = Probe { memory: memory.0, seen: Mutex::default() };
    wire.set_peers(vec![wire.address()]);
    // SAFETY: leaked, so it is valid as long as the process lives.
    unsafe { wire.set_area(SEGMENT, memory.0.cast(), BYTES) }?;
    let result = run(&wire, &probe, memory.0.wrapping_add(WORDS));
    let ordered = says && probe.seen.lock().overtaken == 0;
    let result = result.and_then(|()| shows(&wire, &probe));
    drop(wire);
    if result.is_ok() {
        let memory = std::ptr::slice_from_raw_parts_mut(memory.0, WORDS * 2);
        // SAFETY: from the box above; the endpoint is closed.
        drop(unsafe { Box::from_raw(memory) });
    }
    result.map(|wakes| Found { ordered, wakes })
}

fn run(wire: &OfiWire, probe: &Probe, own: *mut u64) -> Result<(), String> {
    let end = Instant::now() + LIMIT;
    let done: &'static AtomicU64 = Box::leak(Box::new(AtomicU64::new(0)));
    let until = |what: &str, ready: &mut dyn FnMut() -> Result<bool, Lost>| -> Result<(), String> {
        loop {
            if ready().map_err(|lost| format!("{what}: {}", lost.0))? {
                return Ok(());
            }
            wire.progress(probe, true);
            if let Some(wrong) = probe.seen.lock().wrong.clone() {
                return Err(format!("{what}: {wrong}"));
            }
            if Instant::now() > end {
                return Err(format!("{what}: nothing came in {} s", LIMIT.as_secs()));
            }
        }
    };
    let mut complete = 0;
    for round in 1..=ROUNDS {
        for word in 0..WORDS {
            // SAFETY: the probe's own half, which no operation uses now.
            unsafe { own.wrapping_add(word).write_volatile(round) };
        }
        let counted = round % 2 == 0;
        let count = counted.then_some(done);
        complete += u64::from(counted);
        // SAFETY: the source is not changed before this round's frame has come.
        until("a write", &mut || unsafe { wire.write(0, 0, (own.cast(), BYTES), Kept::UntilDone, count) })?;
        // The memory must hold more than this number when the frame comes.
        let number = round - 1;
        let len = [9, 100, FRAME][(round % 3) as usize];
        let mut frame = vec![number as u8; len];
        frame[..8].copy_from_slice(&number.to_le_bytes());
        until("a message", &mut || wire.post(0, &mut frame))?;
        until("a message", &mut || Ok(probe.seen.lock().frames == round))?;
        // ORDERING: Acquire ↔ the Release with which the wire counts.
        until("the end of a write", &mut || Ok(done.load(Ordering::Acquire) == complete && !wire.is_busy()))?;
        // SAFETY: the probe's own half.
        unsafe { own.write_bytes(0, WORDS) };
        complete += 1;
        // SAFETY: the probe's own half, which nobody uses until the read is done.
        until("a read", &mut || unsafe { wire.read(0, 0, (own.cast(), BYTES), done) })?;
        // ORDERING: as above
        until("the end of a read", &mut || Ok(done.load(Ordering::Acquire) == complete))?;
        for word in 0..WORDS {
            // SAFETY: the probe's own half; the read is done.
            if unsafe { own.wrapping_add(word).read_volatile() } != round {
                return Err(format!("a read brought wrong bytes at {}", word * 8));
            }
        }
    }
    Ok(())
}

/// True if the wire's descriptor shows a message before anybody lets the provider work. The first one may be there too early.
fn shows(wire: &OfiWire, probe: &Probe) -> Result<bool, String> {
    let lost = |lost: Lost| format!("a message: {}", lost.0);
    for _ in 0..2 {
        let end = Instant::now() + SHOWN;
        let descriptor = loop {
            let came = wire.progress(probe, true);
            match wire.descriptor() {
                None if wire.wakeup.is_none() => return Ok(false),
                Some(fd) if !came => break fd,
                _ if Instant::now() > end => return Ok(false), // it is never quiet
                _ => {}
            }
        };
        let number = probe.seen.lock().frames;
        let mut frame = number.to_le_bytes().to_vec();
        frame.resize(100, number as u8);
        if !wire.post(0, &mut frame).map_err(lost)? {
            return Ok(false);
        }
        let mut set = [libc::pollfd { fd: descriptor, events: libc::POLLIN, revents: 0 }];
        let shown = sys::poll(&mut set, Some(SHOWN)).is_ok() && set[0].revents != 0;
        let end = Instant::now() + LIMIT;
        while probe.seen.lock().frames == number && Instant::now() < end {
            wire.progress(probe, true);
        }
        if !shown {
            return Ok(false);
        }
    }
    Ok(true)
}

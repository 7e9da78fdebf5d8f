//! Interrupts: a number of a node that peers trigger and somebody there waits for, or is called for.
//!
//! A *page* of shared memory holds cells of 64 bytes. Each interrupt has one; interrupts with one number (SHARED_INT) share a page, and a trigger
//! goes to all cells that are taken. A cell counts triggers, and who sleeps.
#![allow(unsafe_code)] // Words in memory that processes share.

use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
use std::sync::{Arc, Weak};
use std::time::SystemTime;

use parking_lot::Mutex;
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::thread::futex;

use crate::constants as flag;
use crate::descriptor::Owned;
use crate::door::{Door, For, Guest, Host, Tie};
use crate::error::{Error, Result};
use crate::far::{self, Until};
use crate::handle::{self, Handle, Kind, Named};
use crate::memory::{Mapping, Memory, page};
use crate::name::{Deadline, Name, PAUSE, What, deadline, rest};
use crate::net::say::Say;
use crate::net::{self, Line};
use crate::packet::{self, Packet, Verb, refused};
use crate::report::Report;
use crate::state;
use crate::worker::Waiter;
use crate::{calm, card};

/// Cells of a page; the first is its head.
const CELLS: usize = 64;
/// Added to a cell's count when the interrupt is removed, so that nobody falls asleep on it.
const GONE: u32 = 1 << 31;

/// One cell. Peers of the same user write to it too: any values are possible.
#[repr(C, align(64))]
struct Cell {
    /// Triggers that nobody took; of the head unused.
    count: AtomicU32,
    /// Threads that sleep, or are about to.
    sleepers: AtomicU32,
    /// Whether each trigger counts.
    is_counting: AtomicU32,
    /// Of the head: which cells are taken, a bit each.
    taken: AtomicU64,
}

/// The cells of a page that is mapped at `base`.
///
/// # Safety
/// It stays mapped while the cells are used.
unsafe fn cells<'a>(base: usize) -> &'a [Cell; CELLS] {
    // SAFETY: a page has 64 cells of 64 bytes, any bytes are a cell, and all its words are atomics.
    unsafe { &*ptr::with_exposed_provenance::<[Cell; CELLS]>(base) }
}

impl Cell {
    /// Triggers it.
    fn trigger(&self) {
        if self.is_counting.load(Ordering::Relaxed) == 0 {
            // Ordering: Release; who takes it sees what this thread stored before.
            self.count.fetch_or(1, Ordering::Release);
        } else {
            // Not above what a counter can hold: the bit of a removed interrupt stays what it is.
            let more = |count: u32| ((count & !GONE) < GONE - 1).then(|| count + 1);
            let _ = self.count.fetch_update(Ordering::Release, Ordering::Relaxed, more);
        }
        // Ordering: SeqCst, against that of `wait`: either this thread sees the sleeper, or the sleeper sees the count.
        fence(Ordering::SeqCst);
        if self.sleepers.load(Ordering::Relaxed) != 0 {
            let _ = futex::wake(&self.count, futex::Flags::empty(), 1);
        }
    }

    /// Takes one trigger, or all of them where they do not count.
    fn take(&self) -> bool {
        if self.is_counting.load(Ordering::Relaxed) == 0 {
            // Ordering: Acquire meets the Release of `trigger`.
            return self.count.load(Ordering::Relaxed) & !GONE != 0
                && self.count.fetch_and(GONE, Ordering::Acquire) & !GONE != 0;
        }
        let less = |count: u32| (count & !GONE != 0).then(|| count - 1);
        self.count.fetch_update(Ordering::Acquire, Ordering::Relaxed, less).is_ok()
    }
}

/// `sci_local_interrupt_t`
pub struct LocalInterrupt {
    owned: Owned,
    number: u32,
    page: Memory,
    mapping: Mapping,
    cell: usize,
    /// The page's file opened once more: its lock on the cell's byte is this process's claim, which ends with it.
    claim: Option<OwnedFd>,
    doors: Mutex<Vec<Arc<Door>>>,
    guests: Mutex<Vec<Arc<Guest>>>,
    is_gone: AtomicBool,
    has_callback: bool,
    since: SystemTime,
    waiter: Waiter,
}

impl Named for LocalInterrupt {
    const KIND: Kind = Kind::LocalInterrupt;
}

/// A function of the program for an interrupt; false ends it.
pub type Callback = Box<dyn Fn() -> bool + Send>;

impl LocalInterrupt {
    fn cells(&self) -> &[Cell; CELLS] {
        // SAFETY: the mapping lives as long as this value.
        unsafe { cells(self.mapping.base as usize) }
    }

    /// Waits for a trigger.
    fn wait(&self, until: Deadline) -> Result {
        let cell = &self.cells()[self.cell];
        let mut has_slept = false;
        loop {
            if self.is_gone.load(Ordering::Acquire) {
                return Err(Error::Cancelled);
            }
            if cell.take() {
                // One that was there already had its time.
                if let Some(card) = card::get().filter(|_| has_slept) {
                    card::wait_until(card::now() + card.wake(0));
                }
                return Ok(());
            }
            has_slept = true;
            let left = rest(until);
            if left.is_some_and(|left| left.tv_sec == 0 && left.tv_nsec == 0) {
                return Err(Error::Timeout);
            }
            cell.sleepers.fetch_add(1, Ordering::Relaxed);
            // Ordering: SeqCst, against that of `trigger`.
            fence(Ordering::SeqCst);
            // Ordering: Acquire; who sees the bit of a removed interrupt sees that it is gone.
            let seen = cell.count.load(Ordering::Acquire);
            let is_over = seen & !GONE != 0 || self.is_gone.load(Ordering::Acquire);
            let sleep = || futex::wait(&cell.count, futex::Flags::empty(), seen, left.as_ref());
            let slept = if is_over { Ok(()) } else { calm::open(sleep) };
            cell.sleepers.fetch_sub(1, Ordering::Relaxed);
            match slept {
                Ok(()) | Err(Errno::AGAIN | Errno::INTR | Errno::TIMEDOUT) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    /// It is gone: ends all waits.
    fn end_waits(&self) {
        self.is_gone.store(true, Ordering::Release);
        let cells = self.cells();
        cells[0].taken.fetch_and(!(1 << self.cell), Ordering::AcqRel);
        // Who is about to sleep finds another word than it expects; who sleeps is woken.
        cells[self.cell].count.fetch_or(GONE, Ordering::AcqRel);
        let _ = futex::wake(&cells[self.cell].count, futex::Flags::empty(), i32::MAX as u32);
    }

    /// Takes a free cell of a page that others use as well.
    fn claim(page: &Memory) -> Result<(OwnedFd, usize)> {
        use std::os::fd::AsRawFd;
        // A lock belongs to an opening of the file: what was received by a socket is the opening of somebody else.
        let path = format!("/proc/self/fd/{}", page.fd.as_raw_fd());
        let own = std::fs::OpenOptions::new().read(true).write(true).open(path).map_err(|_| Error::HwNoSpc)?;
        for cell in 1..CELLS {
            // SAFETY: a structure of numbers.
            let mut lock: libc::flock = unsafe { std::mem::zeroed() };
            lock.l_type = libc::F_WRLCK as libc::c_short;
            lock.l_whence = libc::SEEK_SET as libc::c_short;
            lock.l_start = cell as libc::off_t;
            lock.l_len = 1;
            // SAFETY: the structure is this function's.
            if unsafe { libc::fcntl(own.as_raw_fd(), libc::F_OFD_SETLK, &raw const lock) } == 0 {
                return Ok((own.into(), cell));
            }
        }
        Err(Error::HwNoSpc)
    }
}

impl Host for LocalInterrupt {
    fn report(&self, _whom: For) -> Report {
        let cell = &self.cells()[self.cell];
        let guests = self.guests.lock();
        let others = self.cells()[0].taken.load(Ordering::Relaxed).count_ones().saturating_sub(1);
        let flags = [
            (cell.is_counting.load(Ordering::Relaxed) != 0, flag::COUNTING_INT),
            (self.claim.is_some(), flag::SHARED_INT),
        ];
        Report {
            flags: flags.into_iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| flag).sum(),
            others,
            has_callback: self.has_callback,
            waiting: cell.count.load(Ordering::Relaxed) & !GONE,
            peers: guests.iter().map(|guest| guest.report()).collect(),
            ..Report::own(self.since)
        }
    }

    fn greet(&self, guest: &Arc<Guest>, packet: Packet) -> Result {
        let For::Peers(adapter) = guest.whom else { return Err(Error::InconsistentVersions) };
        let answer = Packet::new(Verb::Answer);
        if packet.verb == Verb::Join {
            let doors = self.doors.lock();
            if self.claim.is_none() {
                return Err(Error::SegmentIdUsed);
            }
            // Being removed: who asks finds the name free in a moment.
            let door = doors.first().ok_or(Error::NoSuchSegment)?.copy()?;
            let _ = answer.send(guest.socket(), &[self.page.fd.as_fd(), door.as_fd()]);
            guest.forget();
            return Ok(());
        }
        let mut guests = self.guests.lock();
        if self.is_gone.load(Ordering::Acquire) {
            return Err(Error::NoSuchSegment);
        }
        guest.admit(packet.node, adapter);
        guests.push(guest.clone());
        let _ = answer.send(guest.socket(), &[self.page.fd.as_fd()]);
        Ok(())
    }

    fn left(&self, guest: &Arc<Guest>) {
        self.guests.lock().retain(|other| !Arc::ptr_eq(other, guest));
    }
}

/// The page and the socket of an interrupt's name: new ones, or for SHARED_INT those of who has the name.
fn share_or_make(name: Name, is_shared: bool) -> Result<(Memory, OwnedFd)> {
    for _ in 0..1000 {
        match name.listen() {
            Ok(socket) => return Ok((Memory::new(page())?, socket)),
            Err(Errno::ADDRINUSE) if is_shared => {}
            Err(Errno::ADDRINUSE) => return Err(Error::SegmentIdUsed),
            Err(errno) => return Err(errno.into()),
        }
        let until = deadline(5_000);
        let asked = name.connect(until).and_then(|socket| packet::ask(&socket, Packet::new(Verb::Join), until));
        match asked {
            // Its last owner has ended just now.
            Err(Error::NoSuchSegment) => {}
            Err(error) => return Err(error),
            Ok((answer, _)) if answer.status == Error::NoSuchSegment as u32 => {}
            Ok((answer, _)) if answer.status != 0 => return Err(refused(answer.status)),
            Ok((_, mut fds)) => {
                let (Some(socket), Some(page_fd)) = (fds.pop(), fds.pop()) else {
                    return Err(Error::InconsistentVersions);
                };
                return Ok((Memory::from_peer(page_fd, page() as u64, 0)?, socket));
            }
        }
    }
    Err(Error::SegmentIdUsed)
}

/// SCICreateInterrupt. Returns the handle and the number.
pub fn create(
    descriptor: Handle,
    adapter: u32,
    number: Option<u32>,
    flags: u32,
    callback: Option<Callback>,
) -> Result<(Handle, u32)> {
    let node = state::node_of(adapter)?;
    let owned = Owned::new(descriptor, Kind::LocalInterrupt)?;
    let place = handle::reserve(Kind::LocalInterrupt)?;
    let is_shared = flags & flag::SHARED_INT != 0;
    let (number, (page_memory, socket)) = state::numbered(number, |number| {
        share_or_make(Name::new(node, What::Interrupt, number), is_shared && number_is_fixed(flags))
    })?;
    let (claim, cell) = if is_shared {
        let (claim, cell) = LocalInterrupt::claim(&page_memory)?;
        (Some(claim), cell)
    } else {
        (None, 1)
    };
    let mapping = page_memory.map(0, page(), ptr::null_mut(), false)?;
    let interrupt = Arc::new(LocalInterrupt {
        owned,
        number,
        page: page_memory,
        mapping,
        cell,
        claim,
        doors: Mutex::default(),
        guests: Mutex::default(),
        is_gone: AtomicBool::new(false),
        has_callback: callback.is_some(),
        since: SystemTime::now(),
        waiter: Waiter::default(),
    });
    let cells = interrupt.cells();
    cells[cell].count.store(0, Ordering::Relaxed);
    cells[cell].sleepers.store(0, Ordering::Relaxed);
    cells[cell].is_counting.store((flags & flag::COUNTING_INT != 0).into(), Ordering::Relaxed);
    // Ordering: Release, so that who triggers the cell finds it empty.
    cells[0].taken.fetch_or(1 << cell, Ordering::Release);
    let own: Weak<LocalInterrupt> = Arc::downgrade(&interrupt);
    let door = Door::new(own, socket, Name::new(node, What::Interrupt, number), For::Peers(adapter));
    interrupt.doors.lock().push(door.clone());
    door.open()?;
    let waits = interrupt.clone();
    let handle = place.fill(interrupt);
    if let Some(callback) = callback {
        let own = waits.clone();
        let started = waits.waiter.start(move || while own.wait(None).is_ok() && callback() {});
        if let Err(errno) = started {
            let _ = remove(handle);
            return Err(errno.into());
        }
    }
    state::say(|| format!("interrupt {number} of node {node}"));
    Ok((handle, number))
}

/// Only a number that the program names can be shared.
fn number_is_fixed(flags: u32) -> bool {
    flags & flag::FIXED_INTNO != 0
}

/// SCIWaitForInterrupt.
pub fn wait(handle: Handle, timeout: u32) -> Result {
    let interrupt = handle::get::<LocalInterrupt>(handle)?;
    if interrupt.has_callback { Err(Error::IllegalOperation) } else { interrupt.wait(deadline(timeout)) }
}

/// Ends the waits of an interrupt that will be removed.
pub fn cancel(handle: Handle) -> Result {
    handle::get::<LocalInterrupt>(handle)?.end_waits();
    Ok(())
}

/// SCIRemoveInterrupt.
pub fn remove(handle: Handle) -> Result {
    let interrupt = handle::get::<LocalInterrupt>(handle)?;
    interrupt.end_waits();
    for door in interrupt.doors.lock().drain(..) {
        door.close();
    }
    for guest in interrupt.guests.lock().drain(..) {
        guest.forget();
    }
    state::say(|| format!("interrupt {} removed", interrupt.number));
    interrupt.owned.release();
    handle::remove(handle);
    interrupt.waiter.finish();
    Ok(())
}

/// `sci_remote_interrupt_t`
pub struct RemoteInterrupt {
    owned: Owned,
    way: Way,
}

/// Where it is.
enum Way {
    /// On this host.
    Near {
        tie: Mutex<Arc<Tie>>,
        /// Node and adapter, number, and the file of its page: where it was found.
        from: (u32, u32, u32, u64),
        /// The slot has its address.
        _mapping: Mapping,
    },
    /// On another. Its slot says `broken`, so that a trigger takes the slow way.
    Far(Arc<Line>),
}

impl Named for RemoteInterrupt {
    const KIND: Kind = Kind::RemoteInterrupt;
}

/// Connects to what has this number, and pauses if that fails, since programs try again and again.
pub fn reach(
    what: What,
    node: u32,
    adapter: u32,
    number: u32,
    timeout: u32,
) -> Result<(OwnedFd, Packet, Vec<OwnedFd>)> {
    let own = state::node_of(adapter)?;
    state::check_node(node)?;
    let until = deadline(timeout);
    let asked =
        crate::fault::connect().and_then(|()| Name::new(node, what, number).connect(until)).and_then(|socket| {
            let (answer, fds) = packet::ask(&socket, Packet { node: own, ..Packet::new(Verb::Connect) }, until)?;
            if answer.status == 0 { Ok((socket, answer, fds)) } else { Err(refused(answer.status)) }
        });
    asked.inspect_err(|_| std::thread::sleep(PAUSE))
}

/// The same, if the node is on another host.
pub fn reach_far(place: net::Far, what: What, node: u32, adapter: u32, number: u32, timeout: u32) -> Result<Arc<Line>> {
    let own = state::node_of(adapter)?;
    state::check_node(node)?;
    let until = deadline(timeout);
    let asked = crate::fault::connect().and_then(|()| net::connect(place, (node, what, number), own, until));
    asked.map(|(line, _)| line).inspect_err(|_| std::thread::sleep(PAUSE))
}

/// SCIConnectInterrupt.
pub fn connect(descriptor: Handle, node: u32, adapter: u32, number: u32, timeout: u32) -> Result<Handle> {
    let owned = Owned::new(descriptor, Kind::RemoteInterrupt)?;
    let place = handle::reserve(Kind::RemoteInterrupt)?;
    if let Some(far) = net::far(node) {
        let way = Way::Far(reach_far(far, What::Interrupt, node, adapter, number, timeout)?);
        // Ordering: published by the handle.
        place.slot().broken.store(true, Ordering::Relaxed);
        return Ok(place.fill(Arc::new(RemoteInterrupt { owned, way })));
    }
    let (socket, _, mut fds) = reach(What::Interrupt, node, adapter, number, timeout)?;
    let memory = Memory::from_peer(fds.pop().ok_or(Error::ConnectionRefused)?, page() as u64, 0)?;
    let mapping = memory.map(0, page(), ptr::null_mut(), false)?;
    // Ordering: published by the handle.
    place.slot().base.store(mapping.base as usize, Ordering::Relaxed);
    let tie = Mutex::new(Tie::new(socket, place.place())?);
    let from = (node, adapter, number, rustix::fs::fstat(&memory.fd)?.st_ino);
    Ok(place.fill(Arc::new(RemoteInterrupt { owned, way: Way::Near { tie, from, _mapping: mapping } })))
}

/// SCIDisconnectInterrupt.
pub fn disconnect(handle: Handle) -> Result {
    let interrupt = handle::get::<RemoteInterrupt>(handle)?;
    match &interrupt.way {
        Way::Near { tie, .. } => tie.lock().close(),
        Way::Far(line) => line.close(),
    }
    interrupt.owned.release();
    handle::remove(handle);
    Ok(())
}

/// On another host: triggers the interrupt, and returns true. Else the owner that let this side in has ended: another owner of the same page lets it in.
#[cold]
fn trigger_or_find_another(handle: Handle) -> Result<bool> {
    let interrupt = handle::get::<RemoteInterrupt>(handle)?;
    let (tie, &(node, adapter, number, page_file)) = match &interrupt.way {
        Way::Near { tie, from, .. } => (tie, from),
        Way::Far(line) => return line.trigger(&Say::Trigger, &[], None).map(|()| true),
    };
    let mut tie = tie.lock();
    let (socket, _, mut fds) = reach(What::Interrupt, node, adapter, number, 0).map_err(|_| Error::TransferFailed)?;
    let found = fds.pop().ok_or(Error::TransferFailed)?;
    if rustix::fs::fstat(&found)?.st_ino != page_file {
        return Err(Error::TransferFailed);
    }
    tie.close();
    let slot = handle::find(handle, Kind::RemoteInterrupt)?;
    slot.broken.store(false, Ordering::Release);
    *tie = Tie::new(socket, handle::place(handle))?;
    Ok(false)
}

/// Triggers all interrupts of a page; false if there is none any more.
#[inline(always)]
fn trigger_all(cells: &[Cell; CELLS]) -> bool {
    let taken = cells[0].taken.load(Ordering::Acquire);
    if taken == 0 {
        return false;
    }
    let mut rest = taken & !1;
    while rest != 0 {
        cells[rest.trailing_zeros() as usize].trigger();
        rest &= rest - 1;
    }
    true
}

/// Triggers the interrupts of a page that a connection has brought; false if there is none any more.
pub fn trigger_page(page: &Mapping) -> bool {
    // SAFETY: mapped as long as it is borrowed.
    trigger_all(unsafe { cells(page.base as usize) })
}

/// SCITriggerInterrupt.
pub fn trigger(handle: Handle) -> Result {
    // To its end: a handler that ends the library in a wait would take the page away.
    let far = far::is_on().then(calm::enter).transpose()?;
    let slot = handle::find(handle, Kind::RemoteInterrupt)?;
    if far.is_some() {
        far::flush(Until::Left);
    }
    let broken = slot.broken.load(Ordering::Acquire).then(calm::enter).transpose()?;
    if broken.is_some() && calm::with_lock(|| trigger_or_find_another(handle))? {
        return Ok(());
    }
    // SAFETY: mapped until the program disconnects, which it must not do at the same time.
    let cells = unsafe { cells(slot.base.load(Ordering::Relaxed)) };
    // Removed just now, if there is none: the end of the connection is on its way.
    if trigger_all(cells) { Ok(()) } else { Err(Error::TransferFailed) }
}

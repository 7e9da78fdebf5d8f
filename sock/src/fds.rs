//! Descriptors: which are ours, what they are, and where the library keeps its own.

use crate::conn::Conn;
use crate::epoll::Set;
use crate::real;
use arc_swap::ArcSwapOption;
use libc::c_int;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

/// Descriptors from here on are none of ours.
pub const MOST: usize = 65536;

/// Not ours.
pub const FOREIGN: u8 = 0;
/// A connection by rings.
pub const CONN: u8 = 1;
/// A socket that listens, with its marker.
pub const LISTENER: u8 = 2;
/// An epoll descriptor.
pub const EPOLL: u8 = 3;
/// The library's own: the program neither sees nor closes it.
pub const INTERNAL: u8 = 4;

/// What stands behind a descriptor.
pub enum Entry {
    Conn(Arc<Conn>),
    /// The descriptor of the marker, closed with the last of the listener's descriptors.
    Listener(c_int),
    Epoll(Arc<Set>),
}

impl Drop for Entry {
    fn drop(&mut self) {
        if let Entry::Listener(marker) = self {
            close(*marker);
        }
    }
}

static KINDS: [AtomicU8; MOST] = [const { AtomicU8::new(FOREIGN) }; MOST];
static TABLE: [ArcSwapOption<Entry>; MOST] = [const { ArcSwapOption::const_empty() }; MOST];
/// No descriptor of ours is as high.
static HIGHEST: AtomicU32 = AtomicU32::new(0);
/// How often this process has been forked off.
pub static FORKS: AtomicU32 = AtomicU32::new(0);

/// What a descriptor is: one load.
#[inline]
pub fn kind(fd: c_int) -> u8 {
    // ORDERING: who may use the descriptor has it from whoever made the entry.
    KINDS.get(fd as usize).map_or(FOREIGN, |kind| kind.load(Ordering::Relaxed))
}

/// What stands behind a descriptor that is ours.
pub fn entry(fd: c_int) -> Option<Arc<Entry>> {
    TABLE.get(fd as usize)?.load_full()
}

/// The connection behind a descriptor, if it is one.
#[inline]
pub fn conn(fd: c_int) -> Option<Arc<Conn>> {
    if kind(fd) != CONN {
        return None;
    }
    crate::porter::look_after();
    match TABLE.get(fd as usize)?.load().as_deref()? {
        Entry::Conn(conn) => Some(Arc::clone(conn)),
        _ => None,
    }
}

/// The set behind an epoll descriptor.
pub fn set(fd: c_int) -> Option<Arc<Set>> {
    match (kind(fd) == EPOLL).then(|| entry(fd)).flatten().as_deref() {
        Some(Entry::Epoll(set)) => Some(Arc::clone(set)),
        _ => None,
    }
}

/// Puts an entry behind a descriptor; one that is too high stays foreign. Gives the connection that has lost its last descriptor so: to one thread, if
/// several close copies at once.
pub fn put(fd: c_int, entry: Option<Arc<Entry>>) -> Option<Arc<Conn>> {
    let place = TABLE.get(fd as usize)?;
    let kind = match entry.as_deref() {
        None => FOREIGN,
        Some(Entry::Conn(conn)) => {
            conn.fds.fetch_add(1, Ordering::Relaxed);
            CONN
        }
        Some(Entry::Listener(_)) => LISTENER,
        Some(Entry::Epoll(_)) => EPOLL,
    };
    HIGHEST.fetch_max(fd as u32 + 1, Ordering::Relaxed);
    let old = place.swap(entry);
    KINDS[fd as usize].store(kind, Ordering::Relaxed);
    match old.as_deref() {
        // ORDERING: AcqRel: the last one ends the connection behind whatever the others did.
        Some(Entry::Conn(conn)) if conn.fds.fetch_sub(1, Ordering::AcqRel) == 1 => Some(Arc::clone(conn)),
        _ => None,
    }
}

/// Whether the connection still stands behind a descriptor. Who slept asks: another thread may have closed it, and another file may have its number.
pub fn is_of(fd: c_int, conn: &Conn) -> bool {
    matches!(entry(fd).as_deref(), Some(Entry::Conn(found)) if std::ptr::eq(&**found, conn))
}

/// All descriptors that have an entry.
pub fn all() -> impl Iterator<Item = c_int> {
    let most = HIGHEST.load(Ordering::Relaxed) as c_int;
    (0..most).filter(|&fd| ![FOREIGN, INTERNAL].contains(&kind(fd)))
}

/// Moves a descriptor of the library's to where programs do not look, and remembers it. -1 stays, and is given if there is no room.
pub fn hide(fd: c_int) -> c_int {
    if fd < 0 {
        return -1;
    }
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: a structure of ours.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) };
    let from = (limit.rlim_cur as usize).min(MOST) / 4 * 3;
    // SAFETY: plain numbers.
    let high = unsafe { real::fcntl(fd, libc::F_DUPFD_CLOEXEC, from) };
    // SAFETY: the descriptor is this function's.
    unsafe { real::close(fd) };
    match KINDS.get(high as usize) {
        Some(kind) => kind.store(INTERNAL, Ordering::Relaxed),
        None if high >= 0 => {
            // SAFETY: made above.
            unsafe { real::close(high) };
            return -1;
        }
        None => return -1,
    }
    high
}

/// Closes a descriptor of the library's.
pub fn close(fd: c_int) {
    if let Some(kind) = KINDS.get(fd as usize) {
        kind.store(FOREIGN, Ordering::Relaxed);
        // SAFETY: the caller had it from `hide`.
        unsafe { real::close(fd) };
    }
}

/// A descriptor number of a connection in this process.
pub fn find(wanted: &Conn) -> Option<c_int> {
    all().find(|&fd| is_of(fd, wanted))
}

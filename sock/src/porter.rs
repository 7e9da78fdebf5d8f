//! The porter: a thread of each process that has connections. It hands out what was offered, serves requests of the other sides to step down,
//! and notices when one is gone. All signals are blocked in it.

use crate::conn::Conn;
use crate::fds::{self, Entry, FORKS};
use crate::meet;
use crate::own::Own;
use crate::real;
use crate::shared::{CLOSED, IN, OUT};
use crate::{epoll, step};
use libc::{c_int, c_void, epoll_event};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

struct State {
    /// What the thread sleeps on; -1: there is no thread.
    ep: c_int,
    conns: BTreeMap<u64, Arc<Conn>>,
    /// Bytes that were taken out of rings and have yet to go through the kernel.
    pumps: BTreeMap<u64, step::Pump>,
}

static STATE: Own<State> = Own::new(State { ep: -1, conns: BTreeMap::new(), pumps: BTreeMap::new() });
/// A child has connections and no porter yet.
static IS_ORPHAN: AtomicBool = AtomicBool::new(false);

/// What an event is about, in the lowest bits of its key.
const OFFER: u64 = 0;
const CONTROL: u64 = 1;
const PUMP: u64 = 2;

struct Settings {
    verbose: bool,
    except: Vec<u16>,
}

fn settings() -> &'static Settings {
    static SETTINGS: OnceLock<Settings> = OnceLock::new();
    SETTINGS.get_or_init(|| {
        // The program's environment, which `gasnet-sci sock run` sets; nothing of gasnet-sci is here.
        #[allow(clippy::disallowed_methods)]
        let text = |name| std::env::var(name).unwrap_or_default();
        let except = text("GASNET_SCI_SOCK_EXCEPT").split(',').filter_map(|port| port.trim().parse().ok()).collect();
        Settings { verbose: !text("GASNET_SCI_SOCK_VERBOSE").is_empty(), except }
    })
}

/// Whether the user wants connections to this port left to the kernel.
pub fn is_excepted(port: u16) -> bool {
    settings().except.contains(&port)
}

/// A line under -v.
pub fn tell(what: impl FnOnce() -> String) {
    if settings().verbose {
        real::complain(&what());
    }
}

fn watch(ep: c_int, op: c_int, fd: c_int, events: i32, key: u64) {
    let mut event = epoll_event { events: events as u32, u64: key };
    // SAFETY: an event of ours.
    unsafe { real::epoll_ctl(ep, op, fd, &mut event) };
}

/// Takes a connection into care. False: there is no thread to be had.
pub fn serve(conn: &Arc<Conn>) -> bool {
    static ONCE: OnceLock<()> = OnceLock::new();
    ONCE.get_or_init(|| {
        // SAFETY: functions of ours that can run there.
        unsafe { libc::pthread_atfork(Some(before_fork), Some(after_fork), Some(in_child)) };
    });
    let mut state = STATE.lock();
    state.conns.insert(conn.id, Arc::clone(conn));
    start(&mut state) && {
        watch_conn(&state, conn);
        true
    }
}

fn watch_conn(state: &State, conn: &Conn) {
    for (fd, kind) in [(&conn.offer, OFFER), (&conn.ctl, CONTROL)] {
        watch(
            state.ep,
            libc::EPOLL_CTL_ADD,
            fd.load(Ordering::Relaxed),
            libc::EPOLLIN | libc::EPOLLRDHUP,
            conn.id << 2 | kind,
        );
    }
}

/// Lets go of a connection that this process closes.
pub fn forget(conn: &Conn) {
    let mut state = STATE.lock();
    for fd in [&conn.offer, &conn.ctl] {
        watch(state.ep, libc::EPOLL_CTL_DEL, fd.load(Ordering::Relaxed), 0, 0);
    }
    let gone = state.conns.remove(&conn.id);
    drop(state);
    drop(gone); // closes descriptors: outside of the lock
}

/// Starts the thread, if there is none.
fn start(state: &mut State) -> bool {
    if state.ep >= 0 {
        return true;
    }
    // SAFETY: plain numbers.
    let ep = fds::hide(unsafe { real::epoll_create1(libc::EPOLL_CLOEXEC) });
    if ep < 0 {
        return false;
    }
    // SAFETY: plain data.
    let (mut all, mut old): (libc::sigset_t, libc::sigset_t) = unsafe { std::mem::zeroed() };
    // SAFETY: sets of ours; the thread inherits the mask, and this one has its own again.
    let started = unsafe {
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut old);
        let mut thread: libc::pthread_t = 0;
        let status = libc::pthread_create(&mut thread, std::ptr::null(), run, ep as usize as *mut c_void);
        if status == 0 {
            libc::pthread_detach(thread);
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, &old, std::ptr::null_mut());
        status == 0
    };
    if started {
        state.ep = ep;
    } else {
        fds::close(ep);
    }
    started
}

extern "C" fn run(ep: *mut c_void) -> *mut c_void {
    let ep = ep as usize as c_int;
    let mut events = [epoll_event { events: 0, u64: 0 }; 32];
    loop {
        // SAFETY: room for 32.
        let n = unsafe { real::epoll_pwait(ep, events.as_mut_ptr(), 32, -1, std::ptr::null()) };
        if n < 0 && real::errno() != libc::EINTR {
            return std::ptr::null_mut();
        }
        for event in &events[..n.max(0) as usize] {
            let key = event.u64;
            let Some(conn) = STATE.lock().conns.get(&(key >> 2)).cloned() else {
                let pump = STATE.lock().pumps.remove(&(key >> 2));
                pump.into_iter().for_each(go_on_pumping);
                continue;
            };
            match key & 3 {
                OFFER => hand_out(ep, &conn),
                CONTROL => control(ep, &conn),
                _ => {
                    let pump = STATE.lock().pumps.remove(&(key >> 2));
                    pump.into_iter().for_each(go_on_pumping);
                }
            }
        }
    }
}

/// Pumps on, and keeps what is left for later.
pub fn go_on_pumping(mut pump: step::Pump) {
    if pump.go_on() {
        return;
    }
    let mut state = STATE.lock();
    let (fd, id) = (pump.socket(), pump.id());
    start(&mut state);
    watch(state.ep, libc::EPOLL_CTL_DEL, fd, 0, 0);
    state.pumps.insert(id, pump);
    watch(state.ep, libc::EPOLL_CTL_ADD, fd, libc::EPOLLOUT, id << 2 | PUMP);
}

/// Somebody fetches what was offered.
fn hand_out(ep: c_int, conn: &Conn) {
    let (listener, flags) = (conn.offer.load(Ordering::Relaxed), libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC);
    // SAFETY: no address is wanted.
    let ctl = unsafe { real::accept4(listener, std::ptr::null_mut(), std::ptr::null_mut(), flags) };
    if ctl < 0 {
        return;
    }
    let memfd = conn.memfd.load(Ordering::Relaxed);
    let [a, b] = conn.bells;
    let is_given = meet::is_same_user(ctl) && give(ctl, [memfd, a[0], a[1], b[0], b[1]]);
    let ctl = fds::hide(ctl);
    if !is_given || ctl < 0 {
        return fds::close(ctl);
    }
    watch(ep, libc::EPOLL_CTL_DEL, listener, 0, 0);
    conn.ctl.store(ctl, Ordering::Release);
    tell(|| format!("connection {} goes by rings, from here", conn.id));
    watch(ep, libc::EPOLL_CTL_ADD, ctl, libc::EPOLLIN | libc::EPOLLRDHUP, conn.id << 2 | CONTROL);
    fds::close(conn.offer.swap(-1, Ordering::Relaxed));
    fds::close(conn.memfd.swap(-1, Ordering::Relaxed));
}

/// The other side asks for something, or is gone.
fn control(ep: c_int, conn: &Arc<Conn>) {
    let (mut byte, ctl) = (0u8, conn.ctl.load(Ordering::Relaxed));
    // SAFETY: one byte.
    match unsafe { real::recv(ctl, (&raw mut byte).cast(), 1, libc::MSG_DONTWAIT) } {
        1 => step::give(conn, "the other side asked for it"),
        -1 if real::errno() == libc::EAGAIN => {}
        _ => {
            watch(ep, libc::EPOLL_CTL_DEL, ctl, 0, 0);
            if !conn.withdraw() {
                conn.mark_closed(conn.peer(), CLOSED);
                [IN, OUT].into_iter().for_each(|what| conn.ring_for(conn.side, what));
            }
        }
    }
}

#[repr(C, align(8))]
struct Control([u8; 64]);

/// A message with room for five descriptors.
fn message(byte: &mut u8, iov: &mut libc::iovec, control: &mut Control) -> libc::msghdr {
    *iov = libc::iovec { iov_base: std::ptr::from_mut(byte).cast(), iov_len: 1 };
    // SAFETY: plain data.
    let mut made: libc::msghdr = unsafe { std::mem::zeroed() };
    (made.msg_iov, made.msg_iovlen) = (iov, 1);
    made.msg_control = control.0.as_mut_ptr().cast();
    // SAFETY: it only computes.
    made.msg_controllen = unsafe { libc::CMSG_SPACE(20) } as usize;
    made
}

fn give(ctl: c_int, all: [c_int; 5]) -> bool {
    let (mut byte, mut control) = (b'O', Control([0; 64]));
    // SAFETY: plain data.
    let mut iov = unsafe { std::mem::zeroed() };
    let made = message(&mut byte, &mut iov, &mut control);
    // SAFETY: the control buffer holds one header and five descriptors.
    unsafe {
        let head = libc::CMSG_FIRSTHDR(&made);
        (*head).cmsg_level = libc::SOL_SOCKET;
        (*head).cmsg_type = libc::SCM_RIGHTS;
        (*head).cmsg_len = libc::CMSG_LEN(20) as usize;
        libc::CMSG_DATA(head).cast::<[c_int; 5]>().write_unaligned(all);
        real::sendmsg(ctl, &made, libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT) == 1
    }
}

/// What `give` sent.
pub fn receive(ctl: c_int) -> Option<[c_int; 5]> {
    let (mut byte, mut control) = (0u8, Control([0; 64]));
    // SAFETY: plain data.
    let mut iov = unsafe { std::mem::zeroed() };
    let mut made = message(&mut byte, &mut iov, &mut control);
    // SAFETY: the control buffer is as long as the message says; a header is read only where the kernel wrote one.
    unsafe {
        let n = real::recvmsg(ctl, &mut made, libc::MSG_CMSG_CLOEXEC | libc::MSG_DONTWAIT);
        let head = libc::CMSG_FIRSTHDR(&made);
        let is_whole = n == 1 && !head.is_null() && (*head).cmsg_type == libc::SCM_RIGHTS;
        let is_whole = is_whole && (*head).cmsg_len == libc::CMSG_LEN(20) as usize;
        is_whole.then(|| libc::CMSG_DATA(head).cast::<[c_int; 5]>().read_unaligned())
    }
}

/// A child that goes on using its connections gets a porter when it first does.
#[inline]
pub fn look_after() {
    if IS_ORPHAN.load(Ordering::Relaxed) && IS_ORPHAN.swap(false, Ordering::Relaxed) {
        let mut state = STATE.lock();
        if start(&mut state) {
            state.conns.values().for_each(|conn| watch_conn(&state, conn));
        }
    }
}

extern "C" fn before_fork() {
    std::mem::forget(STATE.lock());
    epoll::before_fork();
    for_each_conn(|conn| {
        // An offer would be two processes' to hand out: if it is not taken yet, the connection stays the kernel's.
        if !conn.is_joined() {
            conn.withdraw();
        }
        conn.mine().holders.fetch_add(1, Ordering::Relaxed);
    });
}

fn for_each_conn(each: impl Fn(&Conn)) {
    let mut seen = Vec::new();
    for fd in fds::all() {
        if let Some(Entry::Conn(conn)) = fds::entry(fd).as_deref()
            && !seen.contains(&conn.id)
        {
            seen.push(conn.id);
            each(conn);
        }
    }
}

extern "C" fn after_fork() {
    epoll::after_fork();
    STATE.unlock();
}

extern "C" fn in_child() {
    FORKS.fetch_add(1, Ordering::Relaxed);
    epoll::after_fork();
    STATE.unlock();
    let mut state = STATE.lock();
    fds::close(std::mem::replace(&mut state.ep, -1));
    state.pumps.clear();
    IS_ORPHAN.store(!state.conns.is_empty(), Ordering::Relaxed);
}

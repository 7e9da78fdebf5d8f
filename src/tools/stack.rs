//! The trace of this thread with names, files and lines, made without help from other programs (the mechanism EXECINFO).
//!
//! Rules:
//! 1. This process only collects addresses, which is async-signal-safe. Names take memory, and this process's heap may be
//!    damaged or locked. So a child looks them up (`symbols`), which has a copy of everything and a heap of its own.
//! 2. The child writes each line, and then a byte into a pipe. If it ends early or makes no progress, this process prints the lines that are missing,
//!    with what the dynamic linker knows. That takes the linker's lock.

#![allow(unsafe_code)] // the unwinder, the dynamic linker

use super::{child, symbols};
use crate::base::log;
use crate::os::sys;
use libc::{c_char, c_int, c_void};
use std::ffi::CStr;
use std::fmt::Write as _;
use std::mem::MaybeUninit;
use std::os::fd::RawFd;

const FRAMES: usize = 64;
/// When the child is given up, in ms. Guesses: reading the symbols of a large program takes seconds of processor time.
const LIMITS: child::Limits = child::Limits { idle: 3_000, whole: 60_000 };

unsafe extern "C" {
    // Of the unwinder that comes with every compiler. `context` is its own.
    fn _Unwind_Backtrace(
        visit: extern "C" fn(context: *mut c_void, stack: *mut c_void) -> c_int,
        stack: *mut c_void,
    ) -> c_int;
    fn _Unwind_GetIPInfo(context: *mut c_void, is_exact: *mut c_int) -> usize;
}

/// One place in the code.
#[derive(Clone, Copy, Default)]
pub struct Frame {
    /// Where the frame goes on.
    pub address: usize,
    /// An address inside the instruction that runs. It is before the other one, unless a signal interrupted the frame.
    pub within: usize,
}

/// The calls that a thread is in, the innermost first.
pub struct Stack {
    frames: [Frame; FRAMES],
    count: usize,
}

impl Stack {
    /// The calling thread's. The first call may load a library, which a signal handler must not.
    #[inline(never)]
    pub fn here() -> Stack {
        let mut stack = Stack { frames: [Frame::default(); FRAMES], count: 0 };
        // SAFETY: `visit` gets `stack`, which nothing else uses meanwhile.
        unsafe { _Unwind_Backtrace(visit, (&raw mut stack).cast()) };
        stack
    }

    /// The frames.
    pub fn frames(&self) -> &[Frame] {
        &self.frames[..self.count]
    }
}

extern "C" fn visit(context: *mut c_void, stack: *mut c_void) -> c_int {
    const GO_ON: c_int = 0; // _URC_NO_REASON
    const STOP: c_int = 5; // _URC_END_OF_STACK
    // SAFETY: from `here`.
    let stack = unsafe { &mut *stack.cast::<Stack>() };
    let mut is_exact = 0;
    // SAFETY: the unwinder's own context.
    let address = unsafe { _Unwind_GetIPInfo(context, &mut is_exact) };
    let Some(slot) = stack.frames.get_mut(stack.count).filter(|_| address != 0) else { return STOP };
    *slot = Frame { address, within: if is_exact != 0 { address } else { address - 1 } };
    stack.count += 1;
    GO_ON
}

/// Prints the calling thread's stack, a line per frame. False if there is none.
pub fn print(fd: c_int) -> bool {
    let stack = Stack::here();
    let told = by_child(&stack, fd);
    for (number, frame) in stack.frames().iter().enumerate().skip(told) {
        let mut line = begin(number, frame);
        describe(&mut line, frame);
        line.send_to(fd);
    }
    stack.count > 0
}

fn begin(number: usize, frame: &Frame) -> log::Line {
    let mut line = log::Line::new("");
    let _ = write!(line, "#{number:<2} {:#x}", frame.address);
    line
}

struct Task<'a> {
    stack: &'a Stack,
    fd: c_int,
    from: RawFd,
    progress: RawFd,
}

/// Has a child print the lines, and returns how many it has printed.
fn by_child(stack: &Stack, fd: c_int) -> usize {
    let Some((from, progress)) = child::pipe() else { return 0 };
    let child = child::run_apart(look_up, &Task { stack, fd, from, progress });
    // SAFETY: the descriptor belongs to this process; the child has its own copy.
    unsafe { libc::close(progress) };
    let mut told = 0;
    if child > 0 {
        let mut patience = child::Patience::new(child, LIMITS);
        let mut marks = [0u8; FRAMES];
        while let Some(got @ 1..) = patience.read(from, &mut marks) {
            told += got;
        }
        sys::kill(child, libc::SIGKILL); // it has ended, or is given up
        child::wait(child);
    }
    // SAFETY: as above.
    unsafe { libc::close(from) };
    told
}

/// The child of rule 1.
extern "C" fn look_up(task: *mut c_void) -> c_int {
    // SAFETY: from `by_child`, in this process's copy.
    let task = unsafe { &*task.cast::<Task<'_>>() };
    let _ = sys::signal_at_parents_end(libc::SIGKILL);
    // A fault here must end this process without a word. A signal that is blocked does that.
    sys::SignalSet::all().apply(libc::SIG_SETMASK);
    // SAFETY: this call takes an integer; this process has a copy of the descriptor.
    unsafe { libc::close(task.from) };
    crate::os::spare_heap::switch();
    let mut names = symbols::Names::of_this_process();
    for (number, frame) in task.stack.frames().iter().enumerate() {
        let mut line = begin(number, frame);
        if !names.describe(&mut line, frame) {
            describe(&mut line, frame);
        }
        line.send_to(task.fd);
        // SAFETY: one readable byte.
        unsafe { libc::write(task.progress, c".".as_ptr().cast(), 1) };
    }
    sys::exit_now(0)
}

/// Adds what the dynamic linker knows: exported names alone.
fn describe(line: &mut log::Line, frame: &Frame) {
    let mut info = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: `info` is writable, and dladdr accepts any address.
    let found = unsafe { libc::dladdr(frame.within as *const c_void, info.as_mut_ptr()) } != 0;
    // SAFETY: zeroed is a valid value of every field.
    let info = unsafe { info.assume_init() };
    if found {
        if let Some(name) = text(info.dli_sname) {
            let _ = write!(line, " {name}+{:#x}", frame.address.wrapping_sub(info.dli_saddr as usize));
        }
        let offset = frame.address.wrapping_sub(info.dli_fbase as usize);
        let _ = write!(line, " ({}+{offset:#x})", text(info.dli_fname).unwrap_or("?"));
    }
}

fn text(name: *const c_char) -> Option<&'static str> {
    // SAFETY: dladdr gives NULL or a C string in the loaded object, which stays loaded.
    let name = (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) })?;
    name.to_str().ok()
}

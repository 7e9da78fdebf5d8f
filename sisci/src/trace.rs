//! `SISCI_TRACE`: a line for each call of the program's, as C would write it, with what came out and how long it took.
//!
//! The line goes to the file in one write at its end, so lines of several processes and threads never mix.
#![allow(unsafe_code)] // Looks at what the program's pointers point to.

use std::ffi::{CStr, c_char, c_void};
use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant, SystemTime};

use crate::calm;
use crate::config;
use crate::error::{Error, Result};

/// Nobody has looked at the variable yet: the first call does.
const UNKNOWN: u8 = 0;
/// No trace is wanted.
const OFF: u8 = 1;
/// There is a file.
const ON: u8 = 2;

/// One of these.
static STATE: AtomicU8 = AtomicU8::new(UNKNOWN);
/// The file.
static FILE: OnceLock<Option<File>> = OnceLock::new();

/// Whether a call has to go through `reporting` or `silent`. The only thing that a call without a trace does for it.
#[inline]
pub fn is_on() -> bool {
    // Ordering: who reads an old value asks once more.
    STATE.load(Ordering::Relaxed) != OFF
}

/// The file, if a trace is wanted. The first call opens it: calls before SCIInitialize, and that one, are traced too.
fn file() -> Option<&'static File> {
    // A handler that interrupts this would wait for its own thread.
    let _calm = calm::enter().ok()?;
    // What is wrong with the variable is said by SCIInitialize, which looks at it as well.
    let file = FILE.get_or_init(|| config::trace().unwrap_or_default()).as_ref();
    STATE.store(if file.is_some() { ON } else { OFF }, Ordering::Relaxed);
    file
}

/// The kind of arguments that are flags.
const FLAGS: &str = "flags";
/// Those that are codes of errors, or places for one.
const ERROR: &str = "error";
/// Those that the program writes before the call too: they are there whatever comes out.
const BOTH: &str = "in and out";

/// What there is to know of an argument: its type, or what its name says.
pub const fn kind(name: &str, of: &'static str) -> &'static str {
    match name.as_bytes() {
        b"flags" | b"_flags" => FLAGS,
        b"error" | b"status" => ERROR,
        b"number" | b"length" => BOTH,
        _ => of,
    }
}

/// How an argument or a result is written. `kind` is its type in the source, which tells handles from other numbers.
pub trait Show {
    /// Adds it to the line. After an error, what only a success writes is not looked at.
    fn show(&self, kind: &str, has_succeeded: bool, line: &mut String);
}

/// A number: handles and flags as C prints pointers, others in decimals.
fn number(value: u64, kind: &str, line: &mut String) {
    let is_decimal = kind != "Handle" && kind != FLAGS && kind != ERROR;
    match u32::try_from(value).ok().filter(|_| kind == ERROR).and_then(Error::name) {
        Some(name) => line.push_str(name),
        None => {
            let _ = if is_decimal || value == 0 { write!(line, "{value}") } else { write!(line, "{value:#x}") };
        }
    }
}

impl Show for u32 {
    fn show(&self, kind: &str, _: bool, line: &mut String) {
        number((*self).into(), kind, line);
    }
}

impl Show for u64 {
    fn show(&self, kind: &str, _: bool, line: &mut String) {
        number(*self, kind, line);
    }
}

impl Show for usize {
    fn show(&self, kind: &str, _: bool, line: &mut String) {
        number(*self as u64, kind, line);
    }
}

impl Show for i32 {
    fn show(&self, _: &str, _: bool, line: &mut String) {
        let _ = write!(line, "{self}");
    }
}

impl Show for () {
    fn show(&self, _: &str, _: bool, _: &mut String) {}
}

/// An address.
pub fn address<T>(pointer: *const T, line: &mut String) {
    let _ = if pointer.is_null() { write!(line, "NULL") } else { write!(line, "{:#x}", pointer.addr()) };
}

impl Show for *mut c_void {
    fn show(&self, _: &str, _: bool, line: &mut String) {
        address(*self, line);
    }
}

impl Show for *const c_void {
    fn show(&self, _: &str, _: bool, line: &mut String) {
        address(*self, line);
    }
}

/// What a function writes to, with what stands there after the call.
fn place<T: Show + Copy>(pointer: *const T, kind: &str, has_succeeded: bool, line: &mut String) {
    if pointer.is_null() || !(has_succeeded || kind == BOTH) {
        return address(pointer, line);
    }
    line.push('[');
    // SAFETY: the call that has succeeded wrote there; or the program did.
    unsafe { pointer.read() }.show(kind.trim_start_matches("*mut "), true, line);
    line.push(']');
}

impl Show for *mut u32 {
    fn show(&self, kind: &str, has_succeeded: bool, line: &mut String) {
        place(*self, kind, has_succeeded, line);
    }
}

impl Show for *mut usize {
    fn show(&self, kind: &str, has_succeeded: bool, line: &mut String) {
        place(*self, kind, has_succeeded, line);
    }
}

/// A text, cut if it is long.
impl Show for *const c_char {
    fn show(&self, _: &str, _: bool, line: &mut String) {
        if self.is_null() {
            return line.push_str("NULL");
        }
        // SAFETY: texts of the program's and of the library's end with a zero.
        let text = unsafe { CStr::from_ptr(*self) }.to_string_lossy();
        let _ = write!(line, "{:?}", text.chars().take(64).collect::<String>());
    }
}

/// A function of the program's.
impl<T> Show for Option<T> {
    fn show(&self, _: &str, _: bool, line: &mut String) {
        line.push_str(if self.is_some() { "function" } else { "NULL" });
    }
}

/// What a number means that a function returns.
fn meaning(function: &str, value: &str) -> Option<&'static str> {
    let names: &[&'static str] = match function {
        "SCIStartSequence" | "SCICheckSequence" => {
            &["SCI_SEQ_OK", "SCI_SEQ_RETRIABLE", "SCI_SEQ_NOT_RETRIABLE", "SCI_SEQ_PENDING"]
        }
        "SCIDMAQueueState" | "SCIWaitForDMAQueue" | "SCIEnqueueDMATransfer" => &[
            "SCI_DMAQUEUE_IDLE", "SCI_DMAQUEUE_GATHER", "SCI_DMAQUEUE_POSTED", "SCI_DMAQUEUE_DONE",
            "SCI_DMAQUEUE_ABORTED", "SCI_DMAQUEUE_ERROR",
        ],
        "SCIWaitForLocalSegmentEvent" | "SCIWaitForRemoteSegmentEvent" => &["", "SCI_CB_CONNECT", "SCI_CB_DISCONNECT"],
        _ => return None,
    };
    names.get(value.parse::<usize>().ok()?).copied().filter(|name| !name.is_empty())
}

/// An argument: its `kind` and its value.
pub type Argument<'a> = (&'static str, &'a dyn Show);

/// What a call is: the function's name, its arguments, the type of what it returns.
pub struct Call<'a> {
    /// The plain name.
    pub function: &'static str,
    /// In the order of C, without `error`.
    pub arguments: &'a [Argument<'a>],
    /// The type of the value.
    pub kind: &'static str,
}

/// Writes the line of a call that has returned.
fn write(call: &Call<'_>, value: &dyn Show, error: Option<Error>, began: SystemTime, took: Duration) {
    let Some(mut file) = file() else { return };
    // A call that was refused is not told: its thread may be in the middle of anything.
    let Ok(_calm) = calm::enter() else { return };
    let line = line(call, value, error, began, took);
    // A file that is full loses lines; the program goes on.
    let _ = file.write_all(line.as_bytes());
}

/// The line: seconds since 1970, process/thread, the call, what came out, seconds that it took.
fn line(call: &Call<'_>, value: &dyn Show, error: Option<Error>, began: SystemTime, took: Duration) -> String {
    let at = began.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let (process, thread) = (std::process::id(), rustix::thread::gettid().as_raw_nonzero());
    let mut line = format!("{}.{:09} {process}/{thread} {}(", at.as_secs(), at.subsec_nanos(), call.function);
    let has_succeeded = error.is_none_or(|error| error == Error::Ok);
    for (at, (kind, argument)) in call.arguments.iter().enumerate() {
        if at > 0 {
            line.push_str(", ");
        }
        argument.show(kind, has_succeeded, &mut line);
    }
    line.push_str(") =");
    let mut shown = String::new();
    value.show(call.kind, has_succeeded, &mut shown);
    for word in [meaning(call.function, &shown).unwrap_or(&shown), error.map_or("", name)] {
        if !word.is_empty() {
            line.push(' ');
            line.push_str(word);
        }
    }
    let _ = writeln!(line, " <{}.{:09}>", took.as_secs(), took.subsec_nanos());
    line
}

/// The name of a result in C.
fn name(error: Error) -> &'static str {
    Error::name(error as u32).unwrap_or("?")
}

/// Makes a call that reports by `error`, and writes its line.
#[cold]
#[inline(never)]
pub fn reporting<T: Show>(
    call: &Call<'_>,
    body: &mut dyn FnMut() -> Result<T>,
    settle: impl FnOnce(Result<T>) -> T,
) -> T {
    if file().is_none() {
        return settle(body());
    }
    let (began, clock) = (SystemTime::now(), Instant::now());
    let result = body();
    let took = clock.elapsed();
    let error = result.as_ref().err().copied().unwrap_or(Error::Ok);
    let value = settle(result);
    write(call, &value, Some(error), began, took);
    value
}

/// Makes a call that does not report, and writes its line.
#[cold]
#[inline(never)]
pub fn silent<T: Show>(call: &Call<'_>, body: &mut dyn FnMut() -> T) -> T {
    if file().is_none() {
        return body();
    }
    let (began, clock) = (SystemTime::now(), Instant::now());
    let value = body();
    write(call, &value, None, began, clock.elapsed());
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line without its beginning and its end, which differ from call to call.
    fn middle(call: &Call<'_>, value: &dyn Show, error: Option<Error>) -> String {
        let line = line(call, value, error, SystemTime::now(), Duration::from_micros(1500));
        let line = line.strip_suffix(" <0.001500000>\n").unwrap();
        line.splitn(3, ' ').nth(2).unwrap().to_owned()
    }

    #[test]
    fn a_line_is_what_c_would_write() {
        let (mut handle, zero, null): (usize, usize, *mut c_void) = (0x2b1, 0, std::ptr::null_mut());
        let (place, function) = (&raw mut handle, None::<extern "C" fn()>);
        let arguments: [Argument<'_>; 6] = [
            ("Handle", &0x11_usize),
            ("*mut Handle", &place),
            ("u32", &17_u32),
            ("Handle", &zero),
            ("LocalFunction", &function),
            ("flags", &0x20_u32),
        ];
        let mut call = Call { function: "SCIAnything", arguments: &arguments, kind: "" };
        assert_eq!(middle(&call, &(), Some(Error::Ok)), "SCIAnything(0x11, [0x2b1], 17, 0, NULL, 0x20) = SCI_ERR_OK");
        let failed = middle(&call, &null, Some(Error::NoSuchSegment));
        assert!(failed.ends_with(", 17, 0, NULL, 0x20) = NULL SCI_ERR_NO_SUCH_SEGMENT"), "{failed}");
        assert!(!failed.contains("[0x2b1]"), "{failed}");
        let text = c"a \"b\"".as_ptr();
        let texts: [Argument<'_>; 1] = [("*const c_char", &text)];
        call = Call { function: "SCICheckSequence", arguments: &texts, kind: "u32" };
        assert_eq!(
            middle(&call, &1_u32, Some(Error::Ok)),
            r#"SCICheckSequence("a \"b\"") = SCI_SEQ_RETRIABLE SCI_ERR_OK"#
        );
        assert_eq!(middle(&call, &9_u32, None), r#"SCICheckSequence("a \"b\"") = 9"#);
    }
}

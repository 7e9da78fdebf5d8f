//! The line of the client's source at which a thread is, as the client reports it (contract: tools.md §13). Traces
//! show it.

use std::cell::Cell;
use std::ffi::CStr;

/// A position, and the number of freezes in effect.
#[derive(Clone, Copy)]
struct SourceLine {
    file: Option<&'static CStr>,
    line: u32,
    frozen: u32,
}

thread_local! {
    static PLACE: Cell<SourceLine> = const { Cell::new(SourceLine { file: None, line: 0, frozen: 0 }) };
}

/// Sets this thread's position to `line` of `file` (`None`: the file that was set last).
pub fn set(file: Option<&'static CStr>, line: u32) {
    let place = PLACE.get();
    if place.frozen == 0 {
        PLACE.set(SourceLine { file: file.or(place.file), line, frozen: 0 });
    }
}

/// The position that was set last; `None` if none was.
pub fn get() -> Option<(&'static CStr, u32)> {
    let place = PLACE.get();
    place.file.map(|file| (file, place.line))
}

/// Makes [`set`] do nothing on this thread, until [`thaw`] has been called as often as this.
pub fn freeze() {
    let place = PLACE.get();
    PLACE.set(SourceLine { frozen: place.frozen + 1, ..place });
}

/// Ends the effect of one [`freeze`].
pub fn thaw() {
    let place = PLACE.get();
    PLACE.set(SourceLine { frozen: place.frozen.saturating_sub(1), ..place });
}

/// `[file:line] `, or nothing. Works also while the thread ends.
pub(super) fn shown() -> String {
    let place = PLACE.try_with(Cell::get).ok();
    let known = place.and_then(|place| place.file.map(|file| (file.to_string_lossy(), place.line)));
    known.map_or(String::new(), |(file, line)| format!("[{file}:{line}] "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_kept_per_thread_and_while_frozen() {
        assert_eq!((get(), shown().as_str()), (None, ""));
        set(Some(c"a.upc"), 3);
        set(None, 4);
        freeze();
        freeze();
        set(Some(c"b.upc"), 5);
        thaw();
        set(None, 6);
        assert_eq!((get(), shown().as_str()), (Some((c"a.upc", 4)), "[a.upc:4] "));
        thaw();
        thaw();
        set(None, 7);
        assert_eq!(get(), Some((c"a.upc", 7)));
        assert_eq!(std::thread::spawn(get).join().unwrap(), None);
    }
}

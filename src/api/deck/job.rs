//! Start and end of DECK, and what it says of the job.

#![allow(unsafe_code)] // exported names

use super::constants::*;
use super::{deck, engine, number, set_engine, status};
use crate::api::shared::constants::*;
use crate::api::shared::{objects, reach, start};
use crate::base::error::Error;
use crate::deck::Failure;
use crate::deck::engine::Deck;
use crate::job::Job;
use crate::sci::Host;
use crate::supervise::Boxes;
use crate::sync::fixed::{AtomicBool, Ordering};
use std::ffi::{CStr, c_char, c_int};

const CONFIG: &CStr = c"DECK,PAR,FAST";
static NO_SIZE: u64 = 0;

/// A pointer that threads may share, because nobody writes through it.
struct NoText(*const c_char);
// SAFETY: NULL.
unsafe impl Sync for NoText {}
static NO_TEXT: NoText = NoText(std::ptr::null());

/// deck_init has succeeded in this process. That stays so after deck_done, because DECK begins once.
static HAS_BEGUN: AtomicBool = AtomicBool::new(false);

/// `deck_init`.
///
/// # Safety
/// The pointers are NULL or those of `main`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn deck_init(argc: *mut c_int, argv: *mut *mut *mut c_char) -> c_int {
    let _ = (argc, argv); // the library takes no arguments from the command line
    status("deck_init", || {
        // Relaxed, both: nothing is read on account of it.
        if HAS_BEGUN.load(Ordering::Relaxed) {
            return Err(Failure::Twice);
        }
        set_engine(Some(begin()?));
        HAS_BEGUN.store(true, Ordering::Relaxed); // Relaxed: as above
        Ok(())
    })
}

/// Makes the engine. A program without GASNet joins its job first.
fn begin() -> Result<&'static Deck<Host>, Failure> {
    let alone = Job::get().is_err();
    if alone {
        join()?;
    }
    let job = Job::attached().map_err(|_| Failure::Init)?;
    job.open_deck(alone).map_err(|error: Error| Failure::memory(error.to_string()))
}

/// Begins the job, for a program without GASNet. Threads may call at the same time.
fn join() -> Result<(), Failure> {
    let client = start::gasneti_sci_client_t {
        modes: GASNETI_SCI_MODE_PAR | GASNETI_SCI_MODE_FAST | GASNETI_SCI_MODE_NDEBUG,
        config: CONFIG.as_ptr(),
        max_segsize: &raw const NO_SIZE,
        idents: std::ptr::null(),
        max_segsize_str: &raw const NO_TEXT.0,
    };
    // SAFETY: the pointers are to statics.
    if unsafe { start::init(client, "deck_init") } != GASNETI_SCI_OK {
        return Err(Failure::Init);
    }
    let job = Job::get()?;
    objects::begin(c"DECK".as_ptr(), 0);
    job.open()?;
    reach::tell_header(job);
    Ok(())
}

/// `deck_done`.
#[unsafe(no_mangle)]
pub extern "C" fn deck_done() -> c_int {
    status("deck_done", || {
        let (deck, job) = (deck()?, Job::attached()?);
        let meet = |boxes| -> Result<(), Failure> {
            match deck.survives() {
                true => job.await_survivors(boxes),
                false => job.coll()?.meet(),
            }
            Ok(())
        };
        meet(Boxes::Ending)?; // nobody posts any more
        deck.close_all()?;
        meet(Boxes::Done)?; // all loans that were in boxes are on their way back
        set_engine(None);
        deck.waiting.end();
        Ok(())
    })
}

/// `deck_node`.
#[unsafe(no_mangle)]
pub extern "C" fn deck_node() -> c_int {
    number("deck_node", || Ok(begun()?.rank() as c_int))
}

/// `deck_nodes`.
#[unsafe(no_mangle)]
pub extern "C" fn deck_nodes() -> c_int {
    number("deck_nodes", || Ok(begun()?.nodes() as c_int))
}

/// The job, between deck_init and deck_done.
fn begun() -> Result<&'static Job, Failure> {
    engine()?;
    Ok(Job::get()?)
}

/// `deck_version`.
#[unsafe(no_mangle)]
pub extern "C" fn deck_version() -> *const c_char {
    const _: () = assert!(DECK_VERSION_MAJOR == 1 && DECK_VERSION_MINOR == 0, "as the text says");
    const TEXT: &str = concat!("1.0, gasnet-sci ", env!("CARGO_PKG_VERSION"), "\0");
    TEXT.as_ptr().cast()
}

/// `deck_strerror`.
#[unsafe(no_mangle)]
pub extern "C" fn deck_strerror(error: c_int) -> *const c_char {
    text(error).as_ptr()
}

/// What an error means.
pub(super) fn text(error: c_int) -> &'static CStr {
    match error {
        0 => c"success",
        DECK_EAGAIN => c"it would have to wait, and the time was 0",
        DECK_ETIMEDOUT => c"the time is over; nothing was done",
        DECK_EEXIST => c"a mail box has that name",
        DECK_EGONE => c"the mail box was destroyed",
        DECK_EPEER => c"a node that is needed is lost",
        DECK_EPLACE => c"the message must lie in shared memory: create it with DECK_SHARED or DECK_AUTO",
        DECK_ETRUNC => c"too small for what should go in",
        DECK_ETYPE => c"what comes next in the message is of another type or count",
        DECK_ENOMEM => c"memory, the DECK heap or a node's boxes are used up",
        DECK_EMODE => c"only in GASNET_PAR, and in programs of DECK alone",
        DECK_EINIT => c"DECK is not running: call between deck_init and deck_done (beside GASNet, deck_init comes after gasnet_attach)",
        DECK_EARG => c"an argument that the call does not take",
        DECK_ETWICE => c"deck_init was called before",
        _ => c"no error of DECK",
    }
}

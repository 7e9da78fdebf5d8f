//! An endpoint's handlers: the library's own below index 128, the client's functions from there on (contract: core.md §6.2).
//!
//! | index | handler |
//! |---|---|
//! | 0 | none: in a client's table it asks for an index |
//! | 1–63 | the core's |
//! | 64–127 | the extended API's |
//! | 128–255 | the client's |
//!
//! The lower half is Rust code, made with the engine and never changed ([`Library`]). The upper half is addresses of C
//! functions. A client may register some at any time, while messages for others are served.
//!
//! Ordering of the upper half: a thread that registers a handler tells peers of it afterwards, by a message, a barrier or the
//! end of attach. Their messages to that handler are sent after that, and the look that finds such a message is an Acquire. So
//! the thread that serves the message sees the stored address, although store and load are Relaxed. A lock lets one thread
//! register at a time.
//!
//! Must not know: what handlers do, who calls them.

use super::library::{Engine, Library};
use super::slot::FIRST_CLIENT;
use super::token::Token;
use crate::base::error::{Error, bad_arg};
use crate::sync::{AtomicUsize, Ordering};
use parking_lot::Mutex;
use std::sync::OnceLock;

/// Which free index a don't-care entry gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Free {
    /// GASNet-1.
    Lowest,
    /// GASNet-EX.
    Highest,
}

/// Looks at a message before its handler runs: the client's promises about the handler hold, or the job ends.
pub type Inspect = fn(&Token);

/// Entry of a client's table: index (0 = assign one) and function address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Requested index, or the one assigned.
    pub index: u8,
    /// Address of the function; 0 = NULL.
    pub function: usize,
}

/// The handlers, of an engine of type `E`.
pub struct Handlers<E: Engine> {
    /// Addresses of the client's functions by index; 0 = none. The entries below [`FIRST_CLIENT`] stay 0. They are there so
    /// that the look-up is one instruction.
    clients: [AtomicUsize; 256],
    /// The functions of handlers for whose messages there is more to do than to call them. They have none in `clients`, so that
    /// one look-up tells both, and the messages of others pay nothing: before, each Short asked whether anything is recorded and whether somebody
    /// checks, seven instructions at each side.
    apart: OnceLock<Box<[AtomicUsize]>>,
    /// Looks at their messages.
    inspect: OnceLock<Inspect>,
    library: Library<E>,
    registering: Mutex<()>,
}

/// Indices of the client's.
const CLIENTS: usize = 256 - FIRST_CLIENT as usize;
/// The most numbers and ranges that a message lists.
const LISTED: usize = 12;

impl<E: Engine> Handlers<E> {
    /// The library's own handlers, and none of the client's.
    pub fn new(library: Library<E>) -> Handlers<E> {
        let clients = std::array::from_fn(|_| AtomicUsize::new(0));
        Handlers { clients, apart: OnceLock::new(), inspect: OnceLock::new(), library, registering: Mutex::new(()) }
    }

    /// The library's own.
    #[inline(always)]
    pub(super) fn library(&self) -> &Library<E> {
        &self.library
    }

    /// Address of the client's function under `index`. 0 = none; the library's own indices give 0 too.
    #[inline(always)]
    pub fn function(&self, index: u8) -> usize {
        self.clients[usize::from(index)].load(Ordering::Relaxed) // Relaxed: see the head of this file
    }

    /// Address of the function that is set apart, if the message of `token` is for one. It inspects the message, if that is wanted. 0:
    /// there is none.
    #[cold]
    #[inline(never)]
    pub(super) fn apart(&self, token: &Token) -> usize {
        let Some(functions) = self.apart.get() else { return 0 };
        let function = functions[usize::from(token.meta().handler())].load(Ordering::Relaxed); // Relaxed: as `function`
        if let (Some(inspect), true) = (self.inspect.get(), function != 0) {
            inspect(token);
        }
        function
    }

    /// Handlers that are registered from now on are set apart: their messages are recorded, or checked when the handler returns, or inspected.
    /// Init calls it, before a client can register any.
    pub fn set_apart(&self) {
        self.apart.get_or_init(|| (0..256).map(|_| AtomicUsize::new(0)).collect());
    }

    /// From now on messages for handlers that are registered are inspected (debug clients of GASNet-EX).
    pub fn inspect(&self, inspect: Inspect) {
        self.set_apart();
        let _ = self.inspect.set(inspect); // set by init, once
    }

    /// Where functions registered from now on go.
    fn table(&self) -> &[AtomicUsize] {
        self.apart.get().map_or(&self.clients, |functions| functions)
    }

    /// Adds functions of the client's. Fixed indices are taken as they are. Then each don't-care entry, in table order, gets
    /// a free index, which is written back. `announce` is called with the entries before any of them can be found. Any thread may
    /// call, at any time. `BadArg` leaves table and entries unchanged.
    pub fn register(&self, entries: &mut [Entry], free: Free, announce: impl FnOnce(&[Entry])) -> Result<(), Error> {
        if entries.len() > CLIENTS {
            return bad_arg(format_args!("handler table has {} entries; the limit is {CLIENTS}", entries.len()));
        }
        let _one = self.registering.lock();
        // Relaxed: written under the lock.
        let is_used = |table: &[AtomicUsize], i: usize| table[i].load(Ordering::Relaxed) != 0;
        let mut used: [bool; 256] = std::array::from_fn(|i| is_used(&self.clients, i) || is_used(self.table(), i));
        let mut named = [false; 256];
        for Entry { index, function } in entries.iter().copied() {
            if function == 0 {
                return bad_arg(format_args!("handler table entry for index {index} has a NULL function"));
            }
            if (1..FIRST_CLIENT).contains(&index) {
                return bad_arg(format_args!("handler index {index} is reserved; clients use {FIRST_CLIENT} to 255"));
            }
            if index == 0 {
                continue;
            }
            if std::mem::replace(&mut named[usize::from(index)], true) {
                return bad_arg(format_args!("handler index {index} stands twice in the table"));
            }
            if std::mem::replace(&mut used[usize::from(index)], true) {
                return bad_arg(format_args!("handler index {index} was registered before"));
            }
        }
        let mut left = (FIRST_CLIENT..=255).filter(|i| !used[usize::from(*i)]);
        let (wanted, count) = (entries.iter().filter(|e| e.index == 0).count(), left.clone().count());
        if wanted > count {
            return bad_arg(format_args!("{wanted} handlers want an index; {count} are free"));
        }
        for entry in entries.iter_mut().filter(|e| e.index == 0) {
            let index = if free == Free::Lowest { left.next() } else { left.next_back() };
            entry.index = index.expect("as many as are wanted, as just counted");
        }
        announce(entries);
        for entry in entries.iter() {
            // Relaxed: see the head of this file.
            self.table()[usize::from(entry.index)].store(entry.function, Ordering::Relaxed);
        }
        Ok(())
    }

    /// The client's indices that have a function, for a message: "128, 200 to 203", or "none". At most [`LISTED`] numbers or ranges.
    #[cold]
    pub(super) fn list(&self) -> String {
        // Relaxed: see the head of this file.
        let is_used = |i: usize| [&self.clients[..], self.table()].iter().any(|t| t[i].load(Ordering::Relaxed) != 0);
        let used: Vec<usize> = (usize::from(FIRST_CLIENT)..256).filter(|i| is_used(*i)).collect();
        let ranges: Vec<&[usize]> = used.chunk_by(|a, b| a + 1 == *b).collect();
        let mut texts: Vec<String> = Vec::new();
        for range in ranges.iter().take(LISTED) {
            texts.push(match range {
                [one] => one.to_string(),
                [first, .., last] => format!("{first} to {last}"),
                [] => continue,
            });
        }
        match ranges.len() {
            0 => "none".into(),
            n if n > LISTED => texts.join(", ") + ", and more",
            _ => texts.join(", "),
        }
    }

    /// Takes back what [`Self::register`] did with `entries`, before any peer was told of them.
    pub fn forget(&self, entries: &[Entry]) {
        let _one = self.registering.lock();
        for entry in entries {
            self.table()[usize::from(entry.index)].store(0, Ordering::Relaxed); // Relaxed: see the head of this file
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn empty() -> Handlers<()> {
        Handlers::new(Library::default())
    }

    fn entries(indices: &[u8]) -> Vec<Entry> {
        indices.iter().map(|i| Entry { index: *i, function: 1000 + *i as usize }).collect()
    }

    #[test]
    fn fixed_indices_stay_and_dont_cares_get_the_lowest_free_ones() {
        let table = empty();
        let mut e = entries(&[0, 130, 0, 128, 0]);
        table.register(&mut e, Free::Lowest, |_| ()).unwrap();
        assert_eq!(e.iter().map(|e| e.index).collect::<Vec<_>>(), [129, 130, 131, 128, 132]);
        assert_eq!(table.function(130), 1130);
        assert_eq!(table.function(200), 0);
    }

    #[test]
    fn a_full_table_of_dont_cares_fits_exactly() {
        let mut e = entries(&[0; 128]);
        empty().register(&mut e, Free::Lowest, |_| ()).unwrap();
        assert_eq!(e.last().unwrap().index, 255);
        assert!(empty().register(&mut entries(&[0; 129]), Free::Lowest, |_| ()).is_err());
    }

    #[test]
    fn bad_tables_change_nothing() {
        for bad in [&[128, 128][..], &[1], &[127, 0]] {
            let table = empty();
            let mut e = entries(bad);
            assert!(table.register(&mut e, Free::Lowest, |_| ()).is_err());
            assert_eq!(e, entries(bad));
            assert!((FIRST_CLIENT..=255).all(|i| table.function(i) == 0));
        }
        assert!(empty().register(&mut [Entry { index: 0, function: 0 }], Free::Lowest, |_| ()).is_err());
    }

    #[test]
    fn later_tables_add_to_the_first_and_take_nothing_of_it() {
        let table = empty();
        table.register(&mut entries(&[128, 200]), Free::Lowest, |_| ()).unwrap();
        assert!(table.register(&mut entries(&[201, 200]), Free::Lowest, |_| ()).is_err(), "registered before");
        assert_eq!((table.function(200), table.function(201)), (1200, 0));
        let mut e = entries(&[0, 129, 0]);
        table.register(&mut e, Free::Lowest, |_| ()).unwrap();
        assert_eq!(e.iter().map(|e| e.index).collect::<Vec<_>>(), [130, 129, 131]);
        assert!(table.register(&mut entries(&[0; 124]), Free::Lowest, |_| ()).is_err(), "123 are free");
        table.register(&mut entries(&[0; 123]), Free::Lowest, |_| ()).unwrap();
        table.forget(&e);
        assert_eq!((table.function(129), table.function(128)), (0, 1128));
        table.register(&mut e, Free::Lowest, |_| ()).unwrap();
    }

    #[test]
    fn a_message_lists_a_dozen_indices_or_ranges() {
        let table = empty();
        assert_eq!(table.list(), "none");
        table.register(&mut entries(&[128, 200, 201, 202, 255]), Free::Lowest, |_| ()).unwrap();
        assert_eq!(table.list(), "128, 200 to 202, 255");
        let odd: Vec<u8> = (0..20).map(|i| 131 + 2 * i).collect();
        table.register(&mut entries(&odd), Free::Lowest, |_| ()).unwrap();
        assert_eq!(table.list(), "128, 131, 133, 135, 137, 139, 141, 143, 145, 147, 149, 151, and more");
    }

    #[test]
    fn tables_of_several_threads_get_indices_of_their_own() {
        let table = empty();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let table = &table;
                scope.spawn(move || {
                    for i in 0..32 {
                        table
                            .register(&mut [Entry { index: 0, function: 1 + thread * 32 + i }], Free::Lowest, |_| ())
                            .unwrap();
                    }
                });
            }
        });
        let mut seen: Vec<usize> = (FIRST_CLIENT..=255).map(|i| table.function(i)).collect();
        seen.sort_unstable();
        assert!(seen.into_iter().eq(1..=128));
    }
}

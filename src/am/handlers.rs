//! The handler table: 256 indices → client functions (contract: core.md §6.2).
//!
//! Index 0 asks for an index; 1–63 are the core's, 64–127 the extended API's, 128–255 the client's.

use super::slot::Carry;
use super::token::Kind;
use crate::base::error::{Error, bad_arg};
use crate::sync::{AtomicUsize, Ordering};

/// First index that clients may use.
pub const FIRST_CLIENT: u8 = 128;

// Indices of the library's own handlers, and the messages they are run for: one list, so that no two are the same. 64 on:
// `rma::reference`; 96 on: `vis::pack`; 112 on: `coll::cells` and `coll::moves`.
macro_rules! internal {
    ($($(#[doc = $doc:literal])* $name:ident = $index:literal: $kind:ident $category:ident $args:literal;)*) => {
        $($(#[doc = $doc])* pub const $name: u8 = $index;)*
        const INTERNAL: &[u8] = &[$($index),*];

        /// Is the library's own handler `index` run for such a message? A peer's memory may say anything, and the handler
        /// takes what it is called with. What clients' handlers take nobody knows but they.
        pub(crate) fn takes(index: u8, kind: Kind, carry: Carry, args: usize) -> bool {
            let (whose, category, count) = match index {
                $($index => (Kind::$kind, Category::$category, $args),)*
                _ => return false,
            };
            let carried = match carry {
                Carry::Short => Category::Short,
                Carry::Inline | Carry::Ring => Category::Medium,
                Carry::Long | Carry::Bounced | Carry::Stream => Category::Long,
            };
            (kind, carried, args) == (whose, category, count)
        }
    };
}

#[derive(PartialEq, Eq)]
enum Category {
    Short,
    Medium,
    Long,
}

internal! {
    /// Answers a put, which its Long has done already.
    RMA_PUT = 64: Request Long 1;
    /// Answers a get with a Medium.
    RMA_GET = 65: Request Short 7;
    /// Answers a get with a Long.
    RMA_GET_LONG = 66: Request Short 7;
    /// Sets memory.
    RMA_SET = 67: Request Short 6;
    /// Counts an operation done.
    RMA_DONE = 68: Reply Short 1;
    /// Counts a get done whose bytes are in place.
    RMA_LANDED = 69: Reply Long 2;
    /// Puts a get's bytes in place and counts it done.
    RMA_ARRIVED = 70: Reply Medium 4;
    /// Puts a get's bytes, at most eight, which it has in its arguments, in place and counts it done.
    RMA_FETCHED = 71: Reply Short 7;
    /// Puts at most eight bytes, which it has in its arguments, in place and answers.
    RMA_PUT_WORD = 72: Request Short 6;
    /// Puts a packet's bytes in place.
    VIS_PUT = 96: Request Medium 2;
    /// Answers a get's packet.
    VIS_GET = 97: Request Medium 2;
    /// Puts the bytes of a get's packet in place and counts it done.
    VIS_ARRIVED = 98: Reply Medium 2;
    /// Stores words of the collective region.
    COLL_STORE = 112: Request Medium 2;
    /// Puts bytes of a collective in place.
    COLL_DATA = 113: Request Medium 2;
}

const _: () = {
    let mut i = 0;
    while i < INTERNAL.len() {
        assert!(INTERNAL[i] >= 64 && INTERNAL[i] < FIRST_CLIENT, "the extended API's");
        assert!(i == 0 || INTERNAL[i - 1] < INTERNAL[i], "in ascending order, hence distinct");
        i += 1;
    }
};

/// Entry of a client's table: index (0 = assign one) and function address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Requested index, or the one assigned.
    pub index: u8,
    /// Address of the function; 0 = NULL.
    pub function: usize,
}

/// The table.
pub struct Handlers {
    functions: [AtomicUsize; 256],
}

impl Default for Handlers {
    fn default() -> Self {
        Handlers { functions: std::array::from_fn(|_| AtomicUsize::new(0)) }
    }
}

impl Handlers {
    /// Function address under `index`; 0 = none.
    #[inline(always)]
    pub fn function(&self, index: u8) -> usize {
        // Relaxed: written in attach only, whose closing fence orders it before any message.
        self.functions[index as usize].load(Ordering::Relaxed)
    }

    /// Registers a handler of the core's or the extended API's own.
    pub fn set_internal(&self, index: u8, function: usize) {
        debug_assert!(INTERNAL.contains(&index), "an index of the list");
        self.functions[index as usize].store(function, Ordering::Relaxed); // Relaxed: see `function`
    }

    /// Registers a client's table: fixed indices as they are, then each don't-care entry, in table order, the lowest
    /// free index; the choice is written back. `BadArg` leaves table and entries unchanged.
    pub fn register(&self, entries: &mut [Entry]) -> Result<(), Error> {
        let room = 256 - FIRST_CLIENT as usize;
        if entries.len() > room {
            return bad_arg(format_args!("handler table has {} entries; the limit is {room}", entries.len()));
        }
        let mut used = [false; 256];
        for entry in entries.iter() {
            if entry.function == 0 {
                return bad_arg(format_args!("handler table entry for index {} has a NULL function", entry.index));
            }
            if (1..FIRST_CLIENT).contains(&entry.index) {
                return bad_arg(format_args!(
                    "handler index {} is reserved; clients use {FIRST_CLIENT} to 255",
                    entry.index
                ));
            }
            if entry.index != 0 && std::mem::replace(&mut used[entry.index as usize], true) {
                return bad_arg(format_args!("handler index {} stands twice in the table", entry.index));
            }
        }
        let mut free = (FIRST_CLIENT..=255).filter(|i| !used[*i as usize]);
        for entry in entries.iter_mut() {
            if entry.index == 0 {
                // There are as many indices as entries may be: one is left.
                entry.index = free.next().unwrap_or(255);
            }
            // Relaxed: see `function`.
            self.functions[entry.index as usize].store(entry.function, Ordering::Relaxed);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(indices: &[u8]) -> Vec<Entry> {
        indices.iter().map(|i| Entry { index: *i, function: 1000 + *i as usize }).collect()
    }

    #[test]
    fn fixed_indices_stay_and_dont_cares_get_the_lowest_free_ones() {
        let table = Handlers::default();
        let mut e = entries(&[0, 130, 0, 128, 0]);
        table.register(&mut e).unwrap();
        assert_eq!(e.iter().map(|e| e.index).collect::<Vec<_>>(), [129, 130, 131, 128, 132]);
        assert_eq!(table.function(130), 1130);
        assert_eq!(table.function(200), 0);
    }

    #[test]
    fn a_full_table_of_dont_cares_fits_exactly() {
        let mut e = entries(&[0; 128]);
        Handlers::default().register(&mut e).unwrap();
        assert_eq!(e.last().unwrap().index, 255);
        assert!(Handlers::default().register(&mut entries(&[0; 129])).is_err());
    }

    #[test]
    fn bad_tables_change_nothing() {
        for bad in [&[128, 128][..], &[1], &[127, 0]] {
            let table = Handlers::default();
            let mut e = entries(bad);
            assert!(table.register(&mut e).is_err());
            assert_eq!(e, entries(bad));
            assert!((0..=255).all(|i| table.function(i) == 0));
        }
        assert!(Handlers::default().register(&mut [Entry { index: 0, function: 0 }]).is_err());
    }
}

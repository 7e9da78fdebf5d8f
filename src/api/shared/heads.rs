//! The memory of EX objects that a client can end: segments, teams and atomic domains.
//!
//! Their memory is never freed, so that a client that uses an ended object is told so: its magic number is 0. A later object of its
//! kind gets the place, once [`STAY`] others have ended since. So clients that make and end objects for ever need no more memory.

#![allow(unsafe_code)] // objects that C holds

use parking_lot::Mutex;
use std::collections::VecDeque;

/// So many objects of a kind that have ended keep their places.
const STAY: usize = 64;

/// The places of the objects of one kind that have ended, the oldest first.
pub(in crate::api) struct Heads<T>(Mutex<VecDeque<Ended<T>>>);

/// An object that nobody but, perhaps, a mistaken client points to.
struct Ended<T>(*mut T);

// SAFETY: the object is leaked, nothing reads what it points to, and whoever takes it from the list is the only one to write to it.
unsafe impl<T> Send for Ended<T> {}

impl<T> Heads<T> {
    pub(in crate::api) const fn new() -> Heads<T> {
        Heads(Mutex::new(VecDeque::new()))
    }

    /// A place for `object`, which lives until [`Self::end`].
    pub(in crate::api) fn make(&self, object: T) -> *mut T {
        let mut ended = self.0.lock();
        let oldest = if ended.len() > STAY { ended.pop_front() } else { None };
        let Some(Ended(place)) = oldest else { return Box::into_raw(Box::new(object)) };
        // SAFETY: a leaked object of this type that has ended, and that is no longer on the list.
        unsafe { place.write(object) };
        place
    }

    /// The object at `place` has ended: `dead` stays there. What the object owned is the caller's.
    ///
    /// # Safety
    /// `place` came from [`Self::make`] and has not ended. Nobody uses it any more.
    pub(in crate::api) unsafe fn end(&self, place: *mut T, dead: T) {
        // SAFETY: as the caller promises.
        unsafe { place.write(dead) };
        self.0.lock().push_back(Ended(place));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_used_again_but_not_soon() {
        let heads = Heads::new();
        let first = heads.make(1);
        // SAFETY: made above.
        unsafe { heads.end(first, 0) };
        let mut places = std::collections::HashSet::from([first]);
        for _ in 0..STAY {
            let next = heads.make(1);
            assert!(places.insert(next), "the place of an object that has just ended");
            // SAFETY: made above.
            unsafe { heads.end(next, 0) };
        }
        assert_eq!(heads.make(2), first, "the oldest place");
        // SAFETY: nothing is freed.
        assert_eq!(unsafe { first.read() }, 2);
        for _ in 0..1000 {
            let next = heads.make(1);
            places.insert(next);
            // SAFETY: made above.
            unsafe { heads.end(next, 0) };
        }
        assert!(places.len() <= STAY + 2, "{} places", places.len());
        for place in places {
            // SAFETY: leaked by `make`; the test is over.
            drop(unsafe { Box::from_raw(place) });
        }
    }
}

//! What operations are under way, by the pointer that libfabric hands back with each completion.

#![allow(unsafe_code)] // pointers that libfabric hands back

use libc::c_void;
use std::ptr::NonNull;

/// What a pointer stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Nothing is under way.
    Free,
    /// A receive buffer.
    Buffer(usize),
    /// A message to a peer, in a slot.
    Send { peer: u32, slot: usize },
    /// A piece of a transfer.
    Piece(usize),
}

/// The memory behind a pointer. Its beginning is the provider's while an operation is under way (FI_CONTEXT2).
#[repr(C)]
struct Context {
    provider: [usize; 8],
    index: usize,
}

/// All of them. They are freed with the engine, after the endpoint is closed.
#[derive(Default)]
pub struct Contexts {
    all: Vec<(NonNull<Context>, What)>,
    free: Vec<usize>,
}

// SAFETY: the memory belongs to no thread.
unsafe impl Send for Contexts {}

impl Contexts {
    /// A pointer for an operation.
    pub fn take(&mut self, what: What) -> *mut c_void {
        let index = self.free.pop().unwrap_or_else(|| {
            let index = self.all.len();
            let context = Box::new(Context { provider: [0; 8], index });
            self.all.push((NonNull::from(Box::leak(context)), What::Free));
            index
        });
        let (context, stands_for) = &mut self.all[index];
        *stands_for = what;
        context.as_ptr().cast()
    }

    /// What `pointer`, of a completion, stands for. None: it is null, as in errors that belong to no operation.
    pub fn what(&self, pointer: *mut c_void) -> What {
        if pointer.is_null() {
            return What::Free;
        }
        let context: *const Context = pointer.cast_const().cast();
        // SAFETY: libfabric hands back only what `take` has made, and they are freed last.
        let index = unsafe { (*context).index };
        self.all.get(index).map_or(What::Free, |(_, what)| *what)
    }

    /// Changes what a pointer stands for.
    pub fn set(&mut self, pointer: *mut c_void, what: What) {
        let context: *const Context = pointer.cast_const().cast();
        // SAFETY: from `take`.
        let index = unsafe { (*context).index };
        self.all[index].1 = what;
    }

    /// The operation is over, or has not begun.
    pub fn give_back(&mut self, pointer: *mut c_void) {
        let context: *const Context = pointer.cast_const().cast();
        // SAFETY: from `take`.
        let index = unsafe { (*context).index };
        self.all[index].1 = What::Free;
        self.free.push(index);
    }
}

impl Drop for Contexts {
    fn drop(&mut self) {
        for (context, _) in &self.all {
            // SAFETY: from the box in `take`; the endpoint is closed.
            drop(unsafe { Box::from_raw(context.as_ptr()) });
        }
    }
}

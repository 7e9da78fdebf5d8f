//! What a handler's `gasnet_token_t` points to: which request it serves, and whether that may still be answered.
//!
//! Tokens are made at init (loopback tokens on first use) and never freed, so a stale one is recognised instead of being read
//! after free. One handler run owns a token from [`Token::open`] to [`Token::close`].
//!
//! Must not know: how a reply travels, clients' rules.

#![allow(unsafe_code)] // client memory, handlers, mapped regions

use super::direct::{ANSWERED, Answer, Direct};
use super::slot::Meta;
use crate::sync::{AtomicU32, Ordering};
use std::cell::Cell;
use std::ffi::c_void;

/// What the handler that holds the token was run for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// Not in use.
    Stale = 0,
    /// A request of a peer.
    Request = 1,
    /// A reply of a peer.
    Reply = 2,
    /// A request of this node to itself.
    LoopRequest = 3,
    /// A reply of this node to itself.
    LoopReply = 4,
}

const MAGIC: u32 = 0x7063_5c1a;

/// A reply's publishing store that waits until the handler is done with its Medium buffer (slot rule 2).
#[derive(Clone, Copy)]
pub enum Deferred {
    /// The slot's meta word.
    Head(Meta),
    /// The last count of a streamed reply: bytes in all.
    Count(u64),
}

/// One handler run.
#[repr(C, align(128))]
pub struct Token {
    /// What the header replies by. It is the first field, because the header takes the address of the token for its address.
    pub(super) answer: Answer,
    magic: u32,
    kind: AtomicU32,
    source: Cell<u32>,
    index: Cell<u32>,
    /// The message's meta word.
    meta: Cell<Meta>,
    defers: Cell<bool>,
    deferred: Cell<Option<Deferred>>,
}

// SAFETY: a token is used by the thread that runs its handler only (contract: core.md §3, gasnet_token_t), and passes to
// another thread only through the lock that guards handler runs, or through the loopback pool's lock.
unsafe impl Sync for Token {}
// SAFETY: nothing in a token is tied to a thread; the same locks pass it on.
unsafe impl Send for Token {}

impl Token {
    /// Where its [`Answer`] lies.
    pub const ANSWER: usize = std::mem::offset_of!(Token, answer);

    /// A new token, stale.
    pub fn leak() -> &'static Token {
        Box::leak(Box::new(Token {
            answer: Answer::none(),
            magic: MAGIC,
            kind: AtomicU32::new(Kind::Stale as u32),
            source: Cell::new(0),
            index: Cell::new(0),
            meta: Cell::new(Meta::default()),
            defers: Cell::new(false),
            deferred: Cell::new(None),
        }))
    }

    /// Starts a handler run, for the message with this meta word.
    #[inline(always)]
    pub fn open(&self, kind: Kind, source: u32, index: u32, meta: Meta) {
        self.source.set(source);
        self.index.set(index);
        self.answer.answered.set(0);
        self.meta.set(meta);
        // Relaxed: only this thread uses the token until `close`.
        self.kind.store(kind as u32, Ordering::Relaxed);
    }

    /// As [`Self::open`], for a request that the header may answer. A reply in one line goes to `slot`, if that is not null; it
    /// is reply number `count` to the requester.
    #[inline(always)]
    pub fn answer_at(&self, slot: *mut u64, way: *const Direct, sequence: u16, count: u32) {
        self.answer.slot.set(slot);
        self.answer.way.set(way);
        self.answer.sequence.set(u32::from(sequence));
        self.answer.count.set(count);
    }

    /// Ends the handler run.
    #[inline(always)]
    pub fn close(&self) {
        self.answer.slot.set(std::ptr::null_mut());
        self.kind.store(Kind::Stale as u32, Ordering::Relaxed); // Relaxed: as in `open`
    }

    /// What the token stands for now.
    #[inline(always)]
    pub fn kind(&self) -> Kind {
        // Relaxed: as in `open`.
        match self.kind.load(Ordering::Relaxed) {
            1 => Kind::Request,
            2 => Kind::Reply,
            3 => Kind::LoopRequest,
            4 => Kind::LoopReply,
            _ => Kind::Stale,
        }
    }

    /// Rank of the sender.
    #[inline(always)]
    pub fn source(&self) -> u32 {
        self.source.get()
    }

    /// Number of the request, which names the paired reply slot.
    #[inline(always)]
    pub fn index(&self) -> u32 {
        self.index.get()
    }

    /// True once the request has been answered.
    #[inline(always)]
    pub fn replied(&self) -> bool {
        self.answer.answered.get() != 0
    }

    /// Notes the answer; false if there was one before.
    #[inline(always)]
    pub fn answer(&self) -> bool {
        self.answer.slot.set(std::ptr::null_mut());
        let first = self.answer.answered.get() == 0;
        if first {
            self.answer.answered.set(ANSWERED);
        }
        first
    }

    /// Takes the answer back: it could not be sent.
    #[cold]
    pub fn take_back(&self) {
        self.answer.answered.set(0);
    }

    /// The meta word of the message whose handler runs.
    #[inline(always)]
    pub fn meta(&self) -> Meta {
        self.meta.get()
    }

    /// True if the reply's packet must wait for the handler's return: the handler of the request reads memory that the reply
    /// would give back to the sender.
    #[inline(always)]
    pub fn holds_buffer(&self) -> bool {
        self.meta.get().holds_buffer()
    }

    /// Leaves a store for the handler's return.
    pub fn defer(&self, store: Deferred) {
        self.defers.set(true);
        self.deferred.set(Some(store));
    }

    /// Takes the store left by [`Self::defer`].
    #[inline(always)]
    pub fn take_deferred(&self) -> Option<Deferred> {
        if self.defers.replace(false) { self.deferred.take() } else { None }
    }

    /// The value that the client sees.
    #[inline(always)]
    pub fn raw(&self) -> *mut c_void {
        std::ptr::from_ref(self).cast_mut().cast()
    }

    /// The token behind a client's value; `None` for NULL and for values that are visibly no token.
    ///
    /// # Safety
    /// `raw` is NULL or a value that a handler got as its token, at any time.
    #[inline(always)]
    pub unsafe fn from_raw<'a>(raw: *mut c_void) -> Option<&'a Token> {
        let token: *const Token = raw.cast();
        if token.is_null() || !token.is_aligned() {
            return None;
        }
        // SAFETY: the caller promises a value that was once a token, and tokens are never freed.
        let token = unsafe { &*token };
        (token.magic == MAGIC).then_some(token)
    }
}

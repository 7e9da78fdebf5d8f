//! The receiving side of a move (`moves.rs`). It follows the sender's message, and checks that the message is
//! possible.

#![allow(unsafe_code)] // client memory and mapped regions

use super::area::{CHUNK, CHUNKS};
use super::cells::Word;
use super::landing::Landing;
use super::phase::Phase;
use super::select::INLINE;
use super::span::{Buffer, Span};
use super::ways::{HOW_AHEAD, HOW_BITS, HOW_BY_AM, HOW_INLINE, HOW_PULL, HOW_PUSHED, HOW_STAGED, STEP};
use crate::am::region::LINE;
use crate::sci::Mapped;
use crate::sci::{RemoteMap, RemoteRead};
use crate::trace::{self, TracedOp};

/// Takes the bytes from the message that `from` has sent.
#[inline]
pub fn receive_inline<A: Mapped>(phase: &Phase<'_, A>, from: usize, into: &Span) {
    if phase.head(from) != Some(HOW_INLINE) {
        phase.corrupt(from, "a collective of another length");
    }
    into.set_words(&phase.body(from, into.len().div_ceil(8)));
}

/// The receiving side of a move.
pub struct Recv<'a, A: Mapped> {
    phase: Phase<'a, A>,
    from: usize,
    into: Span,
    /// The sender waits for an address, and pushes the bytes to it if it is in our segment.
    land: bool,
    /// The sender has been given the address for the bytes.
    announced: bool,
    /// Number of bytes that have arrived.
    got: usize,
    /// Open while Mediums may come.
    landing: Option<Landing<'static>>,
    /// Memory of our own in which bytes arrive, if `into` is in several pieces, or if there is no `into` yet.
    whole: Option<Buffer>,
    /// Use the bytes where they lie if the sender's memory is mapped. `into` is needed for other bytes only.
    lend: bool,
    lent: Option<Span>,
    /// The sender waits for the answer that the lent bytes are no longer needed.
    answer: bool,
}

impl<'a, A: Mapped> Recv<'a, A> {
    /// Fills `into` with what `from` sends.
    pub fn new(phase: Phase<'a, A>, from: usize, into: Span) -> Self {
        Recv {
            phase,
            from,
            into,
            land: false,
            announced: false,
            got: 0,
            landing: None,
            whole: None,
            lend: false,
            lent: None,
            answer: false,
        }
    }

    /// Lets the caller look at `len` bytes ([`Self::bytes`]) until it gives them back. If they are mapped, they are
    /// used where they lie.
    pub fn lent(phase: Phase<'a, A>, from: usize, len: usize) -> Self {
        // SAFETY: no code copies there, because `hold` replaces the span by our own memory first.
        let nowhere = unsafe { Span::one(0, len) };
        Recv { lend: true, ..Self::new(phase, from, nowhere) }
    }

    /// The bytes. Call it when all have arrived.
    pub fn bytes(&self) -> &Span {
        self.lent.as_ref().unwrap_or(&self.into)
    }

    /// Tells the sender that lent bytes are no longer needed.
    pub fn give_back(&self) {
        if self.answer {
            self.phase.answer(self.from, Word::Taken, 1);
        }
    }

    /// Makes our own memory for bytes that are not lent.
    fn hold(&mut self) {
        if self.lend && self.whole.is_none() {
            let buffer = Buffer::new(self.into.len());
            self.into = Span::of(&buffer);
            self.whole = Some(buffer);
        }
    }

    /// Receives bytes from a [`super::moves::Send::push`].
    pub fn landed(phase: Phase<'a, A>, from: usize, into: Span) -> Self {
        Recv { land: true, ..Self::new(phase, from, into) }
    }

    /// Gives the sender the address for the bytes, if the sender waits for one.
    pub fn announce(&mut self) {
        let coll = self.phase.cx.coll;
        if self.into.len() <= INLINE || self.announced {
            return;
        }
        if !self.phase.maps(self.from) {
            self.hold();
            self.announce_landing();
        } else if self.land {
            let here = self.into.address().filter(|a| coll.is_mapped(*a, self.into.len()));
            self.phase.cx.team.cells.land(coll.am, self.from, self.phase.seq, here.unwrap_or(0));
            self.announced = true;
        }
    }

    /// Takes as many steps as possible. True when all bytes have arrived.
    pub fn step(&mut self) -> bool {
        self.announce();
        let Some(head) = self.phase.head(self.from) else { return false };
        let count = (head >> HOW_BITS) as usize;
        let how = head & ((1 << HOW_BITS) - 1);
        if !matches!(how, HOW_INLINE | HOW_BY_AM) && !self.phase.maps(self.from) {
            self.phase.corrupt(self.from, "a collective's bytes in memory that is not mapped");
        }
        if self.lend && matches!(how, HOW_PULL | HOW_AHEAD) && self.borrow(how) {
            return true;
        }
        self.hold();
        match how {
            HOW_INLINE if self.into.len() <= INLINE => {
                receive_inline(&self.phase, self.from, &self.into);
                true
            }
            HOW_AHEAD => {
                let (map, offset) = self.region_part(self.into.len());
                self.record(self.into.len());
                read(map, offset, &self.into, 0, self.into.len());
                true
            }
            HOW_PULL => self.pull(),
            HOW_STAGED => self.empty(count),
            HOW_BY_AM if count <= 1 => {
                if count == 0 && (!self.announced || self.land) {
                    self.land = false;
                    self.announce_landing();
                }
                if let (1, Some(whole)) = (count, &self.whole) {
                    self.into.copy_from(&Span::of(whole));
                }
                count == 1
            }
            HOW_PUSHED if self.land && self.announced => true,
            _ => self.phase.corrupt(self.from, "a collective's message of an unknown kind"),
        }
    }

    /// Records that this member reads `len` bytes of the sender's memory.
    fn record(&self, len: usize) {
        trace::event(TracedOp::CollGet, self.phase.cx.team.cells.rank(self.from), len);
    }

    fn announce_landing(&mut self) {
        if self.into.address().is_none() {
            self.whole = Some(Buffer::new(self.into.len()));
        }
        let whole = self.whole.as_ref().map(Span::of);
        let address = whole.as_ref().unwrap_or(&self.into).address().unwrap_or(0);
        let rank = self.phase.cx.team.cells.rank(self.from);
        self.landing = Some(self.phase.cx.coll.landings.open(rank, address, self.into.len()));
        self.phase.cx.team.cells.land(self.phase.cx.coll.am, self.from, self.phase.seq, address);
        self.announced = true;
    }

    /// The sender's map, and the offset of the bytes in it.
    fn source(&self) -> (&'static A::Remote, usize) {
        let rank = self.phase.cx.team.cells.rank(self.from);
        let address = self.phase.body(self.from, 1)[0] as usize;
        let mapped = self.phase.cx.coll.am.table().mapped(rank, address, self.into.len());
        mapped.unwrap_or_else(|| self.phase.corrupt(self.from, "a collective's source outside the segment"))
    }

    /// The sender's region, and the offset in it at which `len` bytes are for us, as the message says. Both are
    /// checked.
    fn region_part(&self, len: usize) -> (&'a A::Remote, usize) {
        let cx = self.phase.cx;
        let at = self.phase.body(self.from, 1)[0] as usize;
        let Some(map) = cx.team.cells.map(self.from) else {
            self.phase.corrupt(self.from, "a stage that is not mapped")
        };
        // Parts begin on lines, because the client's function may get them as operands and wants these aligned.
        if at > map.len() || map.len() - at < len || !at.is_multiple_of(LINE) {
            self.phase.corrupt(self.from, "a collective's stage outside the region");
        }
        (map, at)
    }

    /// Uses the bytes where they lie, if loads reach them. Returns whether they do.
    fn borrow(&mut self, how: u32) -> bool {
        let len = self.into.len();
        let (map, offset) = if how == HOW_PULL { self.source() } else { self.region_part(len) };
        // SAFETY: inside the map, which lives as long as the job. The sender keeps the bytes until they are given
        // back, or until the number is retired.
        self.lent = map.memory().map(|memory| unsafe { Span::one(memory as usize + offset, len) });
        self.answer = how == HOW_PULL;
        if self.lent.is_some() {
            self.record(len);
        }
        self.lent.is_some()
    }

    fn pull(&mut self) -> bool {
        let coll = self.phase.cx.coll;
        let (map, offset) = self.source();
        let n = STEP.min(self.into.len() - self.got);
        self.record(n);
        read(map, offset + self.got, &self.into, self.got, n);
        coll.moved();
        self.got += n;
        let done = self.got == self.into.len();
        if done {
            self.phase.answer(self.from, Word::Taken, 1);
        }
        done
    }

    fn empty(&mut self, filled: usize) -> bool {
        let len = self.into.len();
        let (map, stage) = self.region_part(CHUNKS * CHUNK);
        let filled = filled.min(len.div_ceil(CHUNK));
        while self.got < filled * CHUNK && self.got < len {
            let n = CHUNK.min(len - self.got);
            self.record(n);
            read(map, stage + self.got / CHUNK % CHUNKS * CHUNK, &self.into, self.got, n);
            self.phase.cx.coll.moved();
            self.got += n;
            self.phase.answer(self.from, Word::Taken, self.got.div_ceil(CHUNK) as u32);
        }
        self.got == len
    }
}

/// Reads `len` bytes at `offset` of a peer's memory to `[at, at + len)` of `into`. The caller has checked the range.
fn read<M: RemoteRead>(map: &M, offset: usize, into: &Span, at: usize, len: usize) {
    into.fill(at, len, |piece, done, n| {
        // SAFETY: the span's maker promised that the piece is writable.
        let result = unsafe { map.read(offset + done, piece as *mut u8, n) };
        debug_assert!(result.is_ok(), "the range was checked");
    });
}

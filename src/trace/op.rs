//! The kinds of operations that are recorded, with their letters and names.

macro_rules! ops {
    ($($(#[doc = $doc:literal])* $op:ident = $letter:literal $name:literal $what:ident;)*) => {
        /// An operation that is recorded.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum TracedOp { $($(#[doc = $doc])* $op,)* }

        impl TracedOp {
            /// All kinds.
            pub const ALL: &[TracedOp] = &[$(TracedOp::$op),*];

            const TABLE: &[(u8, &str, What)] = &[$(($letter, $name, What::$what)),*];
        }
    };
}

/// Which numbers of an operation are recorded.
#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Bytes,
    Time,
    Both,
    Count,
}

ops! {
    /// Blocking put.
    Put = b'P' "PUT" Both;
    /// Put with an explicit handle.
    PutNb = b'P' "PUT_NB" Bytes;
    /// Implicit put.
    PutNbi = b'P' "PUT_NBI" Bytes;
    /// Blocking put of a value.
    PutVal = b'P' "PUT_VAL" Both;
    /// Put of a value with an explicit handle.
    PutNbVal = b'P' "PUT_NB_VAL" Bytes;
    /// Implicit put of a value.
    PutNbiVal = b'P' "PUT_NBI_VAL" Bytes;
    /// Blocking memset.
    Memset = b'P' "MEMSET" Both;
    /// Memset with an explicit handle.
    MemsetNb = b'P' "MEMSET_NB" Bytes;
    /// Implicit memset.
    MemsetNbi = b'P' "MEMSET_NBI" Bytes;
    /// Blocking get.
    Get = b'G' "GET" Both;
    /// Get with an explicit handle.
    GetNb = b'G' "GET_NB" Bytes;
    /// Implicit get.
    GetNbi = b'G' "GET_NBI" Bytes;
    /// Blocking get of a value.
    GetVal = b'G' "GET_VAL" Both;
    /// Get of a value, non-blocking.
    GetNbVal = b'G' "GET_NB_VAL" Bytes;
    /// Blocking put, vector.
    PutV = b'P' "PUTV_BULK" Both;
    /// Put with an explicit handle, vector.
    PutVNb = b'P' "PUTV_NB_BULK" Bytes;
    /// Implicit put, vector.
    PutVNbi = b'P' "PUTV_NBI_BULK" Bytes;
    /// Blocking put, indexed.
    PutI = b'P' "PUTI_BULK" Both;
    /// Put with an explicit handle, indexed.
    PutINb = b'P' "PUTI_NB_BULK" Bytes;
    /// Implicit put, indexed.
    PutINbi = b'P' "PUTI_NBI_BULK" Bytes;
    /// Blocking put, strided.
    PutS = b'P' "PUTS_BULK" Both;
    /// Put with an explicit handle, strided.
    PutSNb = b'P' "PUTS_NB_BULK" Bytes;
    /// Implicit put, strided.
    PutSNbi = b'P' "PUTS_NBI_BULK" Bytes;
    /// Blocking get, vector.
    GetV = b'G' "GETV_BULK" Both;
    /// Get with an explicit handle, vector.
    GetVNb = b'G' "GETV_NB_BULK" Bytes;
    /// Implicit get, vector.
    GetVNbi = b'G' "GETV_NBI_BULK" Bytes;
    /// Blocking get, indexed.
    GetI = b'G' "GETI_BULK" Both;
    /// Get with an explicit handle, indexed.
    GetINb = b'G' "GETI_NB_BULK" Bytes;
    /// Implicit get, indexed.
    GetINbi = b'G' "GETI_NBI_BULK" Bytes;
    /// Blocking get, strided.
    GetS = b'G' "GETS_BULK" Both;
    /// Get with an explicit handle, strided.
    GetSNb = b'G' "GETS_NB_BULK" Bytes;
    /// Implicit get, strided.
    GetSNbi = b'G' "GETS_NBI_BULK" Bytes;
    /// Wait for one handle.
    WaitNb = b'S' "WAIT_SYNCNB" Time;
    /// Test of one handle.
    TestNb = b'S' "TEST_SYNCNB" Time;
    /// Wait for one at least of several handles.
    WaitSome = b'S' "WAIT_SYNCNB_SOME" Time;
    /// Wait for all of several handles.
    WaitAll = b'S' "WAIT_SYNCNB_ALL" Time;
    /// Test of several handles, of which one is enough.
    TestSome = b'S' "TEST_SYNCNB_SOME" Time;
    /// Test of several handles, all of which are asked for.
    TestAll = b'S' "TEST_SYNCNB_ALL" Time;
    /// Wait for implicit operations.
    WaitNbi = b'S' "WAIT_SYNCNBI" Time;
    /// Test of implicit operations.
    TestNbi = b'S' "TEST_SYNCNBI" Time;
    /// End of an access region.
    EndRegion = b'S' "END_NBI_ACCESSREGION" Count;
    /// Wait for a value.
    WaitValget = b'S' "WAIT_SYNCNB_VALGET" Time;
    /// Blocking broadcast, either form of addresses; bytes of a block, or of an image's vector.
    Broadcast = b'W' "COLL_BROADCAST" Both;
    /// Broadcast with a handle.
    BroadcastNb = b'W' "COLL_BROADCAST_NB" Bytes;
    /// Blocking scatter, either form of addresses; bytes of a block, or of an image's vector.
    Scatter = b'W' "COLL_SCATTER" Both;
    /// Scatter with a handle.
    ScatterNb = b'W' "COLL_SCATTER_NB" Bytes;
    /// Blocking gather, either form of addresses; bytes of a block, or of an image's vector.
    Gather = b'W' "COLL_GATHER" Both;
    /// Gather with a handle.
    GatherNb = b'W' "COLL_GATHER_NB" Bytes;
    /// Blocking gather_all, either form of addresses; bytes of a block, or of an image's vector.
    GatherAll = b'W' "COLL_GATHER_ALL" Both;
    /// Gather_all with a handle.
    GatherAllNb = b'W' "COLL_GATHER_ALL_NB" Bytes;
    /// Blocking exchange, either form of addresses; bytes of a block, or of an image's vector.
    Exchange = b'W' "COLL_EXCHANGE" Both;
    /// Exchange with a handle.
    ExchangeNb = b'W' "COLL_EXCHANGE_NB" Bytes;
    /// Blocking reduce, either form of addresses; bytes of a block, or of an image's vector.
    Reduce = b'W' "COLL_REDUCE" Both;
    /// Reduce with a handle.
    ReduceNb = b'W' "COLL_REDUCE_NB" Bytes;
    /// Blocking scan, either form of addresses; bytes of a block, or of an image's vector.
    Scan = b'W' "COLL_SCAN" Both;
    /// Scan with a handle.
    ScanNb = b'W' "COLL_SCAN_NB" Bytes;
    /// Test of one collective's handle.
    CollTry = b'X' "COLL_TRY_SYNC" Time;
    /// Wait for one collective's handle.
    CollWait = b'X' "COLL_WAIT_SYNC" Time;
    /// Test of several collectives' handles.
    CollTryArray = b'X' "COLL_TRY_SYNC_ARRAY" Time;
    /// Wait for several collectives' handles.
    CollWaitArray = b'X' "COLL_WAIT_SYNC_ARRAY" Time;
    /// Barrier, notify, of all nodes or of a team.
    BarrierNotify = b'B' "BARRIER_NOTIFY" Time;
    /// Barrier, wait.
    BarrierWait = b'B' "BARRIER_WAIT" Time;
    /// Barrier, try.
    BarrierTry = b'B' "BARRIER_TRY" Time;
    /// Barrier, notify and wait in one call.
    Barrier = b'B' "BARRIER" Time;
    /// The word of a barrier that tells another node what has arrived. What is waited for are such words.
    BarrierTell = b'B' "BARRIER_TELL" Bytes;
    /// A word or a line that a collective writes for another node.
    CollCell = b'W' "COLL_CELL" Bytes;
    /// Bytes of a collective that this node writes to another one, or sends there.
    CollMove = b'W' "COLL_MOVE" Bytes;
    /// Bytes of a collective that this node reads from another one.
    CollGet = b'W' "COLL_GET" Bytes;
    /// Atomic operation on a word, with an event or without.
    Atomic = b'R' "AD_OP" Bytes;
    /// Wait for a handler-safe lock that another thread holds. A free lock is taken inline and not recorded.
    LockWait = b'L' "HSL_LOCK_CONTENDED" Time;
    /// Short request.
    RequestShort = b'A' "AMREQUEST_SHORT" Count;
    /// Medium request.
    RequestMedium = b'A' "AMREQUEST_MEDIUM" Bytes;
    /// Long request.
    RequestLong = b'A' "AMREQUEST_LONG" Bytes;
    /// Short reply.
    ReplyShort = b'A' "AMREPLY_SHORT" Count;
    /// Medium reply.
    ReplyMedium = b'A' "AMREPLY_MEDIUM" Bytes;
    /// Long reply.
    ReplyLong = b'A' "AMREPLY_LONG" Bytes;
    /// Run of a request's handler.
    RequestHandler = b'A' "AMREQUEST_HANDLER" Bytes;
    /// Run of a reply's handler.
    ReplyHandler = b'A' "AMREPLY_HANDLER" Bytes;
    /// Wait for messages outside of other operations: GASNET_BLOCKUNTIL.
    MessageWait = b'A' "AM_WAIT" Time;
    /// Wait of a request for room at its receiver.
    RoomWait = b'A' "AM_ROOM_WAIT" Time;
}

impl TracedOp {
    /// The letter of its category.
    pub fn letter(self) -> u8 {
        Self::TABLE[self as usize].0
    }

    /// Its name in records.
    pub fn name(self) -> &'static str {
        Self::TABLE[self as usize].1
    }

    /// What follows the name if `near`, that is with a peer that shares memory with this node. Vector, indexed and strided
    /// transfers, memsets and all that is no transfer have one name for all peers (contract: ex-rma.md §13).
    pub fn suffix(self, near: bool) -> &'static str {
        use TracedOp::*;
        let moves = matches!(
            self,
            Put | PutNb | PutNbi | PutVal | PutNbVal | PutNbiVal | Get | GetNb | GetNbi | GetVal | GetNbVal
        );
        if near && moves { "_LOCAL" } else { "" }
    }

    /// The same of a value.
    pub fn of_value(self) -> TracedOp {
        match self {
            TracedOp::Put => TracedOp::PutVal,
            TracedOp::PutNb => TracedOp::PutNbVal,
            TracedOp::PutNbi => TracedOp::PutNbiVal,
            TracedOp::Get => TracedOp::GetVal,
            other => other,
        }
    }

    /// The name of a wait, or of a test, for several handles: all of them, or one at least.
    pub fn of_several(waits: bool, all: bool) -> TracedOp {
        match (waits, all) {
            (true, true) => TracedOp::WaitAll,
            (true, false) => TracedOp::WaitSome,
            (false, true) => TracedOp::TestAll,
            (false, false) => TracedOp::TestSome,
        }
    }

    /// Whether its bytes are recorded.
    pub fn has_bytes(self) -> bool {
        matches!(Self::TABLE[self as usize].2, What::Bytes | What::Both)
    }

    /// Whether its duration is recorded.
    pub fn has_time(self) -> bool {
        matches!(Self::TABLE[self as usize].2, What::Time | What::Both)
    }

    /// Whether it is a put, get or memset. GASNET_TRACELOCAL applies to these.
    pub fn is_transfer(self) -> bool {
        matches!(self.letter(), b'P' | b'G')
    }
}

//! What is open of libfabric: one endpoint with its completion queue, its addresses and its registered memory. The calls on them are
//! what the inline functions of libfabric's headers do: a function from the table of the object.
//!
//! Invariant: one thread at a time calls (FI_THREAD_DOMAIN); the lock of the wire sees to it.
//! Must not know: frames, peers.

#![allow(unsafe_code)] // calls of libfabric

use super::bindings::*;
use super::library::{Handlers, Infos, Library};
use libc::{c_int, c_void, iovec};
use std::mem::{MaybeUninit, offset_of};
use std::os::fd::RawFd;
use std::ptr::{self, NonNull};

/// A function of an object's table. None: the table ends before it (the object is of an older release), or it is empty.
macro_rules! function {
    ($table:expr, $kind:ty, $name:ident) => {{
        let table: *const $kind = $table;
        // SAFETY: the table of a live object, or null; a table begins with its size.
        let size = unsafe { table.as_ref() }.map_or(0, |table| table.size);
        if size <= offset_of!($kind, $name) {
            Err(concat!(stringify!($kind), " has no ", stringify!($name)).to_owned())
        } else {
            // SAFETY: the table is that long.
            let table = unsafe { &*table };
            table.$name.ok_or_else(|| concat!(stringify!($kind), " has an empty ", stringify!($name)).to_owned())
        }
    }};
}

/// An object that is closed when dropped. All objects begin with a `fid`.
struct Owned<T>(NonNull<T>);

impl<T> Owned<T> {
    /// The object that `open` makes.
    fn open(
        library: &Library,
        call: &str,
        open: impl FnOnce(*mut *mut T) -> Result<c_int, String>,
    ) -> Result<Owned<T>, String> {
        let mut made = ptr::null_mut();
        let result = open(&mut made).map_err(|why| format!("{call}: {why}"))?;
        if result != 0 {
            return Err(format!("{call}: {}", library.error(-result)));
        }
        NonNull::new(made).map(Owned).ok_or_else(|| format!("{call}: nothing was made"))
    }

    fn fid(&self) -> *mut fid {
        self.0.as_ptr().cast()
    }

    /// A copy of the structure, which names its tables.
    fn read(&self) -> T {
        // SAFETY: a live object of libfabric.
        unsafe { self.0.as_ptr().read() }
    }

    fn enable(&self) -> Result<c_int, String> {
        let control = function!(ops(self.fid()), fi_ops, control)?;
        // SAFETY: a live object, and a command without an argument.
        Ok(unsafe { control(self.fid(), FI_ENABLE as c_int, ptr::null_mut()) })
    }

    fn bind(&self, library: &Library, other: *mut fid, flags: u64, what: &str) -> Result<(), String> {
        let bind = function!(ops(self.fid()), fi_ops, bind)?;
        // SAFETY: two live objects.
        match unsafe { bind(self.fid(), other, flags) } {
            0 => Ok(()),
            error => Err(format!("fi_bind of {what}: {}", library.error(-error))),
        }
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        if let Ok(close) = function!(ops(self.fid()), fi_ops, close) {
            // SAFETY: a live object, closed once.
            unsafe { close(self.fid()) };
        }
    }
}

fn ops(object: *mut fid) -> *const fi_ops {
    // SAFETY: a live object.
    unsafe { (*object).ops }
}

/// What one look at the completion queue brings.
pub enum Look {
    /// So many entries were written.
    Entries(usize),
    /// Nothing is complete.
    Nothing,
    /// An operation failed: its context, flags, and why.
    Failed(*mut c_void, u64, String),
    /// The queue itself is of no use.
    Broken(String),
}

/// How a call that begins something ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begun {
    Yes,
    NoRoom,
    /// With the positive error.
    Failed(c_int),
}

impl Begun {
    fn of(result: isize) -> Begun {
        match result {
            0 => Begun::Yes,
            error if error == -(libc::EAGAIN as isize) => Begun::NoRoom,
            error => Begun::Failed(-error as c_int),
        }
    }
}

type Inject = unsafe extern "C" fn(*mut fid_ep, *const c_void, usize, fi_addr_t) -> isize;
type Send = unsafe extern "C" fn(*mut fid_ep, *const c_void, usize, *mut c_void, fi_addr_t, *mut c_void) -> isize;
type ReceiveMessage = unsafe extern "C" fn(*mut fid_ep, *const fi_msg, u64) -> isize;
type WriteMessage = unsafe extern "C" fn(*mut fid_ep, *const fi_msg_rma, u64) -> isize;
type Read =
    unsafe extern "C" fn(*mut fid_ep, *mut c_void, usize, *mut c_void, fi_addr_t, u64, u64, *mut c_void) -> isize;
type QueueRead = unsafe extern "C" fn(*mut fid_cq, *mut c_void, usize) -> isize;

/// The functions of an enabled endpoint that are called all the time.
struct Calls {
    inject: Inject,
    send: Send,
    receive: ReceiveMessage,
    write: WriteMessage,
    read: Read,
    queue: QueueRead,
}

/// What the provider says of itself, as far as it matters here.
#[derive(Clone, Debug)]
pub struct Traits {
    pub provider: String,
    pub domain: String,
    /// A send is processed after the writes before it.
    pub ordered: bool,
    pub multi_receive: bool,
    /// Peers name memory by its address, not by an offset.
    pub virtual_addresses: bool,
    pub provider_keys: bool,
    pub endpoint_regions: bool,
    pub key_bytes: usize,
    pub inject: usize,
    pub sends: usize,
    pub receives: usize,
    pub longest: usize,
}

/// Memory that peers may read and write.
pub struct Region {
    _mr: Owned<fid_mr>,
    pub key: u64,
}

// SAFETY: as of `Endpoint`.
unsafe impl std::marker::Send for Region {}

/// An open endpoint. Members are closed in the order in which they stand.
pub struct Endpoint {
    ep: Owned<fid_ep>,
    cq: Owned<fid_cq>,
    av: Owned<fid_av>,
    domain: Owned<fid_domain>,
    fabric: Owned<fid_fabric>,
    _infos: std::sync::Arc<Infos>,
    calls: Calls,
    /// Readable when the provider has something to do, if it has such a descriptor.
    pub descriptor: Option<RawFd>,
    pub traits: Traits,
    library: &'static Library,
}

// SAFETY: libfabric's objects belong to no thread; one thread at a time uses them (the head of this file).
unsafe impl std::marker::Send for Endpoint {}

impl Endpoint {
    /// Opens what `info`, one of `infos`, describes. `message`: the longest message, for which a receive buffer must have room.
    /// `sleeps`: with a descriptor, if the provider has one.
    pub fn open(
        library: &'static Library,
        infos: std::sync::Arc<Infos>,
        info: *mut fi_info,
        traits: Traits,
        message: usize,
        sleeps: bool,
    ) -> Result<Endpoint, String> {
        let handlers = Handlers::now(); // the shm provider takes some when an endpoint is made
        let made = Endpoint::make(library, infos, info, traits, message, sleeps);
        handlers.restore();
        made
    }

    fn make(
        library: &'static Library,
        infos: std::sync::Arc<Infos>,
        info: *mut fi_info,
        mut traits: Traits,
        message: usize,
        sleeps: bool,
    ) -> Result<Endpoint, String> {
        // SAFETY: an info of the list, which is kept.
        let attributes = unsafe { (*info).fabric_attr };
        let fabric = Owned::open(library, "fi_fabric", |made| {
            // SAFETY: attributes of fi_getinfo.
            Ok(unsafe { (library.fabric)(attributes, made, ptr::null_mut()) })
        })?;
        let domain = Owned::open(library, "fi_domain", |made| {
            let open = function!(fabric.read().ops, fi_ops_fabric, domain)?;
            // SAFETY: a live fabric and its info.
            Ok(unsafe { open(fabric.0.as_ptr(), info, made, ptr::null_mut()) })
        })?;
        let tables = domain.read();
        let ep = Owned::<fid_ep>::open(library, "fi_endpoint", |made| {
            let open = function!(tables.ops, fi_ops_domain, endpoint)?;
            // SAFETY: a live domain and its info.
            Ok(unsafe { open(domain.0.as_ptr(), info, made, ptr::null_mut()) })
        })?;
        let mut attr = fi_av_attr {
            type_: FI_AV_TABLE,
            rx_ctx_bits: 0,
            count: 0,
            ep_per_node: 0,
            name: ptr::null(),
            map_addr: ptr::null_mut(),
            flags: 0,
        };
        let av = Owned::open(library, "fi_av_open", |made| {
            let open = function!(tables.ops, fi_ops_domain, av_open)?;
            // SAFETY: a live domain; the attributes live during the call.
            Ok(unsafe { open(domain.0.as_ptr(), &mut attr, made, ptr::null_mut()) })
        })?;
        let queue = |wait_obj| {
            let mut attr = fi_cq_attr {
                size: (traits.sends + traits.receives).max(1024),
                flags: 0,
                format: FI_CQ_FORMAT_DATA,
                wait_obj,
                signaling_vector: 0,
                wait_cond: 0,
                wait_set: ptr::null_mut(),
            };
            Owned::<fid_cq>::open(library, "fi_cq_open", |made| {
                let open = function!(tables.ops, fi_ops_domain, cq_open)?;
                // SAFETY: a live domain; the attributes live during the call.
                Ok(unsafe { open(domain.0.as_ptr(), &mut attr, made, ptr::null_mut()) })
            })
        };
        let with_descriptor = || {
            let cq = sleeps.then(|| queue(FI_WAIT_FD).ok())??;
            let descriptor = descriptor(&cq)?;
            Some((cq, descriptor))
        };
        let (cq, descriptor) = match with_descriptor() {
            Some((cq, descriptor)) => (cq, Some(descriptor)),
            None => (queue(FI_WAIT_NONE)?, None),
        };
        ep.bind(library, av.fid(), 0, "addresses")?;
        ep.bind(library, cq.fid(), FI_SEND | FI_RECV, "the completion queue")?;
        match ep.enable()? {
            0 => {}
            error => return Err(format!("fi_enable: {}", library.error(-error))),
        }
        // Behind fi_enable: before it, 1.17's shm provider crashes.
        traits.multi_receive = traits.multi_receive && set_least_room(&ep, message);
        let (e, q) = (ep.read(), cq.read());
        let calls = Calls {
            inject: function!(e.msg, fi_ops_msg, inject)?,
            send: function!(e.msg, fi_ops_msg, send)?,
            receive: function!(e.msg, fi_ops_msg, recvmsg)?,
            write: function!(e.rma, fi_ops_rma, writemsg)?,
            read: function!(e.rma, fi_ops_rma, read)?,
            queue: function!(q.ops, fi_ops_cq, read)?,
        };
        Ok(Endpoint { ep, cq, av, domain, fabric, _infos: infos, calls, descriptor, traits, library })
    }

    /// What libfabric says of a positive error.
    pub fn error(&self, code: c_int) -> String {
        self.library.error(code)
    }

    /// The address of this endpoint, as its provider writes it.
    pub fn name(&self) -> Result<Vec<u8>, String> {
        let getname = function!(self.ep.read().cm, fi_ops_cm, getname)?;
        let mut bytes = vec![0u8; 1024];
        let mut len = bytes.len();
        // SAFETY: a live endpoint; `len` bytes are writable.
        match unsafe { getname(self.ep.fid(), bytes.as_mut_ptr().cast(), &mut len) } {
            0 => bytes.truncate(len),
            error => return Err(format!("fi_getname: {}", self.error(-error))),
        }
        Ok(bytes)
    }

    /// Makes an address known. The result names it in other calls.
    pub fn insert(&self, address: &[u8]) -> Result<fi_addr_t, String> {
        let insert = function!(self.av.read().ops, fi_ops_av, insert)?;
        let mut padded = [0u8; 256]; // the provider reads as many bytes as its addresses have
        let len = address.len().min(padded.len());
        padded[..len].copy_from_slice(&address[..len]);
        let mut made = fi_addr_t::MAX;
        // SAFETY: live objects; one address, which is longer than any that fits a `Wire::address`.
        let count = unsafe { insert(self.av.0.as_ptr(), padded.as_ptr().cast(), 1, &mut made, 0, ptr::null_mut()) };
        match count {
            1 => Ok(made),
            error if error < 0 => Err(format!("fi_av_insert: {}", self.error(-error))),
            _ => Err("fi_av_insert: the address is not valid".to_owned()),
        }
    }

    /// Lets peers write memory, and read it if it `is_readable`.
    ///
    /// # Safety
    /// `len` bytes at `base` are readable and writable while the region lives.
    pub unsafe fn register(&self, base: *mut u8, len: usize, is_readable: bool, key: u64) -> Result<Region, c_int> {
        let reg = function!(self.domain.read().mr, fi_ops_mr, reg).map_err(|_| libc::ENOSYS)?;
        let access = FI_REMOTE_WRITE | if is_readable { FI_REMOTE_READ } else { 0 };
        let key = if self.traits.provider_keys { 0 } else { key };
        let mut made: *mut fid_mr = ptr::null_mut();
        // SAFETY: a live domain; the memory is the caller's promise.
        let result = unsafe { reg(self.domain.fid(), base.cast(), len, access, 0, key, 0, &mut made, ptr::null_mut()) };
        let mr = match NonNull::new(made) {
            Some(mr) if result == 0 => Owned(mr),
            _ => return Err(if result == 0 { libc::ENOMEM } else { -result }),
        };
        if self.traits.endpoint_regions {
            mr.bind(self.library, self.ep.fid(), 0, "memory").map_err(|_| libc::EINVAL)?;
            match mr.enable() {
                Ok(0) => {}
                _ => return Err(libc::EINVAL),
            }
        }
        let key = mr.read().key;
        Ok(Region { _mr: mr, key })
    }

    /// Sends bytes that are free at once and reports nothing more.
    pub fn inject(&self, to: fi_addr_t, bytes: &[u8]) -> Begun {
        // SAFETY: a live endpoint; the bytes are readable during the call, and not used after it.
        Begun::of(unsafe { (self.calls.inject)(self.ep.0.as_ptr(), bytes.as_ptr().cast(), bytes.len(), to) })
    }

    /// # Safety
    /// The bytes and `context` stay until the completion of `context` was read.
    pub unsafe fn send(&self, to: fi_addr_t, from: *const u8, len: usize, context: *mut c_void) -> Begun {
        // SAFETY: a live endpoint; the rest is the caller's promise.
        Begun::of(unsafe { (self.calls.send)(self.ep.0.as_ptr(), from.cast(), len, ptr::null_mut(), to, context) })
    }

    /// # Safety
    /// `len` bytes at `to` are the provider's until it gives the buffer back; `context` stays as long.
    pub unsafe fn receive(&self, to: *mut u8, len: usize, context: *mut c_void) -> Begun {
        let iov = iovec { iov_base: to.cast(), iov_len: len };
        let message = fi_msg {
            msg_iov: &iov,
            desc: ptr::null_mut(),
            iov_count: 1,
            addr: fi_addr_t::MAX, // from anybody
            context,
            data: 0,
        };
        let flags = FI_COMPLETION | if self.traits.multi_receive { FI_MULTI_RECV } else { 0 };
        // SAFETY: a live endpoint; message and iovec live during the call; the buffer is the caller's promise.
        Begun::of(unsafe { (self.calls.receive)(self.ep.0.as_ptr(), &message, flags) })
    }

    /// Writes to memory of a peer. Complete when the bytes are in place (`delivered`), else when their source is free.
    ///
    /// # Safety
    /// The source and `context` stay until the completion was read.
    pub unsafe fn write(&self, from: (*const u8, usize), to: Target, delivered: bool, context: *mut c_void) -> Begun {
        let iov = iovec { iov_base: from.0.cast_mut().cast(), iov_len: from.1 };
        let there = fi_rma_iov { addr: to.address, len: from.1, key: to.key };
        let message = fi_msg_rma {
            msg_iov: &iov,
            desc: ptr::null_mut(),
            iov_count: 1,
            addr: to.peer,
            rma_iov: &there,
            rma_iov_count: 1,
            context,
            data: 0,
        };
        let flags = FI_COMPLETION | if delivered { FI_DELIVERY_COMPLETE } else { FI_TRANSMIT_COMPLETE };
        // SAFETY: a live endpoint; the structures live during the call; the rest is the caller's promise.
        Begun::of(unsafe { (self.calls.write)(self.ep.0.as_ptr(), &message, flags) })
    }

    /// Reads memory of a peer.
    ///
    /// # Safety
    /// `len` bytes at `to` are the provider's, and `context` stays, until the completion was read.
    pub unsafe fn read(&self, to: *mut u8, len: usize, from: Target, context: *mut c_void) -> Begun {
        let read = self.calls.read;
        let ep = self.ep.0.as_ptr();
        // SAFETY: a live endpoint; the rest is the caller's promise.
        let result = unsafe { read(ep, to.cast(), len, ptr::null_mut(), from.peer, from.address, from.key, context) };
        Begun::of(result)
    }

    /// Lets the provider work, and takes what is complete.
    #[inline]
    pub fn look(&self, entries: &mut [MaybeUninit<fi_cq_data_entry>]) -> Look {
        // SAFETY: a live queue of this format; as many entries are writable.
        let count = unsafe { (self.calls.queue)(self.cq.0.as_ptr(), entries.as_mut_ptr().cast(), entries.len()) };
        if count > 0 {
            Look::Entries(count as usize)
        } else if count == 0 || count == -(libc::EAGAIN as isize) {
            Look::Nothing
        } else if count == -(FI_EAVAIL as isize) {
            self.failure()
        } else {
            Look::Broken(format!("fi_cq_read: {}", self.error(-count as c_int)))
        }
    }

    /// True if a thread may sleep on [`Endpoint::descriptor`]: nothing has come that it does not show.
    pub fn may_sleep(&self) -> bool {
        let Ok(try_wait) = function!(self.fabric.read().ops, fi_ops_fabric, trywait) else { return false };
        let mut queue = self.cq.fid();
        // SAFETY: a live fabric and one live object of it.
        unsafe { try_wait(self.fabric.0.as_ptr(), &mut queue, 1) == 0 }
    }

    #[cold]
    fn failure(&self) -> Look {
        // SAFETY: zeros are a value of it.
        let mut entry: fi_cq_err_entry = unsafe { MaybeUninit::zeroed().assume_init() };
        let read = match function!(self.cq.read().ops, fi_ops_cq, readerr) {
            Ok(read) => read,
            Err(why) => return Look::Broken(why),
        };
        // SAFETY: a live queue; no room for more data is offered.
        let count = unsafe { read(self.cq.0.as_ptr(), &mut entry, 0) };
        match count {
            0 => Look::Nothing,
            error if error == -(libc::EAGAIN as isize) => Look::Nothing,
            error if error < 0 => Look::Broken(format!("fi_cq_readerr: {}", self.error(-error as c_int))),
            _ => Look::Failed(entry.op_context, entry.flags, self.error(entry.err)),
        }
    }
}

/// Where in whose memory.
#[derive(Clone, Copy)]
pub struct Target {
    pub peer: fi_addr_t,
    pub address: u64,
    pub key: u64,
}

/// The descriptor of a queue that was opened with one. Some providers say only here that they have none.
fn descriptor(cq: &Owned<fid_cq>) -> Option<RawFd> {
    let control = function!(ops(cq.fid()), fi_ops, control).ok()?;
    let mut fd: RawFd = -1;
    // SAFETY: a live queue; the command writes an int.
    let result = unsafe { control(cq.fid(), FI_GETWAIT as c_int, (&raw mut fd).cast()) };
    (result == 0 && fd >= 0).then_some(fd)
}

/// Tells the endpoint when a receive buffer has no room for one more message. False: it does not want to know.
fn set_least_room(ep: &Owned<fid_ep>, message: usize) -> bool {
    let Ok(setopt) = function!(ep.read().ops, fi_ops_ep, setopt) else { return false };
    let value: *const usize = &message;
    // SAFETY: a live endpoint; the option is a size_t.
    let result = unsafe {
        setopt(
            ep.fid(),
            FI_OPT_ENDPOINT as c_int,
            FI_OPT_MIN_MULTI_RECV as c_int,
            value.cast(),
            std::mem::size_of::<usize>(),
        )
    };
    result == 0
}

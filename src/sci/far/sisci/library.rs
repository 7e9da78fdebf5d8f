//! A library of SISCI's, loaded when it is asked for and never unloaded: its functions and its constants, by name.
//!
//! The declarations are ours. Numbers of constants differ between libraries, so they are read from the library's data. Enumerations are no
//! data anywhere; those that are needed here are the same in all versions.
//!
//! Must not know: segments, links.

#![allow(unsafe_code)] // dlopen, dlsym, calls of the library

use crate::sync::fixed::AtomicU64;
use libc::{c_char, c_int, c_uint, c_void};
use std::ffi::{CStr, CString};
use std::ptr;
use std::sync::OnceLock;

/// A handle of the library's: a pointer that means nothing here.
pub type Handle = *mut c_void;
/// `sci_error_t`: 0 is success.
pub type Code = c_uint;
/// A function of ours that an interrupt calls.
pub type Callback = unsafe extern "C" fn(*mut c_void, Handle, Code) -> c_int;

/// `SCI_CALLBACK_CONTINUE`
pub const CONTINUE: c_int = 2;
/// `SCI_CB_DISCONNECT`, `SCI_CB_LOST`: reasons of an event after which a peer's segment is of no use.
pub const ENDS: [c_uint; 2] = [2, 5];
/// `SCI_SEQ_OK`: all has arrived. The answer without a constant, PENDING, is treated as RETRIABLE.
pub const SEQ_OK: c_uint = 0;
/// `SCI_SEQ_RETRIABLE`: store it again.
pub const SEQ_RETRIABLE: c_uint = 1;
/// `SCI_SEQ_NOT_RETRIABLE`: the peer is gone.
pub const SEQ_NOT_RETRIABLE: c_uint = 2;
/// `SCI_DMAQUEUE_POSTED`: under way.
pub const DMA_POSTED: c_uint = 2;
/// `SCI_DMAQUEUE_DONE`
pub const DMA_DONE: c_uint = 3;

/// `sci_query_adapter_t`
#[repr(C)]
pub struct AdapterQuery {
    pub adapter: c_uint,
    pub port: c_uint,
    pub subcommand: c_uint,
    pub data: *mut c_void,
}

/// Declares the functions, and looks for all of them.
macro_rules! functions {
    ($($field:ident $symbol:literal ($($argument:ty),*) $(-> $result:ty)?;)*) => {
        /// The functions of the library. All take what `sisci_api.h` says; the last parameter of most is where the error goes.
        pub(super) struct Functions {
            $(pub $field: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
        }

        /// Their names.
        pub const NAMES: &[&str] = &[$($symbol),*];

        impl Functions {
            /// Those that are missing, if any are.
            fn find(handle: Handle) -> Result<Functions, Vec<&'static str>> {
                let missing: Vec<&str> = NAMES.iter().copied().filter(|name| function(handle, name).is_null()).collect();
                if !missing.is_empty() {
                    return Err(missing);
                }
                Ok(Functions {
                    // SAFETY: not null, and by its name a function of this type in each version from 2 on.
                    $($field: unsafe {
                        std::mem::transmute::<Handle, unsafe extern "C" fn($($argument),*) $(-> $result)?>(function(handle, $symbol))
                    },)*
                })
            }
        }
    };
}

functions! {
    initialize "SCIInitialize" (c_uint, *mut Code);
    open "SCIOpen" (*mut Handle, c_uint, *mut Code);
    close "SCIClose" (Handle, c_uint, *mut Code);
    local_node "SCIGetLocalNodeId" (c_uint, *mut c_uint, c_uint, *mut Code);
    error_text "SCIGetErrorString" (Code) -> *const c_char;
    query "SCIQuery" (c_uint, *mut c_void, c_uint, *mut Code);
    create "SCICreateSegment" (Handle, *mut Handle, c_uint, usize, *const c_void, *mut c_void, c_uint, *mut Code);
    prepare "SCIPrepareSegment" (Handle, c_uint, c_uint, *mut Code);
    available "SCISetSegmentAvailable" (Handle, c_uint, c_uint, *mut Code);
    remove "SCIRemoveSegment" (Handle, c_uint, *mut Code);
    map_local "SCIMapLocalSegment" (Handle, *mut Handle, usize, usize, *mut c_void, c_uint, *mut Code) -> *mut c_void;
    connect "SCIConnectSegment" (Handle, *mut Handle, c_uint, c_uint, c_uint, *const c_void, *mut c_void, c_uint, c_uint, *mut Code);
    disconnect "SCIDisconnectSegment" (Handle, c_uint, *mut Code);
    segment_event "SCIWaitForRemoteSegmentEvent" (Handle, *mut Code, c_uint, c_uint, *mut Code) -> c_uint;
    map_remote "SCIMapRemoteSegment" (Handle, *mut Handle, usize, usize, *mut c_void, c_uint, *mut Code) -> *mut c_void;
    unmap "SCIUnmapSegment" (Handle, c_uint, *mut Code);
    copy "SCIMemCpy" (Handle, *const c_void, Handle, usize, usize, c_uint, *mut Code);
    create_sequence "SCICreateMapSequence" (Handle, *mut Handle, c_uint, *mut Code);
    remove_sequence "SCIRemoveSequence" (Handle, c_uint, *mut Code);
    start_sequence "SCIStartSequence" (Handle, c_uint, *mut Code) -> c_uint;
    check_sequence "SCICheckSequence" (Handle, c_uint, *mut Code) -> c_uint;
    create_interrupt "SCICreateInterrupt" (Handle, *mut Handle, c_uint, *mut c_uint, Option<Callback>, *mut c_void, c_uint, *mut Code);
    remove_interrupt "SCIRemoveInterrupt" (Handle, c_uint, *mut Code);
    connect_interrupt "SCIConnectInterrupt" (Handle, *mut Handle, c_uint, c_uint, c_uint, c_uint, c_uint, *mut Code);
    disconnect_interrupt "SCIDisconnectInterrupt" (Handle, c_uint, *mut Code);
    trigger "SCITriggerInterrupt" (Handle, c_uint, *mut Code);
    create_queue "SCICreateDMAQueue" (Handle, *mut Handle, c_uint, c_uint, c_uint, *mut Code);
    remove_queue "SCIRemoveDMAQueue" (Handle, c_uint, *mut Code);
    start_dma "SCIStartDmaTransfer" (Handle, Handle, Handle, usize, usize, usize, *const c_void, *mut c_void, c_uint, *mut Code);
    dma_state "SCIDMAQueueState" (Handle) -> c_uint;
}

/// `SCIRegisterSegmentMemory`
type Register = unsafe extern "C" fn(*mut c_void, usize, Handle, c_uint, *mut Code);
/// `SCIStartDmaTransferMem`
type StartMemory =
    unsafe extern "C" fn(Handle, *mut c_void, Handle, usize, usize, *const c_void, *mut c_void, c_uint, *mut Code);

/// What a library has that lets bytes go straight to memory of a peer's client: see `straight`. Old ones have none of it.
pub(super) struct DirectCalls {
    pub register: Register,
    pub start: StartMemory,
    /// `SCI_FLAG_EMPTY`, `SCI_FLAG_DMA_WAIT`
    pub empty: c_uint,
    pub wait: c_uint,
}

impl DirectCalls {
    fn find(handle: Handle) -> Option<DirectCalls> {
        let (register, start) =
            (function(handle, "SCIRegisterSegmentMemory"), function(handle, "SCIStartDmaTransferMem"));
        let (empty, wait) = (constant(handle, "SCI_FLAG_EMPTY")?, constant(handle, "SCI_FLAG_DMA_WAIT")?);
        if register.is_null() || start.is_null() {
            return None;
        }
        // SAFETY: not null, and by its name a function of this type.
        let register = unsafe { std::mem::transmute::<Handle, Register>(register) };
        // SAFETY: as above.
        let start = unsafe { std::mem::transmute::<Handle, StartMemory>(start) };
        Some(DirectCalls { register, start, empty, wait })
    }
}

/// A library that works.
pub struct Library {
    /// Its file, as the loader was asked for it.
    pub(super) file: String,
    pub(super) calls: Functions,
    pub(super) direct: Option<DirectCalls>,
    handle: usize,
    /// `SCI_FLAG_USE_CALLBACK`, `SCI_FLAG_PRIVATE`, `SCI_FLAG_FORCE_REMOVE`
    pub(super) use_callback: c_uint,
    pub(super) private: c_uint,
    pub(super) force_remove: c_uint,
    /// How often stores were made again, and transfers started again.
    pub(super) repeats: AtomicU64,
}

/// Where a library may be, if the user names none: on the loader's path, and where Dolphin's packages put it.
const FILES: [&str; 2] = ["libsisci.so", "/opt/DIS/lib64/libsisci.so"];

impl Library {
    /// The library, loaded and initialized now if it was not: `file`, or the first that there is. Or why there is none.
    pub fn get(file: Option<&str>) -> Result<&'static Library, String> {
        static LIBRARY: OnceLock<Result<Library, String>> = OnceLock::new();
        LIBRARY.get_or_init(|| Library::load(file)).as_ref().map_err(Clone::clone)
    }

    pub(super) fn load(file: Option<&str>) -> Result<Library, String> {
        let names: Vec<&str> = file.map_or(FILES.to_vec(), |file| vec![file]);
        let mut reasons = Vec::new();
        for name in names {
            match open(name) {
                Ok(handle) => return Library::with(handle, name),
                Err(why) => reasons.push(why),
            }
        }
        let hint = if file.is_none() { "; GASNET_SCI_LIBSISCI names the file of one" } else { "" };
        Err(format!("no libsisci loads: {}{hint}", reasons.join("; ")))
    }

    fn with(handle: Handle, file: &str) -> Result<Library, String> {
        let calls = Functions::find(handle).map_err(|missing| {
            format!("{file} is of no use, since it is older than version 2: it has no {}", missing.join(", "))
        })?;
        let flag = |name, else_| constant(handle, name).unwrap_or(else_);
        let library = Library {
            file: file.to_owned(),
            calls,
            direct: DirectCalls::find(handle),
            handle: handle.expose_provenance(),
            // Where a library has constants as macros alone: the numbers of the first versions; of FORCE_REMOVE none, and it is not asked for.
            use_callback: flag("SCI_FLAG_USE_CALLBACK", 1),
            private: flag("SCI_FLAG_PRIVATE", 4),
            force_remove: flag("SCI_FLAG_FORCE_REMOVE", 0),
            repeats: AtomicU64::new(0),
        };
        // SAFETY: no flags, and a place for the error.
        library.call("SCIInitialize", |error| unsafe { (library.calls.initialize)(0, error) })?;
        Ok(library)
    }

    /// The constant of this name. `None`: the library does not tell it.
    pub fn constant(&self, name: &str) -> Option<c_uint> {
        constant(ptr::with_exposed_provenance_mut(self.handle), name)
    }

    /// Calls a function, whose error becomes a text.
    pub fn call<T>(&self, name: &str, f: impl FnOnce(*mut Code) -> T) -> Result<T, String> {
        let mut code = 0;
        let result = f(&raw mut code);
        if code == 0 { Ok(result) } else { Err(format!("{name}: {}", self.text(code))) }
    }

    /// What the library says of an error.
    fn text(&self, code: Code) -> String {
        // SAFETY: takes any number.
        let text = unsafe { (self.calls.error_text)(code) };
        if text.is_null() {
            return format!("error {code:#x}");
        }
        // SAFETY: not null, a string that the library keeps.
        let text = unsafe { CStr::from_ptr(text) };
        format!("{} ({code:#x})", text.to_string_lossy())
    }

    /// This process's node, by its adapter.
    pub fn node(&self, adapter: c_uint) -> Result<c_uint, String> {
        let mut node = 0;
        // SAFETY: a place for the number, and one for the error.
        self.call("SCIGetLocalNodeId", |error| unsafe { (self.calls.local_node)(adapter, &raw mut node, 0, error) })?;
        Ok(node)
    }

    /// Its file, and this host's node.
    pub fn describe(&self) -> String {
        match self.node(0) {
            Ok(node) => format!("this host is node {node} of {}", self.file),
            Err(why) => format!("{} says {why}", self.file),
        }
    }

    /// What the adapter answers to a query. `None`: nobody knows.
    pub fn ask(&self, adapter: c_uint, name: &str) -> Option<c_uint> {
        let (command, subcommand) = (self.constant("SCI_Q_ADAPTER")?, self.constant(name)?);
        let mut answer: c_uint = 0;
        let mut query = AdapterQuery { adapter, port: 0, subcommand, data: (&raw mut answer).cast() };
        let query = (&raw mut query).cast();
        // SAFETY: the structure of this command, with room for a number.
        self.call("SCIQuery", |error| unsafe { (self.calls.query)(command, query, 0, error) }).ok()?;
        Some(answer)
    }
}

fn open(name: &str) -> Result<Handle, String> {
    let name = CString::new(name).map_err(|_| "a name with a 0 in it".to_owned())?;
    // SAFETY: a name that ends with 0; what the constructors of the library do is the library's promise.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if !handle.is_null() {
        return Ok(handle);
    }
    // SAFETY: no arguments; the string is valid until this thread's next call of the loader.
    let why = unsafe { libc::dlerror() };
    if why.is_null() {
        return Err(format!("{}: no reason given", name.to_string_lossy()));
    }
    // SAFETY: not null, ends with 0.
    Err(unsafe { CStr::from_ptr(why) }.to_string_lossy().into_owned())
}

/// A function by the names that it may have: that for programs with threads, that for others, the plain one. Null: there is none.
fn function(handle: Handle, name: &str) -> Handle {
    let all = ["_SISCI_PUBLIC_FUNC_MT_", "_SISCI_PUBLIC_FUNC_ST_", ""];
    all.iter()
        .map(|before| symbol(handle, &format!("{before}{name}")))
        .find(|found| !found.is_null())
        .unwrap_or(ptr::null_mut())
}

fn symbol(handle: Handle, name: &str) -> Handle {
    let Ok(name) = CString::new(name) else { return ptr::null_mut() };
    // SAFETY: a handle of dlopen, and a string that ends with 0.
    unsafe { libc::dlsym(handle, name.as_ptr()) }
}

fn constant(handle: Handle, name: &str) -> Option<c_uint> {
    let found = symbol(handle, &format!("_SISCI_PUBLIC_CONST_{name}")).cast::<c_uint>();
    // SAFETY: the library's data of this name is a number that stays as it is.
    (!found.is_null()).then(|| unsafe { *found })
}

//! libfabric.so.1, loaded when it is asked for and never unloaded; its functions by name and version.
//!
//! Versions of symbols are those of libfabric 1.17's structures (`bindings`). Later libraries keep them: they widen what they
//! are given and return whole structures of their own, whose beginnings are ours.
//!
//! Must not know: providers, endpoints.

#![allow(unsafe_code)] // dlopen, dlvsym, sigaction, calls of libfabric

use super::bindings::{fi_fabric_attr, fi_info, fid_fabric};
use libc::{c_char, c_int, c_void};
use std::ffi::{CStr, CString};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::OnceLock;

/// The version of the interface that is asked for: 1.17.
pub const API: u32 = 1 << 16 | 17;

type GetInfo = unsafe extern "C" fn(u32, *const c_char, *const c_char, u64, *const fi_info, *mut *mut fi_info) -> c_int;
type FreeInfo = unsafe extern "C" fn(*mut fi_info);
type DupInfo = unsafe extern "C" fn(*const fi_info) -> *mut fi_info;
type OpenFabric = unsafe extern "C" fn(*mut fi_fabric_attr, *mut *mut fid_fabric, *mut c_void) -> c_int;
type ErrorText = unsafe extern "C" fn(c_int) -> *const c_char;

/// The functions of the library that are no function of an object.
pub struct Library {
    pub getinfo: GetInfo,
    pub freeinfo: FreeInfo,
    pub dupinfo: DupInfo,
    pub fabric: OpenFabric,
    strerror: ErrorText,
}

/// Variables that are set to 1 before libfabric is loaded. The first two keep Debian's psm libraries from taking signal handlers. The
/// others keep providers of releases behind 1.17 from starting a thread for a queue with a descriptor, which would take a core from
/// a node that spins.
const VARIABLES: [&CStr; 4] =
    [c"IPATH_NO_BACKTRACE", c"HFI_NO_BACKTRACE", c"FI_NET_DISABLE_AUTO_PROGRESS", c"FI_TCP_DISABLE_AUTO_PROGRESS"];

/// The signals whose handlers those libraries take.
const SIGNALS: [c_int; 6] = [libc::SIGINT, libc::SIGILL, libc::SIGABRT, libc::SIGBUS, libc::SIGSEGV, libc::SIGTERM];

impl Library {
    /// The library, loaded now if it was not; or why there is none.
    pub fn get() -> Result<&'static Library, String> {
        static LIBRARY: OnceLock<Result<Library, String>> = OnceLock::new();
        LIBRARY.get_or_init(Library::load).as_ref().map_err(Clone::clone)
    }

    fn load() -> Result<Library, String> {
        for name in VARIABLES {
            // SAFETY: both are strings that end with 0. A value of the user's stays. Called during gasnet_init, when a client that
            // keeps to the specification has no thread that reads the environment.
            unsafe { libc::setenv(name.as_ptr(), c"1".as_ptr(), 0) };
        }
        let handlers = Handlers::now();
        // SAFETY: a name that ends with 0; what the constructors of the library do is the library's promise.
        let handle = unsafe { libc::dlopen(c"libfabric.so.1".as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        handlers.restore();
        if handle.is_null() {
            return Err(format!("libfabric.so.1 does not load: {}", loader_error()));
        }
        Ok(Library {
            // SAFETY: the symbol of this version is a function of this type (fabric.h).
            getinfo: unsafe {
                std::mem::transmute::<*mut c_void, GetInfo>(symbol(handle, c"fi_getinfo", c"FABRIC_1.3")?)
            },
            // SAFETY: the symbol of this version is a function of this type (fabric.h).
            freeinfo: unsafe {
                std::mem::transmute::<*mut c_void, FreeInfo>(symbol(handle, c"fi_freeinfo", c"FABRIC_1.3")?)
            },
            // SAFETY: the symbol of this version is a function of this type (fabric.h).
            dupinfo: unsafe {
                std::mem::transmute::<*mut c_void, DupInfo>(symbol(handle, c"fi_dupinfo", c"FABRIC_1.3")?)
            },
            // SAFETY: the symbol of this version is a function of this type (fabric.h).
            fabric: unsafe {
                std::mem::transmute::<*mut c_void, OpenFabric>(symbol(handle, c"fi_fabric", c"FABRIC_1.1")?)
            },
            // SAFETY: the symbol of this version is a function of this type (fabric.h).
            strerror: unsafe {
                std::mem::transmute::<*mut c_void, ErrorText>(symbol(handle, c"fi_strerror", c"FABRIC_1.0")?)
            },
        })
    }

    /// What libfabric says of an error, which is positive.
    pub fn error(&self, code: c_int) -> String {
        // SAFETY: takes any number.
        let text = unsafe { (self.strerror)(code) };
        if text.is_null() {
            return format!("error {code}");
        }
        // SAFETY: a string that the library keeps, not null.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
    }

    /// What fi_getinfo answers to `hints`. On failure the positive error.
    pub fn infos(&'static self, hints: &Hints) -> Result<Infos, c_int> {
        let mut list = ptr::null_mut();
        // Providers that are loaded as libraries of their own come now.
        let handlers = Handlers::now();
        // SAFETY: the hints are libfabric's own structure, filled in; the list is written on success.
        let result = unsafe { (self.getinfo)(API, ptr::null(), ptr::null(), 0, hints.0, &mut list) };
        handlers.restore();
        if result != 0 { Err(-result) } else { Ok(Infos { list, library: self }) }
    }

    /// Hints that ask for nothing yet.
    pub fn hints(&'static self) -> Result<Hints, String> {
        // SAFETY: null asks for a new structure with all attributes.
        let info = unsafe { (self.dupinfo)(ptr::null()) };
        if info.is_null() { Err("fi_allocinfo: out of memory".to_owned()) } else { Ok(Hints(info, self)) }
    }
}

/// A structure of libfabric's with all attributes, to ask with.
pub struct Hints(*mut fi_info, &'static Library);

impl Hints {
    pub fn as_ptr(&self) -> *mut fi_info {
        self.0
    }

    /// Memory for `name` that libfabric frees with the hints.
    pub fn text(name: &str) -> *mut c_char {
        let name = CString::new(name).unwrap_or_default();
        // SAFETY: a string that ends with 0; the copy is freed by fi_freeinfo with free(3).
        unsafe { libc::strdup(name.as_ptr()) }
    }
}

impl Drop for Hints {
    fn drop(&mut self) {
        // SAFETY: from fi_dupinfo, and freed once.
        unsafe { (self.1.freeinfo)(self.0) };
    }
}

/// What fi_getinfo returned, as it is.
pub struct Infos {
    list: *mut fi_info,
    library: &'static Library,
}

// SAFETY: the list belongs to no thread.
unsafe impl Send for Infos {}
// SAFETY: libfabric reads it; `choose` changes it before anybody else has it.
unsafe impl Sync for Infos {}

impl Infos {
    /// Every info of the list; each is valid while the list lives.
    pub fn all(&self) -> Vec<*mut fi_info> {
        let mut all = Vec::new();
        let mut next = self.list;
        while !next.is_null() {
            all.push(next);
            // SAFETY: an element of the list of fi_getinfo, not null.
            next = unsafe { (*next).next };
        }
        all
    }
}

impl Drop for Infos {
    fn drop(&mut self) {
        // SAFETY: from fi_getinfo, and freed once.
        unsafe { (self.library.freeinfo)(self.list) };
    }
}

fn symbol(handle: *mut c_void, name: &CStr, version: &CStr) -> Result<*mut c_void, String> {
    // SAFETY: a handle of dlopen, and strings that end with 0.
    let found = unsafe { libc::dlvsym(handle, name.as_ptr(), version.as_ptr()) };
    if found.is_null() {
        return Err(format!("libfabric.so.1 is of no use: {}", loader_error()));
    }
    Ok(found)
}

fn loader_error() -> String {
    // SAFETY: no arguments; the string is valid until this thread's next call of the loader.
    let text = unsafe { libc::dlerror() };
    if text.is_null() {
        return "no reason given".to_owned();
    }
    // SAFETY: not null, ends with 0.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// The handlers of [`SIGNALS`] as they were.
pub struct Handlers([libc::sigaction; SIGNALS.len()]);

impl Handlers {
    pub fn now() -> Handlers {
        Handlers(SIGNALS.map(|signal| {
            let mut was = MaybeUninit::zeroed();
            // SAFETY: reads the action of a signal into memory of its size.
            unsafe { libc::sigaction(signal, ptr::null(), was.as_mut_ptr()) };
            // SAFETY: written by sigaction, and zeros are a value as well.
            unsafe { was.assume_init() }
        }))
    }

    /// Sets those that a library has changed back, and says how many.
    pub fn restore(&self) -> usize {
        let now = Handlers::now();
        let mut changed = 0;
        for (i, signal) in SIGNALS.iter().enumerate() {
            if now.0[i].sa_sigaction != self.0[i].sa_sigaction {
                changed += 1;
                // SAFETY: the action was this process's own.
                unsafe { libc::sigaction(*signal, &self.0[i], ptr::null_mut()) };
            }
        }
        changed
    }
}

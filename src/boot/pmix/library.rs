//! `libpmix.so.2`, loaded at run time, with calls that cannot be made wrongly.
//!
//! One session per process: [`Library::begin`] starts it. It may exist already, because MPI uses PMIx too; PMIx counts
//! who has begun and who has finalized. Any thread may make any call.
//!
//! Must not know: what the values mean.

#![allow(unsafe_code)] // C functions that are found by name

use super::abi::{self, Data, Info, Proc, Status, Value};
use libc::{c_char, c_void};
use std::ffi::{CStr, CString};
use std::ptr;

/// The name under which PMIx 2 and all later versions are installed.
const NAME: &CStr = c"libpmix.so.2";

/// The functions that were found, and this process's name.
pub struct Library {
    finalize: abi::Finalize,
    put: abi::Put,
    commit: abi::Commit,
    fence: abi::Fence,
    get: abi::Get,
    abort: abi::Abort,
    error_string: abi::ErrorString,
    register: abi::Register,
    me: Proc,
}

/// Looks up a function of the loaded library.
macro_rules! function {
    ($handle:expr, $name:expr, $kind:ty) => {{
        let name: &CStr = $name;
        // SAFETY: a handle of dlopen and a C string.
        let address = unsafe { libc::dlsym($handle, name.as_ptr()) };
        if address.is_null() {
            return Err(format!("{} has no function {}", NAME.to_string_lossy(), name.to_string_lossy()));
        }
        // SAFETY: PMIx declares the function of this name with this type (`abi.rs`).
        unsafe { std::mem::transmute::<*mut c_void, $kind>(address) }
    }};
}

impl Library {
    /// Loads PMIx and begins a session with the launcher's daemon on this host.
    ///
    /// # Errors
    /// Which step failed, and PMIx's reason.
    pub fn begin() -> Result<Library, String> {
        // SAFETY: a C string. The library's constructors are PMIx's business.
        let handle = unsafe { libc::dlopen(NAME.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if handle.is_null() {
            return Err(format!("PMIx's library cannot be loaded ({}); install it (Debian: libpmix2)", load_error()));
        }
        let init = function!(handle, c"PMIx_Init", abi::Init);
        let mut library = Library {
            finalize: function!(handle, c"PMIx_Finalize", abi::Finalize),
            put: function!(handle, c"PMIx_Put", abi::Put),
            commit: function!(handle, c"PMIx_Commit", abi::Commit),
            fence: function!(handle, c"PMIx_Fence", abi::Fence),
            get: function!(handle, c"PMIx_Get", abi::Get),
            abort: function!(handle, c"PMIx_Abort", abi::Abort),
            error_string: function!(handle, c"PMIx_Error_string", abi::ErrorString),
            register: function!(handle, c"PMIx_Register_event_handler", abi::Register),
            me: Proc { namespace: [0; abi::NAMESPACE_LEN + 1], rank: 0 },
        };
        // SAFETY: `me` is writable, and there are no attributes.
        let status = unsafe { init(&mut library.me, ptr::null_mut(), 0) };
        library.check("PMIx_Init", status).map_err(|error| {
            format!(
                "{error}; is the launcher's daemon on this host, and can this process reach it? For a job of one node \
                 unset PMIX_NAMESPACE"
            )
        })?;
        Ok(library)
    }

    /// This process's rank in its job.
    pub fn rank(&self) -> u32 {
        self.me.rank
    }

    /// The number of processes of the job.
    ///
    /// # Errors
    /// PMIx's reason.
    pub fn size(&self) -> Result<u32, String> {
        let value = self.get(abi::WILDCARD, abi::JOB_SIZE)?;
        match value.kind {
            // SAFETY: the type says that this member counts.
            abi::UINT32 => Ok(unsafe { value.data.uint32 }),
            other => Err(format!("PMIx gives {} as a value of type {other} instead of {}", abi::JOB_SIZE, abi::UINT32)),
        }
    }

    /// Publishes `bytes` under `key`, once and for ever. Others can get them after the next fence.
    ///
    /// # Errors
    /// PMIx's reason.
    pub fn publish(&self, key: &str, bytes: &[u8]) -> Result<(), String> {
        let key = CString::new(key).map_err(|e| e.to_string())?;
        let bytes = abi::Bytes { bytes: bytes.as_ptr().cast_mut().cast(), size: bytes.len() };
        let mut value = Value { kind: abi::BYTES, data: Data { bytes } };
        // SAFETY: key and value are valid. PMIx copies the bytes, and does not write to them.
        let status = unsafe { (self.put)(abi::GLOBAL, key.as_ptr(), &mut value) };
        self.check("PMIx_Put", status)
    }

    /// Waits until all processes of the job are here, and collects what they have published.
    ///
    /// # Errors
    /// PMIx's reason.
    pub fn fence(&self) -> Result<(), String> {
        // SAFETY: no arguments.
        let status = unsafe { (self.commit)() };
        self.check("PMIx_Commit", status)?;
        let info = Info {
            key: text(abi::COLLECT_DATA),
            flags: 0,
            value: Value { kind: abi::BOOL, data: Data { all: [u64::from(true), 0, 0] } },
        };
        // SAFETY: no list of processes means all of them; `info` is one valid attribute.
        let status = unsafe { (self.fence)(ptr::null(), 0, &info, 1) };
        self.check("PMIx_Fence", status)
    }

    /// What process `rank` has published under `key` before the last fence.
    ///
    /// # Errors
    /// PMIx's reason.
    pub fn fetch(&self, rank: u32, key: &str) -> Result<Vec<u8>, String> {
        let value = self.get(rank, key)?;
        if value.kind != abi::BYTES {
            return Err(format!("PMIx gives {key} of node {rank} as a value of type {}", value.kind));
        }
        // SAFETY: the type says that this member counts.
        let abi::Bytes { bytes, size } = unsafe { value.data.bytes };
        if size == 0 || bytes.is_null() {
            return Ok(Vec::new());
        }
        // SAFETY: PMIx's pointer to that many bytes, which live as long as `value`.
        Ok(unsafe { std::slice::from_raw_parts(bytes.cast(), size) }.to_vec())
    }

    fn get(&self, rank: u32, name: &str) -> Result<Owned, String> {
        let of = Proc { rank, ..self.me };
        let key = CString::new(name).map_err(|e| e.to_string())?;
        let mut value = ptr::null_mut();
        // SAFETY: process and key are valid, there are no attributes, and `value` is writable.
        let status = unsafe { (self.get)(&of, key.as_ptr(), ptr::null(), 0, &mut value) };
        self.check("PMIx_Get", status).map_err(|e| format!("{e} (of {name}, node {rank})"))?;
        if value.is_null() {
            return Err(format!("PMIx_Get: no value for {name} of node {rank}"));
        }
        Ok(Owned(value))
    }

    /// Leaves the session. After that a process may end without harm to the others.
    pub fn finalize(&self) {
        // SAFETY: there are no attributes. That it fails changes nothing: the process ends.
        unsafe { (self.finalize)(ptr::null(), 0) };
    }

    /// Asks the launcher to end the job with `code`. Returns at once.
    pub fn abort(&self, code: u8) {
        // SAFETY: no list of processes means all of them, and there is no message.
        unsafe { (self.abort)(code.into(), c"".as_ptr(), ptr::null_mut(), 0) };
    }

    /// Calls `handler` when the connection to the launcher's daemon breaks.
    ///
    /// # Errors
    /// PMIx's reason.
    pub fn on_lost_connection(&self, handler: abi::EventHandler) -> Result<(), String> {
        let mut codes = [abi::LOST_CONNECTION];
        // SAFETY: one code, no attributes. Without a function to call back the call waits until all is done.
        let status = unsafe {
            (self.register)(codes.as_mut_ptr(), 1, ptr::null_mut(), 0, handler, ptr::null_mut(), ptr::null_mut())
        };
        // Versions before 4 return the handler's number, which is not negative.
        if status < 0 { self.check("PMIx_Register_event_handler", status) } else { Ok(()) }
    }

    fn check(&self, call: &str, status: Status) -> Result<(), String> {
        if status == abi::SUCCESS {
            return Ok(());
        }
        // SAFETY: any number is allowed. The result is null or a C string that stays.
        let text = unsafe { (self.error_string)(status) };
        if text.is_null() {
            return Err(format!("{call} failed with {status}"));
        }
        // SAFETY: see above.
        let text = unsafe { CStr::from_ptr(text) };
        Err(format!("{call} failed: {} ({status})", text.to_string_lossy()))
    }
}

/// A value that PMIx has allocated for the caller of `PMIx_Get`.
struct Owned(*mut Value);

impl std::ops::Deref for Owned {
    type Target = Value;

    fn deref(&self) -> &Value {
        // SAFETY: `get` checked that it is not null; PMIx gave it to us alone.
        unsafe { &*self.0 }
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        let inner = match self.kind {
            // SAFETY: the type says that this member counts.
            abi::BYTES => unsafe { self.data.bytes }.bytes,
            // SAFETY: the type says that this member counts.
            abi::STRING => unsafe { self.data.string },
            _ => ptr::null_mut(),
        };
        // SAFETY: what such a value points to came from malloc, and is ours (macro PMIX_VALUE_RELEASE).
        unsafe { libc::free(inner.cast()) };
        // SAFETY: the value itself came from malloc, and is ours.
        unsafe { libc::free(self.0.cast()) };
    }
}

fn text<const N: usize>(from: &str) -> [c_char; N] {
    let mut to = [0; N];
    to.iter_mut().zip(from.bytes()).for_each(|(to, byte)| *to = byte as c_char);
    to
}

fn load_error() -> String {
    // SAFETY: no arguments. The result is null or a C string that stays until the next call on this thread.
    let error = unsafe { libc::dlerror() };
    if error.is_null() {
        return "no reason given".into();
    }
    // SAFETY: see above.
    unsafe { CStr::from_ptr(error) }.to_string_lossy().into_owned()
}

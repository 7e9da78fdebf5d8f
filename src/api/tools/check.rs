//! Checks that an object fits the library, and that the objects of a program fit each other (contract: tools.md §1.2).

#![allow(unsafe_code)] // clients' pointers; exported names

use crate::base::log;
use crate::job;
use crate::sync::{AtomicU32, Ordering};
use std::ffi::{CStr, c_char, c_int};

/// Mode of an object that includes `gasnet_tools.h`: one client thread. LITE objects have no mode and fit all others.
pub const GASNETI_SCI_TOOLS_MODE_SEQ: u32 = 1;
/// Mode: several client threads.
pub const GASNETI_SCI_TOOLS_MODE_PAR: u32 = 2;
/// Mode: compiled with GASNET_DEBUG.
pub const GASNETI_SCI_TOOLS_MODE_DEBUG: u32 = 4;
/// Mode: compiled without GASNET_DEBUG.
pub const GASNETI_SCI_TOOLS_MODE_NDEBUG: u32 = 8;

/// Modes of every object of this program that includes `gasnet_tools.h`.
static MODES: AtomicU32 = AtomicU32::new(0);

/// Announces the modes of an object. A constructor in every object calls it before `main`.
///
/// `links` has no meaning: the object computes it from variables of the library, so that the linker must find them. The
/// name of this function carries the version of the ABI. Objects whose modes differ end the program, because their
/// locks would be of two types.
#[unsafe(no_mangle)]
pub extern "C" fn gasneti_sci_tools_object_0_3(modes: u32, links: c_int) {
    let _ = links;
    std::hint::black_box(&IDENTS); // the linker keeps what is used
    let all = MODES.fetch_or(modes, Ordering::Relaxed) | modes; // Relaxed: constructors run one after the other
    let both = |pair: u32| all & pair == pair;
    let names = if both(GASNETI_SCI_TOOLS_MODE_SEQ | GASNETI_SCI_TOOLS_MODE_PAR) {
        "thread models SEQ and PAR (GASNETT_THREAD_SAFE, -pthread)"
    } else if both(GASNETI_SCI_TOOLS_MODE_DEBUG | GASNETI_SCI_TOOLS_MODE_NDEBUG) {
        "modes GASNET_DEBUG and GASNET_NDEBUG"
    } else {
        return;
    };
    log::error(format_args!("gasnet_tools.h: objects of this program were compiled in different {names}"));
    // `main` has not begun, so there is nothing to clean up.
    std::process::abort()
}

/// Ends the program with a line: `what` was done wrong at the client's `file` and `line`.
///
/// # Safety
/// `what` and `file` are C strings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gasneti_sci_tools_misuse(what: *const c_char, file: *const c_char, line: c_int) -> ! {
    // SAFETY: the caller promises that `what` is a C string.
    let what = unsafe { CStr::from_ptr(what) }.to_string_lossy();
    // SAFETY: the caller promises that `file` is a C string.
    let file = unsafe { CStr::from_ptr(file) }.to_string_lossy();
    job::fatal(format_args!("{what}, at {file}:{line}"))
}

/// What tools look for in the library, or in a program that holds it. What depends on how a program is compiled is in the headers.
static IDENTS: [&CStr; 3] = [
    c_str(concat!("$GASNetBuildTimestamp: ", env!("BUILT_TIME"), " $\0")),
    c_str(concat!("$GASNetBuildId: gasnet-sci ", env!("CARGO_PKG_VERSION"), " $\0")),
    c_str(concat!("$GASNetGitHash: ", env!("BUILT_COMMIT"), " $\0")),
];

const fn c_str(text: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(text) => text,
        Err(_) => panic!("one NUL, at the end"),
    }
}

const RELEASE: (u32, u32, u32) = (2025, 8, 0);

/// The release of the API, as major * 1,000,000 + minor * 10,000 + patch.
#[unsafe(no_mangle)]
pub extern "C" fn gasnett_release_version() -> u64 {
    u64::from(RELEASE.0) * 1_000_000 + u64::from(RELEASE.1) * 10_000 + u64::from(RELEASE.2)
}

/// The release of the API, as text.
#[unsafe(no_mangle)]
pub extern "C" fn gasnett_release_version_str() -> *const c_char {
    c"2025.8.0".as_ptr()
}

/// One object per configuration that this library serves; `gasnet_tools.h` references those of its own configuration.
macro_rules! serves {
    ($($(#[$condition:meta])* $name:ident)*) => {
        $(
            $(#[$condition])*
            #[doc = "Its presence says that the library serves this configuration."]
            #[unsafe(no_mangle)]
            pub static $name: c_int = 1;
        )*
        #[cfg(test)]
        const SERVED: &[&str] = &[$(stringify!($name)),*];
    };
}
serves! {
    gasnett_linkconfig_idiotcheck_RELEASE_MAJOR_2025
    gasnett_linkconfig_idiotcheck_RELEASE_MINOR_8
    gasnett_linkconfig_idiotcheck_RELEASE_PATCH_0
    gasnett_linkconfig_idiotcheck_SEQ
    gasnett_linkconfig_idiotcheck_PAR
    gasnett_linkconfig_idiotcheck_LITE
    gasnett_linkconfig_idiotcheck_debug
    gasnett_linkconfig_idiotcheck_nodebug
    gasnett_linkconfig_idiotcheck_64bit
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    gasnett_linkconfig_idiotcheck_timers_native
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    gasnett_linkconfig_idiotcheck_timers_posixrt
    gasnett_linkconfig_idiotcheck_membars_native
    gasnett_linkconfig_idiotcheck_atomics_compiler
    gasnett_linkconfig_idiotcheck_atomic32_compiler
    gasnett_linkconfig_idiotcheck_atomic64_compiler
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn release_is_the_headers() {
        let header = include_str!("../../../include/gasnet_config.h");
        let number = |part: &str| -> u32 {
            let name = format!("GASNET_RELEASE_VERSION_{part}");
            let line = header.lines().find(|line| line.contains(&name)).unwrap();
            line.split_whitespace().nth(2).unwrap().parse().unwrap()
        };
        assert_eq!((number("MAJOR"), number("MINOR"), number("PATCH")), RELEASE);
        let (major, minor, patch) = RELEASE;
        for part in [format!("MAJOR_{major}"), format!("MINOR_{minor}"), format!("PATCH_{patch}")] {
            let name = format!("gasnett_linkconfig_idiotcheck_RELEASE_{part}");
            assert!(SERVED.contains(&name.as_str()), "{name}");
        }
        assert_eq!(gasnett_release_version(), 2_025_080_000, "the form that GASNet's own clients compare with");
        // SAFETY: a literal.
        let text = unsafe { CStr::from_ptr(gasnett_release_version_str()) };
        assert_eq!(text.to_str().unwrap(), format!("{major}.{minor}.{patch}"));
    }

    // Another minor version is another library to linker and loader, until 1.0.
    #[test]
    fn headers_carry_the_version_of_the_library() {
        let (major, minor) = (env!("CARGO_PKG_VERSION_MAJOR"), env!("CARGO_PKG_VERSION_MINOR"));
        let name = if major == "0" { format!("0_{minor}") } else { major.to_string() };
        let contains = |header: &str, text: String| assert!(header.contains(&text), "{text}");
        contains(include_str!("../../../include/gasnet_sci_core.h"), format!("gasneti_sci_object_{name}("));
        contains(
            include_str!("../../../include/gasnet_sci_tools_ident.h"),
            format!("gasneti_sci_tools_object_{name}("),
        );
        for part in ["CORE", "EXTENDED"] {
            let line = format!("#define GASNET_{part}_VERSION_STR \"{major}.{minor}\"\n");
            contains(include_str!("../../../include/gasnet_sci_types.h"), line);
        }
    }
}

//! Makes the C prototypes of the exports into OUT_DIR (ci/headers compares them with the checked-in header), and gives
//! the shared library its soname.

#![allow(clippy::disallowed_methods)] // cargo speaks to build scripts through the environment

use std::path::PathBuf;

fn main() {
    println!("cargo::rerun-if-changed=src/abi");
    println!("cargo::rerun-if-changed=cbindgen.toml");
    println!("cargo::rerun-if-changed=build.rs");
    let root = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let out = PathBuf::from(std::env::var("OUT_DIR").expect("cargo sets it"));

    let config = cbindgen::Config::from_file(root.join("cbindgen.toml")).expect("cbindgen.toml is readable");
    let mut builder = cbindgen::Builder::new().with_config(config);
    for module in ["constants", "init", "query", "hsl", "debug", "am", "barrier", "rma"] {
        builder = builder.with_src(root.join(format!("src/abi/{module}.rs")));
    }
    let bindings = builder.generate().expect("src/abi is what cbindgen understands");
    bindings.write_to_file(out.join("gasnet_sci_abi.h"));

    // A library of another major version, or another minor one before 1.0, is another library to the loader.
    let major = std::env::var("CARGO_PKG_VERSION_MAJOR").expect("cargo sets it");
    let minor = std::env::var("CARGO_PKG_VERSION_MINOR").expect("cargo sets it");
    let version = if major == "0" { format!("{major}.{minor}") } else { major };
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libgasnet_sci.so.{version}");
    // Handlers and signal handlers may run at exit: the code must stay.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
}

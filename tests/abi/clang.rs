//! The headers read by clang, through bindgen.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// The repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A reader of a client that has these lines and is compiled with these flags; it knows the library's names only.
pub fn reader(client: &str, flags: &[&str]) -> bindgen::Builder {
    let include = format!("-I{}", root().join("include").display());
    bindgen::Builder::default()
        .header_contents("client.h", client)
        .clang_args(["-std=c99", "-D_GNU_SOURCE", &include].iter().chain(flags))
        .allowlist_item("_?(gasnet|GASNET|gex|GEX|deck|DECK).*|SIZEOF_(GASNET|GEX).*")
}

/// The declarations as Rust.
pub fn read(reader: bindgen::Builder) -> String {
    // Where libclang is missing, bindgen panics.
    let read = catch_unwind(AssertUnwindSafe(|| reader.generate())).unwrap_or_else(|_| {
        panic!("this test needs libclang: ci/test installs it (Debian: apt-get install libclang-dev)")
    });
    read.expect("clang reads include/gasnet.h").to_string()
}

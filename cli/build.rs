//! Compiles the kernels of `gasnet-sci bench` against the headers as clients get them, for SEQ and for PAR (see bench.h
//! there). They are optimised as clients are, whatever the profile. Only `gasnet-sci` links them (`#[link]` in its kernels.rs); the launcher and the tests
//! do not.

#![allow(clippy::disallowed_methods)] // cargo speaks to build scripts through the environment

use std::path::PathBuf;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=../include");
    println!("cargo::rerun-if-changed=src/gasnet-sci/bench/kernels");
    println!("cargo::rerun-if-changed=../c-tests/apps/deck");
    let package = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let out = PathBuf::from(std::env::var("OUT_DIR").expect("cargo sets it"));
    let compile = |files: &[&str]| {
        let mut build = cc::Build::new();
        build.cargo_metadata(false).opt_level(2).debug(true).warnings(true).extra_warnings(true);
        build.std("c11").define("_GNU_SOURCE", None).include(package.join("../include"));
        build.files(files.iter().map(|file| package.join("src/gasnet-sci/bench/kernels").join(file)));
        build
    };
    let mut seq =
        compile(&["node.c", "limits.c", "tcp.c", "udp.c", "job.c", "am.c", "rma.c", "sync.c", "ex.c", "deck.c"]);
    let mut par = compile(&["job.c", "am.c", "rma.c", "sync.c", "ex.c", "lock.c", "threads.c"]);
    seq.file(package.join("../c-tests/apps/deck/layer-tcp.c"));
    // Objects of both have the same names.
    let par_out = out.join("par");
    std::fs::create_dir_all(&par_out).expect("cargo made the directory that this one is in");
    for object in par.define("GASNET_PAR", None).out_dir(par_out).compile_intermediates() {
        seq.object(object);
    }
    seq.define("GASNET_SEQ", None).compile("gasnet_sci_bench");
    println!("cargo::rustc-link-search=native={}", out.display());
}

//! How `libsisci.so` is linked.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Threads of the library may run when a program closes it: its code stays until the process ends.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libsisci.so");
}

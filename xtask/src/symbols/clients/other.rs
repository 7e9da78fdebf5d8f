//! A Rust library with a standard library of its own, which `clients` links with a client.

#![allow(unsafe_code)] // system calls

#[unsafe(no_mangle)]
pub extern "C" fn other_sum(n: u64) -> u64 {
    std::thread::spawn(move || (1..=n).collect::<Vec<u64>>().iter().sum()).join().unwrap()
}

//! Drop-in sockets: TCP connections between processes of one host and one user, whose bytes go through shared memory.
//!
//! The library stands before libc (`LD_PRELOAD`) and has its calls under the same names. Every connection is made by the kernel and stays:
//! descriptor, addresses, options, lifetime, errors. Beside it stand two rings in memory that both sides map.
//!
//! 1. A *way* is one direction of a connection: a stream of bytes in three stretches. The first went through the kernel, before both sides had
//!    found each other; the second through the ring; the third through the kernel again, if somebody *stepped down*. `way` has the marks.
//! 2. Who sends holds the way's `send_lock`, who receives its `recv_lock`, while bytes are copied, never while it sleeps. All processes
//!    that hold an end (fork) use the same locks and marks.
//! 3. Who sleeps arms a bell, looks once more, and sleeps in the kernel with the bell (an eventfd) beside the socket. Who has changed what it
//!    waits for rings. `bell` has the rules.
//! 4. Whatever the library cannot serve by rings (exec, descriptors that are passed on, stdio) makes it step down first.
//!
//! Unsafe code: calls of libc with what the program gave, and memory that two processes share, in which every word is an atomic.

mod bell;
#[cfg(not(loom))]
mod calls;
#[cfg(not(loom))]
mod conn;
#[cfg(not(loom))]
mod epoll;
#[cfg(not(loom))]
mod fds;
#[cfg(not(loom))]
mod meet;
#[cfg(not(loom))]
mod own;
#[cfg(not(loom))]
mod poll;
#[cfg(not(loom))]
mod porter;
#[cfg(not(loom))]
mod real;
#[cfg(not(loom))]
mod shared;
#[cfg(not(loom))]
mod step;
#[cfg(all(test, not(loom)))]
mod tests;
#[cfg(not(loom))]
mod transfer;
#[cfg(not(loom))]
mod wait;
#[cfg(any(test, not(loom)))]
mod way;

//! TAP devices: network interfaces whose frames a process reads and writes.
#![allow(unsafe_code)] // ioctl(TUNSETIFF)

use anyhow::{Context, Result};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use rustix::ioctl::{Opcode, Setter, ioctl};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::thread;

/// The name of the interface in each host.
pub const INTERFACE: &str = "eth0";

/// `_IOW('T', 202, int)`; the kernel reads a `struct ifreq`.
const TUNSETIFF: Opcode = 0x4004_54ca;
const IFF_TAP: u16 = 0x0002;
/// Frames come without a head of the driver's own.
const IFF_NO_PI: u16 = 0x1000;

/// The part of `struct ifreq` that TUNSETIFF reads, in its size.
#[repr(C)]
struct Request {
    name: [u8; 16],
    flags: u16,
    rest: [u8; 22],
}

/// One TAP. The interface goes when this value is dropped.
pub struct Tap(OwnedFd);

impl Tap {
    /// Makes the interface in the network namespace of the process with this number.
    pub fn make(process: u32) -> Result<Tap> {
        let path = format!("/proc/{process}/ns/net");
        let space = File::open(&path).with_context(|| format!("cannot open {path}"))?;
        // A thread of its own moves to the namespace, and ends there. The device belongs to the namespace of its maker.
        let made = thread::spawn(move || {
            move_into_link_name_space(space.as_fd(), Some(LinkNameSpaceType::Network))
                .context("cannot enter the host's network")?;
            Tap::make_here()
        });
        made.join().expect("the thread does not panic")
    }

    fn make_here() -> Result<Tap> {
        let device = open("/dev/net/tun", OFlags::RDWR | OFlags::CLOEXEC | OFlags::NONBLOCK, Mode::empty())
            .context("cannot open /dev/net/tun")?;
        let mut request = Request { name: [0; 16], flags: IFF_TAP | IFF_NO_PI, rest: [0; 22] };
        request.name[..INTERFACE.len()].copy_from_slice(INTERFACE.as_bytes());
        // SAFETY: TUNSETIFF reads a `struct ifreq` of 40 bytes, which `Request` is.
        let setter = unsafe { Setter::<TUNSETIFF, Request>::new(request) };
        // SAFETY: the setter's input has the type that the call takes, as said above.
        unsafe { ioctl(&device, setter) }.context("cannot make a TAP: TUNSETIFF")?;
        Ok(Tap(device))
    }

    pub fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// The next frame that the host sends, in `buffer`. `None` if there is none now.
    pub fn read<'a>(&self, buffer: &'a mut [u8]) -> Option<&'a [u8]> {
        let length = rustix::io::read(&self.0, &mut *buffer).ok()?;
        Some(&buffer[..length])
    }

    /// Gives the host a frame. One that the host's interface does not take, because it is down, is lost.
    pub fn write(&self, frame: &[u8]) {
        while rustix::io::write(&self.0, frame) == Err(Errno::INTR) {}
    }
}

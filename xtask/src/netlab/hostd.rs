//! The process that makes a host: its own /proc, /tmp, /dev/shm, name and boot id. It serves `netlab rsh`, and ends when its
//! standard input does. With it ends the host's first process, a shell that waits for it, and for all orphans as shells do.
//! The kernel then kills every process of the host, because its PID namespace has lost its first process. So nothing
//! survives `netlab`, however that ends.

use super::remote::{PORT, serve};
use anyhow::{Context, Result, bail};
use rustix::mount::{MountFlags, mount, mount_bind};
use rustix::system::sethostname;
use std::ffi::CStr;
use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::process::Command;
use std::thread;

/// In the directory of a run: lines for /etc/hosts, and one boot id per host.
pub const HOSTS_FILE: &str = "hosts";

/// The file with the boot id of a host.
pub fn boot_id_file(name: &str) -> String {
    format!("boot_id.{name}")
}

/// Makes a host and serves it. `unshare` has made the namespaces.
pub fn run(name: &str, directory: &Path, own_tmp: bool) -> Result<()> {
    // /proc is still that of the namespace outside, so these are the numbers that others know this process and its parent by.
    let outside = fs::read_to_string("/proc/self/stat")?;
    let after_name = outside.rsplit(')').next().unwrap_or_default();
    let (own, first) = (outside.split(' ').next(), after_name.split_whitespace().nth(1));
    let numbers = format!("{} {}", own.unwrap_or_default(), first.unwrap_or_default());
    let boot_id = directory.join(boot_id_file(name));
    let hosts = directory.join(HOSTS_FILE);
    let none: Option<&CStr> = None;
    mount("proc", "/proc", "proc", MountFlags::empty(), none).context("cannot mount /proc")?;
    mount_bind(&boot_id, "/proc/sys/kernel/random/boot_id").context("cannot give the host a boot id")?;
    mount_bind(&hosts, "/etc/hosts").context("cannot give the host its /etc/hosts")?;
    mount("tmpfs", "/dev/shm", "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, Some(c"mode=1777"))
        .context("cannot mount /dev/shm")?;
    if own_tmp {
        mount("tmpfs", "/tmp", "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, Some(c"mode=1777"))
            .context("cannot mount /tmp")?;
    }
    sethostname(name.as_bytes()).context("cannot set the host's name")?;
    let up = Command::new("ip").args(["link", "set", "lo", "up"]).status().context("cannot run ip")?;
    if !up.success() {
        bail!("cannot set the loopback interface up");
    }
    // Nothing but the test's own frames goes over the links. A kernel without IPv6 has no such file.
    for kind in ["all", "default"] {
        let _ = fs::write(format!("/proc/sys/net/ipv6/conf/{kind}/disable_ipv6"), "1");
    }
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, PORT)).context("cannot listen for rsh")?;
    thread::spawn(move || serve(&listener));
    println!("ready {numbers}");
    std::io::stdout().flush()?;
    // Until `netlab` closes the pipe, or is gone.
    let mut rest = Vec::new();
    std::io::stdin().read_to_end(&mut rest)?;
    Ok(())
}

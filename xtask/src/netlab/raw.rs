//! Plain TCP between two hosts: what the network can do, and what ours is compared with.

use super::hosts::{Hosts, Network, address};
use super::options::Links;
use crate::repo::Repo;
use anyhow::{Context, Result, bail, ensure};
use std::env;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

const PORT: u16 = 7700;
/// Bytes of a message that goes to and fro.
const SMALL: usize = 8;
/// Round trips of a block, and blocks.
const TRIPS: u64 = 50;
const BLOCKS: usize = 100;
/// Bytes of a block of a stream, and blocks.
const STREAM: usize = 16 << 20;
const STREAM_BLOCKS: usize = 10;
/// A slow network gets no further block after this time.
const ENOUGH: Duration = Duration::from_secs(5);

/// What the server is asked for: a byte, then how much.
const SPINNING: u8 = b's';
const WAITING: u8 = b'w';
const BYTES: u8 = b'b';

pub fn run(repo: &Repo, links: &Links) -> Result<bool> {
    println!(
        "| network | round trip of 8 B, spinning, µs: median (best) | waiting in the kernel | GB/s, writes of 64 KiB | of 1 MiB |"
    );
    println!("|---|---|---|---|---|");
    let name = if links.specs.is_empty() { "relay without faults" } else { "relay with the faults" };
    for (name, network) in [("virtual Ethernet", Network::Plain), (name, links.relay())] {
        let hosts = Hosts::start(&repo.target, 2, &network)?;
        let own = env::current_exe()?;
        let mut server = hosts.hosts[1].command(&own)?.args(["netlab", "raw-server"]).spawn()?;
        let mut client = hosts.hosts[0].command(&own)?;
        let output =
            client.args(["netlab", "raw-client", &address(1)]).stderr(std::process::Stdio::inherit()).output()?;
        let (ended, failed) = (server.wait()?, !output.status.success());
        ensure!(ended.success() && !failed, "the measurement over {name} failed");
        println!("| {name} | {} |", String::from_utf8_lossy(&output.stdout).trim());
    }
    Ok(true)
}

/// The side that answers. Serves one client.
pub fn serve() -> Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, PORT))?;
    let (mut peer, _) = listener.accept()?;
    peer.set_nodelay(true)?;
    let mut buffer = vec![0; 1 << 20];
    loop {
        let mut head = [0; 9];
        match peer.read_exact(&mut head) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(()),
            other => other?,
        }
        let count = u64::from_le_bytes(*head.last_chunk().context("eight bytes")?);
        match head[0] {
            kind @ (SPINNING | WAITING) => {
                peer.set_nonblocking(kind == SPINNING)?;
                for _ in 0..count {
                    read_all(&mut peer, &mut buffer[..SMALL])?;
                    write_all(&mut peer, &buffer[..SMALL])?;
                }
                peer.set_nonblocking(false)?;
            }
            BYTES => {
                let mut left = count;
                while left > 0 {
                    let most = buffer.len().min(left as usize);
                    let got = peer.read(&mut buffer[..most])?;
                    ensure!(got > 0, "the client has gone");
                    left -= got as u64;
                }
                peer.write_all(&[0; SMALL])?;
            }
            other => bail!("the client asks for {other}"),
        }
    }
}

/// The side that measures. Prints the cells of a row.
pub fn measure(server: &str) -> Result<()> {
    let until = Instant::now() + Duration::from_secs(10);
    let mut peer = loop {
        match TcpStream::connect((server, PORT)) {
            Ok(peer) => break peer,
            // The server is about to start.
            Err(_) if Instant::now() < until => std::thread::sleep(Duration::from_millis(10)),
            Err(error) => return Err(error).context("no connection to the server"),
        }
    };
    peer.set_nodelay(true)?;
    let mut cells = Vec::new();
    for kind in [SPINNING, WAITING] {
        let block = |peer: &mut TcpStream| -> Result<f64> {
            ask(peer, kind, TRIPS)?;
            peer.set_nonblocking(kind == SPINNING)?;
            let mut message = [0; SMALL];
            let start = Instant::now();
            for _ in 0..TRIPS {
                write_all(peer, &message)?;
                read_all(peer, &mut message)?;
            }
            let took = start.elapsed();
            peer.set_nonblocking(false)?;
            Ok(took.as_secs_f64() * 1e6 / TRIPS as f64)
        };
        let times = blocks(&mut peer, BLOCKS, block)?;
        cells.push(format!("{:.1} ({:.1})", times[times.len() / 2], times[0]));
    }
    for size in [64 << 10, 1 << 20] {
        let data = vec![0; size];
        let block = |peer: &mut TcpStream| -> Result<f64> {
            ask(peer, BYTES, STREAM as u64)?;
            let start = Instant::now();
            for _ in 0..STREAM / size {
                peer.write_all(&data)?;
            }
            peer.read_exact(&mut [0; SMALL])?;
            Ok(start.elapsed().as_secs_f64())
        };
        let times = blocks(&mut peer, STREAM_BLOCKS, block)?;
        cells.push(format!("{:.2} ({:.2})", speed(times[times.len() / 2]), speed(times[0])));
    }
    println!("{}", cells.join(" | "));
    Ok(())
}

fn speed(seconds: f64) -> f64 {
    STREAM as f64 / seconds / 1e9
}

/// The times of some blocks, from the shortest on.
fn blocks(peer: &mut TcpStream, most: usize, block: impl Fn(&mut TcpStream) -> Result<f64>) -> Result<Vec<f64>> {
    let start = Instant::now();
    let mut times = Vec::new();
    while times.is_empty() || times.len() < most && start.elapsed() < ENOUGH {
        times.push(block(peer)?);
    }
    times.sort_by(f64::total_cmp);
    Ok(times)
}

fn ask(peer: &mut TcpStream, kind: u8, count: u64) -> Result<()> {
    Ok(peer.write_all(&[&[kind][..], &count.to_le_bytes()].concat())?)
}

/// Reads all of the buffer; spins if the socket does not block.
fn read_all(peer: &mut TcpStream, buffer: &mut [u8]) -> Result<()> {
    let mut got = 0;
    while got < buffer.len() {
        match peer.read(&mut buffer[got..]) {
            Ok(0) => bail!("the other side has gone"),
            Ok(count) => got += count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn write_all(peer: &mut TcpStream, data: &[u8]) -> Result<()> {
    let mut sent = 0;
    while sent < data.len() {
        match peer.write(&data[sent..]) {
            Ok(count) => sent += count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

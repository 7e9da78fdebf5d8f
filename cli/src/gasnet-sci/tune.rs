//! `gasnet-sci tune`: measures on this host from which length on another way of moving bytes pays, and writes these
//! lengths to the file where the library looks for them.
//!
//! Each length is decided by the ratio of two ways. Both are timed right after each other, in turns, over several
//! rounds, and the median ratio counts: other load on the host then hits both. A threshold is the least length from
//! which on every longer length has the wanted ratio. A way that wins at no length gets no line in the file, and the
//! default stands.
//!
//! In timing mode the hardware is that of the papers. What is found there is printed: it is no default for this host.

#![allow(unsafe_code)] // system calls and C

use crate::results::Spread;
use clap::ArgMatches;
use gasnet_sci::am::wait;
use gasnet_sci::base::config::{Config, tune};
use gasnet_sci::job::limits;
use gasnet_sci::os::sys;
use gasnet_sci::sci::copier::Copier;
use gasnet_sci::sci::shm::Shm;
#[cfg(feature = "timed")]
use gasnet_sci::sci::timed::Timed;
use gasnet_sci::sci::{
    Adapter, DmaQueue, IS_TIMED, LocalSegment, NodeId, Placement, RemoteMap, RemoteRead, RemoteSegment, SciError,
    SegmentId,
};
use gasnet_sci::sync::{AtomicU64, Ordering};
use gasnet_sci_place::progress::Progress;
use serde_json::json;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The largest length that is tried.
const LARGEST: usize = 1 << 20;
/// Size of the buffer through which payloads with unequal alignment are copied.
const BOUNCE: usize = 64 << 10;
/// DMA counts as equal to PIO up to this ratio of times: its start is then lost in the copy.
const AS_GOOD: f64 = 1.02;
/// A copy through the bounce buffer must take at most this fraction of the direct one.
const BETTER: f64 = 0.97;
/// Handing a transfer to the DMA thread must take at most this fraction of copying it at once: three quarters of the
/// time can then be hidden.
const WORTH_A_CALL: f64 = 0.25;

/// The thresholds, and the least length that is tried for each.
const FROM: [(&str, usize); 3] =
    [("GASNET_SCI_DMA_MIN", 1 << 10), ("GASNET_SCI_BOUNCE_MIN", 4 << 10), ("GASNET_SCI_DMA_THREAD_MIN", 4 << 10)];

/// The adapter that is measured.
#[cfg(not(feature = "timed"))]
type Measured = Shm;
#[cfg(feature = "timed")]
type Measured = Timed<Shm>;

/// Measures, writes the file and prints what was found.
pub fn run(options: &ArgMatches) -> io::Result<()> {
    #[cfg(not(feature = "timed"))]
    if Config::survey().config.timing.profile.is_some() {
        return Err(crate::again::become_timed(None));
    }
    let own = tune::place(tune::Asker::here().code.as_deref());
    let out = match options.get_one::<String>("out") {
        Some(name) => PathBuf::from(name),
        None if IS_TIMED => PathBuf::from("-"),
        None => own.clone(),
    };
    let to_stdout = out == Path::new("-");
    if !to_stdout {
        have_directory(&out, out == own)?;
        check_writable(&out)?;
    }
    let bench = Bench::new(options.get_flag("quick"))?;
    let found = bench.all().map_err(|error| io::Error::other(error.to_string()))?;
    // With its line of progress, before the table.
    drop(bench);
    let text = file(&found);
    tune::parse(&text).map_err(io::Error::other)?;
    let is_json = options.get_flag("json");
    let mut stdout = io::stdout().lock();
    if to_stdout && !is_json {
        return stdout.write_all(text.as_bytes());
    }
    if !to_stdout {
        write(&out, &text)?;
    }
    if is_json {
        let finding = |Finding { name, value, why }: &Finding| json!({"name": name, "bytes": value, "why": why});
        let written = (!to_stdout).then(|| out.display().to_string());
        let value = json!({"thresholds": found.iter().map(finding).collect::<Vec<_>>(), "written": written});
        return writeln!(stdout, "{value:#}");
    }
    for finding in &found {
        let value = finding.value.map_or("default".to_string(), |value| limits::size(value as u64));
        writeln!(stdout, "{:<28}{value:<12}{}", finding.name, finding.why)?;
    }
    writeln!(stdout, "written to {}", out.display())?;
    if out != own {
        writeln!(stdout, "set {}={} to use it", tune::VARIABLE, out.display())?;
    }
    Ok(())
}

/// The result for one threshold.
struct Finding {
    name: &'static str,
    /// Bytes; `None`: the default stands.
    value: Option<usize>,
    why: String,
}

fn file(found: &[Finding]) -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let (version, host, cpus) = (env!("CARGO_PKG_VERSION"), host.trim(), wait::cores());
    let mut text = format!(
        "# Thresholds that gasnet-sci {version} measured on {host}, {cpus} CPUs. gasnet-sci tune writes it anew.\n"
    );
    for finding in found {
        let _ = match finding.value {
            Some(value) => writeln!(text, "{} = {value} # {}", finding.name, finding.why),
            None => writeln!(text, "# {}: {}; the default stands", finding.name, finding.why),
        };
    }
    text
}

// --- the file ------------------------------------------------------------------------------------

/// The directory of the installation's own file is made. One that the user names has to be there: else a typing error would make
/// a directory into which nobody looks.
fn have_directory(out: &Path, is_own: bool) -> io::Result<()> {
    let Some(directory) = out.parent().filter(|directory| !directory.as_os_str().is_empty()) else { return Ok(()) };
    if is_own {
        return std::fs::create_dir_all(directory).map_err(|error| about(out, error));
    }
    match std::fs::metadata(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let (out, name) = (out.display(), directory.display());
            let what = format!("directory {name} does not exist; make it (mkdir -p {name}) or name another with --out");
            Err(io::Error::new(error.kind(), format!("cannot write {out}: {what}")))
        }
        // Whatever else is wrong, opening the file tells.
        _ => Ok(()),
    }
}

/// Called before anything is measured, so that a bad path is reported early.
fn check_writable(out: &Path) -> io::Result<()> {
    let probe = beside(out);
    let result = create(&probe).map(|_| ());
    let _ = std::fs::remove_file(&probe);
    result.map_err(|error| about(out, error))
}

/// Writes the file whole or not at all. All users may read it, because jobs of any user use it.
fn write(out: &Path, text: &str) -> io::Result<()> {
    let new = beside(out);
    let result = create(&new).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&new, out)
    });
    if result.is_err() {
        let _ = std::fs::remove_file(&new);
    }
    result.map_err(|error| about(out, error))
}

fn beside(out: &Path) -> PathBuf {
    let mut name = out.as_os_str().to_owned();
    name.push(format!(".{}", std::process::id()));
    name.into()
}

fn create(file: &Path) -> io::Result<std::fs::File> {
    let file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o644).open(file)?;
    // The umask may have removed rights, or left others the right to write.
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))?;
    Ok(file)
}

fn about(out: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot write {}: {error}; --out FILE writes another", out.display()))
}

// --- measuring -----------------------------------------------------------------------------------

/// A node's segment as its peer reaches it. Both ends are in this process, on one map each, as two nodes have it.
struct Bench {
    remote: <Measured as Adapter>::RemoteSegment,
    map: <Measured as Adapter>::Remote,
    queue: <Measured as Adapter>::Queue,
    source: Vec<u64>,
    buffer: Vec<u64>,
    rounds: usize,
    round: Duration,
    progress: Progress,
    _segment: <Measured as Adapter>::LocalSegment,
}

const SEGMENT: SegmentId = SegmentId(1);

#[cfg(not(feature = "timed"))]
fn wrap(shm: Shm) -> io::Result<Measured> {
    Ok(shm)
}

/// As slow as GASNET_SCI_TIMING says. Only ratios count, so the scale does not.
#[cfg(feature = "timed")]
fn wrap(shm: Shm) -> io::Result<Measured> {
    use gasnet_sci::sci::model::{Timing, Topology, fields_of_file};
    use gasnet_sci::sci::timed::{Setup, links::Links};
    let timing = Config::survey().config.timing;
    let parsed = Timing::parse(timing.profile.as_deref().unwrap_or(""), fields_of_file).map_err(io::Error::other)?;
    let hardware = parsed.ok_or_else(|| io::Error::other("GASNET_SCI_TIMING names no profile"))?.hardware;
    let (topology, positions, links) = (Topology::Apart, [0, 1].into(), Links::own(0));
    Ok(Timed::new(shm, Setup { hardware, topology, positions, links, survives: false }))
}

impl Bench {
    fn new(quick: bool) -> io::Result<Bench> {
        let memory = sys::memfd()?;
        let join = |node| {
            let shm = Shm::join(memory.as_fd(), 0, 2, NodeId(node));
            shm.map_err(|error| io::Error::other(error.to_string())).and_then(wrap)
        };
        let (owner, peer) = (join(0)?, join(1)?);
        Self::between(&owner, &peer, quick).map_err(|error| io::Error::other(error.to_string()))
    }

    fn between(owner: &Measured, peer: &Measured, quick: bool) -> Result<Bench, SciError> {
        let segment = owner.create(SEGMENT, 2 * LARGEST)?;
        segment.set_available()?;
        let remote = peer.connect(NodeId(0), SEGMENT, Duration::ZERO)?;
        let map = remote.map(0, 2 * LARGEST, Placement::Anywhere)?;
        map.fill(0, 1, 2 * LARGEST)?; // so that all pages exist
        let (rounds, round) = if quick { (3, Duration::from_micros(300)) } else { (15, Duration::from_millis(3)) };
        Ok(Bench {
            remote,
            map,
            queue: peer.dma_queue(1)?,
            source: vec![7; LARGEST / 8 + 8],
            buffer: vec![0; BOUNCE / 8],
            rounds,
            round,
            progress: Progress::new(
                "gasnet-sci tune",
                FROM.iter().map(|(_, least)| lengths(*least).count() as u64).sum(),
            ),
            _segment: segment,
        })
    }

    fn all(&self) -> Result<Vec<Finding>, SciError> {
        let ways = [Self::dma_min, Self::bounce_min, Self::thread_min];
        let (mut found, mut end) = (Vec::new(), 0);
        for (way, (name, least)) in ways.into_iter().zip(FROM) {
            self.progress.say(name);
            found.push(way(self, name, least)?);
            // It ends before the shortest length if that cannot matter any more.
            end += lengths(least).count() as u64;
            self.progress.reach(end);
        }
        Ok(found)
    }

    fn dma_min(&self, name: &'static str, least: usize) -> Result<Finding, SciError> {
        let ratio = |len: usize| self.ratio(|| self.pio(0, len), || self.dma(0, 0, len));
        found(name, "DMA to PIO", lengths(least), AS_GOOD, self.counted(ratio))
    }

    fn bounce_min(&self, name: &'static str, least: usize) -> Result<Finding, SciError> {
        let ratio = |len: usize| self.ratio(|| self.pio(4, len), || self.bounce(4, len));
        found(name, "through a buffer to unaligned PIO", lengths(least), BETTER, self.counted(ratio))
    }

    // A step of progress for each length.
    fn counted(&self, ratio: impl Fn(usize) -> Result<f64, SciError>) -> impl Fn(usize) -> Result<f64, SciError> {
        move |len| {
            let found = ratio(len);
            self.progress.advance(1);
            found
        }
    }

    fn thread_min(&self, name: &'static str, least: usize) -> Result<Finding, SciError> {
        if wait::cores() < 2 {
            return Ok(Finding { name, value: None, why: "there is one core".into() });
        }
        if self.map.memory().is_none() {
            return Ok(Finding { name, value: None, why: "timing mode has no DMA thread".into() });
        }
        let copier = Copier::new(4);
        let ratio = |len: usize| self.hand_over(&copier, len);
        found(name, "handing over to copying", lengths(least), WORTH_A_CALL, self.counted(ratio))
    }

    // --- ways of moving bytes --------------------------------------------------------------------

    /// Stores `len` bytes into the segment, read from `skew` bytes into the source.
    fn pio(&self, skew: usize, len: usize) -> Result<(), SciError> {
        let from = self.source.as_ptr().cast::<u8>().wrapping_add(skew);
        // SAFETY: the source has 64 bytes more than the largest length.
        unsafe { self.map.write(0, from, len) }?;
        self.map.barrier();
        Ok(())
    }

    fn dma(&self, skew: usize, offset: usize, len: usize) -> Result<(), SciError> {
        let from = self.source.as_ptr().cast::<u8>().wrapping_add(skew);
        self.dma_from(from, offset, len)
    }

    fn dma_from(&self, from: *const u8, offset: usize, len: usize) -> Result<(), SciError> {
        // SAFETY: callers pass the source or the buffer, both have `len` bytes from `from` on, and the transfer is
        // waited for.
        let ticket = unsafe { self.queue.enqueue(from, &self.remote, offset, len) }?;
        self.queue.wait(ticket, Duration::from_secs(10)).map(|_| ())
    }

    /// Copies piece by piece through the aligned buffer.
    fn bounce(&self, skew: usize, len: usize) -> Result<(), SciError> {
        let from = self.source.as_ptr().cast::<u8>().wrapping_add(skew);
        let buffer = self.buffer.as_ptr().cast_mut().cast::<u8>();
        let mut at = 0;
        while at < len {
            let piece = BOUNCE.min(len - at);
            // SAFETY: the source has 64 bytes more than the largest length; the buffer has `piece` bytes, and one
            // thread uses it.
            unsafe { from.wrapping_add(at).copy_to_nonoverlapping(buffer, piece) };
            self.dma_from(buffer, at, piece)?;
            at += piece;
        }
        Ok(())
    }

    /// Time of handing a transfer to the sleeping DMA thread, divided by the time of copying it. While a client
    /// computes, the thread sleeps too.
    fn hand_over(&self, copier: &Copier, len: usize) -> Result<f64, SciError> {
        let finished: &'static AtomicU64 = Box::leak(Box::default());
        let from = self.source.as_ptr().cast::<u8>();
        let to = self.map.memory().ok_or(SciError::FileLost)?;
        let mut ratios = Vec::new();
        for round in 1..=4 * self.rounds as u64 {
            std::thread::sleep(Duration::from_micros(100)); // long enough that the thread sleeps
            let start = Instant::now();
            // SAFETY: source and map have as many bytes, and the copy is waited for right below.
            unsafe { copier.enqueue(from, to, len, finished) }?;
            let call = start.elapsed();
            // ORDERING: Acquire ↔ Release in the copier: it no longer touches the memory once this count is seen.
            while finished.load(Ordering::Acquire) < round {
                std::thread::yield_now();
            }
            let start = Instant::now();
            self.pio(0, len)?;
            ratios.push(call.as_secs_f64() / start.elapsed().as_secs_f64().max(1e-9));
        }
        Ok(Spread::of(&ratios).median)
    }

    /// Median of (time of `b` / time of `a`).
    fn ratio(
        &self,
        a: impl Fn() -> Result<(), SciError>,
        b: impl Fn() -> Result<(), SciError>,
    ) -> Result<f64, SciError> {
        let time = |way: &dyn Fn() -> Result<(), SciError>, times: u32| -> Result<f64, SciError> {
            let start = Instant::now();
            for _ in 0..times {
                way()?;
            }
            Ok(start.elapsed().as_secs_f64())
        };
        let once = time(&a, 1)?.min(time(&a, 3)? / 3.0).max(1e-9);
        let times = (self.round.as_secs_f64() / once).clamp(1.0, 1e6) as u32;
        let mut ratios = Vec::new();
        for round in 0..self.rounds {
            let (first, second) = if round % 2 == 0 {
                (time(&a, times)?, time(&b, times)?)
            } else {
                let second = time(&b, times)?;
                (time(&a, times)?, second)
            };
            ratios.push(second / first);
        }
        Ok(Spread::of(&ratios).median)
    }
}

/// The powers of two from `least` on.
fn lengths(least: usize) -> impl DoubleEndedIterator<Item = usize> {
    (least.ilog2()..=LARGEST.ilog2()).map(|log| 1 << log)
}

/// The least of `lengths` from which on every ratio is at most `wanted`.
fn found(
    name: &'static str,
    what: &str,
    lengths: impl DoubleEndedIterator<Item = usize>,
    wanted: f64,
    ratio: impl Fn(usize) -> Result<f64, SciError>,
) -> Result<Finding, SciError> {
    let mut best: Option<(usize, f64)> = None;
    for len in lengths.rev() {
        let ratio = ratio(len)?;
        if ratio > wanted {
            let why = match best {
                Some((_, good)) => format!("{what}: {good:.2} there, {ratio:.2} at {}", limits::size(len as u64)),
                None => format!("{what}: {ratio:.2} at {}, wanted {wanted}", limits::size(len as u64)),
            };
            return Ok(Finding { name, value: best.map(|(len, _)| len), why });
        }
        best = Some((len, ratio));
    }
    let why = best.map_or(String::new(), |(_, good)| format!("{what}: {good:.2} there, the least tried"));
    Ok(Finding { name, value: best.map(|(len, _)| len), why })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decide(ratios: &[(usize, f64)]) -> Option<usize> {
        let ratio = |len| Ok(ratios.iter().find(|(known, _)| *known == len).unwrap().1);
        found("x", "x", ratios.iter().map(|(len, _)| *len), 1.0, ratio).unwrap().value
    }

    #[test]
    fn a_threshold_is_where_all_longer_ones_are_good() {
        assert_eq!(decide(&[(1, 2.0), (2, 1.0), (4, 0.9)]), Some(2));
        assert_eq!(decide(&[(1, 0.5), (2, 1.1), (4, 0.9)]), Some(4), "an exception below counts for nothing");
        assert_eq!(decide(&[(1, 0.5), (2, 0.5)]), Some(1));
        assert_eq!(decide(&[(1, 0.5), (2, 1.5)]), None, "the longest decides");
    }

    #[test]
    fn what_is_written_is_what_the_library_reads() {
        let finding = |name, value| Finding { name, value, why: "a = b # c".into() };
        let text = file(&[finding("GASNET_SCI_DMA_MIN", Some(4096)), finding("GASNET_SCI_BOUNCE_MIN", None)]);
        assert_eq!(tune::parse(&text).unwrap(), [("GASNET_SCI_DMA_MIN", "4096".to_string())]);
    }
}

//! How much memory a node has touched, counted page by page by the kernel.
//!
//! Not counted are code and constants of files, which all processes share, and what the kernel keeps for each map.

use crate::host::kib;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;

/// What this process has touched, in KiB: the pages of its own that it has written, its page tables, and its share of
/// the job's memory. The share is the job's memory divided by the number of nodes.
///
/// The `Pss:` lines of the maps would not do for the job's memory, because the kernel rounds them down map by map. Of
/// a page that 64 nodes have mapped, each node has 64 bytes, so the regions that all nodes map would count as
/// nothing.
pub fn touched(nodes: u32) -> io::Result<f64> {
    let written = written(open("/proc/self/smaps")?)?;
    let tables = tables(open("/proc/self/status")?)?;
    Ok(written + tables + file()? / f64::from(nodes))
}

fn open(file: &str) -> io::Result<BufReader<File>> {
    File::open(file).map(BufReader::new)
}

/// Calls `look` with each line, one at a time. The list of maps is longer the more nodes there are, and a text with
/// all of it would be touched memory as well: 1.5 of the 1.8 KiB per peer that a former version found were this text.
fn each_line(mut lines: impl BufRead, mut look: impl FnMut(&str)) -> io::Result<()> {
    let mut line = String::with_capacity(1024);
    while lines.read_line(&mut line)? > 0 {
        look(&line);
        line.clear();
    }
    Ok(())
}

/// Pages that this process has written in private maps. The job's memory does not count, even if only this process
/// has mapped it.
fn written(smaps: impl BufRead) -> io::Result<f64> {
    let (mut sum, mut private) = (0, false);
    each_line(smaps, |line| {
        let mut words = line.split_whitespace();
        if words.next().is_some_and(|first| !first.ends_with(':')) {
            // ADDRESSES RIGHTS OFFSET DEVICE INODE [NAME]
            private = words.next().is_some_and(|rights| rights.ends_with('p'));
        } else if private {
            sum += kib(line, "Private_Dirty:").unwrap_or(0);
        }
    })?;
    Ok(sum as f64)
}

fn tables(status: impl BufRead) -> io::Result<f64> {
    let mut tables = None;
    each_line(status, |line| tables = tables.or(kib(line, "VmPTE:")))?;
    tables.map(|kib| kib as f64).ok_or_else(|| io::Error::other("the system does not say how large page tables are"))
}

/// KiB of the job's memory that exist, whichever node touched them first.
fn file() -> io::Result<f64> {
    for entry in fs::read_dir("/proc/self/fd")? {
        let path = entry?.path();
        if fs::read_link(&path).is_ok_and(|to| to.as_os_str().as_bytes().starts_with(b"/memfd:gasnet-sci-job")) {
            return Ok(fs::metadata(&path)?.blocks() as f64 / 2.0); // of 512 bytes
        }
    }
    Err(io::Error::other("this node has no descriptor of its job's memory"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMAPS: &str = "\
55d0c000-55d0d000 rw-p 00000000 00:00 0        [heap]
Size:                 64 kB
Private_Clean:         4 kB
Private_Dirty:        24 kB
VmFlags: rd wr mr mw me ac sd
7f01c000-7f01d000 rw-s 00000000 00:01 1034     /memfd:gasnet-sci-job (deleted)
Pss:                   1 kB
Private_Dirty:         8 kB
7f02c000-7f02d000 r--p 00000000 fe:00 77       /usr/lib/a file: with words
Private_Dirty:         4 kB
";

    #[test]
    fn what_is_written_in_maps_that_are_shared_is_not_the_process_s() {
        assert_eq!(written(SMAPS.as_bytes()).unwrap(), 28.0);
    }

    #[test]
    fn page_tables_are_found_or_missed() {
        assert_eq!(tables("VmSwap:\t 3 kB\nVmPTE:\t      60 kB\n".as_bytes()).unwrap(), 60.0);
        assert!(tables("VmSwap:\t 3 kB\n".as_bytes()).is_err());
    }

    #[test]
    fn the_list_of_maps_is_read_in_the_same_memory_however_long_it_is() {
        let (mut least, mut most) = (usize::MAX, 0);
        each_line(SMAPS.repeat(1000).as_bytes(), |line| {
            least = least.min(line.as_ptr() as usize);
            most = most.max(line.as_ptr() as usize + line.len());
        })
        .unwrap();
        assert!(most - least <= 1024, "{}", most - least);
    }
}

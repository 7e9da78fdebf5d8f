//! Memory that a program shares already: which part of which file it is, and a descriptor of that file, taken from those that the program has.

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{OFlags, fcntl_getfl, fstat, major, minor};
use rustix::io::fcntl_dupfd_cloexec;

/// A part of a file.
#[derive(Debug, PartialEq, Eq)]
pub struct Place {
    /// The file's device and number.
    file: (u32, u32, u64),
    pub offset: u64,
}

/// How the system's tables begin the names of memory that this library has made: of it no second segment is made.
const OWN: &str = "/memfd:sisci";

/// The part of a file that is at this address, if all of these bytes are of one and are shared, readable and writable.
pub fn place(address: usize, size: usize) -> Option<Place> {
    find(&std::fs::read_to_string("/proc/self/maps").ok()?, address, size)
}

/// The same, by the system's table.
fn find(table: &str, address: usize, size: usize) -> Option<Place> {
    let end = address.checked_add(size)?;
    let (mut at, mut found) = (address, None);
    for line in table.lines() {
        let mut words = line.split_whitespace();
        let (low, high) = words.next()?.split_once('-')?;
        let (low, high) = (usize::from_str_radix(low, 16).ok()?, usize::from_str_radix(high, 16).ok()?);
        if high <= at {
            continue;
        }
        let (rights, offset, device, number) = (words.next()?, words.next()?, words.next()?, words.next()?);
        let (major, minor) = device.split_once(':')?;
        let file =
            (u32::from_str_radix(major, 16).ok()?, u32::from_str_radix(minor, 16).ok()?, number.parse::<u64>().ok()?);
        let offset = u64::from_str_radix(offset, 16).ok()? + at.checked_sub(low)? as u64;
        let begin = offset.checked_sub((at - address) as u64)?;
        let part = Place { file, offset: begin };
        let is_own = words.next().is_some_and(|name| name.starts_with(OWN));
        if is_own
            || !rights.starts_with("rw")
            || !rights.ends_with('s')
            || found.as_ref().is_some_and(|other| *other != part)
        {
            return None;
        }
        (at, found) = (high, Some(part));
        if at >= end {
            return found;
        }
    }
    None
}

/// A copy of the program's descriptor of the file, if it has one that may read and write.
#[allow(unsafe_code)] // descriptors of the program
pub fn open(place: &Place) -> Option<OwnedFd> {
    let is_it = |fd: BorrowedFd<'_>| {
        fstat(fd).is_ok_and(|stat| (major(stat.st_dev), minor(stat.st_dev), stat.st_ino) == place.file)
            && fcntl_getfl(fd).is_ok_and(|flags| flags.contains(OFlags::RDWR))
    };
    let names = std::fs::read_dir("/proc/self/fd").ok()?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter_map(|name| name.parse().ok()).find_map(|number| {
        // SAFETY: the system says which file it is, also if the program closes it meanwhile and opens another one.
        let fd = unsafe { BorrowedFd::borrow_raw(number) };
        // Looked at again once nobody else can close it.
        is_it(fd).then(|| fcntl_dupfd_cloexec(fd, 3).ok()).flatten().filter(|own| is_it(own.as_fd()))
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Memory, page};
    use super::*;

    const TABLE: &str = "\
1000-3000 rw-s 00005000 00:01 77 /memfd:a (deleted)
3000-4000 rw-s 00007000 00:01 77 /memfd:a (deleted)
4000-5000 rw-s 00009000 00:01 77 /memfd:a (deleted)
5000-6000 rw-p 00000000 00:00 0
6000-7000 rw-s 00000000 00:01 78 /memfd:sisci-registered (deleted)
7000-8000 r--s 00000000 00:01 77 /memfd:a (deleted)
";

    #[test]
    fn parts_of_one_file_in_a_row_are_one_place() {
        let file = (0, 1, 77);
        assert_eq!(find(TABLE, 0x1000, 0x3000), Some(Place { file, offset: 0x5000 }));
        assert_eq!(find(TABLE, 0x2000, 0x2000), Some(Place { file, offset: 0x6000 }));
        for (address, size) in
            [(0x1000, 0x4000), (0x4000, 0x2000), (0x5000, 0x1000), (0x6000, 0x1000), (0x7000, 0x1000)]
        {
            assert_eq!(find(TABLE, address, size), None, "{address:x}");
        }
        assert_eq!(find(TABLE, usize::MAX, 2), None);
    }

    #[test]
    #[allow(unsafe_code)] // bytes of maps
    fn a_part_of_the_programs_file_is_found_as_long_as_it_is_open() {
        let file = Memory::named(c"a program's", 4 * page()).unwrap();
        let map = file.map(page(), 2 * page(), std::ptr::null_mut(), false).unwrap();
        let found = Memory::of_program(map.base as usize + page(), page()).unwrap();
        assert_eq!((found.offset, found.length), (2 * page() as u64, page()));
        let again = found.map(0, page(), std::ptr::null_mut(), false).unwrap();
        // SAFETY: within the map.
        unsafe { map.base.wrapping_add(page() + 9).write(5) };
        // SAFETY: as above.
        assert_eq!(unsafe { again.base.wrapping_add(9).read() }, 5);
        drop((file, found));
        assert!(Memory::of_program(map.base as usize, page()).is_none(), "no descriptor is left");
    }
}

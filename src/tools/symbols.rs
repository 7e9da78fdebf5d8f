//! Names, files and lines of addresses, from the symbols and the debug information (DWARF) of the program and of its libraries. Debug
//! information in a file of its own is found by the build id, where distributions install it.
//!
//! It allocates, and maps files. So `stack` has it run in a process of its own.

#![allow(unsafe_code)] // maps of files

use super::stack::Frame;
use addr2line::gimli::{self, EndianSlice, RunTimeEndian};
use object::{Object, ObjectSection, ObjectSegment, ObjectSymbol};
use std::borrow::Cow;
use std::fmt::Write;
use std::fs::File;
use std::path::PathBuf;

/// Where distributions put debug information.
const DEBUG_FILES: &str = "/usr/lib/debug/.build-id";

type Dwarf = addr2line::Context<EndianSlice<'static, RunTimeEndian>>;

/// A part of a file that is mapped for execution.
struct Mapping {
    begin: usize,
    end: usize,
    offset: usize,
    path: String,
}

/// A program or a library.
struct Image {
    file: object::File<'static>,
    // Where symbols are, if not in `file`.
    debug_file: Option<object::File<'static>>,
    dwarf: Option<Dwarf>,
}

/// What this process executes.
pub struct Names {
    mappings: Vec<Mapping>,
    // By path; `None`: it cannot be read.
    images: Vec<(String, Option<Image>)>,
}

impl Names {
    /// Of the files that this process has mapped now.
    pub fn of_this_process() -> Names {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
        Names { mappings: maps.lines().filter_map(mapping).collect(), images: Vec::new() }
    }

    /// Adds ` NAME at FILE:LINE (OBJECT+OFFSET)` to `out`, as much as is known of it. False if that is nothing.
    pub fn describe(&mut self, out: &mut impl Write, frame: &Frame) -> bool {
        let Some(mapping) = self.mappings.iter().find(|part| (part.begin..part.end).contains(&frame.within)) else {
            return false;
        };
        let known = self.images.iter().position(|(path, _)| *path == mapping.path).unwrap_or_else(|| {
            self.images.push((mapping.path.clone(), Image::open(&mapping.path)));
            self.images.len() - 1
        });
        let Some(image) = &self.images[known].1 else { return false };
        let Some(within) = image.address((frame.within - mapping.begin + mapping.offset) as u64) else { return false };
        let after = within + (frame.address - frame.within) as u64;
        image.describe(out, within, after);
        let _ = write!(out, " ({}+{after:#x})", mapping.path);
        true
    }
}

/// One line of /proc/self/maps: `BEGIN-END PERMISSIONS OFFSET DEVICE INODE PATH`.
fn mapping(line: &str) -> Option<Mapping> {
    let mut fields = line.split_ascii_whitespace();
    let (begin, end) = fields.next()?.split_once('-')?;
    let is_code = fields.next()?.contains('x');
    let hexadecimal = |text: &str| usize::from_str_radix(text, 16).ok();
    let offset = hexadecimal(fields.next()?)?;
    let path = line.find('/').map(|at| line[at..].to_owned()).filter(|_| is_code)?;
    Some(Mapping { begin: hexadecimal(begin)?, end: hexadecimal(end)?, offset, path })
}

/// A file's bytes, for as long as the process lives.
fn map(path: &str) -> Option<&'static [u8]> {
    let file = File::open(path).ok()?;
    // SAFETY: a file that is cut off under the map kills this process by SIGBUS, which `stack` expects.
    let map = unsafe { memmap2::Mmap::map(&file) }.ok()?;
    Some(&**Box::leak(Box::new(map)))
}

impl Image {
    fn open(path: &str) -> Option<Image> {
        let file = object::File::parse(map(path)?).ok()?;
        let debug_file = debug_path(&file).and_then(|path| object::File::parse(map(path.to_str()?)?).ok());
        let dwarf = dwarf(debug_file.as_ref().unwrap_or(&file));
        Some(Image { file, debug_file, dwarf })
    }

    /// The address that the file itself gives to the byte at `offset`.
    fn address(&self, offset: u64) -> Option<u64> {
        self.file.segments().find_map(|segment| {
            let (begin, len) = segment.file_range();
            (begin..begin + len).contains(&offset).then(|| segment.address() + (offset - begin))
        })
    }

    /// Adds the function around `within` and those that the compiler has put into it.
    fn describe(&self, out: &mut impl Write, within: u64, after: u64) {
        let mut lead = " ";
        if let Some(mut frames) = self.dwarf.as_ref().and_then(|dwarf| dwarf.find_frames(within).skip_all_loads().ok())
        {
            while let Ok(Some(frame)) = frames.next() {
                let function = frame.function.as_ref();
                let name = function.and_then(|function| function.demangle().ok()).map(|name| name.into_owned());
                let Some(name) = name.or_else(|| Some(self.symbol(within)?.0)) else { break };
                let _ = write!(out, "{lead}{name}");
                if let Some(place) = frame.location {
                    let _ = write!(out, " at {}:{}", place.file.unwrap_or("?"), place.line.unwrap_or(0));
                }
                lead = ", inlined into ";
            }
        }
        if lead == " "
            && let Some((name, begin)) = self.symbol(within)
        {
            let _ = write!(out, " {name}+{:#x}", after - begin);
        }
    }

    /// The symbol that covers `address`, and where it begins.
    fn symbol(&self, address: u64) -> Option<(String, u64)> {
        let files = self.debug_file.iter().chain([&self.file]);
        let covers = |begin: u64, size: u64| begin <= address && address - begin < size;
        files.flat_map(|file| file.symbols().chain(file.dynamic_symbols())).find_map(|symbol| {
            let name = symbol.name().ok().filter(|name| !name.is_empty() && covers(symbol.address(), symbol.size()))?;
            Some((addr2line::demangle_auto(Cow::Borrowed(name), None).into_owned(), symbol.address()))
        })
    }
}

fn debug_path(file: &object::File<'_>) -> Option<PathBuf> {
    let id = file.build_id().ok()??;
    let (first, rest) = id.split_first()?;
    let rest = rest.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
    Some(PathBuf::from(format!("{DEBUG_FILES}/{first:02x}/{rest}.debug")))
}

fn dwarf(file: &object::File<'static>) -> Option<Dwarf> {
    let endian = if file.is_little_endian() { RunTimeEndian::Little } else { RunTimeEndian::Big };
    // A section that is compressed counts as missing: names are left.
    let plain = |section: object::Section<'static, '_>| -> Option<&'static [u8]> {
        let range = section.compressed_file_range().ok()?;
        if range.format == object::CompressionFormat::None { section.data().ok() } else { None }
    };
    let load = |id: gimli::SectionId| -> Result<_, gimli::Error> {
        let data = file.section_by_name(id.name()).and_then(plain).unwrap_or_default();
        Ok(EndianSlice::new(data, endian))
    };
    addr2line::Context::from_dwarf(gimli::Dwarf::load(load).ok()?).ok()
}

#[cfg(all(test, not(loom), not(miri)))]
mod tests {
    use super::super::stack::Stack;
    use super::*;

    #[inline(never)]
    fn a_function_with_this_name() -> Stack {
        let stack = Stack::here();
        std::hint::black_box(&stack); // else the call may become a jump, which leaves no frame
        stack
    }

    #[test]
    fn a_frame_has_its_function_its_file_and_its_line() {
        let stack = a_function_with_this_name();
        let line = line!() - 1;
        let mut names = Names::of_this_process();
        let mut texts = stack.frames().iter().map(|frame| {
            let mut text = String::new();
            names.describe(&mut text, frame).then_some(text)
        });
        let all: Vec<String> = texts.by_ref().flatten().collect();
        let has = |parts: &[&str]| all.iter().any(|text| parts.iter().all(|part| text.contains(part)));
        assert!(has(&["a_function_with_this_name at ", "symbols.rs:"]), "{all:#?}");
        assert!(has(&["a_frame_has_its_function_its_file_and_its_line", &format!("symbols.rs:{line}")]), "{all:#?}");
    }

    #[test]
    fn an_address_without_a_file_has_no_description() {
        let mut text = String::new();
        let nowhere = Frame { address: 17, within: 16 };
        assert!(!Names::of_this_process().describe(&mut text, &nowhere) && text.is_empty());
        assert!(mapping("7ffd-7fff r-xp 00000000 00:00 0   [vdso]").is_none());
        let part = mapping("55d0c000-55d0d000 r-xp 00001000 fe:00 123   /a path/with (deleted)").unwrap();
        assert_eq!((part.begin, part.end, part.offset), (0x55d0_c000, 0x55d0_d000, 0x1000));
        assert_eq!(part.path, "/a path/with (deleted)");
    }
}

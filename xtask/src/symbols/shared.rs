//! The shared library, as the loader reads it.

use anyhow::{Context, Result};
use object::elf;
use object::read::elf::{Dyn, ElfFile64, FileHeader, ProgramHeader};
use object::{Endianness, Object, ObjectSymbol, RelocationFlags, SymbolFlags};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Libraries that every program has or can have. The library may need no others.
const NEEDED: [&str; 5] = ["libc.so.6", "libgcc_s.so.1", "libm.so.6", "libdl.so.2", "libpthread.so.0"];

/// Functions that make objects with names. The library must use none of them. So a job has no names outside the
/// common places in which ci/test looks for them. `bind` is not among them: jobs on several hosts listen on TCP ports and have abstract
/// sockets, both of which end with the process.
const MAKERS: [&str; 10] =
    ["shm_open", "sem_open", "mq_open", "shmget", "semget", "msgget", "mkfifo", "mkstemp", "mkdtemp", "tmpfile"];

/// The facts about the shared library that the checks need.
pub struct Shared {
    pub exports: BTreeSet<String>,
    imports: BTreeSet<String>,
    sonames: Vec<String>,
    needed: Vec<String>,
    flags: u64,
    flags_1: u64,
    has_text_relocations: bool,
    /// Relocations that give thread-local variables a fixed place.
    static_tls: Vec<String>,
    /// Flags of the program headers that describe the stack.
    stacks: Vec<u32>,
}

impl Shared {
    pub fn read(path: &Path) -> Result<Shared> {
        let data = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        let file = ElfFile64::<Endianness>::parse(&*data)?;
        let endian = file.endian();
        let mut shared = Shared {
            exports: BTreeSet::new(),
            imports: BTreeSet::new(),
            sonames: Vec::new(),
            needed: Vec::new(),
            flags: 0,
            flags_1: 0,
            has_text_relocations: false,
            static_tls: Vec::new(),
            stacks: Vec::new(),
        };
        for symbol in file.dynamic_symbols() {
            let name = symbol.name()?.to_owned();
            // A symbol with local binding is not exported.
            let outside = matches!(symbol.flags(), SymbolFlags::Elf { st_info, .. } if st_info >> 4 != elf::STB_LOCAL);
            match symbol.is_undefined() {
                true => shared.imports.insert(name),
                false => outside && shared.exports.insert(name),
            };
        }
        let strings = file.elf_dynamic_symbol_table().strings();
        let text = |offset: u64| {
            let bytes = strings.get(offset as u32).unwrap_or(b"?");
            String::from_utf8_lossy(bytes).into_owned()
        };
        for segment in file.elf_program_headers() {
            if segment.p_type(endian) == elf::PT_GNU_STACK {
                shared.stacks.push(segment.p_flags(endian));
            }
            for entry in segment.dynamic(endian, &*data)?.into_iter().flatten() {
                let value: u64 = entry.d_val(endian);
                match u32::try_from(entry.d_tag(endian))? {
                    elf::DT_NULL => break,
                    elf::DT_SONAME => shared.sonames.push(text(value)),
                    elf::DT_NEEDED => shared.needed.push(text(value)),
                    elf::DT_FLAGS => shared.flags = value,
                    elf::DT_FLAGS_1 => shared.flags_1 = value,
                    elf::DT_TEXTREL => shared.has_text_relocations = true,
                    _ => {}
                }
            }
        }
        let machine = file.elf_header().e_machine(endian);
        for (address, relocation) in file.dynamic_relocations().into_iter().flatten() {
            if let RelocationFlags::Elf { r_type } = relocation.flags()
                && is_static_tls(machine, r_type)
            {
                shared.static_tls.push(format!("relocation of type {r_type} at {address:#x}"));
            }
        }
        Ok(shared)
    }
}

fn is_static_tls(machine: u16, r_type: u32) -> bool {
    match machine {
        elf::EM_X86_64 => matches!(r_type, elf::R_X86_64_TPOFF64 | elf::R_X86_64_TPOFF32),
        elf::EM_AARCH64 => r_type == elf::R_AARCH64_TLS_TPREL,
        _ => false,
    }
}

/// All checks of the library except the list of its exports.
pub fn check(shared: &Shared, none: &dyn Fn(&str, &str)) {
    let list = |names: &mut dyn Iterator<Item = &String>| names.map(|name| format!("{name}\n")).collect::<String>();
    let unless = |right: bool, findings: String| if right { String::new() } else { findings };

    let foreign =
        list(&mut shared.exports.iter().filter(|name| !name.starts_with("gasnet") && !name.starts_with("deck_")));
    none("exports that begin with neither gasnet nor deck_", &foreign);
    let soname = soname();
    none(&format!("soname is not {soname}"), &list(&mut shared.sonames.iter().filter(|name| **name != soname)));
    none("no soname", &unless(!shared.sonames.is_empty(), "missing".into()));
    // The library must stay loaded when a client closes it, because exit handlers and signal handlers may still run
    // its code.
    let stays = shared.flags_1 & u64::from(elf::DF_1_NODELETE) != 0;
    none("no NODELETE flag", &unless(stays, format!("FLAGS_1 {:#x}", shared.flags_1)));
    // A library with static TLS cannot be loaded with dlopen once that space is used up.
    let loadable = shared.flags & u64::from(elf::DF_STATIC_TLS) == 0;
    let flag = unless(loadable, "STATIC_TLS\n".into());
    none("initial-exec TLS", &(flag + &list(&mut shared.static_tls.iter())));
    let executable = shared.stacks.iter().any(|flags| flags & elf::PF_X != 0);
    none("executable stack", &unless(!executable, "GNU_STACK has the flag E".into()));
    none("no statement about the stack", &unless(!shared.stacks.is_empty(), "no GNU_STACK".into()));
    let moves = shared.has_text_relocations || shared.flags & u64::from(elf::DF_TEXTREL) != 0;
    none("relocations in code", &unless(!moves, "TEXTREL".into()));
    let others = |name: &&String| !NEEDED.contains(&name.as_str()) && !name.starts_with("ld-linux");
    none("libraries needed beyond libc and libgcc", &list(&mut shared.needed.iter().filter(others)));
    let makers = |name: &&String| MAKERS.contains(&name.as_str());
    none("calls that make objects with names", &list(&mut shared.imports.iter().filter(makers)));
}

/// The name changes with the major version, and before 1.0 with the minor one, so that the loader keeps such
/// libraries apart.
fn soname() -> String {
    let (major, minor) = (env!("CARGO_PKG_VERSION_MAJOR"), env!("CARGO_PKG_VERSION_MINOR"));
    if major == "0" { format!("libgasnet_sci.so.0.{minor}") } else { format!("libgasnet_sci.so.{major}") }
}

//! The static library, as the linker reads it.

use anyhow::{Context, Result};
use object::read::archive::ArchiveFile;
use object::{File, Object, ObjectSymbol};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Names that a client may define itself. The client's definition must win in a static link, as it does in a shared
/// one.
const OVERRIDABLE: [&str; 3] = ["gasnet_max_segsize", "gasnet_max_segsize_str", "gasnett_backtrace_user"];

/// The global definitions, and whether they are weak. A name without our prefix could be one of the client's own, or
/// belong to another Rust library.
pub struct Archive(BTreeMap<String, bool>);

impl Archive {
    pub fn read(path: &Path) -> Result<Archive> {
        let data = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        let mut definitions = BTreeMap::new();
        for member in ArchiveFile::parse(&*data)?.members() {
            let file = File::parse(member?.data(&*data)?)?;
            let global = |symbol: &object::Symbol| symbol.is_global() && !symbol.is_undefined();
            for symbol in file.symbols().filter(global) {
                definitions.insert(symbol.name()?.to_owned(), symbol.is_weak());
            }
        }
        Ok(Archive(definitions))
    }

    /// The names, one per line.
    pub fn names(&self) -> String {
        self.0.keys().map(|name| format!("{name}\n")).collect()
    }

    /// Names that a client should be able to define, but cannot.
    pub fn strong_overridables(&self) -> String {
        let strong = OVERRIDABLE.iter().filter(|name| self.0.get(**name) != Some(&true));
        strong.map(|name| format!("{name}\n")).collect()
    }
}

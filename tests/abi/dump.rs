//! The binary interface as clients are compiled against it, as text: every type with its size and offsets, every constant,
//! every function and variable that the headers declare. `cargo xtask abi` keeps it in ci/abi.txt; a difference is a change
//! that CONTRIBUTING's rules for versions are about.
//!
//! The text has a section per set of clients, `== CLIENT CLIENT… ==`, with the items that all of these clients see and no
//! other does. So an item stands once. A client's interface is the sum of the sections that name it.

#![cfg(target_arch = "x86_64")] // where clients of other machines see other sizes of the system's types

use super::clang::{read, reader, root};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

const TOOLS: &str = "#include <gasnet_tools.h>\n";
const MAIL: &str = "#include <deck.h>\n";
const ALL: &str = concat!(
    "#include <gasnet.h>\n#include <gasnet_vis.h>\n#include <gasnet_coll.h>\n",
    "#include <gasnet_ratomic.h>\n#include <gasnet_mk.h>\n#include <gasnet_handler.h>\n#include <gasnet_tools.h>\n"
);

/// A client's name in the sections, what it includes, and how it is compiled.
const CLIENTS: [(&str, &str, &[&str]); 7] = [
    ("seq-fast", ALL, &["-DGASNET_SEQ"]),
    ("parsync-large", ALL, &["-DGASNET_PARSYNC", "-DGASNET_SEGMENT_LARGE", "-pthread"]),
    ("par-everything-debug", ALL, &["-DGASNET_PAR", "-DGASNET_SEGMENT_EVERYTHING", "-DGASNET_DEBUG", "-pthread"]),
    ("tools-seq", TOOLS, &["-DGASNETT_THREAD_SINGLE"]),
    ("tools-par", TOOLS, &["-DGASNETT_THREAD_SAFE", "-pthread"]),
    ("deck", MAIL, &[]),
    ("deck-debug", MAIL, &["-DDECK_DEBUG"]),
];

/// What one client sees, item by item.
fn interface(includes: &str, flags: &[&str]) -> Vec<String> {
    let reader = reader(includes, flags)
        .sort_semantically(true)
        .disable_header_comment()
        .generate_comments(false)
        .formatter(bindgen::Formatter::Prettyplease);
    with_types_of_enums(items(&read(reader)))
}

// An item begins at the margin with a word or with its attributes.
fn items(text: &str) -> Vec<String> {
    let mut items: Vec<String> = Vec::new();
    let mut in_attributes = false;
    for line in text.lines().filter(|line| !line.is_empty()) {
        let attribute = line.starts_with("#[");
        let begins = attribute || line.starts_with(|letter: char| letter.is_ascii_alphabetic());
        if begins && !in_attributes || items.is_empty() {
            items.push(String::new());
        }
        in_attributes = attribute;
        let item = items.last_mut().expect("the first line begins one");
        item.push_str(line);
        item.push('\n');
    }
    items
}

// bindgen numbers the enumerations that have no name, differently for each client. Their integer types stand for them.
fn with_types_of_enums(items: Vec<String>) -> Vec<String> {
    let number = |item: &str| {
        let (name, integer) =
            item.strip_prefix("pub type _bindgen_ty_")?.trim_end().strip_suffix(';')?.split_once(" = ")?;
        Some((format!(": _bindgen_ty_{name} "), format!(": {integer} ")))
    };
    let enums: Vec<(String, String)> = items.iter().filter_map(|item| number(item)).collect();
    let named = items.into_iter().filter(|item| number(item).is_none());
    named.map(|item| enums.iter().fold(item, |item, (name, integer)| item.replace(name, integer))).collect()
}

/// The sections of the clients' interfaces; those of most clients come first.
fn sections(clients: &[(&'static str, Vec<String>)]) -> String {
    let mut order = Vec::new();
    let mut seen_by: HashMap<&str, Vec<&str>> = HashMap::new();
    for (client, items) in clients {
        for item in items {
            let names = seen_by.entry(item).or_insert_with(|| {
                order.push(item.as_str());
                Vec::new()
            });
            if names.last() != Some(client) {
                names.push(client);
            }
        }
    }
    let mut sections: BTreeMap<(Reverse<usize>, &[&str]), String> = BTreeMap::new();
    for item in order {
        let names = &seen_by[item][..];
        sections.entry((Reverse(names.len()), names)).or_default().push_str(item);
    }
    sections.iter().fold(String::new(), |mut text, ((_, names), items)| {
        write!(text, "== {} ==\n{items}", names.join(" ")).expect("a string takes everything");
        text
    })
}

#[test]
fn interface_is_the_one_written_down() {
    let clients = CLIENTS.map(|(name, includes, flags)| (name, interface(includes, flags)));
    let text = sections(&clients);
    let new = Path::new(env!("CARGO_TARGET_TMPDIR")).join("abi.txt");
    fs::write(&new, &text).unwrap();
    let old = fs::read_to_string(root().join("ci/abi.txt")).unwrap_or_default();
    assert!(old == text, "the binary interface is not that of ci/abi.txt: cargo xtask abi shows the difference");
}

#[test]
fn an_item_stands_once_under_the_clients_that_see_it() {
    let item = |words: &[&str]| words.iter().map(|word| format!("{word}\n")).collect::<Vec<_>>();
    let text = sections(&[("one", item(&["a", "b", "c"])), ("two", item(&["b", "c", "d"])), ("three", item(&["c"]))]);
    assert_eq!(text, "== one two three ==\nc\n== one two ==\nb\n== one ==\na\n== two ==\nd\n");
}

#[test]
fn items_are_taken_apart_at_the_margin() {
    let text = "pub type a = u8;\n#[repr(C)]\n#[derive(Debug)]\npub struct b {\n    pub c: u8,\n}\nunsafe extern \"C\" {\n    pub fn d();\n}\n";
    assert_eq!(items(text).len(), 3);
    assert_eq!(items(text).concat(), text);
}

#[test]
fn enumerations_without_a_name_are_their_integers() {
    let text = "pub type _bindgen_ty_7 = ::std::os::raw::c_uint;\npub const A: _bindgen_ty_7 = 3;\n";
    assert_eq!(with_types_of_enums(items(text)), ["pub const A: ::std::os::raw::c_uint = 3;\n"]);
}

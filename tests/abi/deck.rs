//! deck.h and the library agree on every constant, and on the one structure that programs fill in.

use super::clang::{read, reader};
use gasnet_sci::api::deck::constants::*;
use gasnet_sci::api::deck::mbox::deck_mbox_attr_t;
use std::collections::BTreeMap;
use std::mem::{offset_of, size_of};

macro_rules! constants {
    ($($name:ident),* $(,)?) => { [$((stringify!($name), $name as i64)),*] };
}

const SHARED: &[(&str, i64)] = &constants![
    DECK_VERSION_MAJOR, DECK_VERSION_MINOR, DECK_FOREVER, DECK_EAGAIN, DECK_ETIMEDOUT, DECK_EEXIST, DECK_EGONE,
    DECK_EPEER, DECK_EPLACE, DECK_ETRUNC, DECK_ETYPE, DECK_ENOMEM, DECK_EMODE, DECK_EINIT, DECK_EARG, DECK_ETWICE,
    DECK_NEXT, DECK_LEAST, DECK_AUTO, DECK_LOCAL, DECK_SHARED, DECK_FIXED, DECK_BYTE, DECK_INT8, DECK_UINT8,
    DECK_INT16, DECK_UINT16, DECK_INT32, DECK_UINT32, DECK_INT64, DECK_UINT64, DECK_FLOAT, DECK_DOUBLE, DECK_SUM,
    DECK_PROD, DECK_MIN, DECK_MAX, DECK_AND, DECK_OR, DECK_XOR,
];

/// What clang knows of deck.h, without spaces. The structure of a form that bindgen does not evaluate (INT64_C) is a variable here.
fn header() -> String {
    let client = "#include <deck.h>\nstatic const int64_t DECK_TEST_FOREVER = DECK_FOREVER;\n";
    read(reader(client, &[]).formatter(bindgen::Formatter::None)).replace(' ', "")
}

/// Constants and their values: macros, and members of enumerations.
fn constants(header: &str) -> BTreeMap<String, i64> {
    let constant = |text: &str| {
        let (name, rest) = text.split_once(':')?;
        let (_, value) = rest.split_once(';')?.0.split_once('=')?;
        Some((name.replace("TEST_", ""), value.parse().ok()?))
    };
    header.split("pubconst").skip(1).filter_map(constant).filter(|(name, _)| name.starts_with("DECK_")).collect()
}

#[test]
fn constants_of_deck_have_one_value() {
    let found = constants(&header());
    let listed: BTreeMap<String, i64> = SHARED.iter().map(|&(name, value)| (name.into(), value)).collect();
    assert_eq!(found, listed);
}

#[test]
fn the_attributes_of_a_box_lie_alike() {
    let header = header();
    let layout = |what: &str, value: usize| {
        let asserted = format!("[\"{}\"]", what.replace(' ', ""));
        let at = header.find(&asserted).unwrap_or_else(|| panic!("clang knows nothing of: {what}"));
        let rest = &header[at..header.len().min(at + 200)];
        assert!(
            rest.split_once("usize]").is_some_and(|(text, _)| text.ends_with(&format!("-{value}"))),
            "{what}: {rest}"
        );
    };
    layout("Size of deck_mbox_attr_t", size_of::<deck_mbox_attr_t>());
    layout("Offset of field: deck_mbox_attr_t::size", offset_of!(deck_mbox_attr_t, size));
    layout("Offset of field: deck_mbox_attr_t::capacity_bytes", offset_of!(deck_mbox_attr_t, capacity_bytes));
    layout("Offset of field: deck_mbox_attr_t::capacity_msgs", offset_of!(deck_mbox_attr_t, capacity_msgs));
}

//! Compares the binary interface that clients are compiled against with ci/abi.txt. clang reads the interface in the
//! tests of tests/abi/dump.rs, which explains the form of the text.

use crate::repo::{Repo, outcome};
use crate::verdicts::Verdicts;
use anyhow::{Result, bail};
use similar::{ChangeTag, TextDiff};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

const WRITTEN: &str = "ci/abi.txt";

/// Prints the difference. With `update`, writes the text anew; lines may go or change only if `breaks` is set.
pub fn run(repo: &Repo, update: bool, breaks: bool) -> Result<bool> {
    repo.set_up("gcc libclang")?;
    let made = repo.target.join("tmp/abi.txt");
    let _ = fs::remove_file(&made); // there may be none
    // Of the whole workspace: of the package alone, crates would have other features, and be built again.
    let test = ["test", "--quiet", "--workspace", "--test", "abi", "dump::"];
    let (_, log) = outcome(repo.cargo().args(test))?;
    let Ok(new) = fs::read_to_string(&made) else { bail!("no dump was made: {log}") };
    let old = repo.read(WRITTEN).unwrap_or_default();
    if update {
        let gone = gone(&old, &new);
        if !gone.is_empty() && !breaks {
            gone.iter().for_each(|line| eprintln!("{line}"));
            bail!(
                "these lines are gone or changed: programs compiled before may break; if that is meant: --update --break"
            );
        }
        repo.write(WRITTEN, &new)?;
        return Ok(true);
    }
    let (old, new) = (clients(&old), clients(&new));
    let verdicts = Verdicts::new("abi");
    let names: BTreeSet<&str> = old.keys().chain(new.keys()).copied().collect();
    for name in names {
        let (old, new) = (whole(old.get(name)), whole(new.get(name)));
        let difference = TextDiff::from_lines(&old, &new).unified_diff().header("written down", "found").to_string();
        verdicts.none(&format!("interface of {name} (cargo xtask abi --update)"), &difference, 200);
    }
    Ok(verdicts.finish())
}

/// The items that each client sees.
fn clients(text: &str) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut clients: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for section in format_sections(text) {
        for name in section.0 {
            clients.entry(name).or_default().extend(&section.1);
        }
    }
    clients
}

/// The sections of the text: names of clients, items.
fn format_sections(text: &str) -> Vec<(Vec<&str>, Vec<&str>)> {
    let sections = text.split("== ").skip(1);
    let pairs = sections.filter_map(|section| section.split_once(" ==\n").or(Some((section, ""))));
    pairs.map(|(names, items)| (names.split(' ').collect(), self::items(items))).collect()
}

// An item starts at the margin, with a word or with its attributes.
fn items(text: &str) -> Vec<&str> {
    let mut starts = Vec::new();
    let (mut at, mut in_attributes) = (0, false);
    for line in text.split_inclusive('\n') {
        let attribute = line.starts_with("#[");
        if !in_attributes && (attribute || line.starts_with(|letter: char| letter.is_ascii_alphabetic())) {
            starts.push(at);
        }
        in_attributes = attribute;
        at += line.len();
    }
    let ends = starts.iter().skip(1).copied().chain([at]);
    starts.iter().zip(ends).map(|(&start, end)| &text[start..end]).collect()
}

/// A client's items as one text, in an order that does not depend on the sections.
fn whole(items: Option<&BTreeSet<&str>>) -> String {
    items.into_iter().flatten().copied().collect()
}

/// The lines that some client saw and no longer sees, each with the first client that misses it. An object that was
/// compiled before may not work with this library. Lines without a letter do not count, because commas and brackets
/// move when a list grows.
fn gone(old: &str, new: &str) -> Vec<String> {
    let (old, new) = (clients(old), clients(new));
    let mut lines = BTreeMap::new();
    for (name, items) in &old {
        let (before, after) = (whole(Some(items)), whole(new.get(name)));
        for change in TextDiff::from_lines(&before, &after).iter_all_changes() {
            let evidence = change.value().contains(|letter: char| letter.is_ascii_alphabetic());
            if change.tag() == ChangeTag::Delete && evidence {
                lines.entry(change.value().trim_end().to_owned()).or_insert(*name);
            }
        }
    }
    lines.into_iter().map(|(line, name)| format!("{name}: {line}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "== one two ==\npub type a = u8;\n== two ==\n#[repr(C)]\npub struct b {\n    pub c: u8,\n}\n";

    #[test]
    fn a_client_sees_what_names_it() {
        let clients = clients(OLD);
        assert_eq!(clients["one"].len(), 1);
        assert_eq!(whole(clients.get("two")), "#[repr(C)]\npub struct b {\n    pub c: u8,\n}\npub type a = u8;\n");
    }

    #[test]
    fn additions_break_nothing() {
        let more =
            OLD.replace("    pub c: u8,\n", "    pub c: u8,\n    pub d: u8,\n") + "== one ==\npub type e = u8;\n";
        assert_eq!(gone(OLD, &more), [""; 0]);
    }

    #[test]
    fn an_item_that_moves_to_another_section_is_still_seen() {
        let moved =
            OLD.replace("== one two ==\npub type a = u8;\n", "") + "pub type a = u8;\n== one ==\npub type a = u8;\n";
        assert_eq!(gone(OLD, &moved), [""; 0]);
    }

    #[test]
    fn what_one_client_loses_is_gone() {
        let less = OLD.replace("== one two ==", "== two ==");
        assert_eq!(gone(OLD, &less), ["one: pub type a = u8;"]);
        assert_eq!(gone(OLD, &OLD.replace("c: u8", "c: u16")), ["two:     pub c: u8,"]);
    }
}

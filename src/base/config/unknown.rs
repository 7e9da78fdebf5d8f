//! Variables that look like ours but are not. Most often they are misspelt, so the message names the nearest
//! variable.

use super::VARS;

/// The prefix of all our names. General names of GASNet may belong to other conduits too.
const PREFIX: &str = "GASNET_SCI_";
/// The prefix of all known names. Our prefix in front of a general name is a mistake too.
const FAMILY: &str = "GASNET_";
/// Variables that are not settings, and so not in the table: the launcher passes them to nodes.
const INTERNAL: &[&str] = &[super::HANDOFF, super::PARTS];
/// Sites set it for conduits with several spawners. Here the launcher finds out itself how to start a job.
const SPAWNER: &str = "GASNET_SCI_SPAWNER";

/// The variables in `environment` that have our prefix but that nothing reads. Each comes with the known name that
/// the user probably meant, or `None` if no known name is near.
pub fn unknown(environment: impl Iterator<Item = String>) -> Vec<(String, Option<&'static str>)> {
    let known = || VARS.iter().flat_map(|var| std::iter::once(&var.name).chain(var.aliases)).copied();
    let strangers = environment.filter(|name| {
        let is_ours = name == SPAWNER || INTERNAL.contains(&name.as_str());
        name.starts_with(PREFIX) && !is_ours && !known().any(|known| known == name)
    });
    let near = |name: &str| {
        let apart = |known: &str| distance(stem(known), stem(name));
        known().min_by_key(|known| apart(known)).filter(|known| apart(known) <= bound(stem(name)))
    };
    strangers.map(|name| (name.clone(), near(&name))).collect()
}

/// A name without the common prefix. A spelling mistake is expected in the rest.
fn stem(name: &str) -> &str {
    name.strip_prefix(PREFIX).or_else(|| name.strip_prefix(FAMILY)).unwrap_or(name)
}

/// The most edits that still count as a misspelt `stem`: about a third of its letters.
fn bound(stem: &str) -> usize {
    (stem.len() + 1) / 3
}

/// The unknown variables of this process.
pub fn unknown_here() -> Vec<(String, Option<&'static str>)> {
    #[allow(clippy::disallowed_methods)] // src/base/config is the place that reads it
    unknown(std::env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned()))
}

/// The number of letters to insert, remove or replace in order to get from one text to the other.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let best = (diagonal + usize::from(x != y)).min(row[j] + 1).min(row[j + 1] + 1);
            diagonal = std::mem::replace(&mut row[j + 1], best);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_edits() {
        for (a, b, n) in [("", "", 0), ("abc", "abc", 0), ("abc", "", 3), ("kitten", "sitting", 3), ("ab", "ba", 2)] {
            assert_eq!((distance(a, b), distance(b, a)), (n, n), "{a} {b}");
        }
    }

    #[test]
    fn a_stranger_is_told_with_a_name_that_is_near() {
        for (name, near) in [
            ("GASNET_SCI_SLOT", "GASNET_SCI_SLOTS"),
            ("GASNET_SCI_DMAMIN", "GASNET_SCI_DMA_MIN"),
            ("GASNET_SCI_SLTOS", "GASNET_SCI_SLOTS"),
            ("GASNET_SCI_VERBOSEENV", "GASNET_VERBOSEENV"),
        ] {
            assert_eq!(unknown([name.to_string()].into_iter()), [(name.to_string(), Some(near))]);
        }
    }

    #[test]
    fn a_name_that_is_far_from_all_is_told_alone() {
        for name in ["GASNET_SCI_COLOUR", "GASNET_SCI_", "GASNET_SCI_X", "GASNET_SCI_FROBNICATION_LEVEL"] {
            assert_eq!(unknown([name.to_string()].into_iter()), [(name.to_string(), None)]);
        }
    }

    #[test]
    fn known_names_and_other_conduits_are_no_strangers() {
        let names = ["GASNET_SCI_SLOTS", "GASNET_SLOT", "HOME", "GASNET_SCI_BOOT", "GASNET_SCI_SPAWNER"];
        assert_eq!(unknown(names.iter().map(|name| name.to_string())), []);
    }
}

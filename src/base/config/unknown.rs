//! Variables that look like ours and are not: most often a slip of the pen, so the nearest name is told.

use super::VARS;

/// What all names of ours begin with; those of GASNet in general are other conduits' as well.
const PREFIX: &str = "GASNET_SCI_";
/// Not settings, so not in the table: what the launcher hands to nodes.
const INTERNAL: &[&str] = &[super::HANDOFF];

/// Of the variables in `environment` those that begin as ours do and that nothing reads, with the nearest known name.
pub fn unknown(environment: impl Iterator<Item = String>) -> Vec<(String, &'static str)> {
    let known = || VARS.iter().flat_map(|var| std::iter::once(&var.name).chain(var.aliases)).copied();
    let strangers = environment.filter(|name| {
        name.starts_with(PREFIX) && !INTERNAL.contains(&name.as_str()) && !known().any(|known| known == name)
    });
    let nearest = |name: &str| known().min_by_key(|known| distance(known, name)).unwrap_or("none");
    strangers.map(|name| (name.clone(), nearest(&name))).collect()
}

/// Of this process.
pub fn unknown_here() -> Vec<(String, &'static str)> {
    #[allow(clippy::disallowed_methods)] // src/base/config is the place that reads it
    unknown(std::env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned()))
}

/// Letters to insert, remove or replace to make one of the other.
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
    fn a_stranger_is_told_with_the_nearest_name() {
        let names =
            ["GASNET_SCI_SLOT", "GASNET_SCI_SLOTS", "GASNET_SLOT", "HOME", "GASNET_SCI_BOOT", "GASNET_SCI_DMAMIN"];
        let found = unknown(names.iter().map(|name| name.to_string()));
        let expected = [("GASNET_SCI_SLOT", "GASNET_SCI_SLOTS"), ("GASNET_SCI_DMAMIN", "GASNET_SCI_DMA_MIN")];
        assert_eq!(found, expected.map(|(name, near)| (name.to_string(), near)));
    }
}

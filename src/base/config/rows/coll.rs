//! Variables of collectives. Contract: coll.md §10. `coll::select` alone chooses the algorithm. Variables that would
//! choose another one are read, checked and reported, but have no effect.
//!
//! Must not know: which code uses a value.

use super::super::settings::{Config, Var, put, row};
use super::super::{memory_size, parse};

/// The form of a size.
const SIZE: &str = "a memory size";
const NUMBER: &str = "an integer, 0 or more";
const TREE: &str =
    "FLAT_TREE, or one of NARY_TREE, KNOMIAL_TREE, RECURSIVE_TREE and FORK_TREE with numbers behind commas";

/// A row for a variable without effect.
pub(super) const fn ignored(
    name: &'static str,
    default: &'static str,
    doc: &'static str,
    form: &'static str,
    set: fn(&mut Config, &str) -> Option<()>,
) -> Var {
    Var { name, aliases: &[], default, doc, form, set }
}

pub(super) const fn flag(name: &'static str, default: &'static str, doc: &'static str) -> Var {
    ignored(name, default, doc, parse::YES_NO, |_, v| parse::yes_no(v).map(drop))
}

const fn size(name: &'static str, default: &'static str, doc: &'static str) -> Var {
    ignored(name, default, doc, SIZE, |_, v| memory_size(v, 1).map(drop))
}

const fn number(name: &'static str, default: &'static str, doc: &'static str) -> Var {
    ignored(name, default, doc, NUMBER, |_, v| parse::integer(v, 0, u32::MAX.into()).map(drop))
}

const fn tree(name: &'static str, default: &'static str, doc: &'static str) -> Var {
    ignored(name, default, doc, TREE, |_, v| is_tree(v).then_some(()))
}

/// Checks texts such as `KNOMIAL_TREE,2`: a kind of tree, then numbers, which may be missing for a flat one.
fn is_tree(text: &str) -> bool {
    let mut words = text.split(',').map(str::trim);
    let kind = words.next().unwrap_or_default().to_ascii_uppercase();
    let mut numbers = 0;
    let all = words.all(|word| {
        numbers += 1;
        parse::integer(word, 1, u32::MAX.into()).is_some()
    });
    match kind.as_str() {
        "FLAT_TREE" => all,
        "NARY_TREE" | "KNOMIAL_TREE" | "RECURSIVE_TREE" | "FORK_TREE" => all && numbers > 0,
        _ => false,
    }
}

/// This part of the table.
pub(super) const VARS: &[Var] = &[
    row! { "GASNET_COLL_SCRATCH_SIZE", "2M",
    "bytes per node, outside the segment, through which collectives move what peers can't reach where it lies; \
      committed as it is used, rounded to 64 KB",
    "a memory size from 1 KB to 1 GB", |c, v| {
        put(&mut c.coll_scratch, memory_size(v, 1).filter(|n| (1 << 10..=1 << 30).contains(n)))
    } },
    flag("GASNET_COLL_OPT", "yes", "accepted, without effect: optimised collectives"),
    flag("GASNET_COLL_BROADCAST_OPT", "yes", "accepted, without effect: see GASNET_COLL_OPT"),
    flag("GASNET_COLL_SCATTER_OPT", "yes", "accepted, without effect: see GASNET_COLL_OPT"),
    flag("GASNET_COLL_GATHER_OPT", "yes", "accepted, without effect: see GASNET_COLL_OPT"),
    flag("GASNET_COLL_GATHER_ALL_OPT", "yes", "accepted, without effect: see GASNET_COLL_OPT"),
    flag("GASNET_COLL_EXCHANGE_OPT", "yes", "accepted, without effect: see GASNET_COLL_OPT"),
    size("GASNET_COLL_MIN_SCRATCH_SIZE", "1024", "accepted, without effect: bytes; least scratch of a team"),
    size("GASNET_COLL_P2P_EAGER_MIN", "16", "accepted, without effect: bytes of eager buffers"),
    size("GASNET_COLL_P2P_EAGER_SCALE", "16", "accepted, without effect: bytes of eager buffers per image"),
    tree("GASNET_COLL_ROOTED_GEOM", "KNOMIAL_TREE,2", "accepted, without effect: tree of rooted collectives"),
    tree("GASNET_COLL_BROADCAST_GEOM", "", "accepted, without effect: see GASNET_COLL_ROOTED_GEOM"),
    tree("GASNET_COLL_SCATTER_GEOM", "", "accepted, without effect: see GASNET_COLL_ROOTED_GEOM"),
    tree("GASNET_COLL_GATHER_GEOM", "", "accepted, without effect: see GASNET_COLL_ROOTED_GEOM"),
    size(
        "GASNET_COLL_GATHER_ALL_DISSEM_LIMIT",
        "",
        "accepted, without effect: bytes up to which gather_all goes in rounds",
    ),
    size("GASNET_COLL_GATHER_ALL_DISSEM_LIMIT_PER_THREAD", "1024", "accepted, without effect: the same, per image"),
    size(
        "GASNET_COLL_EXCHANGE_DISSEM_LIMIT",
        "",
        "accepted, without effect: bytes up to which exchange goes in rounds",
    ),
    size("GASNET_COLL_EXCHANGE_DISSEM_LIMIT_PER_THREAD", "", "accepted, without effect: the same, per image"),
    number("GASNET_COLL_EXCHANGE_DISSEM_RADIX", "2", "accepted, without effect: radix of these rounds"),
    size("GASNET_COLL_PIPE_SEG_SIZE", "", "accepted, without effect: bytes of a pipeline's segment"),
    flag("GASNET_COLL_ENABLE_SEARCH", "no", "accepted, without effect: search for the best algorithm"),
    flag("GASNET_COLL_ENABLE_PROFILE", "no", "accepted, without effect: profile of the collectives used"),
    ignored(
        "GASNET_COLL_TUNING_FILE",
        "",
        "accepted, without effect: file with the results of a search",
        "a file's name",
        |_, _| Some(()),
    ),
    number("GASNET_COLL_AUTOTUNE_WARM_ITERS", "5", "accepted, without effect: search, rounds before measuring"),
    number("GASNET_COLL_AUTOTUNE_PERF_ITERS", "10", "accepted, without effect: search, rounds measured"),
    flag("GASNET_COLL_AUTOTUNE_ALLOW_FLAT_TREE", "up to 64 nodes", "accepted, without effect: search tries flat trees"),
    flag("GASNET_COLL_PRINT_AUTOTUNE_TIMER", "no", "accepted, without effect: search prints times"),
    flag("GASNET_COLL_PRINT_COLL_ALG", "no", "accepted, without effect: prints the algorithms chosen"),
    flag(
        "GASNET_COLL_ALLOW_CONDUIT_COLLECTIVES",
        "yes",
        "accepted, without effect: collectives of the conduit; there are no others",
    ),
    flag("GASNET_COLL_TUNE_SMP_BARRIER", "no", "accepted, without effect: search for the best barrier of threads"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_effect_is_checked_all_the_same() {
        let set = |name: &str, value: &str| {
            Config::read(|n| (n == name).then(|| value.to_string())).map(|(config, _)| config == Config::default())
        };
        for good in ["KNOMIAL_TREE,2", "flat_tree", "FORK_TREE,2,3,4", "nary_tree, 8"] {
            assert_eq!(set("GASNET_COLL_BROADCAST_GEOM", good), Ok(true), "{good}");
        }
        for bad in ["KNOMIAL_TREE", "NARY_TREE,0", "FLAT_TREE,x", "TREE,2", "2"] {
            assert!(set("GASNET_COLL_ROOTED_GEOM", bad).is_err(), "{bad}");
        }
        assert_eq!(set("GASNET_COLL_GATHER_ALL_OPT", "n"), Ok(true));
        assert!(set("GASNET_COLL_OPT", "perhaps").is_err());
        assert_eq!(set("GASNET_COLL_PIPE_SEG_SIZE", "64K"), Ok(true));
        assert!(set("GASNET_COLL_EXCHANGE_DISSEM_RADIX", "two").is_err());
    }
}

//! Variables of collectives. Contract: coll.md §10. `coll::select` alone chooses the algorithm. Variables that would
//! choose another one are read, checked and reported, but have no effect.
//!
//! Must not know: which code uses a value.

use super::super::settings::{Var, put, row};
use super::super::{memory_size, parse};

/// What is said of a form of values, and its check.
pub(super) type Form = (&'static str, fn(&str) -> Option<()>);
pub(super) const FLAG: Form = (parse::YES_NO, |v| parse::yes_no(v).map(drop));
const SIZE: Form = ("a memory size", |v| memory_size(v, 1).map(drop));
const NUMBER: Form = ("an integer, 0 or more", |v| parse::integer(v, 0, u32::MAX.into()).map(drop));
const FILE: Form = ("a file's name", |_| Some(()));
const TREE: Form =
    ("FLAT_TREE, or one of NARY_TREE, KNOMIAL_TREE, RECURSIVE_TREE and FORK_TREE with numbers behind commas", |v| {
        is_tree(v).then_some(())
    });

/// A row for a variable without effect: `ignored!(FORM, NAME, DEFAULT, DOC)`.
macro_rules! ignored {
    ($form:expr, $name:literal, $default:literal, $doc:literal) => {{
        const FORM: (&str, fn(&str) -> Option<()>) = $form;
        const DOC: &str = concat!("accepted, without effect: ", $doc);
        row! { $name, $default, DOC, FORM.0, |_, v| FORM.1(v) }
    }};
}
pub(super) use ignored;

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
    ignored!(FLAG, "GASNET_COLL_OPT", "yes", "optimised collectives"),
    ignored!(FLAG, "GASNET_COLL_BROADCAST_OPT", "yes", "see GASNET_COLL_OPT"),
    ignored!(FLAG, "GASNET_COLL_SCATTER_OPT", "yes", "see GASNET_COLL_OPT"),
    ignored!(FLAG, "GASNET_COLL_GATHER_OPT", "yes", "see GASNET_COLL_OPT"),
    ignored!(FLAG, "GASNET_COLL_GATHER_ALL_OPT", "yes", "see GASNET_COLL_OPT"),
    ignored!(FLAG, "GASNET_COLL_EXCHANGE_OPT", "yes", "see GASNET_COLL_OPT"),
    ignored!(SIZE, "GASNET_COLL_MIN_SCRATCH_SIZE", "1024", "bytes; least scratch of a team"),
    ignored!(SIZE, "GASNET_COLL_P2P_EAGER_MIN", "16", "bytes of eager buffers"),
    ignored!(SIZE, "GASNET_COLL_P2P_EAGER_SCALE", "16", "bytes of eager buffers per image"),
    ignored!(TREE, "GASNET_COLL_ROOTED_GEOM", "KNOMIAL_TREE,2", "tree of rooted collectives"),
    ignored!(TREE, "GASNET_COLL_BROADCAST_GEOM", "", "see GASNET_COLL_ROOTED_GEOM"),
    ignored!(TREE, "GASNET_COLL_SCATTER_GEOM", "", "see GASNET_COLL_ROOTED_GEOM"),
    ignored!(TREE, "GASNET_COLL_GATHER_GEOM", "", "see GASNET_COLL_ROOTED_GEOM"),
    ignored!(SIZE, "GASNET_COLL_GATHER_ALL_DISSEM_LIMIT", "", "bytes up to which gather_all goes in rounds"),
    ignored!(SIZE, "GASNET_COLL_GATHER_ALL_DISSEM_LIMIT_PER_THREAD", "1024", "the same, per image"),
    ignored!(SIZE, "GASNET_COLL_EXCHANGE_DISSEM_LIMIT", "", "bytes up to which exchange goes in rounds"),
    ignored!(SIZE, "GASNET_COLL_EXCHANGE_DISSEM_LIMIT_PER_THREAD", "", "the same, per image"),
    ignored!(NUMBER, "GASNET_COLL_EXCHANGE_DISSEM_RADIX", "2", "radix of these rounds"),
    ignored!(SIZE, "GASNET_COLL_PIPE_SEG_SIZE", "", "bytes of a pipeline's segment"),
    ignored!(FLAG, "GASNET_COLL_ENABLE_SEARCH", "no", "search for the best algorithm"),
    ignored!(FLAG, "GASNET_COLL_ENABLE_PROFILE", "no", "profile of the collectives used"),
    ignored!(FILE, "GASNET_COLL_TUNING_FILE", "", "file with the results of a search"),
    ignored!(NUMBER, "GASNET_COLL_AUTOTUNE_WARM_ITERS", "5", "search, rounds before measuring"),
    ignored!(NUMBER, "GASNET_COLL_AUTOTUNE_PERF_ITERS", "10", "search, rounds measured"),
    ignored!(FLAG, "GASNET_COLL_AUTOTUNE_ALLOW_FLAT_TREE", "up to 64 nodes", "search tries flat trees"),
    ignored!(FLAG, "GASNET_COLL_PRINT_AUTOTUNE_TIMER", "no", "search prints times"),
    ignored!(FLAG, "GASNET_COLL_PRINT_COLL_ALG", "no", "prints the algorithms chosen"),
    ignored!(FLAG, "GASNET_COLL_ALLOW_CONDUIT_COLLECTIVES", "yes", "collectives of the conduit; there are no others"),
    ignored!(FLAG, "GASNET_COLL_TUNE_SMP_BARRIER", "no", "search for the best barrier of threads"),
];

#[cfg(test)]
mod tests {
    use super::super::super::settings::Config;

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

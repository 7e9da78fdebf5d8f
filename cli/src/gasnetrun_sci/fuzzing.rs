//! Fuzz target for the launcher's arguments. The bytes between zero bytes are the arguments. Every argument list must
//! give an order that can be carried out, or a text and an exit status.

use super::cli::NAME;
use super::options::parse;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

/// Runs one input.
pub fn run(data: &[u8]) {
    let arguments: Vec<OsString> = data.split(|byte| *byte == 0).map(|a| OsString::from_vec(a.to_vec())).collect();
    match parse(&arguments) {
        Ok(order) => {
            assert!((1..=65_535).contains(&order.nodes));
            assert!(order.debug.as_ref().is_none_or(|debug| debug.node.is_none_or(|node| node < order.nodes)));
            assert!(arguments.contains(&order.program) && arguments.ends_with(&order.arguments));
        }
        Err(stop) => {
            let text = format!("{stop:?}");
            assert!(text.contains(NAME) || text.contains("status: 0"), "{text}");
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use std::fs;
    use std::path::PathBuf;

    #[test]
    fn seeds_are_understood_or_refused() {
        let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../fuzz/seeds/launcher");
        let files: Vec<_> = fs::read_dir(directory).unwrap().collect();
        assert!(!files.is_empty());
        files.into_iter().for_each(|file| super::run(&fs::read(file.unwrap().path()).unwrap()));
    }

    /// Options with and without values, and fragments of options.
    fn word() -> impl Strategy<Value = Vec<u8>> {
        let known = prop::sample::select(&[
            "-n", "-np", "-N", "-c", "-E", "-v", "-t", "-k", "--nodes", "--bind", "--timeout", "--debug", "--debug=",
            "--debug-node", "--output", "--output-dir", "--tag-output", "-spawner", "-encode", "--", "-", "0", "1",
            "2", "65535", "65536", "-1", "1e9", "nan", "inf", "core", "numa", "a%n", "",
        ]);
        let joined = (known.clone(), any::<u8>()).prop_map(|(a, n)| format!("{a}={n}").into_bytes());
        prop_oneof![
            6 => known.prop_map(|word| word.as_bytes().to_vec()),
            2 => joined,
            1 => prop::collection::vec(1u8.., 0..8),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn no_argument_list_panics(words in prop::collection::vec(word(), 0..9)) {
            super::run(&words.join(&0));
        }
    }
}

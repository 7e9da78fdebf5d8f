//! The binary interface as clients are compiled against it, as text: every type with its size and offsets, every constant,
//! every function and variable that the headers declare, read by clang. `ci/abi` keeps it in `ci/abi.d`; a difference is a
//! change that CONTRIBUTING's rules for versions are about.

#![cfg(target_arch = "x86_64")] // where clients of other machines see other sizes of the system's types

use std::fs;
use std::path::Path;

const TOOLS: &str = "#include <gasnet_tools.h>\n";
const ALL: &str = concat!(
    "#include <gasnet.h>\n#include <gasnet_vis.h>\n#include <gasnet_coll.h>\n",
    "#include <gasnet_handler.h>\n#include <gasnet_tools.h>\n"
);

/// Name of the dump, what the client includes, and how it is compiled.
const CLIENTS: [(&str, &str, &[&str]); 5] = [
    ("seq-fast", ALL, &["-DGASNET_SEQ"]),
    ("parsync-large", ALL, &["-DGASNET_PARSYNC", "-DGASNET_SEGMENT_LARGE", "-pthread"]),
    ("par-everything-debug", ALL, &["-DGASNET_PAR", "-DGASNET_SEGMENT_EVERYTHING", "-DGASNET_DEBUG", "-pthread"]),
    ("tools-seq", TOOLS, &["-DGASNETT_THREAD_SINGLE"]),
    ("tools-par", TOOLS, &["-DGASNETT_THREAD_SAFE", "-pthread"]),
];

fn dump(includes: &str, flags: &[&str]) -> String {
    let include = format!("-I{}", Path::new(env!("CARGO_MANIFEST_DIR")).join("include").display());
    let builder = bindgen::Builder::default()
        .header_contents("client.h", includes)
        .clang_args(["-std=c99", "-D_GNU_SOURCE", &include].iter().chain(flags))
        .allowlist_item("_?gasnet.*|_?GASNET.*|SIZEOF_GASNET.*")
        .sort_semantically(true)
        .disable_header_comment()
        .generate_comments(false)
        .formatter(bindgen::Formatter::Prettyplease);
    // Where libclang is missing, bindgen panics; abi_layout.rs says what to install.
    builder.generate().expect("clang reads the headers").to_string()
}

#[test]
fn interface_is_the_one_written_down() {
    let new = Path::new(env!("CARGO_TARGET_TMPDIR")).join("abi");
    fs::create_dir_all(&new).unwrap();
    let mut differ = Vec::new();
    for (name, includes, flags) in CLIENTS {
        let text = dump(includes, flags);
        fs::write(new.join(name), &text).unwrap();
        let old = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("ci/abi.d").join(name));
        if old.unwrap_or_default() != text {
            differ.push(name);
        }
    }
    assert!(
        differ.is_empty(),
        "the binary interface of {differ:?} is not that of ci/abi.d: ci/abi shows the difference"
    );
}

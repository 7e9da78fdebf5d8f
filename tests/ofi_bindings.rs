//! The declarations of libfabric that the library is built with are those of the installed headers.
//!
//! Debian: libfabric-dev and libclang-dev. Without the former it says so and passes, unless `CI_TEST_OFI` demands it
//! (ci/test sets it). What headers later than 1.17 append is no difference that matters: then only offsets are compared.

#![allow(clippy::disallowed_methods)] // a variable of the test's own

use std::collections::BTreeMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// What src/sci/far/ofi uses. Structures that these name and that it does not look into are left without a body.
const TYPES: &str = "fi_(info|tx_attr|rx_attr|ep_attr|domain_attr|fabric_attr|av_attr|cq_attr|cq_data_entry|cq_err_entry\
    |msg|msg_rma|rma_iov|ops|ops_fabric|ops_domain|ops_ep|ops_cm|ops_msg|ops_rma|ops_cq|ops_av|ops_mr)\
    |fid|fid_(fabric|domain|ep|cq|av|mr)";
const VALUES: &str = "FI_(MSG|RMA|READ|WRITE|RECV|SEND|REMOTE_READ|REMOTE_WRITE|MULTI_RECV|COMPLETION|TRANSMIT_COMPLETE\
    |DELIVERY_COMPLETE|ORDER_SAS|ORDER_SAW|CONTEXT|CONTEXT2|MSG_PREFIX|MR_LOCAL|MR_VIRT_ADDR|MR_ALLOCATED|MR_PROV_KEY\
    |MR_ENDPOINT|EAVAIL|ENOKEY|GETWAIT|ENABLE|OPT_ENDPOINT|OPT_MIN_MULTI_RECV|TRANSMIT)";
const OPAQUE: [&str; 17] = [
    "fid_pep",
    "fid_eq",
    "fid_wait",
    "fid_poll",
    "fid_stx",
    "fid_cntr",
    "fid_nic",
    "fid_mc",
    "fid_av_set",
    "fi_eq_attr",
    "fi_wait_attr",
    "fi_cntr_attr",
    "fi_poll_attr",
    "fi_mr_attr",
    "fi_atomic_attr",
    "fi_collective_attr",
    "fi_av_set_attr",
];
const HEADERS: &str = "#include <rdma/fabric.h>\n#include <rdma/fi_domain.h>\n#include <rdma/fi_endpoint.h>\n\
    #include <rdma/fi_eq.h>\n#include <rdma/fi_rma.h>\n#include <rdma/fi_cm.h>\n";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The version in the installed header, as in `1.17`.
fn installed() -> Option<String> {
    let header = fs::read_to_string("/usr/include/rdma/fabric.h").ok()?;
    let number = |name: &str| {
        let line = header.lines().find(|line| line.starts_with(&format!("#define {name} ")))?;
        line.split_whitespace().nth(2).map(str::to_owned)
    };
    Some(format!("{}.{}", number("FI_MAJOR_VERSION")?, number("FI_MINOR_VERSION")?))
}

fn generate() -> String {
    let mut reader = bindgen::Builder::default()
        .header_contents("fabric.h", HEADERS)
        .allowlist_type(TYPES)
        .allowlist_recursively(true)
        .allowlist_var(VALUES)
        .default_enum_style(bindgen::EnumVariation::Consts)
        .prepend_enum_name(false)
        .layout_tests(false)
        .derive_debug(false)
        .merge_extern_blocks(true)
        .generate_comments(false)
        .ignore_functions()
        .ignore_methods()
        .use_core()
        .ctypes_prefix("libc")
        .formatter(bindgen::Formatter::Prettyplease);
    for name in OPAQUE.iter().copied().chain(["fi_ops_tagged", "fi_ops_atomic", "fi_ops_collective", "iovec"]) {
        reader = reader.blocklist_type(name);
    }
    // Where libclang is missing, bindgen panics.
    let read = catch_unwind(AssertUnwindSafe(|| reader.generate())).unwrap_or_else(|_| {
        panic!("this test needs libclang: ci/test installs it (Debian: apt-get install libclang-dev)")
    });
    read.expect("clang reads the headers of libfabric").to_string()
}

/// Type names as both sides write them.
fn plain(text: &str) -> String {
    let squeezed: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut plain = squeezed.replace("::core::option::", "").replace("libc::", "").replace("fid_t", "*mut fid");
    plain.retain(|c| c != ' ');
    plain.replace(",)", ")").replace(",>", ">").trim_end_matches(',').to_owned()
}

/// The structures of a Rust file: name, then name and type of each member.
fn structures(rust: &str) -> BTreeMap<String, Vec<(String, String)>> {
    let mut all = BTreeMap::new();
    for part in rust.split("pub struct ").skip(1) {
        let (name, rest) = part.split_once(" {").expect("a structure");
        let body = rest.split_once("\n}").expect("its end").0;
        let members = body.split("pub ").skip(1).map(|member| {
            let (name, kind) = member.split_once(':').expect("a type");
            (name.to_owned(), plain(kind))
        });
        all.insert(name.to_owned(), members.collect());
    }
    all
}

/// The constants of a Rust file that are numbers.
fn constants(rust: &str) -> BTreeMap<String, u64> {
    rust.split("pub const ")
        .skip(1)
        .filter_map(|line| {
            let (head, rest) = line.split_once(" = ")?;
            Some((head.split_once(':')?.0.to_owned(), rest.split_once(';')?.0.parse().ok()?))
        })
        .collect()
}

/// `ours` says what `theirs` says, or less: no type of a function that is not called, of a structure that is not looked into.
fn agrees(ours: &str, theirs: &str, made: &str) -> bool {
    ours == theirs
        || (ours == "Unused" && theirs.starts_with("Option<unsafeextern"))
        || (ours == "*mutc_void" && theirs.starts_with("*mutfi"))
        || (ours == "c_uint" && made.contains(&format!("pub type {theirs} = libc::c_uint;")))
}

#[test]
fn declarations_are_those_of_the_installed_header() {
    let Some(version) = installed() else {
        assert!(std::env::var_os("CI_TEST_OFI").is_none(), "libfabric-dev is not installed");
        println!("skipped: libfabric-dev is not installed");
        return;
    };
    let made = generate();
    let committed = fs::read_to_string(root().join("src/sci/far/ofi/bindings.rs")).expect("the declarations");
    let (ours, theirs) = (structures(&committed), structures(&made));
    assert!(ours.len() > 25, "only {} structures were found: the test does not see them", ours.len());
    let mut wrong = Vec::new();
    for (name, members) in &ours {
        let Some(real) = theirs.get(name) else {
            wrong.push(format!("{name}: not in the headers"));
            continue;
        };
        for (i, (member, kind)) in members.iter().enumerate() {
            let found = real.get(i);
            if !found.is_some_and(|(name, real)| name == member && agrees(kind, real, &made)) {
                wrong.push(format!("{name}, member {i}: {member}: {kind}, in the headers {found:?}"));
            }
        }
        // A table of functions may be cut short. Anything else that we make or read must be whole, in 1.17.
        if version == "1.17" && !name.starts_with("fi_ops") && members.len() != real.len() {
            wrong.push(format!("{name}: {} members, in the headers {}", members.len(), real.len()));
        }
    }
    let real = constants(&made);
    for (name, value) in constants(&committed) {
        if real.get(&name) != Some(&value) {
            wrong.push(format!("{name} = {value}, in the headers {:?}", real.get(&name)));
        }
    }
    assert!(wrong.is_empty(), "of libfabric {version}:\n{}", wrong.join("\n"));
}

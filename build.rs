//! Makes the C prototypes of the exports into OUT_DIR (cargo xtask headers compares them with the checked-in header), and gives
//! the shared library its soname.

#![allow(clippy::disallowed_methods)] // cargo speaks to build scripts through the environment

use std::path::{Path, PathBuf};

fn main() {
    println!("cargo::rerun-if-changed=src/api");
    println!("cargo::rerun-if-changed=src/tools/heap.rs");
    println!("cargo::rerun-if-changed=src/sci/copy.rs");
    println!("cargo::rerun-if-changed=cbindgen.toml");
    println!("cargo::rerun-if-changed=build.rs");
    let root = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let out = PathBuf::from(std::env::var("OUT_DIR").expect("cargo sets it"));

    let modules = [
        "api/shared/constants", "api/shared/start", "api/g1/init", "api/g1/query", "api/shared/outcome",
        "api/shared/hsl", "api/shared/debug", "api/shared/direct", "api/shared/am", "api/g1/am", "api/g1/barrier",
        "api/shared/reach", "api/shared/rma", "sci/copy", "api/g1/rma", "api/shared/coll", "api/g1/coll",
        "api/g1/coll_team", "api/shared/objects", "api/ex/job", "api/ex/segment", "api/ex/am", "api/ex/check",
        "api/ex/npam", "api/shared/srcdesc", "api/ex/rma", "api/shared/vis/begin", "api/shared/vis", "api/ex/atomic",
        "api/ex/team", "api/ex/coll", "api/ex/kind", "api/ex/guest",
    ];
    header("ABI", "gasnet.h", &modules, &root).write_to_file(out.join("gasnet_sci_abi.h"));
    // Programs without gasnet.h see nothing of the above.
    let modules = ["api/tools/check", "api/tools/timer", "api/tools/lock"];
    header("TOOLS_ABI", "gasnet_tools.h", &modules, &root).write_to_file(out.join("gasnet_sci_tools_abi.h"));
    // The library half of them, which LITE mode leaves out.
    let modules =
        ["api/tools/env", "api/tools/sys", "api/tools/debug", "api/tools/trace", "tools/heap", "api/tools/heap"];
    header("TOOLS_LIB_ABI", "gasnet_tools.h", &modules, &root).write_to_file(out.join("gasnet_sci_tools_lib_abi.h"));

    build_facts(&root);

    // A library of another major version, or another minor one before 1.0, is another library to the loader.
    let major = std::env::var("CARGO_PKG_VERSION_MAJOR").expect("cargo sets it");
    let minor = std::env::var("CARGO_PKG_VERSION_MINOR").expect("cargo sets it");
    let version = if major == "0" { format!("{major}.{minor}") } else { major };
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libgasnet_sci.so.{version}");
    // Handlers and signal handlers may run at exit: the code must stay.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
}

/// The prototypes of `modules`, for the part of the header `umbrella` whose guard ends in `guard`.
fn header(guard: &str, umbrella: &str, modules: &[&str], root: &Path) -> cbindgen::Bindings {
    let mut config = cbindgen::Config::from_file(root.join("cbindgen.toml")).expect("cbindgen.toml is readable");
    config.include_guard = Some(format!("GASNETI_SCI_{guard}_H"));
    config.header = Some(format!(
        "/* Functions that the library exports, made by cbindgen from src/api. Do not edit: cargo xtask headers --update writes it. */\n\
         #if !defined(GASNETI_SCI_IN_GASNET_H)\n\
         #error \"include {umbrella}, not gasnet_sci_{}.h\"\n\
         #endif",
        guard.to_lowercase()
    ));
    let builder = cbindgen::Builder::new().with_config(config);
    let add = |builder: cbindgen::Builder, module: &&str| builder.with_src(root.join(format!("src/{module}.rs")));
    modules.iter().fold(builder, add).generate().expect("src/api is what cbindgen understands")
}

/// Tells the library when and from what it was built (src/api/tools/check.rs). The time is SOURCE_DATE_EPOCH, or that of the commit, so that the
/// same sources give the same bytes. Cargo runs this script when sources of `src/api` change, not at each commit; what matters are
/// builds of a fresh checkout.
fn build_facts(root: &Path) {
    println!("cargo::rerun-if-env-changed=SOURCE_DATE_EPOCH");
    // Only a checkout of its own: the sources of an archive may lie in somebody else's repository.
    let git = |format: &str| {
        let output = root.join(".git").exists().then(|| {
            std::process::Command::new("git")
                .arg("-C")
                .arg(root)
                .args(["log", "-1", &format!("--format={format}")])
                .output()
        })?;
        let output = output.ok().filter(|output| output.status.success())?;
        Some(String::from_utf8(output.stdout).ok()?.trim().to_owned()).filter(|text| !text.is_empty())
    };
    let time = std::env::var("SOURCE_DATE_EPOCH").ok().or_else(|| git("%ct"));
    let time = time.map(|text| date(text.parse().expect("SOURCE_DATE_EPOCH is a number of seconds")));
    let version = std::env::var("CARGO_PKG_VERSION").expect("cargo sets it");
    println!("cargo::rustc-env=BUILT_TIME={}", time.unwrap_or_else(|| "unknown".into()));
    println!("cargo::rustc-env=BUILT_COMMIT={}", git("%H").unwrap_or_else(|| format!("gasnet-sci-{version}")));
}

/// Seconds since 1970 as `YYYY-MM-DDTHH:MM:SSZ`. Years begin in March here, so that a leap day is the last of its year.
fn date(seconds: u64) -> String {
    let (days, second) = (seconds / 86400 + 719_468, seconds % 86400);
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (day, month) = (day - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    let year = era * 400 + year + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", second / 3600, second / 60 % 60, second % 60)
}

//! The headers in every dialect and mode: alone, twice, inside extern "C", in every order, and with the definitions
//! that clients' build systems make.

use super::checks::Checks;
use super::checks::Extent::Syntax;
use anyhow::Result;

/// The headers that clients include.
pub const PUBLIC: [&str; 14] = [
    "gasnet.h",
    "gasnetex.h",
    "gasnet_tools.h",
    "gasnet_vis.h",
    "gasnet_coll.h",
    "gasnet_coll_team.h",
    "gasnet_handler.h",
    "gasnet_ratomic.h",
    "gasnet_mk.h",
    "gasnet_fwd.h",
    "gasnet_portable_platform.h",
    "portable_platform.h",
    "portable_inttypes.h",
    "deck.h",
];

/// Those whose orders are all tried.
const ORDERED: [&str; 5] = ["gasnet.h", "gasnetex.h", "gasnet_tools.h", "gasnet_vis.h", "gasnet_coll.h"];

/// Those that gasnet_tools.h may follow, and those that say nothing about the order.
const NEUTRAL: [&str; 5] =
    ["gasnet_fwd.h", "gasnet_portable_platform.h", "portable_platform.h", "portable_inttypes.h", "deck.h"];

const COMPILERS: [&str; 2] = ["gcc", "clang"];
const STANDARDS: [&str; 6] = ["c99", "c11", "c17", "c++11", "c++17", "c++20"];
const TOOLS_STANDARDS: [&str; 8] = ["c99", "c11", "c17", "c++98", "c++11", "c++14", "c++17", "c++20"];

pub fn add(checks: &mut Checks) -> Result<()> {
    modes(checks)?;
    definitions(checks)?;
    orders(checks)?;
    tools_alone(checks)?;
    constants_alone(checks)?;
    program(checks)
}

/// A C file that includes each of these headers twice.
pub fn includes(headers: &[&str]) -> String {
    let lines: String = headers.iter().chain(headers).map(|header| format!("#include <{header}>\n")).collect();
    lines + "extern int file_is_not_empty;\n"
}

// The text that must come before a header. Only gasnet_tools.h needs one.
fn before(header: &str) -> &'static str {
    if header == "gasnet_tools.h" { "#include <gasnet.h>\n" } else { "" }
}

/// A client's file that includes `header` twice.
pub fn twice(header: &str) -> String {
    format!("{}#include <{header}>\n#include <{header}>\n#include <gasnet.h>\n", before(header))
}

fn in_extern_c(header: &str) -> String {
    format!(
        "#ifdef __cplusplus\nextern \"C\" {{\n#endif\n{}#include <{header}>\nextern int file_is_not_empty;\n#ifdef __cplusplus\n}}\n#endif\n",
        before(header)
    )
}

/// All modes in the oldest promised dialects. In the newer ones only the two extreme modes.
fn modes(checks: &mut Checks) -> Result<()> {
    let values = format!("#include <gasnet.h>\n{}", checks.repo.read("ci/headers.c")?);
    let values = checks.file("values.c", &values)?;
    for threads in ["SEQ", "PARSYNC", "PAR"] {
        for segment in ["FAST", "LARGE", "EVERYTHING"] {
            for debug in ["-DGASNET_DEBUG -DEXPECT_DEBUG", "-DGASNET_NDEBUG"] {
                let is_debug = debug != "-DGASNET_NDEBUG";
                let extreme = matches!((segment, is_debug), ("FAST", false) | ("EVERYTHING", true));
                let standards = if extreme { &STANDARDS[..] } else { &["c99", "c++11"] };
                let modes =
                    format!("-DGASNET_{threads} -DGASNET_SEGMENT_{segment} -DEXPECT_{threads} -DEXPECT_{segment}");
                checks.clean("modes", &COMPILERS, standards, Syntax, &format!("{modes} {debug}"), &values);
            }
        }
    }
    for mode in ["-DGASNET_SEQ=", "-DGASNET_SEQ=0", "-DGASNET_SEQ=yes"] {
        checks.clean("thread mode", &["gcc"], &["c99"], Syntax, &format!("{mode} -DEXPECT_SEQ -DEXPECT_FAST"), &values);
    }
    // These headers do not depend on the other choices.
    for header in PUBLIC {
        let oldest = (header != "deck.h").then_some("c++98"); // only mail boxes do not promise it
        let standards: Vec<&str> = STANDARDS.into_iter().chain(oldest).collect();
        for (how, text, flags) in [
            ("twice", twice(header), "-DGASNET_PAR -DGASNET_SEGMENT_FAST -DNDEBUG"),
            ("in extern C", in_extern_c(header), "-DGASNET_SEQ -DGASNET_SEGMENT_FAST -DDEBUG"),
        ] {
            let file = checks.file(&format!("{how}-{header}.c"), &text)?;
            checks.clean(&format!("{header} {how}"), &COMPILERS, &standards, Syntax, flags, &file);
        }
    }
    Ok(())
}

/// The definitions that build systems of clients pass.
fn definitions(checks: &mut Checks) -> Result<()> {
    let file = checks.file("definitions.c", &twice("gasnet.h"))?;
    for definition in [
        "-DNDEBUG",
        "-DDEBUG=1",
        "-DGASNET_CONDUIT_SCI",
        "-DGASNET_CONDUIT_SMP=1", // another conduit's
        "-DGASNET_CONDUIT_SCI=7", // with another value
        "-DGASNETI_BUG1389_WORKAROUND=1 -DGASNETI_FORCE_PIC=1 -DGASNET_ALLOW_OPTIMIZED_DEBUG", // obsolete
        "-D_GNU_SOURCE=1 -D_REENTRANT",
        "-DGASNET_USE_STRICT_PROTOTYPES",
        "-Wredundant-decls",
        "-DMIN(a,b)=((a)<(b)?(a):(b)) -DMAX(a,b)=((a)>(b)?(a):(b)) -D_STRINGIFY(x)=#x", // own helpers
    ] {
        let flags = format!("-DGASNET_SEQ {definition}");
        checks.clean("definitions", &COMPILERS, &["c99", "c++11"], Syntax, &flags, &file);
    }
    let strict = "-DGASNET_SEQ -DGASNET_USE_STRICT_PROTOTYPES -Wstrict-prototypes";
    checks.clean("definitions", &["gcc"], &["c99"], Syntax, strict, &file);
    let own = format!(
        "#define MIN(a, b) 1\n#define MAX(a, b) 2\n{}#if MIN(3, 4) != 1 || MAX(3, 4) != 2\n#error\n#endif\n",
        twice("gasnet.h")
    );
    let file = checks.file("helpers.c", &own)?;
    checks.clean("own helpers", &COMPILERS, &["c99", "c++11"], Syntax, "-DGASNET_SEQ", &file);
    Ok(())
}

/// Every order of the headers in which gasnet_tools.h is not the first.
fn orders(checks: &mut Checks) -> Result<()> {
    let mut orders = Vec::new();
    permute(&mut ORDERED.to_vec(), 0, &mut orders);
    // The others, before and behind.
    let (first, last): (Vec<_>, Vec<_>) = PUBLIC.iter().partition(|header| NEUTRAL.contains(header));
    orders.push([&first[..], &last[..]].concat());
    orders.push(PUBLIC.iter().rev().copied().collect());
    for order in orders.iter().filter(|order| order[0] != "gasnet_tools.h") {
        let file = checks.file(&format!("order-{}.c", order.join("-")), &includes(order))?;
        let name = order.join(" ");
        checks.clean(&name, &["gcc"], &["c99"], Syntax, "-DGASNET_PAR -D_GNU_SOURCE", &file);
        checks.clean(&name, &["clang"], &["c++17"], Syntax, "-DGASNET_SEQ -DGASNET_DEBUG", &file);
    }
    Ok(())
}

fn permute(words: &mut Vec<&'static str>, from: usize, found: &mut Vec<Vec<&'static str>>) {
    if from == words.len() {
        found.push(words.clone());
    }
    for at in from..words.len() {
        words.swap(from, at);
        permute(words, from + 1, found);
        words.swap(from, at);
    }
}

/// gasnet_tools.h without gasnet.h, as programs without a job include it.
fn tools_alone(checks: &mut Checks) -> Result<()> {
    let file = checks.file("alone.c", &includes(&["gasnet_tools.h"]))?;
    for flags in [
        "-DNDEBUG",
        "-D_REENTRANT",
        "-DGASNET_DEBUG -DGASNETT_THREAD_SAFE=yes",
        "-DGASNETT_LITE_MODE",
        "-DGASNET_DEBUG -DGASNETT_USE_TRUE_MUTEXES=1 -Dused=ERR -Dnoinline=ERR -Dhot=ERR -Dunused=ERR",
        "-DGASNETT_THREAD_SINGLE -D_REENTRANT -DGASNETT_USE_CTYPE_WRAPPERS=1",
    ] {
        checks.clean("tools alone", &COMPILERS, &TOOLS_STANDARDS, Syntax, flags, &file);
    }
    Ok(())
}

/// Headers that need no other one and no macro, in every dialect.
fn constants_alone(checks: &mut Checks) -> Result<()> {
    for header in NEUTRAL {
        let file = checks.file(&format!("alone-{header}.c"), &includes(&[header]))?;
        checks.clean(&format!("{header} alone"), &COMPILERS, &TOOLS_STANDARDS, Syntax, "", &file);
    }
    let file = checks.repo.c_test("testfwd.c")?;
    checks.clean("testfwd", &COMPILERS, &TOOLS_STANDARDS, Syntax, "-DFWD_ONLY", &file);
    Ok(())
}

/// A program with the parts that C++ clients use, in each version of C++.
fn program(checks: &mut Checks) -> Result<()> {
    let file = checks.repo.c_test("testcxx.cc")?;
    for mode in ["-DGASNET_SEQ", "-DGASNET_PAR"] {
        let (by, standards) = (["g++", "clang++"], ["c++11", "c++14", "c++17", "c++20"]);
        checks.clean("testcxx", &by, &standards, Syntax, &format!("-D_GNU_SOURCE {mode}"), &file);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permutations_are_all_and_different() {
        let mut orders = Vec::new();
        permute(&mut ORDERED.to_vec(), 0, &mut orders);
        orders.sort();
        orders.dedup();
        assert_eq!(orders.len(), 120);
    }
}

//! Files that must not compile, and the text with which the compiler must refuse each.

use super::checks::Checks;
use super::dialects::{PUBLIC, includes, twice};
use anyhow::Result;
use std::fs;

pub fn add(checks: &mut Checks) -> Result<()> {
    let file = checks.file("refused.c", &twice("gasnet.h"))?;
    let (mode, segment, debug) =
        ("exactly one of GASNET_SEQ", "at most one of GASNET_SEGMENT", "at most one of GASNET_DEBUG");
    let modes: [(&str, &str, &str, &str, &[&str]); 5] = [
        ("no thread mode", mode, "gcc", "c99", &[]),
        ("two thread modes", mode, "gcc", "c99", &["-DGASNET_SEQ", "-DGASNET_PAR"]),
        ("three thread modes", mode, "clang", "c++11", &["-DGASNET_SEQ", "-DGASNET_PAR", "-DGASNET_PARSYNC"]),
        (
            "two segment modes",
            segment,
            "gcc",
            "c99",
            &["-DGASNET_SEQ", "-DGASNET_SEGMENT_FAST", "-DGASNET_SEGMENT_LARGE"],
        ),
        ("debug and not", debug, "gcc", "c99", &["-DGASNET_SEQ", "-DGASNET_DEBUG", "-DGASNET_NDEBUG"]),
    ];
    for (name, says, compiler, standard, flags) in modes {
        checks.refused(name, says, compiler, standard, flags, &file)?;
    }

    let alone = checks.file("refused-alone.c", &includes(&["gasnet_tools.h"]))?;
    for mode in ["-DGASNET_SEQ", "-DGASNET_PARSYNC", "-DGASNET_PAR"] {
        checks.refused(
            &format!("tools first, {mode}"),
            "include gasnetex.h or gasnet.h before",
            "gcc",
            "c99",
            &[mode],
            &alone,
        )?;
    }
    let typedefs = ["-DGASNETT_USE_RESTRICT_ON_TYPEDEFS=1"];
    checks.refused("restrict on typedefs only", "GASNETT_USE_RESTRICT", "gcc", "c99", &typedefs, &alone)?;
    let late = checks.file("late.c", "#include <gasnet_tools.h>\n#include <gasnet.h>\n")?;
    let says = "gasnet.h before gasnet_tools.h|exactly one";
    checks.refused("gasnet.h after the tools", says, "gcc", "c99", &[], &late)?;
    let both = checks.file("both.c", &includes(&["gasnet.h", "gasnet_tools.h"]))?;
    for (threads, mode) in [("SAFE", "SEQ"), ("SAFE", "PARSYNC"), ("SINGLE", "PAR")] {
        let flags = [format!("-DGASNET_{mode}"), format!("-DGASNETT_THREAD_{threads}")];
        let name = format!("tools' model, {} {}", flags[0], flags[1]);
        checks.refused(&name, "contradicts GASNET_", "gcc", "c99", &[&flags[0], &flags[1]], &both)?;
    }
    let two = ["-DGASNETT_THREAD_SAFE", "-DGASNETT_THREAD_SINGLE"];
    checks.refused("two models of the tools", "at most one of GASNETT_LITE_MODE", "gcc", "c99", &two, &alone)?;
    let lite = ["-DGASNET_SEQ", "-DGASNETT_LITE_MODE"];
    checks.refused("lite with gasnet.h", "LITE_MODE is for programs without", "gcc", "c99", &lite, &both)?;
    parts(checks)?;
    format_checking(checks)
}

/// A header that is part of another one must refuse to be included by itself.
fn parts(checks: &mut Checks) -> Result<()> {
    let mut names = Vec::new();
    for entry in fs::read_dir(checks.repo.root.join("include"))? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    for name in names.iter().filter(|name| name.ends_with(".h") && !PUBLIC.contains(&name.as_str())) {
        let part = checks.file(&format!("part-{name}.c"), &format!("#include <{name}>\n"))?;
        let says = if name.starts_with("deck") { "include deck.h" } else { "include gasnet" };
        checks.refused(&format!("{name} on its own"), says, "gcc", "c99", &["-DGASNET_SEQ"], &part)?;
    }
    Ok(())
}

/// A format that does not fit its arguments, given to functions with the macro for checking printf formats.
fn format_checking(checks: &mut Checks) -> Result<()> {
    let text = "#include <gasnet_tools.h>\n\
        GASNETT_FORMAT_PRINTF(f, 1, 2, extern void f(const char *s, ...));\n\
        extern void g(void);\n\
        void g(void) { f(\"%s\", 5); }\n";
    let file = checks.file("format.c", text)?;
    checks.refused("printf checking, gcc", "format", "gcc", "c99", &[], &file)?;
    checks.refused("printf checking, clang", "format", "clang", "c99", &[], &file)
}

//! Files that must not compile, and the text with which the compiler must refuse each.

use super::checks::Checks;
use super::dialects::{PUBLIC, includes, twice};
use anyhow::Result;
use std::fs;

pub fn add(checks: &mut Checks) -> Result<()> {
    let file = checks.file("refused.c", &twice("gasnet.h"))?;
    let (mode, segment, debug) =
        ("exactly one of GASNET_SEQ", "at most one of GASNET_SEGMENT", "at most one of GASNET_DEBUG");
    for (name, says, flags) in [
        ("no thread mode", mode, ""),
        ("two thread modes", mode, "-DGASNET_SEQ -DGASNET_PAR"),
        ("two segment modes", segment, "-DGASNET_SEQ -DGASNET_SEGMENT_FAST -DGASNET_SEGMENT_LARGE"),
        ("debug and not", debug, "-DGASNET_SEQ -DGASNET_DEBUG -DGASNET_NDEBUG"),
    ] {
        checks.refused(name, says, flags, &file)?;
    }
    let three = "-DGASNET_SEQ -DGASNET_PAR -DGASNET_PARSYNC";
    checks.refused_by("clang", "c++11", "three thread modes", mode, three, &file)?;

    let alone = checks.file("refused-alone.c", &includes(&["gasnet_tools.h"]))?;
    for mode in ["-DGASNET_SEQ", "-DGASNET_PARSYNC", "-DGASNET_PAR"] {
        checks.refused("tools first", "include gasnetex.h or gasnet.h before", mode, &alone)?;
    }
    let typedefs = "-DGASNETT_USE_RESTRICT_ON_TYPEDEFS=1";
    checks.refused("restrict on typedefs only", "GASNETT_USE_RESTRICT", typedefs, &alone)?;
    let late = checks.file("late.c", "#include <gasnet_tools.h>\n#include <gasnet.h>\n")?;
    checks.refused("gasnet.h after the tools", "gasnet.h before gasnet_tools.h|exactly one", "", &late)?;
    let both = checks.file("both.c", &includes(&["gasnet.h", "gasnet_tools.h"]))?;
    for (threads, mode) in [("SAFE", "SEQ"), ("SAFE", "PARSYNC"), ("SINGLE", "PAR")] {
        let flags = format!("-DGASNET_{mode} -DGASNETT_THREAD_{threads}");
        checks.refused("tools' model", "contradicts GASNET_", &flags, &both)?;
    }
    let two = "-DGASNETT_THREAD_SAFE -DGASNETT_THREAD_SINGLE";
    checks.refused("two models of the tools", "at most one of GASNETT_LITE_MODE", two, &alone)?;
    let lite = "-DGASNET_SEQ -DGASNETT_LITE_MODE";
    checks.refused("lite with gasnet.h", "LITE_MODE is for programs without", lite, &both)?;
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
        checks.refused(&format!("{name} on its own"), says, "-DGASNET_SEQ", &part)?;
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
    checks.refused("printf checking", "format", "", &file)?;
    checks.refused_by("clang", "c99", "printf checking", "format", "", &file)
}

//! Macros whose expansion a runtime copies into a header of its own, which files include that have none of ours (contract:
//! tools.md section 5). The expansion must be one line, and compile with stdint.h alone.

use super::checks::Checks;
use super::checks::Extent::Code;
use crate::repo::outcome;
use anyhow::{Result, bail};

/// A name for the copy, with its parameters, and the text that the runtime has expanded.
const COPIED: [(&str, &str); 11] = [
    ("COPY_HINT()", "gasnett_spinloop_hint()"),
    ("COPY_UNREACHABLE()", "gasneti_builtin_unreachable()"),
    ("COPY_UNREACHABLE_TOO()", "gasnett_unreachable()"),
    ("COPY_ASSUME(expr)", "gasnett_assume(expr)"),
    ("COPY_TRUE(expr)", "GASNETT_PREDICT_TRUE(expr)"),
    ("COPY_FALSE(expr)", "GASNETT_PREDICT_FALSE(expr)"),
    ("COPY_NEVER_INLINE", "GASNETT_NEVER_INLINE(,)"),
    ("COPY_NORETURN", "GASNETT_NORETURN"),
    ("COPY_PURE", "GASNETT_PURE GASNETT_HOT"),
    ("COPY_CONST", "GASNETT_CONST"),
    ("COPY_COLD", "GASNETT_COLD"),
];

/// A file that uses all copies.
const USES: &str = "
extern int copies(int n, const int *flag, const void *p);
COPY_NORETURN COPY_COLD extern void copy_stops(void);
COPY_NEVER_INLINE static COPY_PURE int copy_reads(const int *flag) { return *flag; }
COPY_CONST static int copy_adds(int a) { return a + 1; }
int copies(int n, const int *flag, const void *p) {
  while (!copy_reads(flag)) COPY_HINT();
  COPY_ASSUME(n < 7);
  if (COPY_TRUE(p)) n = copy_adds(n);
  else COPY_HINT();
  if (COPY_FALSE(n == 3)) copy_stops();
  switch (n ? ((void)n, COPY_HINT(), n) : (COPY_HINT(), 2)) {
    case 1: COPY_UNREACHABLE();
    case 2: COPY_UNREACHABLE_TOO();
    default: return n;
  }
}
";

pub fn add(checks: &mut Checks) -> Result<()> {
    let asked: String = COPIED.iter().enumerate().map(|(n, (_, text))| format!("copied{n} {text} end\n")).collect();
    let asked = checks.file("expanded.c", &format!("#include <gasnetex.h>\n#include <gasnet_tools.h>\n{asked}"))?;
    for compiler in ["gcc", "clang"] {
        for (language, standards) in [("c", ["c99", "c11", "c17"]), ("c++", ["c++11", "c++17", "c++20"])] {
            let text = definitions(checks, compiler, language, &asked.to_string_lossy())?;
            let file = checks.file(&format!("copies-{compiler}-{language}.c"), &format!("{text}{USES}"))?;
            for optimise in ["-O0", "-O2"] {
                checks.clean("copies of expansions", &[compiler], &standards, Code, optimise, &file);
            }
        }
    }
    Ok(())
}

/// The copies as macros, from what the preprocessor makes of the file with the questions.
fn definitions(checks: &Checks, compiler: &str, language: &str, file: &str) -> Result<String> {
    let include = format!("-I{}", checks.repo.root.join("include").display());
    let arguments = ["-E", "-x", language, "-DGASNET_SEQ", &include, file];
    let (success, expanded) = outcome(checks.repo.command(compiler).args(arguments))?;
    if !success {
        bail!("{compiler} cannot expand macros:\n{expanded}");
    }
    let mut text = String::from("#include <stdint.h>\n");
    for (n, (name, _)) in COPIED.iter().enumerate() {
        let start = format!("copied{n} ");
        // One that takes several lines, or that is no macro here, does not compile.
        let line = expanded.lines().find_map(|line| line.strip_prefix(&start)?.strip_suffix(" end"));
        text += &format!("#define {name} {}\n", line.unwrap_or("is not one line"));
    }
    Ok(text)
}

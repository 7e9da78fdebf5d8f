//! Checks every name of the contract with its type. The prototypes of docs/api become C files (ci/api.awk), and so do tables
//! of what no prototype says, such as c-tests/names-core.txt; the heads of the tables say what a line may be. Everything is
//! used in functions that are never called. The compiler only has to warn.

use super::checks::Checks;
use super::checks::Extent::Code;
use super::rows::pages;
use crate::repo::Repo;
use anyhow::{Result, ensure};
use std::fmt::Write as _;
use std::path::Path;

const TABLES: [&str; 7] = [
    "names-core.txt", "names-rma.txt", "names-coll.txt", "names-tools.txt", "names-tools-lib.txt", "names-ex.txt",
    "names-deck.txt",
];

/// The families of atomics, and the types of their values.
const FAMILIES: [(&str, &str); 6] = [
    ("atomic", "gasnett_atomic_val_t"),
    ("atomic32", "uint32_t"),
    ("atomic64", "uint64_t"),
    ("strongatomic", "gasnett_atomic_val_t"),
    ("strongatomic32", "uint32_t"),
    ("strongatomic64", "uint64_t"),
];

/// Wrong lines, one of each kind: the compiler must find each.
const WRONG: [&str; 8] = [
    "is int :: gasnet_mynode()",
    "void gasnet_AMPoll()",
    "if GASNET_NO_SUCH",
    "undef GASNET_OK",
    "string GASNET_CONDUIT_NAME",
    "token GASNET_NO_SUCH",
    "type gasnet_node_t (T)-1 < 0",
    "statement gasnet_AMNoSuch%M(node%A);",
];

/// A table: its name for the compiler's messages, and its text.
struct Table {
    name: String,
    text: String,
}

pub fn add(checks: &mut Checks) -> Result<()> {
    let mut tables = Vec::new();
    for name in TABLES {
        let path = checks.repo.c_test(name)?;
        tables.push(Table { name: path.display().to_string(), text: checks.repo.read(&path.to_string_lossy())? });
    }
    let expressions = checks.repo.read("ci/names.c")?;
    let text = |headers: &[&str], sections: &str, tables: &[Table]| {
        let includes: String = headers.iter().map(|header| format!("#include <{header}>\n")).collect();
        includes + &expressions + &c_of(tables, &sections.split(' ').collect::<Vec<_>>())
    };
    // A file with the prototypes of these pages, but those that need another header.
    let program = |name: &str, headers: &[&str], sections: &str, pages: &str| {
        let mut text = text(headers, sections, &tables);
        for want in pages.split(' ') {
            let lines = calls(checks.repo, want)?;
            let needs =
                |line: &&str| line.contains("gasnet_QueryGexObjects") || name == "alone" && line.contains("gex_");
            lines.lines().filter(|line| !needs(line)).for_each(|line| text = format!("{text}{line}\n"));
        }
        checks.file(&format!("names-{name}.c"), &text)
    };
    let (core, tools, vis, handler) = ("gasnet.h", "gasnet_tools.h", "gasnet_vis.h", "gasnet_handler.h");
    let seq = program("seq", &[core, tools, handler, vis], "all job seq handler vis noheap", "gasnet tools")?;
    let par = program("par", &[vis, handler, tools], "all job threads handler vis noheap", "gasnet tools")?;
    let alone = program("alone", &[tools], "all alone noheap", "tools")?;
    let ex = ["gasnetex.h", tools, "gasnet_ratomic.h", "gasnet_mk.h", vis, "gasnet_coll.h"];
    let ex = program("ex", &ex, "ex", "gasnetex tools")?;
    let deck = program("deck", &["deck.h"], "deck", "deck")?;
    let deck_debug = program("deck-debug", &["deck.h"], "deck deckdebug", "deck")?;
    let deck_beside = program("deck-beside", &["gasnetex.h", "deck.h"], "deck", "deck")?;
    let heap = program("heap", &[core, tools], "all job seq heap", "tools")?;

    let mut add = |compiler: &str, standard: &str, flags: &str, file: &Path| {
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        // These files contain no C-style cast and no implicit conversion that could lose a value. A macro may need no mutex.
        let casts = if standard.starts_with("c++") { " -Wold-style-cast" } else { "" };
        let flags = format!("-DEXPECT_ATTRIBUTES=1 {flags} -Wconversion -Wno-unused-parameter{casts}");
        checks.clean(&stem, &[compiler], &[standard], Code, &flags, file);
    };
    for compiler in ["gcc", "clang"] {
        for standard in ["c99", "c++98", "c++11"] {
            for (mode, file) in [("-DGASNET_SEQ", &seq), ("-DGASNET_PAR", &par), ("-DNDEBUG", &alone)] {
                for optimise in ["-O0 -DGASNET_DEBUG", "-O2 -DGASNET_NDEBUG"] {
                    add(compiler, standard, &format!("{optimise} {mode}"), file);
                }
            }
        }
        for optimise in ["-O1", "-O3"] {
            add(compiler, "c11", &format!("{optimise} -DGASNET_PARSYNC"), &par);
            add(compiler, "c17", &format!("{optimise} -DGASNETT_THREAD_SAFE"), &alone);
            add(compiler, "c++20", &format!("{optimise} -DGASNET_SEQ"), &seq);
            for standard in ["c99", "c17", "c++98", "c++11", "c++20"] {
                add(compiler, standard, &format!("{optimise} -DGASNET_SEQ"), &ex);
                add(compiler, standard, &format!("{optimise} -DGASNET_PAR -DGASNET_DEBUG"), &ex);
            }
        }
        for standard in ["c99", "c11", "c17", "c++11", "c++14", "c++17", "c++20"] {
            add(compiler, standard, "-O2", &deck);
            add(compiler, standard, "-O1 -DDECK_DEBUG", &deck_debug);
            add(compiler, standard, "-O1 -DGASNET_PAR", &deck_beside);
            add(compiler, standard, "-O1 -DGASNET_SEQ -DGASNET_DEBUG", &deck_beside);
        }
        add(compiler, "c99", "-DGASNET_DEBUGMALLOC=1 -DGASNET_SEQ", &heap);
        add(compiler, "c++11", "-DGASNET_DEBUGMALLOC=1 -DGASNET_SEQ -DGASNET_DEBUG", &heap);
    }
    // With all features switched off the text must still be valid.
    let off: String = features(&tables).iter().map(|feature| format!("-D{feature}=0 ")).collect();
    let rest = "-DEXPECT_ATTRIBUTES=0 -Wno-unused -Wno-unused-parameter -Wno-implicit-fallthrough -DGASNET_SEQ";
    checks.clean("names-seq, features off", &["gcc", "clang"], &["c99"], Code, &(off + rest), &seq);
    // This tests the tables themselves: a name with another type, or a missing name, must be found.
    for (number, line) in WRONG.iter().enumerate() {
        let table = Table { name: "wrong".into(), text: format!("[all]\n{line}\n") };
        let file = checks.file(&format!("wrong{number}.c"), &text(&[core], "all", &[table]))?;
        checks.refused(&format!("wrong line: {line}"), "error", "-DGASNET_SEQ", &file)?;
    }
    wrong_prototype(checks)
}

/// A prototype of docs/api with another type must be found, too.
fn wrong_prototype(checks: &mut Checks) -> Result<()> {
    let wrong = calls(checks.repo, "deck")?.replacen("int check_result", "long check_result", 1);
    let file = checks.file("wrong-prototype.c", &format!("#include <deck.h>\n{wrong}"))?;
    checks.refused("prototype with another type", "incompatible pointer type", "", &file)
}

/// The C text that calls each prototype of docs/api whose pages are of these headers.
fn calls(repo: &Repo, want: &str) -> Result<String> {
    let text = pages(repo, &format!("-v mode=calls -v want={want}"))?;
    ensure!(text.matches("check_result").count() > 20, "docs/api has no prototypes of {want}");
    Ok(text)
}

/// The macros that turn a feature on or off.
fn features(tables: &[Table]) -> Vec<&str> {
    let lines =
        tables.iter().filter(|table| table.name.ends_with("names-tools.txt")).flat_map(|table| table.text.lines());
    let conditions = lines.filter_map(|line| line.strip_prefix("if ")?.split_once(" == EXPECT"));
    conditions.map(|(feature, _)| feature).filter(|feature| feature.starts_with("GASNETT_USE_")).collect()
}

/// The C text for the lines of these sections.
fn c_of(tables: &[Table], sections: &[&str]) -> String {
    let mut text = String::new();
    let mut number = 0; // makes names unique
    for table in tables {
        let mut active = false;
        for (line, at) in table.text.lines().zip(1..) {
            if line.starts_with('#') || line.trim().is_empty() {
                continue;
            }
            if let Some(section) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                active = sections.contains(&section);
            } else if active {
                let place = format!("#line {at} \"{}\"\n", table.name);
                let families = if line.contains("%F") { &FAMILIES[..] } else { &FAMILIES[..1] };
                for (family, value) in families {
                    number += 1;
                    let line = line.replace("%F", family).replace("%V", value);
                    let (kind, rest) = line.split_once(' ').unwrap_or((&line, ""));
                    let code = code(kind, rest.trim_start(), number, &place);
                    let unknown = || format!("{place}#error unknown kind of line: {kind}\n");
                    text.push_str(&code.unwrap_or_else(unknown));
                }
            }
        }
    }
    text
}

/// The C text for one line; `None` if the line is of no known kind.
fn code(kind: &str, rest: &str, n: usize, place: &str) -> Option<String> {
    let body = match kind {
        "if" => {
            let name = rest.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
            let condition = if name { format!("{rest} && defined({rest})") } else { rest.to_owned() };
            format!("#if !({condition})\n#error {rest}\n#endif")
        }
        "defined" => format!("#ifndef {rest}\n#error {rest} is not defined\n#endif"),
        "undef" => format!("#ifdef {rest}\n#error {rest} is defined\n#endif"),
        "string" => {
            format!("extern const char name_string{n}[]; const char name_string{n}[] = \"<\" {rest} \">\";")
        }
        // Turned into a string, it must not begin or end with a quote, and must differ from its own name.
        "token" => format!(
            "extern char name_token{n}[sizeof(NAME_STRING({rest})) > 1 && \
             sizeof(NAME_STRING({rest})) != sizeof(\"{rest}\") ? 1 : -1];"
        ),
        "type" => {
            let (name, condition) = rest.split_once(' ')?;
            let condition = condition
                .trim_start()
                .replace("(T)-1", &format!("NAME_AS({name}, -1)"))
                .replace("(T)", &format!("({name})"))
                .replace("(T,", &format!("({name},"));
            format!("extern {name} name_object{n}; extern char name_type{n}[({condition}) ? 1 : -1];")
        }
        "is" | "result" => {
            let (name, expression) = rest.split_once(" :: ")?;
            let result = if kind == "is" { format!("((void)({expression}), 1)") } else { "1".into() };
            // Two declarations of one object must agree.
            format!(
                "extern {name} name_like{n}; extern __typeof__({expression}) name_like{n}; extern int name_is{n}(void);\n\
                 {place}int name_is{n}(void) {{\n\
                 {place}  {name} value = ({expression}); (void)value; return {result}; }}"
            )
        }
        "void" => format!(
            "extern int name_void{n}(void);\nint name_void{n}(void) {{ i ? {rest} : (void)0; return ({rest}, 1); }}"
        ),
        "statement" => return Some(statements(rest, n, place)),
        "file" => rest.to_owned(),
        _ => return None,
    };
    Some(format!("{place}{body}\n"))
}

/// A function with the statement. If that contains `%M` and `%A`, one for every number of arguments that a message
/// may have.
fn statements(statement: &str, n: usize, place: &str) -> String {
    let mut text = format!("extern void name_statement{n}(void);\nvoid name_statement{n}(void) {{\n");
    let mut arguments = String::new();
    let most = if statement.contains("%M") { 16 } else { 0 };
    for count in 0..=most {
        let statement = statement.replace("%M", &count.to_string()).replace("%A", &arguments);
        writeln!(text, "{place}  {statement}").expect("a string takes everything");
        let argument = match count % 3 {
            0 => "i".into(),
            1 => "NAME_AS(int, n)".into(),
            _ => format!("(i ? i : {count})"),
        };
        write!(arguments, ", {argument}").expect("a string takes everything");
    }
    text + "}\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn c(lines: &str, sections: &[&str]) -> String {
        c_of(&[Table { name: "t".into(), text: lines.into() }], sections)
    }

    #[test]
    fn only_wanted_sections_are_taken() {
        let lines = "# head\n[job]\ndefined A\n\n[alone]\ndefined B\n";
        assert_eq!(c(lines, &["job"]), "#line 3 \"t\"\n#ifndef A\n#error A is not defined\n#endif\n");
    }

    #[test]
    fn statements_grow_by_one_argument() {
        let text = c("[all]\nstatement f%M(node%A);\n", &["all"]);
        for call in ["  f0(node);", "  f1(node, i);", "  f3(node, i, NAME_AS(int, n), (i ? i : 2));", "  f16(node, i, "]
        {
            assert!(text.contains(call), "{call} is not in\n{text}");
        }
        assert!(!text.contains("f17("));
    }

    #[test]
    fn an_unknown_line_is_an_error_of_the_compiler() {
        assert!(c("[all]\nnonsense f()\n", &["all"]).contains("#error unknown kind of line: nonsense"));
    }
}

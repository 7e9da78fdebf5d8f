//! The table of variables in the form of the documents.

use super::{VARS, Var};

/// Variables for tests, and for measurements that show what a part of the library buys. Nobody needs them to run a program.
const FOR_TESTS: [&str; 13] = [
    "GASNET_SCI_BOUNCE_MIN",
    "GASNET_SCI_EXTENDED",
    "GASNET_SCI_HOST",
    "GASNET_SCI_SPLIT",
    "GASNET_SCI_TCP_CONGESTION",
    "GASNET_SCI_TICKS",
    "GASNET_SCI_TREE",
    "GASNET_SCI_UDP_FAULTS",
    "GASNET_SCI_UDP_MODE",
    "GASNET_SCI_UNMAPPED",
    "GASNET_VIS_AMPIPE",
    "GASNET_VIS_MAXCHUNK",
    "GASNET_VIS_REMOTECONTIG",
];

/// Whom a variable is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Audience {
    /// Who runs programs.
    Users,
    /// Who tests or measures the library.
    Tests,
    /// Nobody: it is checked, and changes nothing.
    Nobody,
}

fn audience(var: &Var) -> Audience {
    match var.name {
        name if FOR_TESTS.contains(&name) => Audience::Tests,
        _ if var.doc.starts_with("accepted, without effect") => Audience::Nobody,
        _ => Audience::Users,
    }
}

/// The variables in Markdown: a table of those for users, one of those for tests, and the names of those without effect.
/// `docs/environment.md` has a copy, which `ci/docs` keeps up to date.
pub fn markdown() -> String {
    let nobody: Vec<String> =
        VARS.iter().filter(|var| audience(var) == Audience::Nobody).map(|var| format!("`{}`", var.name)).collect();
    format!(
        "{}\n## For tests and measurements\n\n{}\n## Accepted, without effect\n\n\
         Settings of other GASNet implementations, {} of them. Their values are checked and reported, and change nothing: programs\n\
         and scripts that set them keep working. `gasnet-sci info` shows what each accepts.\n\n{}.\n",
        table(Audience::Users),
        table(Audience::Tests),
        nobody.len(),
        nobody.join(", ")
    )
}

/// The rows for `audience`: name and aliases, default, accepted values, meaning.
fn table(for_whom: Audience) -> String {
    let cell =
        |text: &str| if text.is_empty() { "–".to_string() } else { text.replace('*', "\\*").replace('|', "\\|") };
    let rows = VARS.iter().filter(|var| audience(var) == for_whom).map(|var| {
        let aliases: String = var.aliases.iter().map(|alias| format!(", `{alias}`")).collect();
        format!("| `{}`{aliases} | {} | {} | {} |\n", var.name, cell(var.default), cell(var.form), cell(var.doc))
    });
    format!("| variable | default | accepted | meaning |\n|---|---|---|---|\n{}", rows.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_variable_is_there_once_and_names_of_the_list_exist() {
        let text = markdown();
        for var in VARS {
            let row = format!("\n| `{}`", var.name);
            let is_listed = audience(var) == Audience::Nobody && text.contains(&format!("`{}`", var.name));
            assert!(text.matches(&row).count() == usize::from(!is_listed), "{}", var.name);
        }
        assert!(FOR_TESTS.iter().all(|name| VARS.iter().any(|var| var.name == *name)));
    }
}

//! README says of environment variables what the library does with them.

use gasnet_sci::base::config::VARS;

#[test]
fn table_of_variables_is_the_librarys() {
    let code = |text: &str| if text.is_empty() { "–".to_string() } else { text.replace('*', "\\*") };
    let rows = VARS.iter().map(|var| {
        let aliases: String = var.aliases.iter().map(|alias| format!(", `{alias}`")).collect();
        format!("| `{}`{aliases} | {} | {} |\n", var.name, code(var.default), code(var.doc))
    });
    let expected = format!("| variable | default | meaning |\n|---|---|---|\n{}", rows.collect::<String>());
    let readme = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).unwrap();
    let start = readme.find("| variable | default | meaning |").expect("README.md has the table");
    let table: String =
        readme[start..].lines().take_while(|line| line.starts_with('|')).map(|line| format!("{line}\n")).collect();
    assert!(table == expected, "README.md's table of variables is stale; it should be:\n{expected}");
}

#[test]
fn document_of_variables_has_the_librarys_table() {
    let document = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/environment.md")).unwrap();
    let table: String = document.lines().filter(|line| line.starts_with('|')).map(|line| format!("{line}\n")).collect();
    assert!(
        table == gasnet_sci::base::config::table::markdown(),
        "docs/environment.md is stale: ci/docs --update renews it"
    );
}

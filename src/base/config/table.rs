//! The table of variables in the form of the documents.

use super::VARS;

/// The table in Markdown: name and aliases, default, accepted values, meaning. `docs/environment.md` has a copy,
/// which `ci/docs` keeps up to date.
pub fn markdown() -> String {
    let cell =
        |text: &str| if text.is_empty() { "–".to_string() } else { text.replace('*', "\\*").replace('|', "\\|") };
    let rows = VARS.iter().map(|var| {
        let aliases: String = var.aliases.iter().map(|alias| format!(", `{alias}`")).collect();
        format!("| `{}`{aliases} | {} | {} | {} |\n", var.name, cell(var.default), cell(var.form), cell(var.doc))
    });
    format!("| variable | default | accepted | meaning |\n|---|---|---|---|\n{}", rows.collect::<String>())
}

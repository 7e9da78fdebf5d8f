//! The table of variables as a document shows it.

use super::VARS;

/// Markdown: name and aliases, default, accepted values, meaning. `docs/environment.md` holds it; `ci/docs` keeps it there.
pub fn markdown() -> String {
    let cell =
        |text: &str| if text.is_empty() { "–".to_string() } else { text.replace('*', "\\*").replace('|', "\\|") };
    let rows = VARS.iter().map(|var| {
        let aliases: String = var.aliases.iter().map(|alias| format!(", `{alias}`")).collect();
        format!("| `{}`{aliases} | {} | {} | {} |\n", var.name, cell(var.default), cell(var.form), cell(var.doc))
    });
    format!("| variable | default | accepted | meaning |\n|---|---|---|---|\n{}", rows.collect::<String>())
}

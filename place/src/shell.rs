//! The frame of every page: one HTML file that loads nothing from elsewhere.
//!
//! Must not know: what a page shows.

use std::path::Path;
use std::{fs, io};

const STYLE: &str = include_str!("shell/base.css");
const THEME: &str = include_str!("shell/theme.js");

// The browser refuses whatever is not in the file.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";

/// The whole document. `style` is added to the common one. Each of `scripts` becomes a script of its own, after `body`.
pub fn document(title: &str, style: &str, body: &str, scripts: &[&str]) -> String {
    let script = |text: &&str| format!("<script>\n{text}</script>\n");
    let scripts: String = [THEME].iter().chain(scripts).map(script).collect();
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>gasnet-sci: {}</title>\n\
         <style>\n{STYLE}{style}</style>\n</head>\n<body>\n{body}\n{scripts}</body>\n</html>\n",
        escape(title)
    )
}

/// The top of the page: its title, and the button that the theme's script needs.
pub fn top(title: &str) -> String {
    format!(
        "<div class=\"top\"><h1>gasnet-sci <span>{}</span></h1>\
         <button id=\"theme\" type=\"button\">light / dark</button></div>",
        escape(title)
    )
}

/// Escapes text for HTML, attributes included.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Writes a file. The error names the file, unlike that of `std::fs`.
pub fn write_file(path: &Path, text: &str) -> io::Result<()> {
    fs::write(path, text).map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
}

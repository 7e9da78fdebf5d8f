//! Man pages of the commands. They are made from what clap and the table of variables know, so that they match the
//! commands.

use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use gasnet_sci::base::config::VARS;
use std::io;

/// Writes the man page of `command` in section 1.
///
/// It lists the variables whose names `wanted` accepts, and refers to the page `other`. What clap prints after the
/// options becomes text of the page.
pub fn page(mut command: clap::Command, wanted: fn(&str) -> bool, other: &str) -> io::Result<Vec<u8>> {
    command.build();
    let version = command.get_version().unwrap_or_default().to_string();
    let man = Man::new(command.clone()).date(version).source("gasnet-sci").manual("GASNet over software SCI");
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    let mut text = Roff::new();
    text.control("SH", ["SYNOPSIS"]);
    let usage = command.render_usage().to_string();
    literal(&mut text, usage.trim_start_matches("Usage: "));
    text.control("SH", ["DESCRIPTION"]);
    text.text([roman(sentence(command.get_about().map(ToString::to_string).unwrap_or_default()))]);
    text.to_writer(&mut page)?;
    if command.get_arguments().any(|argument| !argument.is_hide_set()) {
        man.render_options_section(&mut page)?;
    }

    let mut text = Roff::new();
    subcommands(&mut text, &command);
    if let Some(more) = command.get_after_long_help().or(command.get_after_help()) {
        text.control("SH", ["DETAILS"]);
        prose(&mut text, &more.to_string());
    }
    text.control("SH", ["ENVIRONMENT"]);
    for var in VARS.iter().filter(|var| wanted(var.name)) {
        text.control("TP", []);
        text.text([bold(var.name), roman(format!(" (default: {})", or_none(var.default)))]);
        text.text([roman(format!("{}. Accepted: {}.", sentence(var.doc.into()).trim_end_matches('.'), var.form))]);
        if !var.aliases.is_empty() {
            text.control("br", []);
            text.text([roman(format!("Also read, if this is unset: {}.", var.aliases.join(", ")))]);
        }
    }
    text.control("SH", ["SEE ALSO"]);
    text.text([bold(other), roman("(1); the user guide in share/doc/gasnet/docs")]);
    text.to_writer(&mut page)?;
    Ok(page)
}

// The visible subcommands, each with its own options.
fn subcommands(text: &mut Roff, command: &clap::Command) {
    let mut visible = command.get_subcommands().filter(|c| !c.is_hide_set() && c.get_name() != "help").peekable();
    if visible.peek().is_some() {
        text.control("SH", ["COMMANDS"]);
    }
    for subcommand in visible {
        text.control("TP", []);
        text.text([bold(subcommand.get_name())]);
        text.text([roman(sentence(subcommand.get_about().map(ToString::to_string).unwrap_or_default()))]);
        for argument in subcommand.get_arguments().filter(|a| !a.is_hide_set() && a.get_id() != "help") {
            let short = argument.get_short().map(|short| format!("-{short}"));
            let long = argument.get_long().map(|long| format!("--{long}"));
            let name = match argument.is_positional() {
                true => argument.to_string(),
                false => short.into_iter().chain(long).collect::<Vec<_>>().join(", "),
            };
            let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
            text.control("br", []);
            text.text([bold(name), roman(format!(": {help}"))]);
        }
        if let Some(more) = subcommand.get_after_help() {
            text.control("br", []);
            text.text([roman(more.to_string())]);
        }
    }
}

fn or_none(text: &str) -> &str {
    if text.is_empty() { "none" } else { text }
}

// clap's help lines have neither a capital nor a full stop; text of a page has both.
fn sentence(text: String) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|c| c.to_uppercase().collect::<String>()).unwrap_or_default();
    let rest = letters.as_str();
    format!("{first}{rest}{}", if rest.ends_with('.') { "" } else { "." })
}

// roff fills paragraphs. Indented lines stand as they are.
fn prose(text: &mut Roff, lines: &str) {
    for paragraph in lines.split("\n\n") {
        text.control("PP", []);
        if paragraph.lines().any(|line| line.starts_with(' ')) {
            literal(text, paragraph);
        } else {
            text.text([roman(paragraph.replace('\n', " "))]);
        }
    }
}

fn literal(text: &mut Roff, lines: &str) {
    text.control("nf", []);
    for line in lines.lines() {
        text.text([roman(line)]);
    }
    text.control("fi", []);
}

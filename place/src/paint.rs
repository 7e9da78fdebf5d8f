//! Colours of what commands print. Text is written with them always; the stream takes them out where nobody would see them: stdout is
//! no terminal, or the terminal shows none, or NO_COLOR says so. CLICOLOR_FORCE keeps them.
//!
//! Must not know: what is printed.

pub use anstyle::Style;
use anstyle::{AnsiColor, Color};
use std::io::{self, Stderr, StdoutLock, Write};

const fn coloured(colour: AnsiColor) -> Style {
    Style::new().fg_color(Some(Color::Ansi(colour))).bold()
}

/// Heads of tables and parts.
pub const HEAD: Style = Style::new().bold();
/// What is as it should be.
pub const GOOD: Style = coloured(AnsiColor::Green);
/// What could be better.
pub const WARN: Style = coloured(AnsiColor::Yellow);
/// What is wrong.
pub const BAD: Style = coloured(AnsiColor::Red);

/// Standard output.
pub fn out() -> anstream::AutoStream<StdoutLock<'static>> {
    anstream::AutoStream::auto(io::stdout().lock())
}

/// Standard error.
pub fn err() -> anstream::AutoStream<Stderr> {
    anstream::AutoStream::auto(io::stderr())
}

/// Something that never shows colours, such as a file.
pub fn never<W: Write>(out: W) -> anstream::StripStream<W> {
    anstream::StripStream::new(out)
}

/// The bytes that `write` writes, without colours.
pub fn plain(write: impl FnOnce(&mut anstream::StripStream<Vec<u8>>) -> io::Result<()>) -> io::Result<Vec<u8>> {
    let mut out = never(Vec::new());
    write(&mut out)?;
    out.flush()?;
    Ok(out.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_taken_out_of_what_is_no_terminal() {
        let text = plain(|out| write!(out, "{GOOD}met{GOOD:#}, {HEAD}{:<6}{HEAD:#}.", "head"));
        assert_eq!(text.unwrap(), b"met, head  .");
        assert_eq!(format!("{BAD}x{BAD:#}"), "\x1b[1m\x1b[31mx\x1b[0m");
    }
}

//! One run of a compiler over one file.

use regex::Regex;
use std::ffi::OsString;
use std::path::Path;

/// A run of a compiler, and the outcome that it must have.
pub struct Check {
    pub name: String,
    pub arguments: Vec<OsString>,
    pub expected: Expected,
}

pub enum Expected {
    /// The compiler accepts the file without a warning.
    Clean,
    /// The compiler fails with a line that matches.
    Refusal(Regex),
}

/// How far the compiler goes.
#[derive(Clone, Copy, PartialEq)]
pub enum Extent {
    Syntax,
    /// It makes code, which is thrown away: some warnings come only then.
    Code,
}

/// The command, compiler first, that compiles `file` in the dialect `standard` with all warnings as errors.
pub fn command(
    include: &Path,
    compiler: &str,
    standard: &str,
    extent: Extent,
    flags: &[&str],
    file: &Path,
) -> Vec<OsString> {
    let language = if standard.starts_with("c++") { "c++" } else { "c" };
    let mut include_flag = OsString::from("-I");
    include_flag.push(include);
    let mut command: Vec<OsString> = [compiler, "-x", language].map(Into::into).into();
    command.push(format!("-std={standard}").into());
    command.extend(["-Wall", "-Wextra", "-pedantic", "-Werror"].map(Into::into));
    match extent {
        Extent::Syntax => command.push("-fsyntax-only".into()),
        Extent::Code => command.extend(["-c", "-o", "/dev/null"].map(Into::into)),
    }
    command.push(include_flag);
    command.extend(flags.iter().map(Into::into));
    command.push(file.into());
    command
}

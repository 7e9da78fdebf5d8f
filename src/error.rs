//! Errors of the engines. They carry data; only `abi::status` turns them into `GASNET_ERR_*` codes and prints the line.

use crate::sci::SciError;
use std::fmt;

/// What went wrong in a call of the Core API.
#[derive(Clone, Debug, PartialEq)]
pub enum Error {
    /// The call needs `gasnet_init`, or `gasnet_attach`, first; or they were called twice.
    NotInit(&'static str),
    /// An argument is out of its range.
    BadArg(String),
    /// Memory, address space, processes or the like ran out.
    Resource(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NotInit(text) => f.write_str(text),
            Error::BadArg(text) | Error::Resource(text) => f.write_str(text),
        }
    }
}

impl From<SciError> for Error {
    fn from(e: SciError) -> Self {
        Error::Resource(e.to_string())
    }
}

/// Builds `Err(Error::BadArg(…))`, out of line: the paths to it are cold.
#[cold]
pub fn bad_arg<T>(text: fmt::Arguments<'_>) -> Result<T, Error> {
    Err(Error::BadArg(text.to_string()))
}

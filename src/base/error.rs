//! Errors of the engines. They carry data. Only `api` turns them into `GASNET_ERR_*` codes and prints the line.

use std::fmt;

/// What went wrong in a call. The type is one pointer wide, so that a result stays in a register on the hot path
/// (with the text inline each AM call moved six words through the stack).
#[derive(Debug, PartialEq)]
pub struct Error(Box<Kind>);

/// The kinds, as clients tell them apart.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// The call needs `gasnet_init`, or `gasnet_attach`, first; or they were called twice.
    NotInit(&'static str),
    /// An argument is out of its range.
    BadArg(String),
    /// Memory, address space, processes or the like ran out.
    Resource(String),
    /// The peer is lost, in a job that goes on without it.
    Lost(u32),
}

impl Error {
    /// The error of a call at the wrong time.
    #[cold]
    pub fn not_init(text: &'static str) -> Error {
        Error(Box::new(Kind::NotInit(text)))
    }

    /// The error that something has run out.
    #[cold]
    pub fn resource(text: impl fmt::Display) -> Error {
        Error(Box::new(Kind::Resource(text.to_string())))
    }

    /// The error that a peer is lost.
    #[cold]
    pub fn lost(node: u32) -> Error {
        Error(Box::new(Kind::Lost(node)))
    }

    /// Whether a peer is lost.
    pub fn is_lost(&self) -> bool {
        matches!(self.kind(), Kind::Lost(_))
    }

    /// The kind, with its text.
    pub fn kind(&self) -> &Kind {
        &self.0
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind() {
            Kind::NotInit(text) => f.write_str(text),
            Kind::BadArg(text) | Kind::Resource(text) => f.write_str(text),
            Kind::Lost(node) => write!(f, "node {node} is lost"),
        }
    }
}

/// Whether a result is the error of a bad argument.
#[cfg(test)]
pub fn is_bad_arg<T>(result: Result<T, Error>) -> bool {
    matches!(result, Err(error) if matches!(error.kind(), Kind::BadArg(_)))
}

/// Makes the error of a bad argument. Out of line, because the paths to it are cold.
#[cold]
pub fn bad_arg<T>(text: fmt::Arguments<'_>) -> Result<T, Error> {
    Err(Error(Box::new(Kind::BadArg(text.to_string()))))
}

//! One line of a trace, as `src/trace` of the library writes it: `RANK SECONDS> [FILE:LINE] (LETTER) TEXT`.
//!
//! Must not know: files, runs.

use std::fmt;

/// Letters of operations; lines with the others hold text.
const OPERATIONS: &str = "GPSRWXBLA";

/// The largest rank that a job can have.
const MAX_RANK: u64 = 65534;

/// No clock says more: sums of a few times stay in range. 36 years.
const LATEST: u64 = 1 << 60;

/// A line, in parts.
#[derive(Debug, PartialEq)]
pub struct Line<'a> {
    pub rank: u32,
    /// When it was written: nanoseconds by the node's own clock.
    pub when: u64,
    pub letter: char,
    pub what: What<'a>,
}

/// What a line says.
#[derive(Debug, PartialEq)]
pub enum What<'a> {
    Operation(Operation<'a>),
    /// The first line of a node.
    Head(Head<'a>),
    Text(&'a str),
}

/// An operation, with the numbers that its line has.
#[derive(Debug, Default, PartialEq)]
pub struct Operation<'a> {
    pub name: &'a str,
    pub node: Option<u32>,
    pub bytes: Option<u64>,
    pub handler: Option<u8>,
    /// Of a barrier of a team: what the team is called.
    pub team: Option<&'a str>,
    pub ns: Option<u64>,
}

/// Where a node runs, and what its host's clock said when its own was 0.
#[derive(Debug, Default, PartialEq)]
pub struct Head<'a> {
    pub nodes: u32,
    pub clock: u64,
    pub host: &'a str,
}

/// Why a line cannot be used.
#[derive(Debug, PartialEq)]
pub enum Fault {
    NoRank,
    NoTime,
    NoLetter,
    NoOperation,
    /// What should be a field with a number.
    Field(String),
    NoEnd,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::NoRank => write!(f, "it does not begin with a node's number, as lines of a trace do"),
            Fault::NoTime => write!(f, "no time behind the node's number"),
            Fault::NoLetter => write!(f, "no letter in parentheses behind the time"),
            Fault::NoOperation => write!(f, "no name of an operation behind the letter"),
            Fault::Field(field) => write!(f, "'{field}' is no field with a number"),
            Fault::NoEnd => write!(f, "the file ends in the middle of it"),
        }
    }
}

/// Takes a line apart. It has no end-of-line character any more.
pub fn parse(line: &str) -> Result<Line<'_>, Fault> {
    let (rank, rest) = line.split_once(' ').ok_or(Fault::NoRank)?;
    let rank = number(rank).filter(|rank| *rank <= MAX_RANK).ok_or(Fault::NoRank)? as u32;
    let (time, rest) = rest.split_once("> ").ok_or(Fault::NoTime)?;
    let when = decimal(time, 9).filter(|when| *when <= LATEST).ok_or(Fault::NoTime)?;
    let rest = if rest.starts_with('[') {
        rest.split_once("] (").ok_or(Fault::NoLetter)?.1
    } else {
        rest.strip_prefix('(').ok_or(Fault::NoLetter)?
    };
    let (letter, text) = rest.split_once(") ").ok_or(Fault::NoLetter)?;
    let mut letters = letter.chars();
    let letter =
        letters.next().filter(|c| c.is_ascii_uppercase() && letters.next().is_none()).ok_or(Fault::NoLetter)?;
    let what = match letter {
        _ if OPERATIONS.contains(letter) => What::Operation(operation(text)?),
        'U' => head(text).map_or(What::Text(text), What::Head),
        _ => What::Text(text),
    };
    Ok(Line { rank, when, letter, what })
}

fn operation(text: &str) -> Result<Operation<'_>, Fault> {
    let mut parts = text.split(' ');
    let name = parts.next().unwrap_or_default();
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_') {
        return Err(Fault::NoOperation);
    }
    let mut operation = Operation { name, ..Operation::default() };
    for field in parts {
        let fault = || Fault::Field(field.chars().take(40).collect());
        let (key, value) = field.split_once('=').ok_or_else(fault)?;
        let known = match key {
            "node" => number(value).filter(|rank| *rank <= MAX_RANK).map(|rank| operation.node = Some(rank as u32)),
            "bytes" => number(value).map(|bytes| operation.bytes = Some(bytes)),
            "handler" => number(value).and_then(|n| u8::try_from(n).ok()).map(|n| operation.handler = Some(n)),
            "team" => is_team(value).then(|| operation.team = Some(value)),
            "us" => decimal(value, 3).map(|ns| operation.ns = Some(ns)),
            _ => Some(()), // a newer library may say more
        };
        known.ok_or_else(fault)?;
    }
    Ok(operation)
}

/// Two numbers with a point between.
fn is_team(text: &str) -> bool {
    text.split_once('.').is_some_and(|(maker, number)| !maker.is_empty() && !number.is_empty())
        && text.len() <= 40
        && text.bytes().all(|c| c.is_ascii_digit() || c == b'.')
}

fn head(text: &str) -> Option<Head<'_>> {
    let mut head = Head::default();
    for field in text.strip_prefix("trace ")?.split(' ') {
        match field.split_once('=')? {
            ("nodes", value) => head.nodes = number(value)? as u32,
            ("clock", value) => head.clock = number(value).filter(|clock| *clock <= LATEST)?,
            ("host", value) => head.host = value,
            _ => (),
        }
    }
    (head.clock > 0).then_some(head)
}

/// A number of digits alone.
fn number(text: &str) -> Option<u64> {
    text.bytes().all(|c| c.is_ascii_digit()).then(|| text.parse().ok())?
}

/// A decimal number, times ten to the power of `places`. More digits are cut off.
fn decimal(text: &str, places: usize) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let mut value = number(whole).filter(|_| !whole.is_empty())?;
    if !part.bytes().all(|c| c.is_ascii_digit()) {
        return None;
    }
    for digit in part.bytes().chain(std::iter::repeat(b'0')).take(places) {
        value = value.checked_mul(10)?.checked_add(u64::from(digit - b'0'))?;
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_library_are_taken_apart() {
        let line = parse("3 1.000002500> (A) AMREQUEST_MEDIUM node=1 bytes=24 handler=201").unwrap();
        let operation = Operation {
            name: "AMREQUEST_MEDIUM",
            node: Some(1),
            bytes: Some(24),
            handler: Some(201),
            team: None,
            ns: None,
        };
        assert_eq!(line, Line { rank: 3, when: 1_000_002_500, letter: 'A', what: What::Operation(operation) });
        // As older libraries write it, and with a place.
        let line = parse("0 0.000123> [a b (c).upc:77] (P) PUT_LOCAL node=0 bytes=8 us=0.25 new=x").unwrap();
        let operation =
            Operation { name: "PUT_LOCAL", node: Some(0), bytes: Some(8), handler: None, team: None, ns: Some(250) };
        assert_eq!((line.when, line.what), (123_000, What::Operation(operation)));
        let line = parse("2 0.5> (B) BARRIER team=0.17 us=1").unwrap();
        let operation = Operation { name: "BARRIER", team: Some("0.17"), ns: Some(1000), ..Operation::default() };
        assert_eq!(line.what, What::Operation(operation));
        for team in ["", "7", ".1", "1.", "1.<b>", "-1.2"] {
            assert!(parse(&format!("2 0.5> (B) BARRIER team={team} us=1")).is_err(), "{team}");
        }
        let line = parse("0 0.000000000> (U) trace node=0 nodes=4 clock=77 host=alpha").unwrap();
        assert_eq!(line.what, What::Head(Head { nodes: 4, clock: 77, host: "alpha" }));
        assert_eq!(parse("0 1.5> (U) trace is on").unwrap().what, What::Text("trace is on"));
        assert_eq!(parse("0 1> (H) before (P) work").unwrap().what, What::Text("before (P) work"));
    }

    #[test]
    fn every_damage_has_its_cause() {
        let cause = |line: &str| parse(line).unwrap_err();
        for line in
            ["", "hello", "x 1.0> (P) PUT", "-1 1.0> (P) PUT", "99999 1.0> (P) PUT", "18446744073709551616 1> (P) PUT"]
        {
            assert_eq!(cause(line), Fault::NoRank, "{line}");
        }
        for line in [
            "0 ",
            "0 1.0",
            "0 1.x> (P) PUT",
            "0 .5> (P) PUT",
            "0 99999999999999999999> (P) PUT",
            "0 18446744073> (P) P",
        ] {
            assert_eq!(cause(line), Fault::NoTime, "{line}");
        }
        for line in [
            "0 1.0> PUT", "0 1.0> (P PUT", "0 1.0> (PP) PUT", "0 1.0> () PUT", "0 1.0> [a.c:1 (P) PUT",
            "0 1.0> (ö) PUT",
        ] {
            assert_eq!(cause(line), Fault::NoLetter, "{line}");
        }
        for line in ["0 1.0> (P) ", "0 1.0> (P) put", "0 1.0> (B) é"] {
            assert_eq!(cause(line), Fault::NoOperation, "{line}");
        }
        for (line, field) in [
            ("0 1.0> (P) PUT no", "no"),
            ("0 1.0> (P) PUT node=", "node="),
            ("0 1.0> (P) PUT node=1 bytes=8x", "bytes=8x"),
            ("0 1.0> (S) WAIT us=1e3", "us=1e3"),
            ("0 1.0> (A) AM handler=256", "handler=256"),
        ] {
            let fault = cause(line);
            assert!(fault == Fault::Field(field.into()) || field == "node=", "{line}: {fault:?}");
        }
    }
}

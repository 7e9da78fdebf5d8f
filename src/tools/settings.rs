//! The client's own environment variables: their forms, and the report of GASNET_VERBOSEENV (contract: tools.md §9.2,
//! environment.md §1). The caller passes the values, because it knows how long they live.

#![forbid(unsafe_code)]

use super::number;
use crate::base::log;
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::fmt;

/// State of the report.
struct Report {
    // Whether this process prints the report; `None`: not known before gasnet_init.
    verbose: Option<bool>,
    seen: BTreeSet<String>,
    held: Vec<String>,
}

static REPORT: Mutex<Report> = Mutex::new(Report { verbose: None, seen: BTreeSet::new(), held: Vec::new() });

/// Whether this process reports settings; `None`: not known yet.
pub fn is_verbose() -> Option<bool> {
    REPORT.lock().verbose
}

/// Sets whether this process reports settings. Reports that were held back are now printed or dropped.
pub fn set_verbose(verbose: bool) {
    let held = {
        let mut report = REPORT.lock();
        report.verbose = Some(verbose);
        std::mem::take(&mut report.held)
    };
    held.iter().filter(|_| verbose).for_each(|line| log::raw(format_args!("{line}")));
}

/// Reports one setting. Only the first report of a name counts.
pub fn report(name: &str, value: &str, is_default: bool) {
    let mut report = REPORT.lock();
    if report.verbose == Some(false) || !report.seen.insert(name.to_string()) {
        return;
    }
    let line = line(name, value, is_default);
    match report.verbose {
        None => report.held.push(line),
        Some(_) => log::raw(format_args!("{line}")),
    }
}

fn line(name: &str, value: &str, is_default: bool) -> String {
    let setting = format!("ENV parameter: {name} = {value}");
    if is_default { format!("{setting:<58} (default)") } else { setting }
}

/// The form in which a report shows a text.
pub fn shown(value: Option<&str>) -> &str {
    match value {
        None => "*not set*",
        Some("") => "*empty*",
        Some(value) => value,
    }
}

/// The form in which a report shows an integer. `text` is the value of its variable, if that is set.
pub fn shown_integer(text: Option<&str>, value: i64, size: bool) -> String {
    let canonical = number::format(value, size);
    match text.map(str::trim) {
        Some(text) if !text.is_empty() && text != canonical => format!("{text} ({canonical})"),
        _ => canonical,
    }
}

/// The form in which a report shows a floating-point number.
pub fn shown_float(text: Option<&str>, value: f64) -> String {
    let canonical = format!("{value}");
    match text.map(str::trim) {
        Some(text) if !text.is_empty() && text != canonical => format!("{text} ({canonical})"),
        _ => canonical,
    }
}

/// The fault in a variable's value.
pub struct Malformed {
    name: String,
    value: String,
    form: String,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "environment variable {}='{}' is not valid: expected {}", self.name, self.value, self.form)
    }
}

fn malformed<T>(name: &str, value: &str, form: String) -> Result<T, Malformed> {
    Err(Malformed { name: name.into(), value: value.into(), form })
}

/// Reads a yes or no.
pub fn yes_no(name: &str, value: &str) -> Result<bool, Malformed> {
    match crate::base::config::yes_no(value) {
        Some(yes) => Ok(yes),
        None => malformed(name, value, crate::base::config::YES_NO.into()),
    }
}

/// Reads an integer. If `unit` is not 0 it is a size, and `unit` is the bytes in which a number without a suffix
/// counts.
pub fn integer(name: &str, value: &str, unit: u64) -> Result<i64, Malformed> {
    let form = if unit == 0 {
        "an integer, decimal or 0x and hexadecimal"
    } else {
        "a memory size such as 512M or 1.5G, with B, K, M, G or T"
    };
    number::parse_strict(value, unit).or_else(|why| malformed(name, value, format!("{form}; {why}")))
}

/// Reads a floating-point number or a fraction.
pub fn float(name: &str, value: &str) -> Result<f64, Malformed> {
    let form = "a number such as 0.5 or 1e3, or a fraction such as 3/8";
    number::parse_float(value).or_else(|why| malformed(name, value, format!("{form}; {why}")))
}

/// `value` with each `%0HH` (two hexadecimal digits, not 00) replaced by its character. `None` if there is none. An
/// incomplete one stays as it is.
pub fn decoded(value: &[u8]) -> Option<Vec<u8>> {
    let digit = |c: u8| (c as char).to_digit(16);
    let (mut out, mut at, mut any) = (Vec::with_capacity(value.len()), 0, false);
    while at < value.len() {
        let code = match &value[at..] {
            [b'%', b'0', high, low, ..] => digit(*high).zip(digit(*low)).map(|(h, l)| (h * 16 + l) as u8),
            _ => None,
        };
        match code.filter(|code| *code != 0) {
            Some(code) => {
                out.push(code);
                (at, any) = (at + 4, true);
            }
            None => {
                out.push(value[at]);
                at += 1;
            }
        }
    }
    any.then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines_have_the_contracts_form() {
        assert_eq!(line("A", "1", false), "ENV parameter: A = 1");
        let default = line("A", "1", true);
        assert!(default.starts_with("ENV parameter: A = 1 ") && default.ends_with(" (default)"), "{default}");
        assert_eq!((shown(None), shown(Some("")), shown(Some("x"))), ("*not set*", "*empty*", "x"));
        assert_eq!(shown_integer(Some("0x10000"), 65536, true), "0x10000 (64 KB)");
        assert_eq!(shown_integer(Some(" 64 KB "), 65536, true), "64 KB");
        assert_eq!(shown_integer(None, 7, false), "7");
        assert_eq!(shown_float(Some("3/8"), 0.375), "3/8 (0.375)");
    }

    #[test]
    fn malformed_values_name_variable_value_and_form() {
        let texts = [
            yes_no("A_FLAG", "maybe").map(drop),
            integer("A_FLAG", "maybe", 0).map(drop),
            integer("A_FLAG", "maybe", 1).map(drop),
            float("A_FLAG", "maybe").map(drop),
        ];
        for text in texts.map(|result| result.err().unwrap().to_string()) {
            assert!(text.contains("A_FLAG='maybe'") && text.contains("expected "), "{text}");
        }
    }

    #[test]
    fn escapes_are_decoded_and_scraps_stay() {
        for (text, result) in [
            ("%041", Some("A")),
            ("a%020b%02Dc", Some("a b-c")),
            ("%02d", Some("-")),
            ("plain", None),
            ("100%", None),
            ("%0", None),
            ("%04", None),
            ("%04g", None),
            ("%000", None),
            ("%%041", Some("%A")),
        ] {
            assert_eq!(decoded(text.as_bytes()).as_deref(), result.map(str::as_bytes), "{text}");
        }
    }

    proptest! {
        #[test]
        fn encoding_every_byte_is_undone(bytes in prop::collection::vec(1u8..=255, 1..50)) {
            let encoded: String = bytes.iter().map(|byte| format!("%0{byte:02X}")).collect();
            prop_assert_eq!(decoded(encoded.as_bytes()), Some(bytes));
        }
    }
}

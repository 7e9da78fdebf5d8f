//! Forms of values in environment variables (contract: environment.md §1). `None`: the text does not have the form.

use crate::os::signame;

/// The words that [`yes_no`] accepts, for an error message.
pub const YES_NO: &str = "yes or no (Y, YES, 1, N, NO, 0)";

/// `Y`, `YES`, `1`, `N`, `NO`, `0` in any case.
pub fn yes_no(text: &str) -> Option<bool> {
    match text.trim().to_ascii_uppercase().as_str() {
        "Y" | "YES" | "1" => Some(true),
        "N" | "NO" | "0" => Some(false),
        _ => None,
    }
}

pub(super) fn integer(text: &str, min: u64, max: u64) -> Option<u32> {
    let text = text.trim().trim_start_matches('+');
    let value = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16).ok()?,
        None => text.parse().ok()?,
    };
    (min..=max).contains(&value).then_some(value.try_into().ok()?)
}

/// A floating-point number, or a fraction such as `3/8`. It must be finite and not negative.
pub(super) fn float(text: &str) -> Option<f64> {
    let one = |s: &str| s.trim().parse::<f64>().ok().filter(|v| v.is_finite() && *v >= 0.0);
    match text.split_once('/') {
        Some((above, below)) => Some(one(above)? / one(below).filter(|b| *b > 0.0)?).filter(|v| v.is_finite()),
        None => one(text),
    }
}

/// A number of bytes, such as `1.5G`, `64 KB`, `0x1000`, `4096`. Without a suffix the number counts in `unit`s.
pub fn memory_size(text: &str, unit: u64) -> Option<u64> {
    let text = text.trim();
    if let Some(hex) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return u64::from_str_radix(hex, 16).ok()?.checked_mul(unit);
    }
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, suffix) = text.split_at(digits);
    let suffix = suffix.trim().to_ascii_uppercase();
    let factor = match suffix.strip_suffix('B').filter(|s| !s.is_empty()).unwrap_or(&suffix) {
        "" => unit,
        "B" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        "T" => 1 << 40,
        _ => return None,
    };
    match number.parse::<u64>() {
        Ok(whole) => whole.checked_mul(factor), // exact, without floating point
        Err(_) => {
            let value = number.parse::<f64>().ok()? * factor as f64;
            (value < u64::MAX as f64).then_some(value as u64)
        }
    }
}

/// The bound of a node's segment, as `GASNET_MAX_SEGSIZE` and `gasnet_max_segsize_str` say it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SegmentSize {
    /// How much memory.
    pub amount: Amount,
    /// For all nodes of the host together (`/H`); else for each (`/P`, or nothing).
    pub for_host: bool,
}

/// An amount of memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    /// So many bytes.
    Bytes(u64),
    /// This part of the host's memory; above 0, at most 1.
    Fraction(f64),
}

impl SegmentSize {
    /// A memory size, or a number with a point and up to 1.0, the fraction of the host's memory; then perhaps `/P` or `/H`. The slash may be
    /// left out.
    pub fn parse(text: &str) -> Option<SegmentSize> {
        let text = text.trim();
        let (for_host, number) = match text.strip_suffix(['H', 'h']) {
            Some(number) => (true, number),
            None => (false, text.strip_suffix(['P', 'p']).unwrap_or(text)),
        };
        let number = if number.len() < text.len() { number.trim_end().trim_end_matches('/').trim() } else { text };
        let amount = match number.parse::<f64>() {
            Ok(fraction) if number.contains('.') && fraction > 0.0 && fraction <= 1.0 => Amount::Fraction(fraction),
            _ => Amount::Bytes(memory_size(number, 1)?),
        };
        Some(SegmentSize { amount, for_host })
    }
}

/// A set of nodes from a list such as `0,2-4`; empty or `*`: all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeSet {
    ranges: Option<Vec<(u32, u32)>>,
}

impl NodeSet {
    pub(super) fn parse(text: &str) -> Option<NodeSet> {
        let text = text.trim();
        if text.is_empty() || text == "*" {
            return Some(NodeSet::default());
        }
        let range = |part: &str| {
            let (low, high) = part.split_once('-').unwrap_or((part, part));
            let (low, high) = (low.trim().parse().ok()?, high.trim().parse().ok()?);
            (low <= high).then_some((low, high))
        };
        Some(NodeSet { ranges: Some(text.split(',').map(range).collect::<Option<_>>()?) })
    }

    /// Whether `node` is in the set.
    pub fn contains(&self, node: u32) -> bool {
        self.ranges.as_ref().is_none_or(|list| list.iter().any(|(low, high)| (*low..=*high).contains(&node)))
    }
}

/// A set of signals that a variable names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SignalSet {
    /// Every signal (`*`).
    pub all: bool,
    /// These signals.
    pub list: Vec<i32>,
    /// Words that name no signal. Node 0 reports them.
    pub unknown: Vec<String>,
}

impl SignalSet {
    /// Whether the set contains `signal`.
    pub fn contains(&self, signal: i32) -> bool {
        self.all || self.list.contains(&signal)
    }
}

/// The number of a signal: `SIGSEGV`, `SEGV`, `segv` or `11` → 11.
pub fn signal_number(text: &str) -> Option<i32> {
    let name = text.trim().to_ascii_uppercase();
    let name = name.strip_prefix("SIG").unwrap_or(&name);
    signame::number(name).or_else(|| name.parse().ok().filter(|n| (1..=64).contains(n)))
}

/// A list with commas or blanks between the signals; `*`: all. Unknown names are skipped, because such signals cannot
/// be caught anyway.
pub(super) fn signals(text: &str) -> Option<SignalSet> {
    let words = text.split([',', ' ', '\t']).filter(|w| !w.is_empty());
    let mut set = SignalSet::default();
    for word in words {
        match signal_number(word) {
            Some(number) => set.list.push(number),
            None if word == "*" => set.all = true,
            None => set.unknown.push(word.into()),
        }
    }
    Some(set)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_sizes_are_exact_and_accept_the_documented_forms() {
        for (text, bytes) in [
            ("4096", 4096),
            ("0x1000", 4096),
            ("1.5G", 3 << 29),
            ("64 KB", 64 << 10),
            (" 2m ", 2 << 20),
            ("7B", 7),
            ("9007199254740993", 9007199254740993),
        ] {
            assert_eq!(memory_size(text, 1), Some(bytes), "{text}");
        }
        assert_eq!(memory_size("3", 1 << 20), Some(3 << 20));
        for text in ["", "G", "12Q", "-5", "99999999T", "1e3"] {
            assert_eq!(memory_size(text, 1), None, "{text}");
        }
    }

    #[test]
    fn bounds_of_segments_are_sizes_or_fractions_for_a_node_or_a_host() {
        let bytes = |n| Amount::Bytes(n);
        for (text, amount, for_host) in [
            ("128MB/P", bytes(128 << 20), false),
            ("1.5 G / H", bytes(3 << 29), true),
            ("64k", bytes(64 << 10), false),
            ("0MB/P", bytes(0), false),
            ("0.85", Amount::Fraction(0.85), false),
            (" 0.45/h", Amount::Fraction(0.45), true),
            ("1.0/p", Amount::Fraction(1.0), false),
            ("0.85H", Amount::Fraction(0.85), true),
            ("128MB p", bytes(128 << 20), false),
            ("1", bytes(1), false),
        ] {
            assert_eq!(SegmentSize::parse(text), Some(SegmentSize { amount, for_host }), "{text}");
        }
        for text in ["", "/P", "1G/", "1G/N", "1G/P/H", "-0.5", "12Q/P", "85%"] {
            assert_eq!(SegmentSize::parse(text), None, "{text}");
        }
    }

    #[test]
    fn node_lists_name_single_nodes_and_ranges() {
        let set = NodeSet::parse("0,2-4").unwrap();
        assert_eq!((0..6).filter(|n| set.contains(*n)).collect::<Vec<_>>(), [0, 2, 3, 4]);
        assert!(NodeSet::parse("*").unwrap().contains(99) && NodeSet::parse("x").is_none());
        assert!(NodeSet::parse("2-2").is_some() && NodeSet::parse("2-1").is_none(), "a range that holds nothing");
    }

    #[test]
    fn signals_have_five_spellings() {
        for text in ["SIGSEGV", "SEGV", "sigsegv", "segv", "11"] {
            assert_eq!(signal_number(text), Some(11), "{text}");
        }
        assert!(signals("*").unwrap().contains(2) && !signals("INT,11").unwrap().contains(15));
    }
}

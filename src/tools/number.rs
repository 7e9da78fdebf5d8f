//! Numbers as people write them in environment variables, in both directions (contract: tools.md §9.1).

use std::fmt;

/// Why a text is not a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberError {
    /// There is no digit where one is needed.
    NotANumber,
    /// The text behind the number is not a unit.
    Junk,
    /// A fraction after a hexadecimal number, such as `0x1.8`: its base would be unclear.
    HexFraction,
    /// A fraction in a number that is not a size.
    Fraction,
    /// The number does not fit into 64 bits.
    TooLarge,
    /// `1/0`.
    DividedByZero,
}

impl fmt::Display for NumberError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NumberError::NotANumber => "it is not a number",
            NumberError::Junk => "there is something behind the number",
            NumberError::HexFraction => "a hexadecimal number has no fraction",
            NumberError::Fraction => "a number that is not a size has no fraction",
            NumberError::TooLarge => "it does not fit into 64 bits",
            NumberError::DividedByZero => "it is divided by zero",
        })
    }
}

/// The largest units first. All are powers of 1024.
const UNITS: [(u8, u64); 5] = [(b'T', 1 << 40), (b'G', 1 << 30), (b'M', 1 << 20), (b'K', 1 << 10), (b'B', 1)];

fn unit(letter: u8) -> Option<u64> {
    UNITS.iter().find(|(name, _)| *name == letter.to_ascii_uppercase()).map(|(_, value)| *value)
}

/// The value of `text`. If `unit` is 0 the text is a plain integer; otherwise `unit` is the number of bytes in which
/// a number without a suffix counts. Text without digits gives 0. Text behind the number that is not a unit is
/// ignored. The result is exact or `TooLarge`; it never wraps, except that a hexadecimal number may stand for a
/// negative one.
pub fn parse_forgiving(text: &str, unit: u64) -> Result<i64, NumberError> {
    match scan(text, unit) {
        Ok((value, _)) => Ok(value),
        Err(NumberError::NotANumber) => Ok(0),
        Err(error) => Err(error),
    }
}

/// Like [`parse_forgiving`], for the value of a variable. The text must be a number, followed by at most a unit.
pub fn parse_strict(text: &str, unit: u64) -> Result<i64, NumberError> {
    let (value, rest) = scan(text, unit)?;
    match rest {
        Rest::Junk => Err(NumberError::Junk),
        Rest::Fraction if unit == 0 => Err(NumberError::Fraction),
        _ => Ok(value),
    }
}

/// The kind of text behind the digits.
#[derive(PartialEq)]
enum Rest {
    Nothing,
    Fraction,
    Junk,
}

fn scan(text: &str, unit_bytes: u64) -> Result<(i64, Rest), NumberError> {
    let text: Vec<u8> = text.bytes().filter(|c| !c.is_ascii_whitespace()).collect();
    let (negative, text) = match text.split_first() {
        Some((b'-', rest)) => (true, rest),
        Some((b'+', rest)) => (false, rest),
        _ => (false, &text[..]),
    };
    let hex = matches!(text, [b'0', b'x' | b'X', digit, ..] if digit.is_ascii_hexdigit());
    let (base, digits) = if hex { (16, &text[2..]) } else { (10, text) };
    let end = digits.iter().position(|c| !(*c as char).is_digit(base)).unwrap_or(digits.len());
    let (digits, rest) = digits.split_at(end);
    let (fraction, suffix) = match rest.split_first() {
        Some((b'.', _)) if hex => return Err(NumberError::HexFraction),
        Some((b'.', rest)) => rest.split_at(rest.iter().position(|c| !c.is_ascii_digit()).unwrap_or(rest.len())),
        _ => (&[][..], rest),
    };
    if digits.is_empty() && fraction.is_empty() {
        return Err(NumberError::NotANumber);
    }
    let named = suffix.first().and_then(|letter| unit(*letter));
    let factor = match (unit_bytes, named) {
        (0, _) => 1,
        (default, None) => default,
        (_, Some(named)) => named,
    };
    let too_large = || NumberError::TooLarge;
    let whole = digits.iter().try_fold(0u64, |value, digit| {
        value.checked_mul(base.into())?.checked_add((*digit as char).to_digit(base)?.into())
    });
    let whole = whole.and_then(|value| value.checked_mul(factor)).ok_or_else(too_large)?;
    let magnitude = whole.checked_add(part_of(fraction, factor)).ok_or_else(too_large)?;
    let value = match i64::try_from(magnitude) {
        Ok(value) if negative => -value,
        Ok(value) => value,
        Err(_) if negative && magnitude == 1 << 63 => i64::MIN,
        Err(_) if hex && !negative => magnitude as i64, // the two's complement of a negative number
        Err(_) => return Err(NumberError::TooLarge),
    };
    let letters = suffix.iter().all(u8::is_ascii_alphabetic);
    let rest = match () {
        _ if !(suffix.is_empty() || named.is_some() && letters) => Rest::Junk,
        _ if rest.first() == Some(&b'.') => Rest::Fraction,
        _ => Rest::Nothing,
    };
    Ok((value, rest))
}

/// `0.digits` of `factor`, rounded down; exact for the first 18 digits.
fn part_of(digits: &[u8], factor: u64) -> u64 {
    let digits = &digits[..digits.len().min(18)];
    let above = digits.iter().fold(0u128, |value, digit| value * 10 + u128::from(digit - b'0'));
    (above * u128::from(factor) / 10u128.pow(digits.len() as u32)) as u64
}

/// The text of `value`. `size`: in the largest unit that gives at least ten, or any whole number.
pub fn format(value: i64, size: bool) -> String {
    let magnitude = value.unsigned_abs();
    let sign = if value < 0 { "-" } else { "" };
    if magnitude >= 1 << 50 {
        return format!("{value:#x}"); // for a negative number its two's complement
    }
    if !size || value == 0 {
        return value.to_string();
    }
    let fits = |unit: u64| magnitude >= 10 * unit || (magnitude >= unit && magnitude.is_multiple_of(unit));
    let (letter, unit) = UNITS.into_iter().find(|(_, unit)| fits(*unit)).unwrap_or((b'B', 1));
    let second = if unit == 1 { "" } else { "B" };
    format!("{sign}{} {}{second}", magnitude / unit, letter as char)
}

/// A floating-point number in C's notation, or a fraction such as `3 / 8`. Blanks are allowed around the parts.
pub fn parse_float(text: &str) -> Result<f64, NumberError> {
    match text.split_once('/') {
        None => float(text),
        Some((above, below)) => match (float(above)?, float(below)?) {
            (_, 0.0) => Err(NumberError::DividedByZero),
            (above, below) => Ok(above / below),
        },
    }
}

fn float(text: &str) -> Result<f64, NumberError> {
    let text = text.trim();
    if text.is_empty() {
        return Err(NumberError::NotANumber);
    }
    let unsigned = text.trim_start_matches(['+', '-']);
    if unsigned.starts_with("0x") || unsigned.starts_with("0X") {
        let sign = if text.starts_with('-') { -1.0 } else { 1.0 };
        return Ok(sign * hex_float(&unsigned[2..])?);
    }
    let starts = |c: char| c.is_ascii_digit() || ".iInN".contains(c);
    let error = if unsigned.starts_with(starts) { NumberError::Junk } else { NumberError::NotANumber };
    text.parse().map_err(|_| error)
}

/// The part behind `0x` in C99's notation, such as `1.8p3`.
fn hex_float(text: &str) -> Result<f64, NumberError> {
    let (digits, power) = match text.split_once(['p', 'P']) {
        Some((digits, power)) => (digits, power.parse::<i32>().map_err(|_| NumberError::Junk)?),
        None => (text, 0),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() && fraction.is_empty() {
        return Err(NumberError::NotANumber);
    }
    let value = whole.chars().chain(fraction.chars()).try_fold(0.0, |value, c| {
        Ok::<f64, NumberError>(value * 16.0 + f64::from(c.to_digit(16).ok_or(NumberError::Junk)?))
    })?;
    Ok(value * 2f64.powi(power.saturating_sub(4 * fraction.len() as i32)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_have_the_documented_forms() {
        for (text, unit, value) in [
            ("", 0, 0),
            (" 12", 0, 12),
            ("-5", 0, -5),
            ("+7", 0, 7),
            ("- 5", 0, -5),
            ("0x1F", 0, 31),
            ("0XfF", 0, 255),
            ("1.5G", 1, 3 << 29),
            ("1.5 G", 1, 3 << 29),
            ("64k", 1, 64 << 10),
            ("64 KB", 1, 64 << 10),
            ("2 gigs", 1, 2 << 30),
            ("10b", 1 << 20, 10),
            ("3", 1 << 20, 3 << 20),
            ("64K", 0, 64),
            ("-1.5K", 1, -1536),
            ("1.9", 1, 1),
            (".5K", 1, 512),
            ("9007199254740993", 0, 9007199254740993),
            ("9223372036854775807", 0, i64::MAX),
            ("-9223372036854775808", 0, i64::MIN),
            ("0xffffffffffffffff", 0, -1),
            ("0x10B", 1, 0x10b),
            ("0x10K", 1, 16 << 10),
            ("many", 0, 0),
            ("7 dwarfs", 0, 7),
        ] {
            assert_eq!(parse_forgiving(text, unit), Ok(value), "{text} in {unit}");
        }
        assert_eq!(parse_forgiving("0x1.8", 1), Err(NumberError::HexFraction));
        for text in ["9223372036854775808", "99999999T", "0x10000000000000000"] {
            assert_eq!(parse_forgiving(text, 1), Err(NumberError::TooLarge), "{text}");
        }
    }

    #[test]
    fn a_variable_must_be_a_number_and_nothing_else() {
        for (text, unit, error) in [
            ("many", 0, NumberError::NotANumber),
            ("", 0, NumberError::NotANumber),
            ("-", 0, NumberError::NotANumber),
            ("K", 1, NumberError::NotANumber),
            ("7x", 0, NumberError::Junk),
            ("12Q", 1, NumberError::Junk),
            ("1K2", 1, NumberError::Junk),
            ("1.2.3", 1, NumberError::Junk),
            ("1.5", 0, NumberError::Fraction),
            ("0x1.8", 0, NumberError::HexFraction),
        ] {
            assert_eq!(parse_strict(text, unit), Err(error), "{text} in {unit}");
        }
        assert_eq!(parse_strict(" 1.5 Gigs ", 1), Ok(3 << 29));
    }

    #[test]
    fn sizes_are_formatted_in_the_largest_fitting_unit() {
        for (value, text) in [
            (0, "0"),
            (1, "1 B"),
            (1023, "1023 B"),
            (1024, "1 KB"),
            (1500, "1500 B"),
            (65536, "64 KB"),
            (12 * 1024 + 1, "12 KB"),
            ((12 << 20) + 1, "12 MB"),
            (11 << 20, "11 MB"),
            (-65536, "-64 KB"),
            (3 << 40, "3 TB"),
            (1 << 50, "0x4000000000000"),
        ] {
            assert_eq!(format(value, true), text);
        }
        assert_eq!(format(-(1 << 49), false), "-562949953421312");
        assert_eq!(format(-(1 << 50), false), "0xfffc000000000000");
    }

    #[test]
    fn powers_of_two_survive_the_round_trip() {
        for value in (0..62).map(|k| 1i64 << k).chain([0]) {
            assert_eq!(parse_forgiving(&format(value, false), 0), Ok(value));
            assert_eq!(parse_forgiving(&format(value, true), 1), Ok(value));
        }
    }

    #[test]
    fn floats_may_be_fractions() {
        for (text, value) in [("2.5", 2.5), ("3/8", 0.375), (" 3 / 8 ", 0.375), ("-1e3", -1000.0), ("0x1.8p3", 12.0)] {
            assert_eq!(parse_float(text), Ok(value), "{text}");
        }
        for (text, error) in [
            ("1x", NumberError::Junk),
            ("1/0", NumberError::DividedByZero),
            ("", NumberError::NotANumber),
            ("x", NumberError::NotANumber),
            ("1/", NumberError::NotANumber),
            ("1/2/3", NumberError::Junk),
            ("0x1p", NumberError::Junk),
        ] {
            assert_eq!(parse_float(text), Err(error), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_plain_integer_survives_the_round_trip(value: i64) {
            prop_assert_eq!(parse_forgiving(&format(value, false), 0), Ok(value));
        }

        #[test]
        fn a_formatted_size_is_never_more_and_at_least_nine_tenths(value in 1i64..1 << 50) {
            let back = parse_forgiving(&format(value, true), 1).unwrap();
            prop_assert!(back <= value && back >= value / 10 * 9, "{} {}", value, back);
        }

        #[test]
        fn no_text_panics(text: String, unit in 0u64..1 << 41) {
            let _ = (parse_forgiving(&text, unit), parse_strict(&text, unit), parse_float(&text));
        }
    }
}

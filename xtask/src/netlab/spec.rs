//! Links in words: `delay=1ms,jitter=2ms,loss=1%,dup=1%,reorder=1%,corrupt=0.1%,rate=100mbit,cut=1s/20s,cut=1s@5s`.
//! `hA>hB:` in front means this direction only, `hA-hB:` both directions between these two.

use super::fault::{Cut, Faults};
use anyhow::{Context, Result, bail, ensure};
use std::str::FromStr;
use std::time::Duration;

/// The greatest number of hosts.
pub const MOST: usize = 64;

/// The faults of some links.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// Numbers of two hosts, and whether both directions are meant. `None`: all links.
    pub between: Option<(usize, usize, bool)>,
    pub faults: Faults,
}

impl Spec {
    /// Whether it says something about frames that go from one host to another.
    pub fn covers(&self, from: usize, to: usize) -> bool {
        self.between.is_none_or(|(a, b, both)| (a, b) == (from, to) || both && (b, a) == (from, to))
    }
}

/// The faults from one host to another. The last spec that covers the direction counts.
pub fn faults_between(specs: &[Spec], from: usize, to: usize) -> Faults {
    specs.iter().rev().find(|spec| spec.covers(from, to)).map(|spec| spec.faults.clone()).unwrap_or_default()
}

/// The name of a host: hA, hB, … hZ, h26, h27, …
pub fn host_name(number: usize) -> String {
    match u8::try_from(number) {
        Ok(small) if small < 26 => format!("h{}", char::from(b'A' + small)),
        _ => format!("h{number}"),
    }
}

fn host_number(name: &str) -> Result<usize> {
    (0..MOST).find(|number| host_name(*number) == name).with_context(|| format!("{name} is no host"))
}

impl FromStr for Spec {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Spec> {
        let (between, words) = match text.split_once(':') {
            None => (None, text),
            Some((pair, words)) => {
                let (a, b, both) = pair
                    .split_once('>')
                    .map(|(a, b)| (a, b, false))
                    .or_else(|| pair.split_once('-').map(|(a, b)| (a, b, true)))
                    .with_context(|| format!("{pair} is neither hA>hB nor hA-hB"))?;
                (Some((host_number(a.trim())?, host_number(b.trim())?, both)), words)
            }
        };
        let mut faults = Faults::default();
        for word in words.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            let (name, value) = word.split_once('=').with_context(|| format!("{word}: NAME=VALUE is wanted"))?;
            match name {
                "delay" => faults.delay = duration(value)?,
                "jitter" => faults.jitter = duration(value)?,
                "loss" => faults.loss = part(value)?,
                "dup" => faults.duplicate = part(value)?,
                "reorder" => faults.reorder = part(value)?,
                "corrupt" => faults.corrupt = part(value)?,
                "rate" => faults.rate = Some(rate(value)?),
                "cut" => faults.cuts.push(cut(value)?),
                _ => bail!("{name}: there are delay, jitter, loss, dup, reorder, corrupt, rate, cut"),
            }
        }
        Ok(Spec { between, faults })
    }
}

fn cut(text: &str) -> Result<Cut> {
    if let Some((length, every)) = text.split_once('/') {
        let every = duration(every)?;
        ensure!(!every.is_zero(), "{text}: cuts need a time between them");
        return Ok(Cut::Random { length: duration(length)?, every });
    }
    let (length, at) = text.split_once('@').with_context(|| format!("{text} is neither 1s/20s nor 1s@5s"))?;
    Ok(Cut::Once { length: duration(length)?, at: duration(at)? })
}

/// A number and its unit.
fn split_number(text: &str) -> Result<(f64, &str)> {
    let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
    let number = text[..end].parse::<f64>().with_context(|| format!("{text} does not begin with a number"))?;
    Ok((number, &text[end..]))
}

pub fn duration(text: &str) -> Result<Duration> {
    let (number, unit) = split_number(text)?;
    let seconds = match unit {
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        _ => bail!("{text}: a time in us, ms or s is wanted"),
    };
    Duration::try_from_secs_f64(number * seconds).with_context(|| format!("{text} is too long"))
}

fn part(text: &str) -> Result<f64> {
    let (number, unit) = split_number(text)?;
    let part = match unit {
        "%" => number / 100.0,
        "" => number,
        _ => bail!("{text}: a part such as 1% or 0.01 is wanted"),
    };
    ensure!((0.0..=1.0).contains(&part), "{text} is more than all");
    Ok(part)
}

fn rate(text: &str) -> Result<u64> {
    let (number, unit) = split_number(text)?;
    let factor = match unit {
        "kbit" => 1e3,
        "mbit" => 1e6,
        "gbit" => 1e9,
        _ => bail!("{text}: a rate in kbit, mbit or gbit (a second) is wanted"),
    };
    let bits = (number * factor) as u64;
    ensure!(bits > 0, "{text}: a rate of nothing is a cut");
    Ok(bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_words_are_understood() {
        let text =
            "delay=1ms,jitter=250us,loss=1%,dup=0.5%,reorder=0.25,corrupt=0.1%,rate=1.5mbit,cut=1s/20s,cut=2s@5s";
        let faults = Faults {
            delay: Duration::from_millis(1),
            jitter: Duration::from_micros(250),
            loss: 0.01,
            duplicate: 0.005,
            reorder: 0.25,
            corrupt: 0.001,
            rate: Some(1_500_000),
            cuts: vec![
                Cut::Random { length: Duration::from_secs(1), every: Duration::from_secs(20) },
                Cut::Once { length: Duration::from_secs(2), at: Duration::from_secs(5) },
            ],
        };
        assert_eq!(text.parse::<Spec>().unwrap(), Spec { between: None, faults });
        assert_eq!("".parse::<Spec>().unwrap().faults, Faults::default());
    }

    #[test]
    fn links_are_chosen_by_name() {
        let specs: Vec<Spec> =
            ["loss=1%", "hA>hC: loss=2%", "hB-hC: loss=3%"].iter().map(|text| text.parse().unwrap()).collect();
        let loss = |from, to| (faults_between(&specs, from, to).loss * 100.0).round();
        assert_eq!([loss(0, 1), loss(0, 2), loss(2, 0), loss(1, 2), loss(2, 1)], [1.0, 2.0, 1.0, 3.0, 3.0]);
        assert_eq!([host_name(0), host_name(25), host_name(26)], ["hA", "hZ", "h26"]);
    }

    #[test]
    fn mistakes_are_named() {
        for (text, says) in [
            ("delay", "NAME=VALUE"),
            ("delay=1", "us, ms or s"),
            ("loss=200%", "more than all"),
            ("speed=1", "there are delay"),
            ("rate=0mbit", "cut"),
            ("cut=1s", "1s/20s"),
            ("cut=1s/0s", "between"),
            ("hA+hB: loss=1%", "neither"),
            ("hA>x: loss=1%", "no host"),
        ] {
            let error = format!("{:#}", text.parse::<Spec>().unwrap_err());
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}

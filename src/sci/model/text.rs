//! GASNET_SCI_TIMING: `PROFILE` or a file, and changes behind it, `,name=value`.
//!
//! Must not know: how a file is read, what the parameters mean.

use super::file::is_file;
use super::{PROFILES, Parameters};

/// What a job is to be timed as.
#[derive(Clone, Debug, PartialEq)]
pub struct Timing {
    /// As the user wrote it.
    pub name: String,
    /// The hardware.
    pub hardware: Parameters,
}

/// The fields of a JSON object: names and values. `profile` names what the others change.
pub type Fields = Vec<(String, String)>;

impl Timing {
    /// Reads the variable's value. `Ok(None)`: off. `load` reads a JSON file, whose name has a slash or ends in .json. The error
    /// says what is wrong and what could stand there.
    pub fn parse(text: &str, load: impl Fn(&str) -> Result<Fields, String>) -> Result<Option<Timing>, String> {
        let text = text.trim();
        let mut words = text.split(',').map(str::trim);
        let first = words.next().unwrap_or("");
        let changes = words.map(|word| word.split_once('=').ok_or_else(|| format!("'{word}' is not name=value")));
        let changes = changes.collect::<Result<Vec<_>, _>>()?;
        if first.is_empty() || first.eq_ignore_ascii_case("off") {
            return match changes.first() {
                None => Ok(None),
                Some((name, _)) => Err(format!("'{name}' changes nothing: timing is off")),
            };
        }
        let mut hardware =
            if is_file(first) { Timing::of_fields(first, load(first)?)?.hardware } else { profile(first)? };
        for (name, value) in changes {
            hardware.change(name.trim(), value.trim())?;
        }
        Ok(Some(Timing { name: text.to_owned(), hardware }))
    }

    /// Takes the fields of `name`, a file or an object of one.
    pub fn of_fields(name: &str, fields: Fields) -> Result<Timing, String> {
        let base = fields.iter().find(|(field, _)| field == "profile");
        let Some((_, base)) = base else {
            return Err(format!("{name} has no \"profile\", whose parameters the others change"));
        };
        let mut hardware = profile(base).map_err(|error| format!("{name}: {error}"))?;
        for (field, value) in fields.iter().filter(|(field, _)| field != "profile") {
            hardware.change(field, value).map_err(|error| format!("{name}: {error}"))?;
        }
        Ok(Timing { name: name.to_owned(), hardware })
    }
}

fn profile(name: &str) -> Result<Parameters, String> {
    Parameters::of(name).ok_or_else(|| {
        let known = PROFILES.map(|(name, _)| name).join(", ");
        format!("'{name}' is not off, {known}, or a JSON file (its name has a / or ends in .json)")
    })
}

/// The parameters that `scipos` computes from sizes.
const COMPUTED: [&str; 9] = ["latency", "latency16", "gap", "gap16", "outstanding", "return", "read", "setup", "rate"];

impl Parameters {
    /// Gives the parameter `name` another value.
    fn change(&mut self, name: &str, value: &str) -> Result<(), String> {
        if self.staged && (COMPUTED.contains(&name) || name == "link") {
            return Err(format!(
                "scipos has no '{name}': it adds up stages; map, hop, turn, interrupt, message can be changed"
            ));
        }
        let place = match name {
            "outstanding" => {
                let count = value.parse().ok().filter(|n| (1..=1024).contains(n));
                self.outstanding = count.ok_or_else(|| format!("{name}={value}: expected a number from 1 to 1024"))?;
                return Ok(());
            }
            "rate" | "link" => {
                let rate = megabytes(value)
                    .ok_or_else(|| format!("{name}={value}: expected a rate such as 229 or 229MB/s, above 0"))?;
                *(if name == "rate" { &mut self.rate } else { &mut self.link }) = rate;
                return Ok(());
            }
            "latency" => &mut self.latency,
            "latency16" => &mut self.latency16,
            "gap" => &mut self.gap,
            "gap16" => &mut self.gap16,
            "return" => &mut self.back,
            "read" => &mut self.read,
            "setup" => &mut self.setup,
            "map" => &mut self.map,
            "hop" => &mut self.hop,
            "turn" => &mut self.turn,
            "interrupt" => &mut self.interrupt,
            "message" => &mut self.message,
            _ => {
                let known =
                    [&COMPUTED[..], &["map", "hop", "turn", "link", "interrupt", "message"]].concat().join(", ");
                return Err(format!("there is no parameter '{name}': they are {known}"));
            }
        };
        *place = duration(value)
            .ok_or_else(|| format!("{name}={value}: expected a time such as 2700, 2.7us or 1ms, up to 1 s"))?;
        Ok(())
    }
}

/// Nanoseconds: `2700`, `2700ns`, `2.7us`, `2.7µs`, `1ms`; at most a second.
pub fn duration(text: &str) -> Option<f64> {
    let units = [("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6)];
    let (number, unit) =
        units.iter().find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, *factor))).unwrap_or((text, 1.0));
    let time = plain(number)? * unit;
    (time <= 1e9).then_some(time)
}

fn megabytes(text: &str) -> Option<f64> {
    let (number, unit) = match (text.strip_suffix("MB/s"), text.strip_suffix("GB/s")) {
        (Some(number), _) => (number, 1.0),
        (_, Some(number)) => (number, 1e3),
        _ => (text, 1.0),
    };
    plain(number).map(|rate| rate * unit).filter(|rate| *rate > 0.0)
}

/// A decimal number that is not negative.
fn plain(text: &str) -> Option<f64> {
    let is_decimal = text.trim().bytes().all(|b| b.is_ascii_digit() || b == b'.');
    text.trim().parse().ok().filter(|_: &f64| is_decimal)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Option<Timing>, String> {
        Timing::parse(text, |file| match file {
            "./mine.json" => Ok(vec![("gap".into(), "1us".into()), ("profile".into(), "d312".into())]),
            "./bare.json" => Ok(vec![("gap".into(), "1us".into())]),
            _ => Err(format!("{file}: no such file")),
        })
    }

    fn hardware(text: &str) -> Parameters {
        parse(text).unwrap().unwrap().hardware
    }

    #[test]
    fn profiles_can_be_named_and_changed() {
        assert_eq!(parse("off"), Ok(None));
        assert_eq!(parse(""), Ok(None));
        assert_eq!(hardware("d339"), Parameters::of("d339").unwrap());
        let changed = hardware(" d339, setup=12us ,rate=1.5GB/s,outstanding=4,return=2.5,link=500MB/s,map=1ms");
        let expected = Parameters {
            setup: 12_000.0,
            rate: 1500.0,
            outstanding: 4,
            back: 2.5,
            link: 500.0,
            map: 1e6,
            ..Parameters::of("d339").unwrap()
        };
        assert_eq!(changed, expected);
        assert_eq!(hardware("./mine.json,gap16=7").gap, 1000.0);
        assert_eq!(hardware("./mine.json,gap16=7").gap16, 7.0);
    }

    #[test]
    fn a_bad_value_names_itself() {
        for (text, part) in [
            ("d340", "'d340' is not off, count"),
            ("d339,setup", "'setup' is not name=value"),
            ("d339,speed=1", "no parameter 'speed'"),
            ("d339,setup=-1", "setup=-1"),
            ("d339,setup=2s", "setup=2s"),
            ("d339,setup=2000ms", "up to 1 s"),
            ("d339,rate=0", "rate=0"),
            ("d339,rate=inf", "rate=inf"),
            ("d339,outstanding=0", "outstanding=0"),
            ("scipos,latency=1", "scipos has no 'latency'"),
            ("off,setup=1", "timing is off"),
            ("./none.json", "no such file"),
            ("./bare.json", "no \"profile\""),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}

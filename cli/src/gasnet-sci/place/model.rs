//! Cost models: what an operation costs over a distance, and how it loads the links on its way.
//!
//! A model knows seven classes of operations (`Class`). For each it gives a line, ns per operation and ns per byte
//! (`Line`). `scipos` is OptiSCI's formulas; `d339`, `d312` and the like are parameters of a card (contract, A4). Times are
//! in ns, sizes in bytes, rates in bytes per ns (1 byte per ns = 1000 MB/s).
//!
//! Must not know: topologies, which kind of traffic is of which class.

use super::scipos;
use serde_json::Value;
use std::fs;

/// How an operation goes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// One packet of 64 bytes, whatever it carries.
    Packet,
    /// Bytes written by the CPU.
    Write,
    /// Bytes written by the DMA engine.
    Dma,
    /// A read of at most a line: one round trip.
    Word,
    /// A read of more.
    Read,
    /// Bytes written by the CPU, so few that one packet of 16 bytes takes them.
    Piece,
    /// Bytes written by the CPU, less than a line: packets of 16 bytes each.
    Pieces,
}

impl Class {
    /// All classes, in the order of their numbers.
    pub const ALL: [Class; 7] =
        [Class::Packet, Class::Write, Class::Dma, Class::Word, Class::Read, Class::Piece, Class::Pieces];

    /// Its name in files.
    pub fn name(self) -> &'static str {
        ["packet", "write", "dma", "word", "read", "piece", "pieces"][self as usize]
    }

    /// The class of writes of `bytes` bytes by the CPU.
    pub fn write(bytes: f64) -> Class {
        match bytes {
            few if few < PIECE + 1.0 => Class::Piece,
            some if some < PACKET => Class::Pieces,
            _ => Class::Write,
        }
    }

    /// Whether bytes flow to the node that does it.
    pub fn is_read(self) -> bool {
        matches!(self, Class::Word | Class::Read)
    }
}

/// What operations of one class cost.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Line {
    /// Ns per operation.
    pub alpha: f64,
    /// Ns per byte.
    pub beta: f64,
}

impl Line {
    /// The cost of `count` operations of `bytes` bytes together.
    pub fn of(&self, count: f64, bytes: f64) -> f64 {
        count * self.alpha + bytes * self.beta
    }
}

/// The way from one node to another one over SCI links, and what goes on round the rings to come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Distance {
    /// Links there.
    pub there: u32,
    /// Links back.
    pub back: u32,
    /// Changes of ring on the way there. The way back has as many.
    pub turns: u32,
}

/// Bytes that a link carries for operations of a class: per operation, and per byte.
pub type Share = [f64; 2];

/// How operations of a class load links: those on the way there, and those on the way back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    pub way: Share,
    pub back: Share,
}

/// A cost model of SCI links.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// What the user calls it.
    pub name: String,
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Scipos,
    Card(Card),
}

/// The parameters of a card, in ns and bytes per ns. Those of A4 that do not bear on placement are not kept.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Card {
    latency: f64,
    gap: f64,
    outstanding: f64,
    acknowledge: f64,
    read: f64,
    setup: f64,
    rate: f64,
    hop: f64,
    turn: f64,
    link: f64,
    message: f64,
}

const D339: Card = Card {
    latency: 2700.0,
    gap: 210.0,
    outstanding: 16.0,
    acknowledge: 2690.0,
    read: 27000.0,
    setup: 30000.0,
    rate: 0.229,
    hop: 33.0,
    turn: 12.0,
    link: 0.6625,
    message: 0.0,
};

const D312: Card =
    Card { latency: 4400.0, gap: 729.6, acknowledge: 4400.0, read: 25300.0, rate: 0.080, link: 0.5, ..D339 };

/// Bytes of a packet's payload.
pub const PACKET: f64 = 64.0;
/// Bytes of the payload of a packet that has no whole line.
pub const PIECE: f64 = 16.0;

impl Model {
    /// Reads `scipos`, a card's name, or the name of a JSON file, each with changes: `d339,setup=12us`.
    pub fn parse(text: &str) -> Result<Model, String> {
        let mut words = text.split(',');
        let word = words.next().unwrap_or("");
        let mut kind = match named(word) {
            Some(kind) => kind,
            None if word.contains(['.', '/']) => {
                let json = fs::read_to_string(word).map_err(|error| format!("{word}: {error}"))?;
                let value = serde_json::from_str(&json).map_err(|error| format!("{word}: {error}"))?;
                // A file has no name of another file in it: that one could name the first again.
                let own = match &value {
                    Value::String(name) if named(name.split(',').next().unwrap_or("")).is_none() => {
                        Err(format!("'{name}' is no built-in model"))
                    }
                    _ => Model::of_json(&value),
                };
                own.map_err(|error| format!("{word}: {error}"))?.kind
            }
            None => {
                return Err(format!(
                    "'{word}' is no model: scipos, d312, d312-deck, d339, d339-2004, or a JSON file (with . or / in its name)"
                ));
            }
        };
        for change in words {
            let (name, value) = change.split_once('=').ok_or_else(|| format!("'{change}' is not NAME=VALUE"))?;
            set(&mut kind, name, value)?;
        }
        Ok(Model { name: text.into(), kind })
    }

    /// Takes a model from JSON: its name, or an object of parameters, where `base` names the card that has the others.
    pub fn of_json(value: &Value) -> Result<Model, String> {
        match value {
            Value::String(name) => Model::parse(name),
            Value::Object(fields) => {
                let base = fields.get("base").map_or(Some("d339"), Value::as_str).ok_or("base is a model's name")?;
                let mut kind = named(base).ok_or_else(|| format!("base: '{base}' is no model"))?;
                for (name, value) in fields.iter().filter(|(name, _)| *name != "base") {
                    let text = value.as_str().map_or_else(|| value.to_string(), String::from);
                    set(&mut kind, name, &text)?;
                }
                Ok(Model { name: format!("{base} with changes"), kind })
            }
            _ => Err("a model is its name or an object of parameters".into()),
        }
    }

    /// The line of operations of `class` between two different nodes.
    pub fn line(&self, class: Class, way: &Distance) -> Line {
        let card = match &self.kind {
            Kind::Scipos => {
                let line = if class.is_read() { scipos::read(way) } else { scipos::write(way) };
                return match class {
                    Class::Packet => Line { alpha: line.of(1.0, PACKET), beta: 0.0 },
                    _ => line,
                };
            }
            Kind::Card(card) => card,
        };
        let far = f64::from(way.there.saturating_sub(1)) * card.hop + f64::from(way.turns) * card.turn;
        let first = card.latency + far;
        match class {
            // What the software of then took for a message; no other operation is one.
            Class::Packet => Line { alpha: first + card.message, beta: 0.0 },
            Class::Write | Class::Piece | Class::Pieces => Line { alpha: first, beta: card.next_packet() / PACKET },
            Class::Dma => Line { alpha: card.setup + far, beta: 1.0 / card.rate },
            Class::Word => Line { alpha: card.read, beta: 0.0 },
            Class::Read => Line { alpha: 0.0, beta: card.read / PACKET },
        }
    }

    /// The time of one access of `size` bytes to another node's memory. It counts whole packets, which a line does not.
    pub fn access(&self, reads: bool, size: f64, way: &Distance) -> f64 {
        let packets = (size / PACKET).ceil();
        match &self.kind {
            Kind::Scipos => self.line(if reads { Class::Read } else { Class::Write }, way).of(1.0, size),
            Kind::Card(card) if reads => packets * card.read,
            Kind::Card(card) => self.line(Class::Write, way).alpha + (packets - 1.0).max(0.0) * card.next_packet(),
        }
    }

    /// How operations of `class` load the links.
    pub fn load(&self, class: Class) -> Load {
        // What a link carries on the way and on the rest of the ring: for a packet of 64 bytes, or of 16, with its response and
        // echoes (A4), or just its payload.
        let (on, off) = match self.kind {
            Kind::Card(_) => (88.0, 24.0),
            Kind::Scipos => (PACKET, 0.0),
        };
        let is_piece = self.kind != Kind::Scipos && matches!(class, Class::Piece | Class::Pieces);
        let (on, size) = if is_piece { (40.0, PIECE) } else { (on, PACKET) };
        let each = |bytes: f64| [bytes, 0.0];
        let per_byte = |bytes: f64| [0.0, bytes / size];
        match class {
            Class::Packet => Load { way: each(on), back: each(off) },
            Class::Piece if is_piece => Load { way: each(on), back: each(off) },
            Class::Write | Class::Dma | Class::Piece | Class::Pieces => Load { way: per_byte(on), back: per_byte(off) },
            Class::Word if self.kind != Kind::Scipos => Load { way: each(off), back: each(on) },
            Class::Word | Class::Read => Load { way: per_byte(off), back: per_byte(on) },
        }
    }

    /// Bytes per ns that a link carries.
    pub fn rate(&self) -> f64 {
        match &self.kind {
            Kind::Scipos => 1.0,
            Kind::Card(card) => card.link,
        }
    }
}

impl Card {
    // Ns from one packet of a long write to the next: the CPU's, or what the outstanding ones allow.
    fn next_packet(&self) -> f64 {
        self.gap.max((self.latency + self.acknowledge) / self.outstanding)
    }
}

fn named(word: &str) -> Option<Kind> {
    Some(match word {
        "scipos" => Kind::Scipos,
        "d339" => Kind::Card(D339),
        "d339-2004" => Kind::Card(Card { message: 6000.0, ..D339 }),
        "d312" => Kind::Card(D312),
        "d312-deck" => Kind::Card(Card { message: 260.0, ..D312 }),
        _ => return None,
    })
}

/// Parameters of A4 that change nothing here; they are taken, so that one line serves for timing mode too.
const WITHOUT_EFFECT: [&str; 4] = ["latency16", "gap16", "map", "interrupt"];

fn set(kind: &mut Kind, name: &str, text: &str) -> Result<(), String> {
    let Kind::Card(card) = kind else {
        return Err(format!("{name}: the formulas of scipos have no parameters"));
    };
    let value = number(name, text)?;
    let field = match name {
        "latency" => &mut card.latency,
        "gap" => &mut card.gap,
        "outstanding" => &mut card.outstanding,
        "return" => &mut card.acknowledge,
        "read" => &mut card.read,
        "setup" => &mut card.setup,
        "rate" => &mut card.rate,
        "hop" => &mut card.hop,
        "turn" => &mut card.turn,
        "link" => &mut card.link,
        "message" => &mut card.message,
        _ if WITHOUT_EFFECT.contains(&name) => return Ok(()),
        _ => {
            return Err(format!(
                "'{name}' is no parameter: latency, gap, outstanding, return, read, setup, rate, hop, turn, link, message"
            ));
        }
    };
    *field = value;
    if matches!(name, "outstanding" | "rate" | "link") && value <= 0.0 {
        return Err(format!("{name}={text}: it must be above 0"));
    }
    Ok(())
}

// A time in ns, with ns, us or ms behind it if wanted; `rate` and `link` are in MB/s, `outstanding` is a number.
fn number(name: &str, text: &str) -> Result<f64, String> {
    let units: &[(&str, f64)] = match name {
        "rate" | "link" => &[("MB/s", 1e-3), ("", 1e-3)],
        "outstanding" => &[("", 1.0)],
        _ => &[("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("", 1.0)],
    };
    let read = |(unit, factor): &(&str, f64)| Some(text.strip_suffix(unit)?.trim().parse::<f64>().ok()? * factor);
    let value = units.iter().find_map(read).filter(|value| value.is_finite() && *value >= 0.0);
    value.ok_or_else(|| format!("{name}={text}: it is a number from 0 on, in ns, us or ms; rates are in MB/s"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEXT: Distance = Distance { there: 1, back: 3, turns: 0 };

    fn close(got: f64, expected: f64, part: f64) {
        assert!((got - expected).abs() <= part * expected, "{got} instead of {expected}");
    }

    #[test]
    fn writes_take_as_long_as_the_contracts_table_says() {
        for (model, size, us) in [
            ("d339", 64, 2.70),
            ("d339", 1 << 10, 7.75),
            ("d339", 2 << 10, 13.1),
            ("d339", 128 << 10, 692.0),
            ("d339", 1 << 20, 5522.0),
            ("d312", 64, 4.40),
            ("d312", 1 << 10, 15.3),
            ("d312", 2 << 10, 27.0),
            ("d312", 1 << 20, 11957.0),
        ] {
            let model = Model::parse(model).unwrap();
            close(model.access(false, f64::from(size), &NEXT) / 1e3, us, 0.005);
        }
        let d339 = Model::parse("d339").unwrap();
        close(d339.line(Class::Dma, &NEXT).of(1.0, 131072.0) / 1e3, 602.0, 0.005);
        close(1e3 / d339.line(Class::Write, &NEXT).beta, 190.0, 0.005);
        assert_eq!(d339.access(true, 4096.0, &NEXT), 64.0 * 27000.0);
    }

    #[test]
    fn a_link_carries_481_8_mb_of_payload_a_second() {
        let d339 = Model::parse("d339").unwrap();
        close(1e3 * d339.rate() / d339.load(Class::Write).way[1], 481.8, 0.0001);
        assert_eq!(d339.load(Class::Read).way[1] * 64.0, 24.0);
        assert_eq!(d339.load(Class::Read).back[1] * 64.0, 88.0);
        assert_eq!(Model::parse("scipos").unwrap().load(Class::Write), Load { way: [0.0, 1.0], back: [0.0, 0.0] });
    }

    #[test]
    fn small_writes_load_links_with_packets_of_16_bytes() {
        let load = |bytes: f64| {
            let Load { way, back } = Model::parse("d339").unwrap().load(Class::write(bytes));
            [way, back].map(|[each, per_byte]| each + bytes * per_byte)
        };
        assert_eq!([1.0, 8.0, 16.0].map(load), [[40.0, 24.0]; 3]);
        assert_eq!([32.0, 48.0, 64.0].map(load), [[80.0, 48.0], [120.0, 72.0], [88.0, 24.0]]);
        let scipos = Model::parse("scipos").unwrap();
        assert_eq!(scipos.load(Class::Piece), scipos.load(Class::Write));
    }

    #[test]
    fn the_time_of_a_message_belongs_to_packets_alone() {
        let [old, new] = ["d339-2004", "d339"].map(|name| Model::parse(name).unwrap());
        assert_eq!(old.line(Class::Packet, &NEXT).alpha, new.line(Class::Packet, &NEXT).alpha + 6000.0);
        for class in [Class::Write, Class::Dma, Class::Word, Class::Read, Class::Piece, Class::Pieces] {
            assert_eq!(old.line(class, &NEXT), new.line(class, &NEXT));
        }
        assert_eq!(old.access(false, 256.0, &NEXT), new.access(false, 256.0, &NEXT));
    }

    #[test]
    fn parameters_change_by_name_and_unit() {
        let model = Model::parse("d339,setup=12us,rate=100,outstanding=1,map=3ms").unwrap();
        assert_eq!(model.line(Class::Dma, &NEXT), Line { alpha: 12000.0, beta: 10.0 });
        assert_eq!(model.line(Class::Write, &NEXT).beta, 5390.0 / 64.0);
        let json = serde_json::json!({"base": "d312", "hop": "1us", "latency": 5});
        let far = Distance { there: 3, back: 1, turns: 1 };
        assert_eq!(Model::of_json(&json).unwrap().line(Class::Packet, &far).alpha, 2017.0);
        for (text, what) in [
            ("d340", "'d340' is no model"),
            ("d339,setup", "is not NAME=VALUE"),
            ("d339,size=1", "'size' is no parameter"),
            ("d339,setup=x", "setup=x"),
            ("d339,rate=0", "above 0"),
            ("d339,hop=-1", "from 0 on"),
            ("scipos,hop=1", "no parameters"),
            ("/nonexistent.json", "/nonexistent.json"),
        ] {
            let error = Model::parse(text).unwrap_err();
            assert!(error.contains(what), "{text}: {error}");
        }
    }
}

//! Cost models: what an operation costs over a distance, and how it loads the links on its way.
//!
//! The times are those of the library's timing mode (`gasnet_sci::sci::model`), so a mapping is judged by the same numbers that a run
//! under that mode waits for. An operation belongs to one of seven classes (`Class`). For each the model gives a line, ns per operation
//! and ns per byte (`Line`). Times are in ns, sizes in bytes, rates in bytes per ns (1 byte per ns = 1000 MB/s).
//!
//! Must not know: topologies, which kind of traffic is of which class.

use crate::format::{self, Format};
use gasnet_sci::sci::model::{LINK_BYTES, Packet, Parameters, Route, Timing, fields};
use serde_json::Value;

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
    pub there: Route,
    pub back: Route,
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
    hardware: Parameters,
}

/// Bytes of a packet's payload.
pub const PACKET: f64 = 64.0;
/// Bytes of the payload of a packet that has no whole line.
pub const PIECE: f64 = 16.0;

/// A transfer that is long enough to show what a byte costs.
const LONG: usize = 1 << 20;

impl Model {
    /// Reads a profile's name or that of a JSON file, each with changes: `d339,setup=12us`.
    pub fn parse(text: &str) -> Result<Model, String> {
        let load = |file: &str| {
            let about = |error: String| format!("{file}: {error}");
            let text = std::fs::read_to_string(file).map_err(|error| about(error.to_string()))?;
            format::check(&text, "--model", &[Format::Model]).map_err(about)?;
            let value = serde_json::from_str(&text).map_err(|error| about(error.to_string()))?;
            fields(&value).map_err(about)
        };
        Model::of(text, Timing::parse(text, load)?)
    }

    /// Takes a model from JSON: a profile's name with changes, or an object of parameters, where `profile` names the one that has the
    /// others (`d339` if it is missing).
    pub fn of_json(value: &Value) -> Result<Model, String> {
        match value {
            Value::String(text) => {
                // A file does not name another one: that one could name the first again.
                Model::of(text, Timing::parse(text, |file| Err(format!("'{file}' is no built-in model")))?)
            }
            Value::Object(_) => {
                let mut fields = fields(value)?;
                if !fields.iter().any(|(name, _)| name == "profile") {
                    fields.push(("profile".into(), "d339".into()));
                }
                Model::of("own parameters", Some(Timing::of_fields("model", fields)?))
            }
            _ => Err("a model is its name or an object of parameters".into()),
        }
    }

    fn of(name: &str, timing: Option<Timing>) -> Result<Model, String> {
        match timing {
            Some(Timing { hardware, .. }) if !hardware.is_instant() => Ok(Model { name: name.into(), hardware }),
            _ => Err(format!("'{name}' is no model: nothing takes any time there")),
        }
    }

    /// The line of operations of `class` between two different nodes.
    pub fn line(&self, class: Class, way: &Distance) -> Line {
        let hardware = &self.hardware;
        let straight = |time: &dyn Fn(usize) -> f64| {
            let alpha = time(0);
            Line { alpha, beta: (time(LONG) - alpha) / LONG as f64 }
        };
        match class {
            // The time that the software of then took for a message is part of no other class.
            Class::Packet => Line { alpha: hardware.message_of(way.there), beta: 0.0 },
            Class::Dma => straight(&|len| hardware.dma(len, way.there)),
            _ if hardware.staged && class.is_read() => straight(&|len| hardware.staged_read(len, way.there, way.back)),
            _ if hardware.staged => straight(&|len| hardware.staged_write(len, way.there)),
            Class::Word => Line { alpha: hardware.read, beta: 0.0 },
            Class::Read => Line { alpha: 0.0, beta: hardware.read / PACKET },
            Class::Write | Class::Piece | Class::Pieces => {
                Line { alpha: hardware.flight(Packet::Line, way.there), beta: hardware.pace(Packet::Line) / PACKET }
            }
        }
    }

    /// The time of one access of `size` bytes to another node's memory. It counts whole packets, which a line does not.
    pub fn access(&self, reads: bool, size: f64, way: &Distance) -> f64 {
        let (hardware, bytes) = (&self.hardware, size as usize);
        match reads {
            true => hardware.read_of(bytes, way.there, way.back),
            false if hardware.staged => hardware.staged_write(bytes, way.there),
            false => {
                let more = bytes.div_ceil(PACKET as usize).saturating_sub(1);
                hardware.flight(Packet::Line, way.there) + more as f64 * hardware.pace(Packet::Line)
            }
        }
    }

    /// How operations of `class` load the links: by payload alone where times are sums of stages, for there nobody waits for a link.
    pub fn load(&self, class: Class) -> Load {
        let is_piece = !self.hardware.staged && matches!(class, Class::Piece | Class::Pieces);
        let ([on, off], size) = match is_piece {
            _ if self.hardware.staged => ([PACKET, 0.0], PACKET),
            true => (LINK_BYTES.map(|(_, piece)| f64::from(piece)), PIECE),
            false => (LINK_BYTES.map(|(line, _)| f64::from(line)), PACKET),
        };
        let each = |bytes: f64| [bytes, 0.0];
        let per_byte = |bytes: f64| [0.0, bytes / size];
        match class {
            Class::Packet => Load { way: each(on), back: each(off) },
            Class::Piece if is_piece => Load { way: each(on), back: each(off) },
            Class::Write | Class::Dma | Class::Piece | Class::Pieces => Load { way: per_byte(on), back: per_byte(off) },
            Class::Word if !self.hardware.staged => Load { way: each(off), back: each(on) },
            Class::Word | Class::Read => Load { way: per_byte(off), back: per_byte(on) },
        }
    }

    /// Bytes per ns that a link carries.
    pub fn rate(&self) -> f64 {
        if self.hardware.staged { 1.0 } else { self.hardware.link / 1e3 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEXT: Distance = Distance { there: Route { hops: 1, turns: 0 }, back: Route { hops: 3, turns: 0 } };

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
        let json = serde_json::json!({"profile": "d312", "hop": "1us", "latency": 5});
        let far = Distance { there: Route { hops: 3, turns: 1 }, back: Route { hops: 1, turns: 1 } };
        assert_eq!(Model::of_json(&json).unwrap().line(Class::Packet, &far).alpha, 2017.0);
        let alone = serde_json::json!({"setup": "12us"});
        assert_eq!(Model::of_json(&alone).unwrap().line(Class::Dma, &NEXT).alpha, 12000.0);
        for (text, what) in [
            ("d340", "'d340' is not off"),
            ("d339,setup", "is not name=value"),
            ("d339,size=1", "no parameter 'size'"),
            ("d339,rate=0", "above 0"),
            ("scipos,latency=1", "scipos has no 'latency'"),
            ("count", "nothing takes any time"),
            ("off", "nothing takes any time"),
            ("/nonexistent.json", "/nonexistent.json"),
        ] {
            let error = Model::parse(text).unwrap_err();
            assert!(error.contains(what), "{text}: {error}");
        }
    }
}

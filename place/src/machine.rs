//! What a rank's position means for costs: levels between positions, lines per level, links and their rates.
//!
//! Positions `p` and `q` are on one of a few levels to each other ("1 link", "same L3"). A level has a line per class of operations.
//! Level 0 is the own position, which costs nothing.
//!
//! Must not know: traffic, how a topology is written.

use super::links::Shape;
use super::model::{Class, Line, Load, Model};
use crate::map::{Place, Spot};
use gasnet_sci::sci::model::Topology;
use std::collections::HashMap;

/// A topology with its costs.
#[derive(Clone, Debug)]
pub struct Machine {
    /// The topology as the user wrote it.
    pub topology: String,
    /// The name of the cost model.
    pub model: String,
    /// The model of SCI links; `None`: the lines of the levels are all that is known.
    sci: Option<Model>,
    /// What a map file calls each position.
    pub places: Vec<Place>,
    pub shape: Shape,
    pub levels: Vec<Level>,
    /// The level of each ordered pair of positions, row by row.
    pub level: Vec<u32>,
    /// Bytes per ns of each link.
    pub rates: Vec<f64>,
    /// By class.
    pub loads: [Load; Class::ALL.len()],
}

/// How near two positions are.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    pub name: String,
    /// By class.
    pub lines: [Line; Class::ALL.len()],
}

impl Level {
    /// A level on which all classes cost the same.
    pub fn plain(name: impl Into<String>, line: Line) -> Level {
        Level { name: name.into(), lines: [line; Class::ALL.len()] }
    }
}

impl Machine {
    /// Positions that are SCI nodes on links of the same kind.
    pub fn sci(name: &str, topology: Topology, positions: usize, model: &Model) -> Machine {
        let shape = Shape::Sci(topology);
        let mut seen = HashMap::new();
        let mut by_offset = vec![None; positions.max(2)];
        let (levels, level) = by_pair(positions, |p, q, levels| {
            // There are many pairs, and few offsets.
            *by_offset[shape.offset(p, q)].get_or_insert_with(|| {
                let way = shape.distance(p, q);
                *seen.entry(way).or_insert_with(|| {
                    let links = |count: u32| format!("{count} link{}", if count == 1 { "" } else { "s" });
                    let turn = if way.there.turns > 0 { ", a turn" } else { "" };
                    let name = format!("{}{turn}, back {}", links(way.there.hops), links(way.back.hops));
                    levels.push(Level { name, lines: Class::ALL.map(|class| model.line(class, &way)) });
                    levels.len() as u32 - 1
                })
            })
        });
        let rates = vec![model.rate(); shape.count()];
        let places = (0..positions).map(|at| Place::here(Spot::Position(at))).collect();
        let loads = Class::ALL.map(|class| model.load(class));
        let sci = Some(model.clone());
        Machine { topology: name.into(), model: model.name.clone(), sci, places, shape, levels, level, rates, loads }
    }

    /// Positions in any other shape; `line` gives the name and line of the level of a pair. Links carry what is written or read, and
    /// no more. `rates` has those of the shape's links.
    pub fn plain(
        topology: &str,
        shape: Shape,
        places: Vec<Place>,
        rates: Vec<f64>,
        line: impl Fn(usize, usize) -> (String, Line),
    ) -> Machine {
        let mut seen = HashMap::new();
        let (levels, level) = by_pair(places.len(), |p, q, levels| {
            let (name, line) = line(p, q);
            *seen.entry((name, line.alpha.to_bits(), line.beta.to_bits())).or_insert_with_key(|(name, ..)| {
                levels.push(Level::plain(name.clone(), line));
                levels.len() as u32 - 1
            })
        });
        let loads = Class::ALL.map(|class| {
            let bytes = if class == Class::Packet { [super::model::PACKET, 0.0] } else { [0.0, 1.0] };
            let nothing = [0.0; 2];
            if class.is_read() { Load { way: nothing, back: bytes } } else { Load { way: bytes, back: nothing } }
        });
        let model = "levels".into();
        Machine { topology: topology.into(), model, sci: None, places, shape, levels, level, rates, loads }
    }

    /// The number of positions.
    pub fn positions(&self) -> usize {
        self.places.len()
    }

    /// The level of `q` as seen from `p`.
    pub fn level(&self, p: usize, q: usize) -> usize {
        self.level[p * self.positions() + q] as usize
    }

    /// Ns of one access of `bytes` bytes, by level. Unlike lines it counts whole packets.
    pub fn access(&self, reads: bool, bytes: f64) -> Vec<f64> {
        let class = if reads { Class::Read } else { Class::Write };
        let mut times: Vec<f64> = self.levels.iter().map(|level| level.lines[class as usize].of(1.0, bytes)).collect();
        let Some(model) = &self.sci else { return times };
        let n = self.positions();
        for (number, time) in times.iter_mut().enumerate().skip(1) {
            // All pairs of a level are equally far apart.
            if let Some(pair) = self.level.iter().position(|level| *level as usize == number) {
                *time = model.access(reads, bytes, &self.shape.distance(pair / n, pair % n));
            }
        }
        times
    }

    /// The position that a place of a map names.
    ///
    /// # Errors
    /// There is none, or several.
    pub fn position(&self, place: &Place) -> Result<usize, String> {
        if let (None, Spot::Position(at)) = (&place.host, &place.spot) {
            let all = self.positions();
            return (*at < all).then_some(*at).ok_or(format!("there is no {place}: {} has {all}", self.topology));
        }
        let exact = self.places.iter().position(|other| other == place);
        exact.ok_or_else(|| {
            format!("{place} is no position of {}: they are {} to {}", self.topology, self.places[0], {
                &self.places[self.positions() - 1]
            })
        })
    }
}

// The levels of all pairs. `find` gives the number of a pair's level, and appends levels that are new.
fn by_pair(positions: usize, mut find: impl FnMut(usize, usize, &mut Vec<Level>) -> u32) -> (Vec<Level>, Vec<u32>) {
    let mut levels = vec![Level::plain("own", Line::default())];
    let mut level = Vec::with_capacity(positions * positions);
    for p in 0..positions {
        for q in 0..positions {
            level.push(if p == q { 0 } else { find(p, q, &mut levels) });
        }
    }
    (levels, level)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_of_one_distance_share_a_level() {
        let machine = Machine::sci("torus:4x2", Topology::Torus(4, 2), 8, &Model::parse("scipos").unwrap());
        // Own; 1 to 3 links along X, with Y or without; Y alone.
        assert_eq!(machine.levels.len(), 8);
        assert_eq!(machine.level(0, 1), machine.level(7, 4));
        assert_ne!(machine.level(0, 1), machine.level(1, 0));
        assert_eq!(machine.levels[machine.level(0, 1)].name, "1 link, back 3 links");
        assert_eq!(machine.levels[0].lines, [Line::default(); Class::ALL.len()]);
    }

    #[test]
    fn places_of_a_map_are_found_or_refused_by_name() {
        let machine = Machine::sci("ring:3", Topology::Ring(3), 3, &Model::parse("d339").unwrap());
        assert_eq!(machine.position(&"pos:2".parse().unwrap()), Ok(2));
        assert_eq!(machine.position(&"pos:3".parse().unwrap()).unwrap_err(), "there is no pos:3: ring:3 has 3");
        let error = machine.position(&"cpu:0".parse().unwrap()).unwrap_err();
        assert_eq!(error, "cpu:0 is no position of ring:3: they are pos:0 to pos:2");
    }
}

//! What a mapping costs: per node, for writes and reads apart, and what each link has to carry.
//!
//! A mapping is a list of positions, one per rank. The cost of a pair of ranks goes by the level of their positions:
//! operations times alpha and bytes times beta, summed over the classes of operations.
//!
//! Must not know: searching, files.

use super::machine::Machine;
use super::matrix::{self, Matrix};
use super::model::Class;

/// What one rank does to another one, by class: operations and bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    pub from: usize,
    pub to: usize,
    pub amounts: [[f64; 2]; Class::ALL.len()],
}

impl Flow {
    /// The cost on a level, for writes and reads apart.
    pub fn cost(&self, machine: &Machine, level: usize) -> [f64; 2] {
        let mut sums = [0.0; 2];
        for class in Class::ALL {
            let [count, bytes] = self.amounts[class as usize];
            sums[usize::from(class.is_read())] += machine.levels[level].lines[class as usize].of(count, bytes);
        }
        sums
    }

    /// Bytes that each link on the way carries for it, and each on the way back.
    pub fn load(&self, machine: &Machine) -> [f64; 2] {
        let sum = |share: fn(&super::model::Load) -> super::model::Share| {
            let of = |class: Class| {
                let ([count, bytes], [each, per_byte]) =
                    (self.amounts[class as usize], share(&machine.loads[class as usize]));
                count * each + bytes * per_byte
            };
            Class::ALL.map(of).iter().sum()
        };
        [sum(|load| load.way), sum(|load| load.back)]
    }
}

/// The flows of a matrix. What a rank does to itself costs nothing and is left out.
pub fn flows(matrix: &Matrix, dma_min: u64) -> Vec<Flow> {
    let flow = |row: &matrix::Row| {
        let mut flow = Flow { from: row.from, to: row.to, amounts: Default::default() };
        for (kind, amount) in row.kinds.iter().enumerate() {
            let sum = &mut flow.amounts[matrix::class(kind, *amount, dma_min) as usize];
            sum[0] += amount.0 as f64;
            sum[1] += amount.1 as f64;
        }
        flow
    };
    let counts = |flow: &Flow| flow.from != flow.to && flow.amounts.iter().flatten().any(|value| *value > 0.0);
    matrix.rows.iter().map(flow).filter(counts).collect()
}

/// The costs of one mapping.
#[derive(Clone, Debug, PartialEq)]
pub struct Bill {
    /// Ns of each rank's writes and reads.
    pub nodes: Vec<[f64; 2]>,
    /// Bytes on each link.
    pub loads: Vec<f64>,
}

/// The link that takes longest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Busiest {
    pub link: usize,
    pub bytes: f64,
    /// At the link's rate.
    pub ns: f64,
}

impl Bill {
    /// Adds up the flows of `ranks` ranks under the mapping `at`.
    pub fn of(flows: &[Flow], machine: &Machine, ranks: usize, at: &[usize]) -> Bill {
        let mut bill = Bill { nodes: vec![[0.0; 2]; ranks], loads: vec![0.0; machine.rates.len()] };
        for flow in flows {
            let (p, q) = (at[flow.from], at[flow.to]);
            let [writes, reads] = flow.cost(machine, machine.level(p, q));
            bill.nodes[flow.from][0] += writes;
            bill.nodes[flow.from][1] += reads;
            let [way, back] = flow.load(machine);
            machine.shape.way(p, q, |link| bill.loads[link] += way);
            machine.shape.back(p, q, |link| bill.loads[link] += back);
        }
        bill
    }

    /// Ns of all writes and of all reads.
    pub fn sums(&self) -> [f64; 2] {
        self.nodes.iter().fold([0.0; 2], |sum, node| [sum[0] + node[0], sum[1] + node[1]])
    }

    /// Ns of everything.
    pub fn cost(&self) -> f64 {
        let [writes, reads] = self.sums();
        writes + reads
    }

    /// The link that needs the longest time for its bytes; `None`: no link has any.
    pub fn busiest(&self, machine: &Machine) -> Option<Busiest> {
        let all = self.loads.iter().zip(&machine.rates).enumerate();
        let one = |(link, (bytes, rate)): (usize, (&f64, &f64))| Busiest { link, bytes: *bytes, ns: bytes / rate };
        // Of equal ones the first, so that the answer is always the same.
        all.map(one).filter(|one| one.bytes > 0.0).reduce(|best, one| if one.ns > best.ns { one } else { best })
    }
}

/// What is to be small: `cost` times the cost plus `link` times the time of the busiest link, both in ns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Objective {
    pub cost: f64,
    pub link: f64,
}

impl Objective {
    /// Reads `cost`, `link` or `cost+W*link`.
    pub fn parse(text: &str) -> Result<Objective, String> {
        let weight = |text: &str| text.parse::<f64>().ok().filter(|weight| weight.is_finite() && *weight >= 0.0);
        match text {
            "cost" => Some(Objective { cost: 1.0, link: 0.0 }),
            "link" => Some(Objective { cost: 0.0, link: 1.0 }),
            _ => text
                .strip_prefix("cost+")
                .and_then(|rest| weight(rest.strip_suffix("*link")?))
                .map(|link| Objective { cost: 1.0, link }),
        }
        .ok_or_else(|| format!("'{text}' is no objective: cost, link, or cost+W*link with a number W"))
    }

    /// Its value for a mapping with this bill.
    pub fn of(&self, bill: &Bill, machine: &Machine) -> f64 {
        self.cost * bill.cost() + self.link * bill.busiest(machine).map_or(0.0, |busiest| busiest.ns)
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::topology;

    /// Flows in which each ordered pair writes `bytes` once.
    pub fn writes(pairs: &[(usize, usize)], bytes: f64) -> Vec<Flow> {
        let flow = |(from, to): &(usize, usize)| {
            let mut flow = Flow { from: *from, to: *to, amounts: Default::default() };
            flow.amounts[Class::Write as usize] = [1.0, bytes];
            flow
        };
        pairs.iter().map(flow).collect()
    }

    /// The contract's example: ranks exchange bytes in pairs of neighbours.
    pub fn exchanges(bytes: f64) -> Vec<Flow> {
        writes(&[(0, 1), (1, 0), (2, 3), (3, 2), (4, 5), (5, 4), (6, 7), (7, 6)], bytes)
    }

    #[test]
    fn exchanges_on_a_torus_cost_what_the_contract_says() {
        let machine = topology::of("torus:4x2", Some("scipos"), 8).unwrap();
        let identity: Vec<usize> = (0..8).collect();
        for (bytes, before, after) in
            [(4.0, 3212.55, 2948.55), (64.0, 43480.73, 43216.73), (2048.0, 1375015.27, 1374751.27)]
        {
            let flows = exchanges(bytes);
            let bill = Bill::of(&flows, &machine, 8, &identity);
            assert!((bill.cost() - before).abs() < 0.01, "{}", bill.cost());
            assert_eq!(bill.busiest(&machine).unwrap().bytes, 2.0 * bytes);
            let bill = Bill::of(&flows, &machine, 8, &[0, 4, 1, 5, 2, 6, 3, 7]);
            assert!((bill.cost() - after).abs() < 0.01, "{}", bill.cost());
            assert_eq!(bill.busiest(&machine).unwrap().bytes, bytes);
        }
    }

    #[test]
    fn reads_are_billed_to_the_reader_and_load_the_way_of_the_data() {
        let machine = topology::of("ring:4", Some("scipos"), 4).unwrap();
        let json = r#"{"format":"gasnet-sci matrix","version":1,"nodes":4,
            "rows":[{"from":0,"to":1,"get":[1,2048]},{"from":2,"to":2,"put":[1,8]}]}"#;
        let flows = flows(&Matrix::parse(json).unwrap(), 2048);
        let bill = Bill::of(&flows, &machine, 4, &[0, 1, 2, 3]);
        assert!((bill.nodes[0][1] - 307913.818).abs() < 0.001 && bill.nodes[0][0] == 0.0 && flows.len() == 1);
        assert_eq!(bill.loads, [0.0, 2048.0, 2048.0, 2048.0]);
    }

    #[test]
    fn objectives_are_read() {
        assert_eq!(Objective::parse("cost+2.5*link"), Ok(Objective { cost: 1.0, link: 2.5 }));
        for text in ["", "cost+link", "cost+-1*link", "cost+inf*link", "links"] {
            assert!(Objective::parse(text).unwrap_err().contains(text));
        }
    }
}

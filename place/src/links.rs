//! Links of a topology, and which of them an operation uses.
//!
//! An operation of `p` at `q` uses the links on the way there and those on the way back. On rings the way back goes on
//! round the same rings, as SCI's responses do: it is the rest of them. In a torus of rings the way goes along X first, then along Y.
//! In trees, behind a switch and between machines with links of their own the way back is the way from `q` to `p`.
//!
//! Must not know: costs, traffic.

use super::model::Distance;
use super::net::Net;
use gasnet_sci::sci::model::{Route, Topology};

/// How positions are connected.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// SCI links. The library knows their ways and numbers them, as timing mode does.
    Sci(Topology),
    /// A tree whose leaves are positions: caches, packages, hosts.
    Tree(Tree),
    /// Machines with links of their own.
    Net(Net),
    /// Only costs are known.
    Points,
}

/// A tree of places.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Tree {
    /// The vertices. A parent comes before its children; vertex 0 is the root.
    pub vertices: Vec<Vertex>,
    /// The vertex of each position.
    pub leaves: Vec<usize>,
}

/// A vertex of a tree.
#[derive(Clone, Debug, PartialEq)]
pub struct Vertex {
    pub name: String,
    /// The root is its own parent.
    pub parent: usize,
    pub depth: usize,
}

/// A link, with names of its ends.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    pub from: String,
    pub to: String,
}

impl Tree {
    /// The nearest vertex above both positions, or the vertex of the position if they are equal.
    pub fn common(&self, p: usize, q: usize) -> usize {
        let (mut a, mut b) = (self.leaves[p], self.leaves[q]);
        while a != b {
            let (deep_a, deep_b) = (self.vertices[a].depth, self.vertices[b].depth);
            if deep_a >= deep_b {
                a = self.vertices[a].parent;
            }
            if deep_b >= deep_a {
                b = self.vertices[b].parent;
            }
        }
        a
    }

    fn visit(&self, p: usize, q: usize, each: &mut impl FnMut(usize)) {
        let top = self.common(p, q);
        for (leaf, down) in [(self.leaves[p], 0), (self.leaves[q], 1)] {
            let mut at = leaf;
            while at != top {
                each(2 * at + down);
                at = self.vertices[at].parent;
            }
        }
    }
}

impl Shape {
    /// The number of links.
    pub fn count(&self) -> usize {
        match self {
            Shape::Sci(topology) => topology.links() as usize,
            Shape::Tree(tree) => 2 * tree.vertices.len(),
            Shape::Net(net) => net.count(),
            Shape::Points => 0,
        }
    }

    /// The links, in the order of their numbers, which for SCI links `Topology::loads` of the library gives.
    pub fn links(&self) -> Vec<Link> {
        let link = |from: String, to: String| Link { from, to };
        let at = |position: u32| format!("{position}");
        match self {
            Shape::Sci(Topology::Apart) => Vec::new(),
            Shape::Sci(Topology::Ring(nodes)) => (0..*nodes).map(|p| link(at(p), at((p + 1) % nodes))).collect(),
            Shape::Sci(Topology::Torus(x, y)) => {
                let along_x = (0..x * y).map(|p| link(at(p), at(p / x * x + (p + 1) % x)));
                let along_y = (0..x * y).map(|p| link(at(p), at((p + x) % (x * y))));
                along_x.chain(along_y).collect()
            }
            Shape::Sci(Topology::Switch(nodes)) => {
                let up = (0..*nodes).map(|p| link(at(p), "switch".into()));
                up.chain((0..*nodes).map(|p| link("switch".into(), at(p)))).collect()
            }
            Shape::Tree(tree) => {
                let both = |vertex: &Vertex| {
                    let above = tree.vertices[vertex.parent].name.clone();
                    [link(vertex.name.clone(), above.clone()), link(above, vertex.name.clone())]
                };
                tree.vertices.iter().flat_map(both).collect()
            }
            Shape::Net(net) => {
                let name = |machine: usize| net.machines[machine].clone();
                let both = |number: usize| net.ends(number);
                (0..net.count()).map(both).map(|(from, to)| link(name(from), name(to))).collect()
            }
            Shape::Points => Vec::new(),
        }
    }

    /// Calls `each` with every link on the way from `p` to `q`.
    pub fn way(&self, p: usize, q: usize, mut each: impl FnMut(usize)) {
        match self {
            _ if p == q => {}
            Shape::Sci(topology) => loaded(topology, p, q, true, each),
            Shape::Tree(tree) => tree.visit(p, q, &mut each),
            Shape::Net(net) => net.way(p, q, each),
            Shape::Points => {}
        }
    }

    /// Calls `each` with every link on the way back of what went from `p` to `q`.
    pub fn back(&self, p: usize, q: usize, each: impl FnMut(usize)) {
        match self {
            Shape::Sci(topology) => loaded(topology, p, q, false, each),
            _ => self.way(q, p, each),
        }
    }

    /// A key for the cache of levels in `Machine::sci`: how far `q` lies beyond `p` round the rings. Pairs with the same key are equally
    /// far apart, there and back, because every position sees the same topology. It is below the number of positions, or below 2.
    pub fn offset(&self, p: usize, q: usize) -> usize {
        let round = |from: usize, to: usize, nodes: u32| {
            let nodes = nodes as usize;
            (to + nodes - from) % nodes
        };
        match self {
            Shape::Sci(Topology::Ring(nodes)) => round(p, q, *nodes),
            Shape::Sci(Topology::Torus(x, y)) => {
                let row = *x as usize;
                round(p / row, q / row, *y) * row + round(p % row, q % row, *x)
            }
            Shape::Sci(Topology::Switch(_) | Topology::Apart) | Shape::Tree(_) | Shape::Net(_) | Shape::Points => {
                usize::from(p != q)
            }
        }
    }

    /// How far apart two positions of SCI links are. The others have no such distance.
    pub fn distance(&self, p: usize, q: usize) -> Distance {
        let none = Route { hops: 0, turns: 0 };
        match self {
            Shape::Sci(topology) => {
                let (p, q) = (p as u32, q as u32);
                Distance { there: topology.way(p, q), back: topology.way(q, p) }
            }
            Shape::Tree(_) | Shape::Net(_) | Shape::Points => Distance { there: none, back: none },
        }
    }
}

fn loaded(topology: &Topology, p: usize, q: usize, on_way: bool, mut each: impl FnMut(usize)) {
    topology.loads(p as u32, q as u32, |load| {
        if load.is_on_way == on_way {
            each(load.link as usize);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ways(shape: &Shape, p: usize, q: usize) -> (Vec<usize>, Vec<usize>) {
        let (mut way, mut back) = (Vec::new(), Vec::new());
        shape.way(p, q, |link| way.push(link));
        shape.back(p, q, |link| back.push(link));
        (way, back)
    }

    #[test]
    fn a_ring_is_used_whole_there_and_back() {
        let ring = Shape::Sci(Topology::Ring(4));
        assert_eq!(ways(&ring, 3, 1), (vec![3, 0], vec![1, 2]));
        assert_eq!(ways(&ring, 2, 2), (vec![], vec![]));
        assert_eq!(
            ring.distance(0, 3),
            Distance { there: Route { hops: 3, turns: 0 }, back: Route { hops: 1, turns: 0 } }
        );
    }

    #[test]
    fn a_torus_goes_along_x_then_along_y_and_on_round_both_rings() {
        let torus = Shape::Sci(Topology::Torus(4, 2));
        assert_eq!(ways(&torus, 3, 5), (vec![3, 0, 8 + 1], vec![1, 2, 8 + 5]));
        assert_eq!(ways(&torus, 4, 7), (vec![4, 5, 6], vec![7]));
        assert_eq!(
            torus.distance(0, 5),
            Distance { there: Route { hops: 2, turns: 1 }, back: Route { hops: 4, turns: 1 } }
        );
        let links = torus.links();
        assert_eq!((links.len(), torus.count()), (16, 16));
        assert_eq!(links[7], Link { from: "7".into(), to: "4".into() });
        assert_eq!(links[8 + 5], Link { from: "5".into(), to: "1".into() });
    }

    #[test]
    fn links_of_a_way_join_its_ends() {
        for topology in [Topology::Ring(5), Topology::Torus(3, 4), Topology::Switch(3)] {
            let (shape, nodes) = (Shape::Sci(topology), topology.positions().unwrap() as usize);
            let links = shape.links();
            let mut distances = std::collections::HashMap::new();
            for p in 0..nodes {
                for q in 0..nodes {
                    let mut at = p.to_string();
                    shape.way(p, q, |link| {
                        assert_eq!(links[link].from, at, "{shape:?} {p} {q}");
                        at = links[link].to.clone();
                    });
                    assert_eq!(at, q.to_string());
                    let (way, back) = ways(&shape, p, q);
                    let Distance { there, back: rest } = shape.distance(p, q);
                    assert_eq!((there.hops as usize, rest.hops as usize), (way.len(), back.len()), "{shape:?} {p} {q}");
                    let known = *distances.entry(shape.offset(p, q)).or_insert(shape.distance(p, q));
                    assert!(known == shape.distance(p, q) && shape.offset(p, q) < nodes.max(2));
                }
            }
        }
    }

    #[test]
    fn ways_in_a_tree_go_up_to_the_nearest_common_vertex() {
        let vertex = |name: &str, parent, depth| Vertex { name: name.into(), parent, depth };
        let vertices =
            vec![vertex("root", 0, 0), vertex("a", 0, 1), vertex("b", 0, 1), vertex("a0", 1, 2), vertex("a1", 1, 2)];
        let tree = Tree { vertices, leaves: vec![3, 4, 2] };
        assert_eq!((tree.common(0, 1), tree.common(0, 2), tree.common(2, 2)), (1, 0, 2));
        let shape = Shape::Tree(tree);
        assert_eq!(ways(&shape, 0, 1), (vec![6, 9], vec![8, 7]));
        assert_eq!(ways(&shape, 0, 2).0, [6, 2, 5]);
        assert_eq!(shape.links()[9], Link { from: "a".into(), to: "a1".into() });
    }
}

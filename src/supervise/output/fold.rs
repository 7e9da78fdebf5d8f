//! Lines of the library that many nodes print for one cause become one line: `… (and 2047 other nodes)`.
//!
//! The first of them waits in its stream, so that what its node prints later stays behind it. Those of other nodes are counted and
//! left out. The line goes out when all nodes have said it, when nobody can say it any more, when the supervisor has to say
//! something, and after [`WAIT`] in any case.
//!
//! Only lines of the library count that name the node which printed them, and of these only such as a node prints once in a job: those of
//! signals and fatal errors, those that end the job, and those of its start ([`START`]). All else passes as it is and at once: what
//! clients print, counters, and calls that are refused, of which a program may make thousands. Lines that end the job are compared
//! without their numbers: when a host is gone, each node names another peer of that host as lost.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// How long a line waits for others to say the same. Longer than nodes differ that hear of one cause, shorter than a person waits.
const WAIT: Duration = Duration::from_secs(1);
/// What ends a line that ends the job.
const LAST: &str = "; ending the job";
/// How lines begin that tell why a job cannot start, or has no memory. All nodes usually say the same of that.
const START: &[&str] = &[
    "gasnet_init",
    "gasnet_attach",
    "gex_Client_Init",
    "gex_Segment_Attach",
    "gex_EP_RegisterHandlers",
    "memory ran out",
];

/// What is to be done with a line.
#[derive(Debug, PartialEq)]
pub enum Said {
    /// It is printed as it is.
    Plain,
    /// It waits in its stream for others to say the same.
    Waits(Ticket),
    /// It waits in the stream of another node; this one is left out.
    Known,
}

/// Stands for a line that waits. Later lines have higher ones.
pub type Ticket = u64;

struct Fold {
    key: Rc<str>,
    // The stream in which the first line waits, and those that have said the same.
    first: i32,
    others: BTreeSet<i32>,
    until: Instant,
}

/// The lines that wait.
pub struct Folds {
    nodes: u32,
    list: BTreeMap<Ticket, Fold>,
    tickets: HashMap<Rc<str>, Ticket>,
    next: Ticket,
    /// How many lines were looked at, for tests.
    #[cfg(test)]
    pub looks: usize,
}

impl Folds {
    /// In a job of so many nodes.
    pub fn new(nodes: u32) -> Folds {
        Folds {
            nodes,
            list: BTreeMap::new(),
            tickets: HashMap::new(),
            next: 0,
            #[cfg(test)]
            looks: 0,
        }
    }

    /// Looks at a whole line, when it comes, of the node that calls itself `name`; `source` is the number of its stream. A line that
    /// nobody has said before waits if it `may_wait`.
    pub fn look(&mut self, name: &str, source: i32, line: &[u8], may_wait: bool, now: Instant) -> Said {
        #[cfg(test)]
        {
            self.looks += 1;
        }
        let Some(key) = (self.nodes > 1).then(|| key(name, line)).flatten() else { return Said::Plain };
        let Some(fold) = self.tickets.get(key.as_str()).and_then(|ticket| self.list.get_mut(ticket)) else {
            if !may_wait {
                return Said::Plain;
            }
            let (key, ticket) = (Rc::from(key), self.next);
            self.next += 1;
            self.tickets.insert(Rc::clone(&key), ticket);
            self.list.insert(ticket, Fold { key, first: source, others: BTreeSet::new(), until: now + WAIT });
            return Said::Waits(ticket);
        };
        if fold.first == source {
            return Said::Plain; // the node says it again
        }
        fold.others.insert(source);
        if fold.others.len() as u32 + 1 >= self.nodes {
            fold.until = now;
        }
        Said::Known
    }

    /// Until when a line waits.
    pub fn until(&self, ticket: Ticket) -> Option<Instant> {
        self.list.get(&ticket).map(|fold| fold.until)
    }

    /// A line waits no more: the number of other nodes that have said it.
    pub fn finish(&mut self, ticket: Ticket) -> usize {
        let Some(fold) = self.list.remove(&ticket) else { return 0 };
        self.tickets.remove(&fold.key);
        fold.others.len()
    }

    /// One line has waited long enough.
    pub fn hurry(&mut self, ticket: Ticket, now: Instant) {
        self.list.get_mut(&ticket).into_iter().for_each(|fold| fold.until = fold.until.min(now));
    }

    /// All lines have waited long enough.
    pub fn hurry_all(&mut self, now: Instant) {
        self.list.values_mut().for_each(|fold| fold.until = fold.until.min(now));
    }
}

/// How the number of other nodes that have said a line is told behind it.
pub fn count(others: usize) -> String {
    match others {
        0 => String::new(),
        1 => " (and 1 other node)".into(),
        _ => format!(" (and {others} other nodes)"),
    }
}

// What lines of several nodes have in common if they say the same; `None`: it is no line of the library, or one that each node has to
// say for itself.
fn key(name: &str, line: &[u8]) -> Option<String> {
    let line = std::str::from_utf8(line.strip_suffix(b"\n")?).ok()?;
    let (head, text) = ["gasnet-sci: ", "*** FATAL ERROR: "]
        .into_iter()
        .find_map(|head| Some((head, line.strip_prefix(head)?.strip_prefix(name)?.strip_prefix(": ")?)))
        .or_else(|| {
            let text = line.strip_prefix("*** Caught a ")?.strip_suffix(name)?;
            text.ends_with(" on ").then_some(("*** Caught a ", text))
        })?;
    let comes_once =
        head != "gasnet-sci: " || text.ends_with(LAST) || START.iter().any(|start| text.starts_with(start));
    if !comes_once {
        return None;
    }
    let mut key = format!("{head}{text}");
    if text.ends_with(LAST) {
        // Each number becomes one `#`, however many digits it has.
        let is_run = |before: Option<char>, c: char| c.is_ascii_digit() && before.is_some_and(|b| b.is_ascii_digit());
        let mut before = None;
        key = key
            .chars()
            .filter_map(|c| {
                let repeats = is_run(before.replace(c), c);
                (!repeats).then_some(if c.is_ascii_digit() { '#' } else { c })
            })
            .collect();
    }
    Some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(folds: &mut Folds, node: u32, text: &str, now: Instant) -> Said {
        let name = format!("node {node}/4");
        folds.look(&name, node as i32, text.replace("NODE", &name).as_bytes(), true, now)
    }

    #[test]
    fn what_all_nodes_say_is_one_line_with_their_number_at_once() {
        let (mut folds, now) = (Folds::new(4), Instant::now());
        for (ticket, line) in (0..).zip([
            "*** Caught a signal: SIGTERM(15) on NODE",
            "*** FATAL ERROR: NODE: x",
            "gasnet-sci: NODE: gasnet_attach: y",
        ]) {
            let text = format!("{line}\n");
            assert_eq!(said(&mut folds, 2, &text, now), Said::Waits(ticket));
            for node in [0, 1, 1, 3] {
                assert!(folds.until(ticket) > Some(now));
                assert_eq!(said(&mut folds, node, &text, now), Said::Known);
            }
            assert_eq!(folds.until(ticket), Some(now));
            assert_eq!(count(folds.finish(ticket)), " (and 3 other nodes)");
            assert!(folds.list.is_empty() && folds.tickets.is_empty());
        }
    }

    #[test]
    fn what_one_node_says_waits_for_others_and_stays_as_it_is() {
        let (mut folds, now, text) = (Folds::new(4), Instant::now(), "*** Caught a signal: SIGINT(2) on NODE\n");
        assert_eq!(said(&mut folds, 1, text, now), Said::Waits(0));
        assert_eq!(folds.until(0), Some(now + WAIT));
        assert_eq!(said(&mut folds, 1, text, now), Said::Plain);
        assert_eq!(count(folds.finish(0)), "");
        assert_eq!(said(&mut folds, 1, text, now), Said::Waits(1));
        folds.hurry(0, now);
        assert_eq!(folds.until(1), Some(now + WAIT));
        assert_eq!(said(&mut folds, 0, text, now), Said::Known);
        folds.hurry(1, now);
        assert_eq!(folds.until(1), Some(now));
        assert_eq!(count(folds.finish(1)), " (and 1 other node)");
    }

    #[test]
    fn a_line_that_may_not_wait_passes_unless_another_node_has_said_it() {
        let (mut folds, now, text) = (Folds::new(4), Instant::now(), "*** FATAL ERROR: node 0/4: x\n");
        assert_eq!(folds.look("node 0/4", 0, text.as_bytes(), false, now), Said::Plain);
        assert_eq!(said(&mut folds, 1, &text.replace("node 0/4", "NODE"), now), Said::Waits(0));
        assert_eq!(folds.look("node 0/4", 0, text.as_bytes(), false, now), Said::Known);
    }

    #[test]
    fn one_lost_host_is_one_line_though_each_node_names_another_peer() {
        let (mut folds, now) = (Folds::new(4), Instant::now());
        let lost = |peer: u32| {
            format!(
                "gasnet-sci: NODE: lost the connection to node {peer}: no sign of life from 10.0.0.{peer} for 5 s; ending the job\n"
            )
        };
        assert_eq!(said(&mut folds, 0, &lost(2), now), Said::Waits(0));
        assert_eq!(said(&mut folds, 1, &lost(13), now), Said::Known);
        let other = "gasnet-sci: NODE: lost the connection to node 2: it closed the connection; ending the job\n";
        assert_eq!(said(&mut folds, 3, other, now), Said::Waits(1));
    }

    #[test]
    fn other_lines_pass() {
        let (mut folds, now) = (Folds::new(4), Instant::now());
        for text in [
            "",
            "hello\n",
            "gasnet-sci: hello\n",
            "gasnet-sci: node 3/4: hello\n",
            "gasnet-sci: node 11/4: hello\n",
            "gasnet-sci: NODE: stats: polls 7\n",
            "gasnet-sci: NODE: gasnet_AMPoll returning GASNET_ERR_NOT_INIT: x\n",
            "*** Caught a signal: SIGTERM(15) on node 3/4\n",
            "*** test of NODE\n",
            "gasnet-sci: NODE: unfinished",
        ] {
            assert_eq!(said(&mut folds, 1, text, now), Said::Plain, "{text}");
        }
        assert_eq!(Folds::new(1).look("node 0/1", 0, b"*** FATAL ERROR: node 0/1: x\n", true, now), Said::Plain);
    }
}

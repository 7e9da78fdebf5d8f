//! First contacts: which of a peer's addresses is tried when, and when they are given up.
//!
//! The addresses are tried in turn, the best one first (`boot/contact/book`). Where there are several, one that has not answered for
//! [`TURN`] makes place for the next, and comes again after the others. One that refuses is not tried again. This node alone judges
//! that a peer is out of reach, when nothing has answered for the time that the settings give: what the system says meanwhile of one
//! attempt, such as "Connection timed out", is only told.
//!
//! Must not know: what is carried afterwards.

use super::greet::Refusal;
use super::greeting::{Greeting, STRANGER};
use super::{AGAIN, Contact, Receiving, Tcp, high};
use crate::boot::contact::book::Way;
use crate::os::net::shown;
use socket2::{Domain, Socket, Type};
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long an address has to answer where there are others: long enough for a second question, when the first one was lost.
const TURN: Duration = Duration::from_secs(3);
/// How often the time for a contact begins anew, because one of its nodes computed for longer than [`STRANGER`]. A busy node needs a poll
/// for each of its greeting's parts.
const RENEWALS: u32 = 4;
/// Between two looks at the clock.
const LOOK: Duration = Duration::from_millis(5);

/// What to do where nothing answers, or somebody refuses.
const REFUSED: &str =
    "has its node ended, does a firewall refuse (GASNET_SCI_PORTS), or is this the wrong interface (GASNET_SCI_IFACE)?";
const DROPPED: &str =
    "does a firewall drop what is sent there (GASNET_SCI_PORTS), or is this the wrong interface (GASNET_SCI_IFACE)?";

/// The attempts to reach a peer.
pub(super) struct Attempts {
    /// When the first one began.
    since: Instant,
    /// What has not refused.
    ways: Vec<Way>,
    /// Which of them is tried, modulo how many they are.
    at: usize,
    /// What the system said of the last attempt that failed.
    last: Option<String>,
    /// Addresses at which somebody took the connection and closed it; whether somebody greeted before.
    closed: Vec<(SocketAddr, bool)>,
    /// How often the time began anew, because a node was busy.
    renewed: u32,
    /// What has refused, and how.
    refused: Vec<String>,
    remedy: &'static str,
}

impl Attempts {
    pub(super) fn new(ways: Vec<Way>) -> Attempts {
        Attempts {
            since: Instant::now(),
            ways,
            at: 0,
            last: None,
            closed: Vec::new(),
            renewed: 0,
            refused: Vec::new(),
            remedy: REFUSED,
        }
    }

    fn way(&self) -> Option<Way> {
        self.ways.get(self.at % self.ways.len().max(1)).copied()
    }

    /// Nothing is known of the present address; the next one is tried.
    fn pass(&mut self, why: Option<String>) {
        self.last = why.or(self.last.take());
        self.at += 1;
    }

    /// One of the two nodes has computed for `busy`, perhaps, and makes the contact by its next polls. If that was long, the time begins
    /// anew. That happens a few times only, so that the contact is judged in the end.
    fn renew(&mut self, busy: Duration, now: Instant) {
        if busy > STRANGER && self.renewed < RENEWALS {
            self.renewed += 1;
            self.since = now;
        }
    }

    /// The connection to `at` was made, and closed by the other side after it was `held`. A busy node of this job has not even been greeted:
    /// it speaks first. Anybody can hold a connection and close it.
    fn closed(&mut self, at: SocketAddr, why: &str, held: Duration, is_greeted: bool, now: Instant) {
        self.renew(held, now);
        self.closed.retain(|(known, _)| *known != at);
        self.closed.push((at, is_greeted));
        self.pass(Some(format!("{}: {why}", shown(at))));
    }

    /// Nobody is there whom this node looks for. `Some`: there is no other address; the line about it.
    fn strike(&mut self, at: SocketAddr, why: &str, remedy: &'static str) -> Option<String> {
        self.ways.retain(|way| way.to != at);
        self.refused.push(format!("{}: {why}", shown(at)));
        self.remedy = remedy;
        self.ways.is_empty().then(|| format!("cannot connect to {}; {}", self.refused.join(", nor to "), self.remedy))
    }

    fn is_over(&self, limit: Duration, now: Instant) -> bool {
        now.duration_since(self.since) > limit
    }

    fn silence(&self, limit: Duration) -> String {
        let tried: Vec<String> = self.ways.iter().map(|way| shown(way.to)).collect();
        let said = self.last.iter().chain(&self.refused).cloned().collect::<Vec<_>>().join(", ");
        let said = if said.is_empty() { said } else { format!(" (the system: {said})") };
        let seconds = limit.as_secs_f64();
        if let Some((at, is_greeted)) = self.closed.last() {
            let (at, remedy) = (shown(*at), Refusal::Proof.remedy());
            let who = match is_greeted {
                false => format!("something listens at {at} and closes: it is no node of this job"),
                true => {
                    format!("a node listens at {at} and closes: it belongs to another job, or has given this node up")
                }
            };
            let tried = tried.join(", ");
            return format!("no contact for {seconds} s (GASNET_SCI_START_TIMEOUT) at {tried}{said}; {who}; {remedy}");
        }
        format!("no answer for {seconds} s (GASNET_SCI_START_TIMEOUT) from {}{said}; {DROPPED}", tried.join(", "))
    }
}

impl Tcp {
    /// Tries the address of `rank` whose turn it is.
    pub(super) fn connect(&self, rank: u32) {
        loop {
            let way = match &*self.peer(rank).contact.lock() {
                Contact::Begun(attempts) => attempts.way(),
                _ => None,
            };
            let Some(way) = way else { return };
            match self.begin(way) {
                Ok(socket) => {
                    let greeting = Greeting::connecting(socket, way.to, &self.who(), rank);
                    self.newcomers.lock().push(greeting);
                    return;
                }
                Err(error) => self.strike(rank, way.to, &error.to_string(), REFUSED),
            }
        }
    }

    fn begin(&self, way: Way) -> io::Result<Arc<TcpStream>> {
        let socket = Socket::new(Domain::for_address(way.to), Type::STREAM.nonblocking(), None)?;
        if let Some(from) = way.from {
            socket.bind(&from.into())?;
        }
        match socket.connect(&way.to.into()) {
            Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => return Err(error),
            _ => {}
        }
        self.prepare(&socket)?;
        Ok(Arc::new(high(socket.into())?))
    }

    /// An address of `rank` is not tried again. The peer is lost if it was the last one.
    fn strike(&self, rank: u32, at: SocketAddr, why: &str, remedy: &'static str) {
        let over = match &mut *self.peer(rank).contact.lock() {
            Contact::Begun(attempts) => attempts.strike(at, why, remedy),
            _ => None,
        };
        if let Some(line) = over {
            self.lose(rank, line);
        }
    }

    /// Somebody else than node `rank` is at the address to which this greeting went.
    pub(super) fn mistook(&self, rank: u32, greeting: &Greeting, refusal: Refusal) {
        if let Some(at) = greeting.at {
            self.strike(rank, at, &refusal.to_string(), refusal.remedy());
            self.connect(rank);
        }
    }

    /// The system could not make the connection to `rank`.
    pub(super) fn unmade(&self, r: &mut Receiving, rank: u32, greeting: &Greeting, kind: ErrorKind, why: &str) {
        let Some(at) = greeting.at else { return };
        if kind == ErrorKind::ConnectionRefused {
            self.strike(rank, at, why, REFUSED);
        } else if let Contact::Begun(attempts) = &mut *self.peer(rank).contact.lock() {
            match kind {
                // It was made, and closed before this node looked.
                ErrorKind::ConnectionReset => attempts.closed(at, why, Duration::ZERO, false, Instant::now()),
                _ => attempts.pass(Some(format!("{}: {why}", shown(at)))),
            }
        }
        r.again.push((rank, Instant::now() + AGAIN));
    }

    /// A connection to `rank` has ended before both were sure of each other: the peer perhaps prefers its own, or somebody else is there, who
    /// does not believe this node.
    pub(super) fn failed(&self, r: &mut Receiving, rank: u32, greeting: &Greeting, why: &str) {
        if let (Some(at), Contact::Begun(attempts)) = (greeting.at, &mut *self.peer(rank).contact.lock()) {
            attempts.closed(at, why, greeting.since.elapsed(), greeting.is_greeted(), Instant::now());
            r.again.push((rank, Instant::now() + AGAIN));
        }
    }

    /// The connection to a peer was made, and its system then gave no sign of life for `silence`, before both were sure of each other.
    pub(super) fn fell_silent(&self, r: &mut Receiving, greeting: &Greeting, silence: Duration) {
        if let (Some(rank), Some(at)) = (greeting.to, greeting.at)
            && let Contact::Begun(attempts) = &mut *self.peer(rank).contact.lock()
        {
            let (at, seconds) = (shown(at), silence.as_secs_f64());
            attempts.pass(Some(format!("{at}: connected, then no sign of life for {seconds} s")));
            r.again.push((rank, Instant::now() + AGAIN));
        }
    }

    /// Gives up peers that have not answered in time, and addresses of others whose turn is over.
    pub(super) fn look_at_contacts(&self, r: &mut Receiving, now: Instant) {
        if now < r.contacts_next.unwrap_or(now) {
            return;
        }
        r.contacts_next = Some(now + LOOK);
        let mut over: Vec<u32> = Vec::new();
        r.greetings.retain(|_, greeting| match greeting.to {
            // The system has made the connection, and tells if the node dies. The node greets late if it computes.
            Some(rank) if greeting.is_connecting() => {
                let is_over = self.is_over(rank, Some(greeting), now);
                over.extend(is_over.then_some(rank));
                !is_over
            }
            _ => true,
        });
        over.iter().for_each(|rank| self.connect(*rank));
        let due: Vec<_> = r.again.extract_if(.., |(_, at)| *at <= now).collect();
        for (rank, at) in due {
            if let Contact::Begun(attempts) = &mut *self.peer(rank).contact.lock() {
                attempts.renew(now - at, now); // it is late: nobody has tried meanwhile
            }
            if !self.is_over(rank, None, now) {
                self.connect(rank);
            }
        }
    }

    /// True if this attempt is over. If there is time left, the next address has its turn.
    fn is_over(&self, rank: u32, greeting: Option<&Greeting>, now: Instant) -> bool {
        let mut contact = self.peer(rank).contact.lock();
        let Contact::Begun(attempts) = &mut *contact else { return true }; // the peer's own connection was first
        if greeting.is_some_and(|greeting| greeting.socket.peer_addr().is_ok()) {
            return false; // it is made, and this node has not looked yet
        }
        if attempts.is_over(self.contact, now) {
            let line = attempts.silence(self.contact);
            drop(contact);
            self.lose(rank, line);
            return true;
        }
        let is_late = greeting.is_some_and(|greeting| now.duration_since(greeting.since) > TURN);
        let is_over = is_late && attempts.ways.len() > 1;
        if is_over {
            attempts.pass(None);
        }
        is_over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempts(addresses: &[&str]) -> Attempts {
        Attempts::new(addresses.iter().map(|to| Way { to: to.parse().unwrap(), from: None }).collect())
    }

    #[test]
    fn addresses_come_in_turn_until_all_have_refused() {
        let mut attempts = attempts(&["10.0.0.2:5", "[fd00::2]:6"]);
        let at = |attempts: &Attempts| attempts.way().map(|way| way.to.to_string());
        assert_eq!(at(&attempts).unwrap(), "10.0.0.2:5");
        attempts.pass(None);
        assert_eq!(at(&attempts).unwrap(), "[fd00::2]:6");
        attempts.pass(None);
        assert_eq!(at(&attempts).unwrap(), "10.0.0.2:5", "it comes again");
        assert_eq!(attempts.strike("10.0.0.2:5".parse().unwrap(), "refused", REFUSED), None);
        assert_eq!(at(&attempts).unwrap(), "[fd00::2]:6");
        let line = attempts.strike("[fd00::2]:6".parse().unwrap(), "reset", DROPPED).unwrap();
        assert!(line.starts_with("cannot connect to 10.0.0.2:5: refused, nor to [fd00::2]:6: reset; does"), "{line}");
        assert_eq!(at(&attempts), None);
    }

    #[test]
    fn the_time_is_that_of_all_attempts_whatever_the_system_says_of_one() {
        let mut attempts = attempts(&["10.0.0.2:5"]);
        let (limit, start) = (Duration::from_secs(60), attempts.since);
        attempts.pass(Some("10.0.0.2:5: Connection timed out".into()));
        assert!(!attempts.is_over(limit, start + limit) && attempts.is_over(limit, start + limit + LOOK));
        let line = attempts.silence(limit);
        for part in ["no answer for 60 s (GASNET_SCI_START_TIMEOUT) from 10.0.0.2:5 (", "timed out", "_PORTS", "_IFACE"]
        {
            assert!(line.contains(part), "{line}");
        }
    }

    /// A stranger that holds a connection for a while does not keep the contact alive for ever, nor does one that greets as another job's node.
    #[test]
    fn whoever_takes_connections_and_closes_them_is_given_up_in_time() {
        let (limit, held) = (Duration::from_secs(60), STRANGER + LOOK);
        for (is_greeted, most, part) in
            [(false, RENEWALS, "and closes: it is no node of this job"), (true, RENEWALS, "another job")]
        {
            let mut attempts = attempts(&["10.0.0.2:5"]);
            let mut now = attempts.since;
            let mut tries = 0;
            while !attempts.is_over(limit, now) {
                now += held;
                tries += 1;
                assert!(tries <= (most + 1) * 30, "it never ends");
                attempts.closed("10.0.0.2:5".parse().unwrap(), "it closed the connection", held, is_greeted, now);
            }
            let line = attempts.silence(limit);
            assert!(
                line.starts_with("no contact for 60 s") && line.contains("10.0.0.2:5") && line.contains(part),
                "{line}"
            );
        }
    }

    #[test]
    fn a_node_that_greeted_and_was_busy_has_the_whole_time_again() {
        let mut attempts = attempts(&["10.0.0.2:5"]);
        let (limit, late) = (Duration::from_secs(60), attempts.since + Duration::from_secs(600));
        attempts.closed(
            "10.0.0.2:5".parse().unwrap(),
            "it closed the connection",
            Duration::from_secs(600),
            true,
            late,
        );
        assert!(!attempts.is_over(limit, late + limit));
    }
}

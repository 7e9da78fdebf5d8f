//! The Ethernet switch between the hosts: which frame goes over which link. Without sockets and without clock.

use super::fault::{Counts, Link, Moment};
use super::spec::{Spec, faults_between, host_name};
use std::collections::BTreeSet;

/// The first bytes of our hardware addresses; the number of the host follows. 02: a local address.
const OURS: [u8; 4] = [0x02, 0x4e, 0x4c, 0];

/// The hardware address of a host.
pub fn mac(host: usize) -> [u8; 6] {
    let [high, low] = (host as u16 + 1).to_be_bytes();
    [OURS[0], OURS[1], OURS[2], OURS[3], high, low]
}

/// Where a frame goes.
#[derive(Debug, PartialEq)]
pub enum Target {
    Host(usize),
    Everybody,
    Nobody,
}

/// Reads the target of a frame among `hosts` hosts. Addresses are fixed, so that nothing has to be learned from frames
/// that may be corrupt.
pub fn target(frame: &[u8], hosts: usize) -> Target {
    let Some(address) = frame.first_chunk::<6>() else { return Target::Nobody };
    if address[0] & 1 == 1 {
        return Target::Everybody;
    }
    match (0..hosts).find(|host| mac(*host) == *address) {
        Some(host) => Target::Host(host),
        None => Target::Nobody,
    }
}

/// All links, one for each direction between two hosts.
pub struct Switch {
    hosts: usize,
    links: Vec<Link>,
    /// Directions that are dead until they are healed.
    dead: BTreeSet<(usize, usize)>,
    /// When the present links were made.
    since: Moment,
}

impl Switch {
    pub fn new(hosts: usize, specs: &[Spec], seed: u64) -> Switch {
        Switch { hosts, links: links(hosts, specs, seed), dead: BTreeSet::new(), since: Moment::ZERO }
    }

    /// Gives all links other faults and a new seed. Frames under way are dropped, as on a cable that is pulled.
    pub fn renew(&mut self, now: Moment, specs: &[Spec], seed: u64) {
        self.links = links(self.hosts, specs, seed);
        self.since = now;
    }

    /// Cuts or heals the direction from one host to another.
    pub fn set_dead(&mut self, from: usize, to: usize, dead: bool) {
        if dead {
            self.dead.insert((from, to))
        } else {
            self.dead.remove(&(from, to))
        };
    }

    /// A frame comes from a host.
    pub fn offer(&mut self, now: Moment, from: usize, frame: &[u8]) {
        let targets = match target(frame, self.hosts) {
            Target::Host(host) => host..host + 1,
            Target::Everybody => 0..self.hosts,
            Target::Nobody => return,
        };
        for to in targets.filter(|to| *to != from) {
            let dead = self.dead.contains(&(from, to));
            self.links[from * self.hosts + to].offer(now.saturating_sub(self.since), frame, dead);
        }
    }

    /// When the next frame comes out of any link.
    pub fn next(&self) -> Option<Moment> {
        self.links.iter().filter_map(Link::next).min().map(|due| due + self.since)
    }

    /// The frames whose moment has come, in order for each link, with the host that gets them.
    pub fn take(&mut self, now: Moment) -> Vec<(usize, Vec<u8>)> {
        let (hosts, now) = (self.hosts, now.saturating_sub(self.since));
        let mut out = Vec::new();
        for (number, link) in self.links.iter_mut().enumerate() {
            while let Some(frame) = link.take(now) {
                out.push((number % hosts, frame));
            }
        }
        out
    }

    /// Frames that have come out of the link from one host to another.
    pub fn passed(&self, from: usize, to: usize) -> u64 {
        self.links[from * self.hosts + to].counts.passed
    }

    /// What became of the frames of each direction that had any.
    pub fn report(&self) -> Vec<String> {
        let line = |(number, link): (usize, &Link)| {
            let Counts { offered, passed, lost, duplicated, reordered, corrupted, cut, overflowed } = link.counts;
            let (from, to) = (host_name(number / self.hosts), host_name(number % self.hosts));
            (offered > 0).then(|| {
                format!(
                    "{from}>{to}: {offered} frames sent, {passed} passed, {lost} lost, {duplicated} duplicated, \
                     {reordered} reordered, {corrupted} corrupted, {cut} cut, {overflowed} overflowed"
                )
            })
        };
        self.links.iter().enumerate().filter_map(line).collect()
    }
}

fn links(hosts: usize, specs: &[Spec], seed: u64) -> Vec<Link> {
    let mix = |from: usize, to: usize| seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ ((from as u64) << 32 | to as u64);
    let pairs = (0..hosts).flat_map(|from| (0..hosts).map(move |to| (from, to)));
    pairs
        .map(|(from, to)| {
            // One seed of cuts for both directions: they are dead at the same time.
            let cuts = !mix(from.min(to), from.max(to));
            Link::new(faults_between(specs, from, to), mix(from, to), cuts)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn frame(to: [u8; 6], from: usize) -> Vec<u8> {
        [&to[..], &mac(from)[..], &[8, 0], &[7; 46]].concat()
    }

    #[test]
    fn frames_go_where_their_address_says() {
        assert_eq!(target(&frame(mac(2), 0), 3), Target::Host(2));
        assert_eq!(target(&frame(mac(3), 0), 3), Target::Nobody);
        assert_eq!(target(&frame([0xff; 6], 0), 3), Target::Everybody);
        assert_eq!(target(&[2, 3], 3), Target::Nobody);
    }

    #[test]
    fn the_switch_delivers_to_one_or_to_all_others() {
        let mut switch = Switch::new(3, &[], 1);
        switch.offer(Moment::ZERO, 0, &frame(mac(1), 0));
        assert_eq!(switch.take(Moment::ZERO), [(1, frame(mac(1), 0))]);
        switch.offer(Moment::ZERO, 1, &frame([0xff; 6], 1));
        let to: Vec<usize> = switch.take(Moment::ZERO).iter().map(|(to, _)| *to).collect();
        assert_eq!(to, [0, 2]);
        assert_eq!(switch.report().len(), 3);
    }

    #[test]
    fn a_direction_can_be_cut_and_healed() {
        let mut switch = Switch::new(2, &[], 1);
        switch.set_dead(0, 1, true);
        switch.offer(Moment::ZERO, 0, &frame(mac(1), 0));
        switch.offer(Moment::ZERO, 1, &frame(mac(0), 1));
        assert_eq!(switch.take(Moment::ZERO), [(0, frame(mac(0), 1))]);
        switch.set_dead(0, 1, false);
        switch.offer(Moment::ZERO, 0, &frame(mac(1), 0));
        assert_eq!(switch.take(Moment::ZERO).len(), 1);
    }

    #[test]
    fn new_links_begin_anew() {
        let now = Duration::from_secs(5);
        let mut switch = Switch::new(2, &["delay=1ms".parse().unwrap()], 1);
        switch.offer(now, 0, &frame(mac(1), 0));
        assert_eq!(switch.next(), Some(now + Duration::from_millis(1)));
        switch.renew(now, &["delay=2ms,cut=1s@10s".parse().unwrap()], 2);
        assert_eq!(switch.next(), None);
        switch.offer(now, 0, &frame(mac(1), 0));
        assert_eq!(switch.next(), Some(now + Duration::from_millis(2)));
        assert_eq!(switch.take(now + Duration::from_millis(2)).len(), 1);
        switch.offer(now + Duration::from_secs(10), 0, &frame(mac(1), 0));
        assert_eq!(switch.next(), None);
    }
}

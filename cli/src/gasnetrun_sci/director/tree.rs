//! The tree in which a launcher reaches many hosts. It reaches so many as a setting says itself (GASNET_SCI_TREE). If there are more,
//! it divides them into so many groups, and the first host of each group runs a branch, which reaches the group's hosts. A branch
//! stands behind the hosts in the launcher's list. What is said to and by agents behind it is the same as to and by others.

use super::Director;
use super::remote::{Remote, State};
use gasnet_sci::supervise::channel::Frame;

/// Divides hosts into at most `most` groups of about the same size, in their order.
pub fn groups(hosts: &[usize], most: usize) -> Vec<&[usize]> {
    let count = hosts.len().min(most.max(1));
    (0..count).map(|at| &hosts[hosts.len() * at / count..hosts.len() * (at + 1) / count]).collect()
}

impl Director {
    /// Makes the branches, if there are more hosts to be reached than `most`.
    pub(super) fn grow(&mut self, most: usize) {
        let is_far =
            |at: &usize| self.remotes[*at].state == State::Waiting && !self.command.is_own(&self.remotes[*at].name);
        let far: Vec<usize> = (0..self.remotes.len()).filter(is_far).collect();
        for group in groups(&far, most).into_iter().filter(|group| group.len() > 1) {
            let branch = self.remotes.len();
            self.remotes.push(Remote::new(&self.hosts[group[0]].name));
            group.iter().for_each(|at| self.remotes[*at].through = Some(branch));
        }
    }

    /// Whether this place in the list is that of a branch.
    pub(super) fn is_branch(&self, at: usize) -> bool {
        at >= self.hosts.len()
    }

    /// The hosts behind a branch.
    pub(super) fn behind(&self, branch: usize) -> Vec<usize> {
        (0..self.hosts.len()).filter(|at| self.remotes[*at].through == Some(branch)).collect()
    }

    /// Gives the branches what is for the hosts behind them. A branch that nobody is behind any more ends.
    pub(super) fn pass_on(&mut self) {
        let (hosts, branches) = self.remotes.split_at_mut(self.hosts.len());
        if branches.is_empty() {
            return;
        }
        let first = hosts.len();
        let mut needed = vec![false; branches.len()];
        for (number, host) in (0..).zip(hosts) {
            let Some(branch) = host.through.map(|at| at - first) else { continue };
            needed[branch] |= !host.is_over();
            let mut bytes = std::mem::take(&mut host.parting);
            bytes.extend(host.channel.as_mut().map(|channel| channel.take_held()).unwrap_or_default());
            if !bytes.is_empty() {
                branches[branch].send(&Frame::Through(number, bytes));
            }
            if std::mem::take(&mut host.unwanted) {
                branches[branch].send(&Frame::Gone(number, String::new()));
            }
        }
        for (branch, needed) in branches.iter_mut().zip(needed) {
            if branch.state == State::Branch && !needed && !branch.channel.as_ref().is_some_and(|c| c.is_holding()) {
                branch.let_go();
            }
        }
    }

    /// Handles the branch's frames about its hosts. Returns any other frame.
    pub(super) fn take_of_branch(&mut self, branch: usize, frame: Frame) -> Option<Frame> {
        let (Frame::Through(host, _) | Frame::Said(host, _) | Frame::Gone(host, _)) = &frame else {
            return Some(frame);
        };
        let Some(remote) = self.remotes.get_mut(*host as usize).filter(|remote| remote.through == Some(branch)) else {
            return Some(frame);
        };
        match frame {
            Frame::Through(_, bytes) => remote.channel.iter_mut().for_each(|channel| channel.feed(&bytes)),
            Frame::Said(_, bytes) => {
                let name = remote.name.clone();
                String::from_utf8_lossy(&bytes).lines().for_each(|line| self.lead.report(&format!("{name}: {line}")));
            }
            Frame::Gone(_, how) => remote.end_through(how),
            other => return Some(other),
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_even_and_have_all_hosts_in_their_order() {
        for (hosts, most, sizes) in [(5, 2, &[2, 3][..]), (3, 64, &[1, 1, 1]), (64, 64, &[1; 64]), (7, 1, &[7])] {
            let all: Vec<usize> = (0..hosts).collect();
            let groups = groups(&all, most);
            assert_eq!(groups.iter().map(|group| group.len()).collect::<Vec<_>>(), sizes);
            assert_eq!(groups.concat(), all);
        }
        let all: Vec<usize> = (0..65).collect();
        assert_eq!(groups(&all, 64).iter().filter(|group| group.len() > 1).count(), 1);
        assert!(groups(&[], 64).is_empty());
    }
}

//! Kinds of events: their names, and what the timeline shows them as.

use serde::Serialize;
use std::collections::HashMap;
use std::ops::Index;

/// What an event is, for who looks at a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// The node waits in a barrier.
    Barrier,
    /// It waits for messages.
    Messages,
    /// It waits for room at the receiver of a message.
    Room,
    /// It waits for its own puts and gets, or tests them.
    Handles,
    /// It is in a collective, or waits for one.
    Collective,
    /// It waits for a lock.
    Lock,
    /// It is in a put, get or memset that blocks.
    Transfer,
    /// It sends a message.
    Send,
    /// It runs the handler of a message.
    Handler,
    /// It begins a transfer or atomic, or tells others a word.
    Other,
}

impl Class {
    /// Those in which a node spends time, in the order of the page.
    pub const TIMED: [Class; 7] =
        [Class::Barrier, Class::Messages, Class::Room, Class::Handles, Class::Collective, Class::Lock, Class::Transfer];

    /// As the head of a column.
    pub fn short(self) -> &'static str {
        match self {
            Class::Barrier => "barriers",
            Class::Messages => "messages",
            Class::Room => "room",
            Class::Handles => "handles",
            Class::Collective => "collectives",
            Class::Lock => "locks",
            Class::Transfer => "transfers",
            Class::Send | Class::Handler | Class::Other => "other",
        }
    }

    /// In words, as the page says what a node spends its time in.
    pub fn name(self) -> &'static str {
        match self {
            Class::Barrier => "barriers",
            Class::Messages => "waits for messages",
            Class::Room => "waits for room at a receiver",
            Class::Handles => "waits for its own puts and gets",
            Class::Collective => "collectives",
            Class::Lock => "waits for locks",
            Class::Transfer => "puts and gets that block",
            Class::Send => "sends",
            Class::Handler => "handlers",
            Class::Other => "other operations",
        }
    }
}

/// Letter and name of a kind, as traces and statistics have it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Kind {
    pub letter: char,
    pub name: String,
    /// Of barriers of a team: what the team is called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team: Option<String>,
    pub class: Class,
}

impl Kind {
    /// True for an operation that answers a request, or for the run of an answer's handler.
    pub fn is_reply(&self) -> bool {
        self.name.starts_with("AMREPLY_")
    }
}

fn class(letter: char, name: &str, timed: bool) -> Class {
    match (letter, name) {
        ('A', "AM_WAIT") => Class::Messages,
        ('A', "AM_ROOM_WAIT") => Class::Room,
        ('A', name) if name.ends_with("_HANDLER") => Class::Handler,
        ('A', _) => Class::Send,
        _ if !timed => Class::Other,
        ('B', _) => Class::Barrier,
        ('S', _) => Class::Handles,
        ('W' | 'X', _) => Class::Collective,
        ('L', _) => Class::Lock,
        ('P' | 'G', _) => Class::Transfer,
        _ => Class::Other,
    }
}

/// With more kinds than this, teams are no longer told apart: all others are called [`MANY`].
const MOST_WITH_TEAMS: usize = 60_000;
/// Any of the teams that have no kind of their own.
pub const MANY: &str = "?";

/// All kinds that occur, each once.
#[derive(Debug, Default)]
pub struct Kinds {
    all: Vec<Kind>,
    /// By name, and the team behind it.
    known: HashMap<String, u16>,
}

impl Kinds {
    /// The place of a kind, which is added if it is new; `None` if there are too many. `timed`: its lines have a duration.
    pub fn place(&mut self, letter: char, name: &str, team: Option<&str>, timed: bool) -> Option<u16> {
        let full = team.map(|team| format!("{name} {team}"));
        let key = full.as_deref().unwrap_or(name);
        if let Some(place) = self.known.get(key) {
            return Some(*place);
        }
        // Some places are left for kinds without a team of their own.
        let most = if team.is_some_and(|team| team != MANY) { MOST_WITH_TEAMS } else { usize::from(u16::MAX) };
        let place = u16::try_from(self.all.len()).ok().filter(|place| usize::from(*place) < most)?;
        let (name, team) = (name.to_string(), team.map(String::from));
        self.all.push(Kind { letter, class: class(letter, &name, timed), name, team });
        self.known.insert(key.into(), place);
        Some(place)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Kind> {
        self.all.iter()
    }

    pub fn len(&self) -> usize {
        self.all.len()
    }
}

impl Index<u16> for Kinds {
    type Output = Kind;

    fn index(&self, place: u16) -> &Kind {
        &self.all[usize::from(place)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn barriers_of_too_many_teams_are_none_of_all_nodes() {
        let mut kinds = Kinds::default();
        for team in 0..MOST_WITH_TEAMS {
            kinds.place('B', "BARRIER", Some(&format!("0.{team}")), true).unwrap();
        }
        assert_eq!(kinds.place('B', "BARRIER", Some("1.0"), true), None);
        let many = kinds.place('B', "BARRIER", Some(MANY), true).unwrap();
        assert_eq!(kinds[many].team.as_deref(), Some(MANY));
    }
}

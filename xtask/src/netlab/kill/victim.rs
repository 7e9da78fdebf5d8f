//! Whom a deed hits.

use clap::ValueEnum;
use std::time::Duration;

/// What is killed, cut or stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Victim {
    Node,
    Agent,
    Rsh,
    Launcher,
    /// All links of the second host.
    Link,
    /// All processes of the second host are stopped.
    Host,
    /// The links between the second and the third host. The launcher still reaches both.
    Pair,
}

impl Victim {
    pub fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }

    pub fn needs_hosts(self) -> usize {
        match self {
            Victim::Node | Victim::Launcher => 1,
            Victim::Agent | Victim::Rsh | Victim::Link | Victim::Host => 2,
            Victim::Pair => 3,
        }
    }

    /// Whether it matters in this phase: nodes that say nothing to each other do not miss what is between them.
    pub fn matters_in(self, phase: &str) -> bool {
        self != Victim::Pair || ["flood", "put", "barrier"].contains(&phase)
    }

    /// The time in which a job must be over. Nodes that miss others leave two seconds to the launcher, which may know better.
    pub fn bound(self) -> Duration {
        Duration::from_secs(match self {
            Victim::Node | Victim::Agent | Victim::Rsh | Victim::Launcher => 1,
            Victim::Link | Victim::Host => 6,
            Victim::Pair => 9,
        })
    }
}

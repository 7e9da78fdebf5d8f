//! Settings of jobs on several hosts.
//!
//! Must not know: the variables.

/// Settings of jobs on several hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct Hosts {
    /// The command that runs another command on a host, if the user names one.
    pub rsh: Option<String>,
    /// Seconds until a host's agent must have answered.
    pub start_timeout: f64,
    /// Seconds of silence after which a host counts as lost.
    pub link_timeout: f64,
    /// The file of limits on this host, if the user names one.
    pub agent_conf: Option<String>,
}

impl Default for Hosts {
    fn default() -> Self {
        Hosts { rsh: None, start_timeout: 60.0, link_timeout: 5.0, agent_conf: None }
    }
}

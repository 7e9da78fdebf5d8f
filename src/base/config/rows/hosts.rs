//! Variables of jobs on several hosts. Contract: environment.md §3.
//!
//! Must not know: which code uses a value.

use super::super::parse;
use super::super::settings::{Var, put};

pub(super) const VARS: &[Var] = &[
    Var {
        name: "GASNET_SCI_RSH",
        aliases: &[],
        default: "ssh -o BatchMode=yes",
        doc: "the command with which gasnetrun_sci starts its agent on a host; the host and the agent's command line follow it. If it is \
              set, this host is reached by it too",
        form: "a command, words separated by blanks",
        set: |c, v| put(&mut c.hosts.rsh, Some(v.trim()).filter(|v| !v.is_empty()).map(|v| Some(v.to_string()))),
    },
    Var {
        name: "GASNET_SCI_START_TIMEOUT",
        aliases: &[],
        default: "60",
        doc: "seconds; how long a host may take until its agent answers",
        form: "a number of seconds, 1 or more",
        set: |c, v| put(&mut c.hosts.start_timeout, parse::float(v).filter(|n| (1.0..1e6).contains(n))),
    },
    Var {
        name: "GASNET_SCI_LINK_TIMEOUT",
        aliases: &[],
        default: "5",
        doc: "seconds; a host from which nothing is heard for so long counts as lost, and the job ends",
        form: "a number of seconds, 2 or more",
        set: |c, v| put(&mut c.hosts.link_timeout, parse::float(v).filter(|n| (2.0..1e6).contains(n))),
    },
    Var {
        name: "GASNET_SCI_AGENT_CONF",
        aliases: &[],
        default: "none",
        doc: "a file of limits on this host's part of jobs of several hosts, besides /etc/gasnet-sci/agent.conf (gasnetrun_sci --help); of \
              two limits the tighter one counts",
        form: "a file name, or none",
        set: |c, v| put(&mut c.hosts.agent_conf, Some(Some(v.trim().to_string()).filter(|file| file != "none"))),
    },
];

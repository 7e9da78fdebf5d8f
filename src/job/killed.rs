//! What whoever started the nodes adds when the system has killed one because memory ran out. A line for people; nothing is decided by
//! it.

use super::limits;
use crate::boot::OwnHost;
use crate::os::cgroup;

/// Begun before there are nodes.
pub struct Watch {
    kills: [Option<u64>; 2],
    /// The segments' memory is committed in attach.
    reserve: bool,
}

impl Watch {
    /// Notes how many processes have been killed so far. `reserve`: GASNET_SCI_RESERVE.
    pub fn begin(reserve: bool) -> Watch {
        Watch { kills: kills(), reserve }
    }

    /// The line for the user of a job that ended with `status`, if there is anything to say.
    pub fn line(&self, status: i32) -> Option<String> {
        self.line_if(status == 128 + libc::SIGKILL)
    }

    /// The same where a node was killed or not.
    pub fn line_if(&self, is_killed: bool) -> Option<String> {
        let grew =
            |(before, now): (&Option<u64>, Option<u64>)| before.zip(now).is_some_and(|(before, now)| now > before);
        let any = self.kills.iter().zip(kills()).any(grew);
        (is_killed && any).then(|| told(self.reserve))
    }
}

/// This host, for a process that starts nodes by itself.
pub struct ThisHost {
    /// GASNET_SCI_RESERVE.
    pub reserve: bool,
}

impl OwnHost for ThisHost {
    fn fits(&self, nodes: u32) -> Result<(), String> {
        limits::check(nodes)
    }

    fn watch(&self) -> Box<dyn FnOnce(i32) -> Option<String>> {
        let watch = Watch::begin(self.reserve);
        Box::new(move |status| watch.line(status))
    }
}

fn told(reserve: bool) -> String {
    let help = match reserve {
        false => "Fewer nodes, smaller segments (GASNET_MAX_SEGSIZE) or GASNET_SCI_RESERVE=yes help",
        // Attach had the memory of the segments, so something else took what was left.
        true => {
            "Fewer nodes, or smaller segments (GASNET_MAX_SEGSIZE), which leave more for the programs' own memory, help"
        }
    };
    format!("meanwhile the system killed a process because memory ran out; there is {}. {help}", limits::memory_limit())
}

// Of this process's group, and of this kernel; whoever was killed.
fn kills() -> [Option<u64>; 2] {
    let text = std::fs::read_to_string("/proc/vmstat").unwrap_or_default();
    let all = text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok());
    [cgroup::memory_kills(), all]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_ran_out_is_told_of_those_who_were_killed_and_with_what_helps() {
        let watch = Watch { kills: [Some(0), None], reserve: false };
        let none = Watch { kills: [None, None], reserve: false };
        assert_eq!((watch.line(0), none.line(137)), (None, None));
        assert!(told(false).contains("GASNET_MAX_SEGSIZE") && told(false).contains("GASNET_SCI_RESERVE=yes"));
        assert!(told(true).contains("GASNET_MAX_SEGSIZE") && !told(true).contains("GASNET_SCI_RESERVE"));
    }
}

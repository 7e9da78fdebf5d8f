//! `--debug`: how a debugger is started for the chosen nodes, or attached to them.

use super::cli::NAME;
use super::options::Debug;
use super::program;
use super::stop::{Stop, advise};
use std::ffi::OsString;

/// Debuggers that talk to a person, in order of preference, and what stands between their options and the program.
const INTERACTIVE: [(&str, &str); 2] = [("gdb", "--args"), ("lldb", "--")];

/// How a job is debugged.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    only: Option<u32>,
    way: DebuggerStart,
}

#[derive(Clone, Debug, PartialEq)]
enum DebuggerStart {
    // These words are put in front of the program.
    Prefix(Vec<String>),
    // The same words, in a terminal window of the node's own.
    Window(Vec<String>),
    // The same words; the debugger uses the launcher's terminal.
    Terminal(Vec<String>),
    // The node waits at the end of gasnet_init.
    Wait,
}

impl Plan {
    /// Chooses a way for a job of `nodes`. Prints a line if it is not the plainest way.
    pub fn new(debug: &Debug, nodes: u32) -> Result<Plan, Stop> {
        let has_window = has_display() && program::in_path("xterm").is_some();
        Self::choose(debug, nodes, has_window, |name| program::in_path(name).is_some())
            .map_err(|problem| Stop::new(1, format!("{NAME}: --debug: {problem}")))
    }

    fn choose(debug: &Debug, nodes: u32, has_window: bool, exists: impl Fn(&str) -> bool) -> Result<Plan, String> {
        let only = debug.node.or((nodes == 1).then_some(0));
        let plan = |way| Ok(Plan { only: debug.node, way });
        let mut words: Vec<String> = debug.command.split_whitespace().map(String::from).collect();
        if words.first().is_some_and(|word| word == "wait") {
            return plan(DebuggerStart::Wait);
        }
        if words.is_empty() {
            match INTERACTIVE.iter().find(|(name, _)| exists(name)) {
                Some((name, _)) => words.push(name.to_string()),
                None => {
                    advise("--debug: neither gdb nor lldb is in PATH; the nodes wait for a debugger in gasnet_init");
                    return plan(DebuggerStart::Wait);
                }
            }
        }
        if !exists(&words[0]) {
            return Err(format!("{} is not found", words[0]));
        }
        let name = words[0].rsplit('/').next().unwrap_or_default();
        let known = INTERACTIVE.iter().find(|(debugger, _)| *debugger == name);
        if let Some((_, separator)) = known.filter(|(_, separator)| !words.iter().any(|word| word == separator)) {
            words.push(separator.to_string());
        }
        let is_batch = words.iter().any(|word| ["-batch", "--batch"].contains(&&word[..]));
        match (known.filter(|_| !is_batch), has_window, only) {
            (None, _, _) => plan(DebuggerStart::Prefix(words)),
            (Some(_), true, _) => plan(DebuggerStart::Window(words)),
            (Some(_), false, Some(_)) => plan(DebuggerStart::Terminal(words)),
            (Some((debugger, _)), false, None) => {
                advise(&format!(
                    "--debug: no DISPLAY and xterm for {nodes} debuggers; the nodes wait for one in gasnet_init: \
                     {debugger} -p PID, set gasnet_frozen to 0, continue (--debug-node K: node K on this terminal)"
                ));
                plan(DebuggerStart::Wait)
            }
        }
    }

    /// Is node `rank` to be debugged?
    pub fn includes(&self, rank: u32) -> bool {
        self.only.is_none_or(|only| only == rank)
    }

    /// The node whose debugger has the terminal.
    pub fn on_terminal(&self) -> Option<u32> {
        matches!(self.way, DebuggerStart::Terminal(_)).then(|| self.only.unwrap_or(0))
    }

    /// Does node `rank` wait for a debugger at the end of `gasnet_init`?
    pub fn waits(&self, rank: u32) -> bool {
        self.way == DebuggerStart::Wait && self.includes(rank)
    }

    /// The words to put in front of the program of node `rank`. A window gets the title `title`.
    pub fn prefix(&self, rank: u32, title: &str) -> Vec<OsString> {
        let words = match &self.way {
            _ if !self.includes(rank) => return Vec::new(),
            DebuggerStart::Wait => return Vec::new(),
            DebuggerStart::Prefix(words) | DebuggerStart::Terminal(words) => words.clone(),
            DebuggerStart::Window(words) => {
                let window = ["xterm", "-T", title, "-e"].map(String::from);
                window.into_iter().chain(words.iter().cloned()).collect()
            }
        };
        words.into_iter().map(|word| word.replace("%n", &rank.to_string()).into()).collect()
    }
}

fn has_display() -> bool {
    #[allow(clippy::disallowed_methods)] // the user's window system, not a setting of ours
    let display = std::env::var_os("DISPLAY");
    display.is_some_and(|display| !display.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(command: &str, node: Option<u32>, nodes: u32, has_window: bool) -> Result<Plan, String> {
        let debug = Debug { command: command.into(), node };
        Plan::choose(&debug, nodes, has_window, |name| ["gdb", "lldb", "/x/gdb", "valgrind"].contains(&name))
    }

    fn prefix(plan: &Plan, rank: u32) -> String {
        let words = plan.prefix(rank, "T").into_iter().map(|word| word.into_string().unwrap());
        words.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn windows_serve_all_nodes_and_the_terminal_one() {
        let windows = plan("", None, 3, true).unwrap();
        assert_eq!(prefix(&windows, 2), "xterm -T T -e gdb --args");
        assert_eq!(windows.on_terminal(), None);
        let terminal = plan("", Some(1), 3, false).unwrap();
        assert_eq!(
            (terminal.on_terminal(), &prefix(&terminal, 1)[..], &prefix(&terminal, 0)[..]),
            (Some(1), "gdb --args", "")
        );
        assert_eq!(plan("", None, 1, false).unwrap().on_terminal(), Some(0));
        let waiting = plan("", None, 3, false).unwrap();
        assert!(waiting.waits(2) && prefix(&waiting, 2).is_empty() && waiting.on_terminal().is_none());
    }

    #[test]
    fn commands_of_the_user_are_completed_only_if_they_are_known() {
        for (command, words) in
            [("lldb", "lldb --"), ("/x/gdb -q", "/x/gdb -q --args"), ("gdb -q --args", "gdb -q --args")]
        {
            assert_eq!(prefix(&plan(command, Some(0), 1, false).unwrap(), 0), words);
        }
        let batch = plan("gdb -batch -ex run", None, 4, false).unwrap();
        assert_eq!((prefix(&batch, 3), batch.on_terminal()), ("gdb -batch -ex run --args".into(), None));
        assert_eq!(prefix(&plan("valgrind --log-file=v.%n", None, 4, true).unwrap(), 3), "valgrind --log-file=v.3");
    }

    #[test]
    fn waiting_may_be_asked_for_and_missing_debuggers_are_told() {
        let waiting = plan("wait", Some(1), 3, true).unwrap();
        assert!(waiting.waits(1) && !waiting.waits(0));
        assert_eq!(plan("nonsuch -x", None, 1, true).unwrap_err(), "nonsuch is not found");
        let none = Plan::choose(&Debug { command: String::new(), node: None }, 2, true, |_| false).unwrap();
        assert!(none.waits(0));
    }
}

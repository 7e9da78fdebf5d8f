//! Starts a job, plays its user, and looks for processes that it left behind.

#![allow(unsafe_code)] // system calls and C

use std::fs;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{OnceLock, mpsc};
use std::thread;
use std::time::{Duration, Instant};

#[path = "../../../testkit/marked.rs"]
pub mod marked;

/// The variable with the script for the node program.
pub const NODE: &str = "SCI_TEST_NODE";
const TAG: &str = "SCI_TEST_TAG";
/// Far longer than any job here takes, so that only a job that hangs reaches it.
const PATIENCE: Duration = Duration::from_secs(40);

/// Which process gets SIGKILL.
#[derive(Clone, Copy, Debug)]
pub enum Victim {
    Supervisor,
    /// Any process of the job except the supervisor, if there is one yet.
    Node,
    /// The launcher's second process, which stands between it and the nodes.
    Deputy,
    Everybody,
}

/// An act of the user, on a job that is ready.
#[derive(Clone, Copy, Debug)]
pub enum Act {
    /// Sends this signal to the process that was started.
    Signal(i32),
    /// Sends this signal to that process's group, which only the job uses.
    Group(i32),
    /// Sends this signal to the launcher's second process.
    Deputy(i32),
    /// Waits until every process of the job is stopped (true), or none is.
    Await(bool),
    /// Does nothing for a while.
    Pause(Duration),
}

/// How to start a job, and what its user does.
#[derive(Clone, Debug, Default)]
pub struct Start {
    argv: Vec<String>,
    env: Vec<(String, String)>,
    directory: Option<PathBuf>,
    stdin: String,
    nodes: usize,
    acts: Vec<Act>,
    ignored: Vec<i32>,
    kill: Option<(Duration, Victim)>,
    reader_leaves: bool,
    reader_waits: Duration,
    joined: bool,
    refused_call: Option<(i64, i32)>,
}

/// The outcome of a job, as the user sees it.
#[derive(Debug)]
pub struct Outcome {
    /// Exit status as a shell reports it.
    pub status: i32,
    /// stdout, without the lines of the operation `ready`.
    pub out: String,
    pub err: String,
}

fn this_program() -> String {
    std::env::current_exe().unwrap().display().to_string()
}

/// `script` run by nodes under the launcher.
pub fn launched(nodes: u32, script: &str) -> Start {
    let mut start = Start::launcher(&["-n", &nodes.to_string(), &this_program()]).with_env(NODE, script);
    start.nodes = nodes as usize;
    start
}

/// `script` run by nodes on two hosts: two agents on this machine, which a script starts instead of ssh.
pub fn hosted(nodes: u32, script: &str) -> Start {
    let mut start = launched(nodes, script).with_env("GASNET_SCI_RSH", &rsh());
    start.insert_option(&["--host", "alpha,beta"]);
    start
}

/// A command that reaches any host: it runs the rest of its arguments here.
pub fn rsh() -> String {
    static RSH: OnceLock<String> = OnceLock::new();
    RSH.get_or_init(|| {
        let path = scratch(&format!("rsh-{}", std::process::id())).join("rsh");
        write_script(&path, "#!/bin/sh\nshift\nexec \"$@\"\n", 0o755)
    })
    .clone()
}

/// `script` run by a program that forks at init.
pub fn forked(nodes: u32, script: &str) -> Start {
    let mut start = Start::alone(script).with_env("GASNET_SCI_NODES", &nodes.to_string());
    start.nodes = nodes as usize;
    start
}

impl Start {
    /// The launcher with these arguments.
    pub fn launcher(arguments: &[&str]) -> Start {
        let argv = [env!("CARGO_BIN_EXE_gasnetrun_sci")].iter().chain(arguments).map(|a| a.to_string()).collect();
        Start { argv, ..Start::default() }
    }

    /// The node program without a launcher.
    pub fn alone(script: &str) -> Start {
        Start { argv: vec![this_program()], ..Start::default() }.with_env(NODE, script)
    }

    pub fn with_env(mut self, name: &str, value: &str) -> Start {
        self.env.push((name.into(), value.into()));
        self
    }

    pub fn with_arguments(mut self, arguments: &[&str]) -> Start {
        self.argv.extend(arguments.iter().map(|a| a.to_string()));
        self
    }

    pub fn with_stdin(mut self, text: &str) -> Start {
        self.stdin = text.into();
        self
    }

    pub fn in_directory(mut self, directory: &Path) -> Start {
        self.directory = Some(directory.into());
        self
    }

    /// Sends these signals to the supervisor, one after the other, when every node is `ready`.
    pub fn with_signals(self, signals: &[i32]) -> Start {
        self.with_acts(&signals.iter().map(|signal| Act::Signal(*signal)).collect::<Vec<_>>())
    }

    /// Does these acts, one after the other, when every node is `ready`.
    pub fn with_acts(mut self, acts: &[Act]) -> Start {
        self.acts = acts.into();
        self
    }

    /// Waits for so many nodes to be `ready` before it plays the user.
    pub fn of_nodes(mut self, nodes: u32) -> Start {
        self.nodes = nodes as usize;
        self
    }

    /// Starts the job with these signals ignored.
    pub fn with_ignored(mut self, signals: &[i32]) -> Start {
        self.ignored = signals.into();
        self
    }

    /// Makes the kernel refuse this system call (EPERM) to all processes of the job, as container runtimes do.
    pub fn with_call_refused(mut self, call: i64) -> Start {
        self.refused_call = Some((call, libc::EPERM));
        self
    }

    /// Makes the kernel one that does not know this system call (ENOSYS).
    pub fn with_call_missing(mut self, call: i64) -> Start {
        self.refused_call = Some((call, libc::ENOSYS));
        self
    }

    /// Sends SIGKILL after this time.
    pub fn with_kill(mut self, delay: Duration, victim: Victim) -> Start {
        self.kill = Some((delay, victim));
        self
    }

    /// Closes the job's stdout after a few lines.
    pub fn with_reader_that_leaves(mut self) -> Start {
        self.reader_leaves = true;
        self
    }

    /// Begins to read the job's output only after this time.
    pub fn with_reader_that_waits(mut self, time: Duration) -> Start {
        self.reader_waits = time;
        self
    }

    /// Makes stdout and stderr one file.
    pub fn with_streams_joined(mut self) -> Start {
        self.joined = true;
        self
    }

    /// Makes the launcher start a shell with `script`; the script starts the program as `"$@"`.
    pub fn wrapped(mut self, script: &str) -> Start {
        let wrapper = ["sh", "-c", script, "sh"].map(String::from);
        self.argv.splice(3..3, wrapper);
        self
    }

    /// Adds options of the launcher in front of the others.
    pub fn insert_option(&mut self, options: &[&str]) {
        self.argv.splice(1..1, options.iter().map(|option| option.to_string()));
    }

    /// Starts the launcher by another command.
    pub fn under(mut self, command: &[&str]) -> Start {
        self.argv.splice(0..0, command.iter().map(|word| word.to_string()));
        self
    }

    fn command(&self, tag: &str) -> Command {
        let mut command = Command::new(&self.argv[0]);
        command.args(&self.argv[1..]).envs(self.env.iter().cloned()).env(TAG, tag);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        if self.acts.iter().any(|act| matches!(act, Act::Group(_))) {
            command.process_group(0);
        }
        let ignored = self.ignored.clone();
        let refused_call = self.refused_call;
        let prepare = move || {
            for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGHUP, libc::SIGTERM] {
                let action = if ignored.contains(&signal) { libc::SIG_IGN } else { libc::SIG_DFL };
                // SAFETY: SIG_IGN and SIG_DFL run no code.
                unsafe { libc::signal(signal, action) };
            }
            refused_call.map_or(Ok(()), refuse_call)
        };
        // SAFETY: `prepare` makes async-signal-safe calls only.
        unsafe { command.pre_exec(prepare) };
        command
    }

    // Puts stdout and stderr into one pipe, if asked for.
    fn join_streams(&self, command: &mut Command) -> Option<OwnedFd> {
        self.joined.then(|| {
            let (reader, writer) = std::io::pipe().unwrap();
            command.stdout(writer.try_clone().unwrap()).stderr(writer);
            reader.into()
        })
    }
}

// Installs a filter that answers one system call with this error. Async-signal-safe.
fn refuse_call((call, error): (i64, i32)) -> std::io::Result<()> {
    use libc::{BPF_ABS, BPF_JEQ, BPF_JMP, BPF_K, BPF_LD, BPF_RET, BPF_W, SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO};
    let step = |code: u32, jt, jf, k| libc::sock_filter { code: code as u16, jt, jf, k };
    let mut steps = [
        step(BPF_LD | BPF_W | BPF_ABS, 0, 0, 0), // the call's number is the first word of the data that a filter sees
        step(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, call as u32),
        step(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | error as u32),
        step(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW),
    ];
    let filter = libc::sock_fprog { len: steps.len() as u16, filter: steps.as_mut_ptr() };
    // SAFETY: this call takes integers only.
    let first = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    // SAFETY: `filter` and its steps are valid; the kernel copies them.
    let second = unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter) };
    if first == 0 && second == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

/// `script` under the launcher, in a program that forks at init, and on two hosts.
pub fn every(nodes: u32, script: &str) -> [Start; 3] {
    [launched(nodes, script), forked(nodes, script), hosted(nodes, script)]
}

/// `script` under the launcher, and in a program that forks at init.
pub fn both(nodes: u32, script: &str) -> [Start; 2] {
    [launched(nodes, script), forked(nodes, script)]
}

/// Runs `script` in every way. All must end with this status.
pub fn expect(nodes: u32, script: &str, status: i32) -> [Outcome; 3] {
    every(nodes, script).map(|start| {
        let text = format!("{start:?}");
        let outcome = run(start);
        assert_eq!(outcome.status, status, "{text}\n{outcome:?}");
        outcome
    })
}

/// Does `act` with each job, all at the same time. For jobs that mostly sleep.
pub fn at_once(starts: impl IntoIterator<Item = Start>, act: impl Fn(Start) + Sync) {
    thread::scope(|scope| {
        for start in starts {
            scope.spawn(|| act(start));
        }
    });
}

/// Runs a job until its outcome is right, three times at most. Only for what is allowed to be otherwise when a process is
/// not scheduled for a while.
pub fn expect_in_one_of_three(start: &Start, is_right: impl Fn(&Outcome) -> bool) {
    assert!((0..3).any(|_| is_right(&run(start.clone()))), "in none of three tries: {start:?}");
}

/// Runs a job to its end. Panics if it hangs, or if one of its processes is still there afterwards.
pub fn run(start: Start) -> Outcome {
    (0..3).find_map(|_| attempt(&start, |_| {})).expect("mpirun ends once in three times")
}

/// Like `run`; `watch` gets the whole output so far each time there is more.
pub fn run_watched(start: Start, watch: impl FnMut(&[u8]) + Send) -> Outcome {
    attempt(&start, watch).expect("mpirun ends")
}

fn attempt(start: &Start, mut watch: impl FnMut(&[u8]) + Send) -> Option<Outcome> {
    let tag = tag();
    let mut command = start.command(&tag);
    let joined = start.join_streams(&mut command);
    let mut child = command.spawn().unwrap();
    drop(command); // the command holds the writing ends of a joined pipe
    let _ = child.stdin.take().unwrap().write_all(start.stdin.as_bytes()); // a node that does not read it may have ended
    let (ready, readiness) = mpsc::channel();
    let out: Box<dyn Read + Send> = match joined {
        Some(reader) => Box::new(fs::File::from(reader)),
        None => Box::new(child.stdout.take().unwrap()),
    };
    let (leaves, waits, nodes) = (start.reader_leaves, start.reader_waits, start.nodes);
    let (status, out, err) = thread::scope(|scope| {
        let out = scope.spawn(move || {
            read_all(out, leaves, waits, move |text| {
                watch(text);
                if nodes > 0 && text.windows(6).filter(|w| w == b"ready\n").count() >= nodes {
                    let _ = ready.send(());
                }
            })
        });
        let err = child.stderr.take().map(|err| thread::spawn(move || read_all(err, false, Duration::ZERO, |_| {})));
        play_user(start, &child, &tag, &readiness);
        let status = wait(&mut child, start, &tag);
        (status, out.join().unwrap(), err.map(|err| err.join().unwrap()).unwrap_or_default())
    });
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let outcome = Outcome { status: status?, out: text(out).replace("ready\n", ""), err: text(err) };
    expect_nothing_left(&tag, start, &outcome);
    Some(outcome)
}

fn play_user(start: &Start, child: &Child, tag: &str, readiness: &mpsc::Receiver<()>) {
    let first = child.id() as i32;
    if let Some((delay, victim)) = start.kill {
        thread::sleep(delay);
        kill(victim, first, tag);
    }
    // A job that ends before it is ready is noticed by its exit status.
    if !start.acts.is_empty() && readiness.recv_timeout(PATIENCE / 2) == Err(mpsc::RecvTimeoutError::Timeout) {
        kill_all(tag);
        panic!("not {} nodes are ready: {start:?}", start.nodes);
    }
    for (number, act) in start.acts.iter().enumerate() {
        match act {
            Act::Await(stopped) => await_all(tag, *stopped),
            Act::Pause(time) => thread::sleep(*time),
            Act::Group(signal) => send(-first, *signal), // the group was made for this job
            Act::Deputy(signal) => send(deputy(first).unwrap(), *signal),
            Act::Signal(signal) => {
                if number > 0 && matches!(start.acts[number - 1], Act::Signal(_)) {
                    thread::sleep(Duration::from_millis(300)); // so that two signals do not merge
                }
                send(first, *signal);
            }
        }
    }
}

fn await_all(tag: &str, stopped: bool) {
    // The state is the word behind the name, which ends at the last bracket.
    let is_stopped = |stat: &str| stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'));
    let deadline = Instant::now() + PATIENCE / 4;
    loop {
        let processes = processes_with(tag);
        if processes.iter().all(|(_, stat)| is_stopped(stat) == stopped) {
            return;
        }
        if Instant::now() > deadline {
            kill_all(tag);
            panic!("stopped should be {stopped}: {processes:?}");
        }
        thread::sleep(Duration::from_millis(5));
    }
}

fn read_all(mut from: impl Read, leaves: bool, waits: Duration, mut look: impl FnMut(&[u8])) -> Vec<u8> {
    let mut text = Vec::new();
    let mut piece = [0; 1 << 16];
    let mut is_long = false;
    thread::sleep(waits);
    while let Ok(n @ 1..) = from.read(&mut piece) {
        text.extend_from_slice(&piece[..n]);
        if leaves {
            break;
        }
        if !is_long && text.len() < 1 << 16 {
            look(&text);
        }
        is_long |= text.len() >= 1 << 16;
    }
    text
}

// `None`: all nodes have ended, and mpirun alone stays. Open MPI 4.1 with PMIx 4.2 may do so after an abort, whatever the nodes are: two of
// its threads wait for each other in PMIx_server_finalize.
fn wait(child: &mut Child, start: &Start, tag: &str) -> Option<i32> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return Some(status.code().unwrap_or_else(|| 128 + status.signal().unwrap()));
        }
        if Instant::now() > deadline {
            let left = processes_with(tag);
            let _ = child.kill();
            if start.argv[0] == "mpirun" && left.len() == 1 && left[0].0 == child.id() as i32 {
                return child.wait().ok().and(None);
            }
            kill_all(tag);
            panic!("the job hangs: {start:?}; its processes: {left:?}");
        }
        thread::sleep(Duration::from_millis(2));
    }
}

fn expect_nothing_left(tag: &str, start: &Start, outcome: &Outcome) {
    // The supervisor cleans up before it ends. If it is killed itself, the kernel kills its nodes, which takes a moment.
    let deadline = Instant::now() + Duration::from_secs(5);
    while !processes_with(tag).is_empty() {
        if Instant::now() > deadline {
            let left = processes_with(tag);
            kill_all(tag);
            panic!("processes are left behind: {left:?} by {start:?}: {outcome:?}");
        }
        thread::sleep(Duration::from_millis(5));
    }
}

fn kill_all(tag: &str) {
    processes_with(tag).iter().for_each(|(pid, _)| send(*pid, libc::SIGKILL));
}

fn send(pid: i32, signal: i32) {
    // SAFETY: kill touches no memory. The number is of a child that has not been waited for, or was found by the tag of a job.
    unsafe { libc::kill(pid, signal) };
}

fn deputy(supervisor: i32) -> Option<i32> {
    let children = fs::read_to_string(format!("/proc/{supervisor}/task/{supervisor}/children"));
    children.ok()?.split_whitespace().next()?.parse().ok()
}

fn kill(victim: Victim, supervisor: i32, tag: &str) {
    match victim {
        Victim::Supervisor => send(supervisor, libc::SIGKILL),
        Victim::Node => {
            let processes = processes_with(tag);
            let node = processes.iter().rfind(|(pid, _)| *pid != supervisor);
            send(node.map_or(supervisor, |(pid, _)| *pid), libc::SIGKILL);
        }
        Victim::Deputy => send(deputy(supervisor).unwrap_or(supervisor), libc::SIGKILL),
        Victim::Everybody => kill_all(tag),
    }
}

fn processes_with(tag: &str) -> Vec<(i32, String)> {
    let name = |pid: i32| (pid, fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default());
    marked::processes(TAG, tag).into_iter().map(name).collect()
}

fn tag() -> String {
    use std::collections::hash_map::RandomState;
    use std::hash::{BuildHasher, Hasher};
    format!("{}-{:x}", std::process::id(), RandomState::new().build_hasher().finish())
}

/// Makes an empty directory for one test.
pub fn scratch(name: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory).unwrap();
    directory
}

/// Writes a script with these permissions and returns its path.
pub fn write_script(path: &Path, text: &str, mode: u32) -> String {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    path.display().to_string()
}

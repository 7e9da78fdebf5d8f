//! The node program. It does the operations of its script one after the other; `@1,2:operation` runs on these ranks
//! only.

#![allow(unsafe_code)] // system calls and C

use super::driver::NODE;
use super::suite::conformance;
use gasnet_sci::base::config::{Config, signal_number};
use gasnet_sci::base::{fatal, log};
use gasnet_sci::boot::{self, Bootstrap, Joined, Key};
use gasnet_sci::job::killed::ThisHost;
use gasnet_sci::job::{self, Phase, exit, signals};
use std::fmt::Write as _;
use std::io::{PipeWriter, Read, Write};
use std::os::unix::process::CommandExt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

unsafe extern "C" {
    fn flockfile(stream: *mut libc::FILE);
    static stdout: *mut libc::FILE;
}

// Runs before the test harness, and before Rust's start-up code changes the disposition of SIGPIPE.
#[used]
#[unsafe(link_section = ".init_array")]
static TAKE_OVER: extern "C" fn() = take_over;

static JOINED: OnceLock<Joined> = OnceLock::new();
const KEY: Key = Key::new("words");
static CODE: AtomicI32 = AtomicI32::new(0);
// Where the handler of `slow_quit_handler` says that it runs, if somebody waits for that.
static HEARD: OnceLock<PipeWriter> = OnceLock::new();

extern "C" fn take_over() {
    let Ok(script) = std::env::var(NODE) else {
        return;
    };
    for word in script.split_whitespace() {
        let (ranks, operation) = match word.strip_prefix('@') {
            Some(rest) => rest.split_once(':').map(|(ranks, operation)| (Some(ranks), operation)).unwrap(),
            None => (None, word),
        };
        if ranks.is_none_or(|ranks| ranks.split(',').any(|r| r.parse() == Ok(rank()))) {
            let (name, value) = operation.split_once(':').unwrap_or((operation, ""));
            perform(name, value);
        }
    }
    leave_main(0)
}

pub fn rank() -> u32 {
    let handoff = || std::env::var("GASNET_SCI_BOOT").unwrap().split(',').nth(1).unwrap().parse().unwrap();
    JOINED.get().map_or_else(handoff, |joined| joined.boot.rank())
}

pub fn joined() -> &'static Joined {
    JOINED.get().unwrap()
}

fn boot() -> &'static dyn Bootstrap {
    &*joined().boot
}

fn leave_main(code: i32) -> ! {
    // SAFETY: the same as returning from main.
    unsafe { libc::exit(code) }
}

fn perform(name: &str, value: &str) {
    let number = || value.parse::<i32>().unwrap();
    match name {
        "join" => join(),
        "attach" => attach(),
        "fence" => boot().fence().unwrap(),
        "conform" => conformance::conforms(boot()),
        "abort" => boot().abort(value.parse().unwrap()),
        "exchange" => exchange(value.parse().unwrap()),
        "exit" => job::exit(number()),
        "return" => leave_main(number()),
        // SAFETY: `_exit` takes an integer and ends the process.
        "_exit" => unsafe { libc::_exit(number()) },
        "fatal" => job::fatal(format_args!("told")),
        "give_up" => fatal::give_up(format_args!("lost")),
        // What a node that leaves in order comes to if it finds meanwhile that a peer is lost.
        "give_up_at_exit" => exit::set_hook(|| fatal::give_up(format_args!("lost"))),
        "advise" => log::advise(value),
        "panic" => panic!("panicked here"),
        "raise" => raise(signal(value)),
        "thread_raise" => drop(thread::spawn({
            let number = signal(value);
            move || raise(number)
        })),
        "raise_twice" => raise_twice(signal(value)),
        // SAFETY: SIG_IGN runs no code.
        "ignore" => drop(unsafe { libc::signal(signal(value), libc::SIG_IGN) }),
        "quit_handler" => handle(libc::SIGQUIT, on_quit),
        "slow_quit_handler" => handle(libc::SIGQUIT, on_quit_slowly),
        "usr1_exits" => {
            CODE.store(number(), Ordering::Relaxed);
            handle(libc::SIGUSR1, on_usr1);
        }
        // Computes a tenth of the time, so that the jobs of other tests have cores.
        "spin" => loop {
            spin_for(Duration::from_micros(500));
            thread::sleep(Duration::from_micros(4500));
        },
        "busy" => spin_for(Duration::MAX),
        "sleep" => thread::sleep(Duration::from_secs(1000)),
        "sleep_ms" => thread::sleep(Duration::from_millis(value.parse().unwrap())),
        "threads" => {
            (0..2).for_each(|_| drop(thread::spawn(|| spin_for(Duration::MAX))));
            spin_for(Duration::MAX);
        }
        "exit_threads" => exit_threads(number()),
        "stdio_lock" => stdio_lock(),
        "overflow" => drop(overflow(1)),
        // SAFETY: a plain function that stays loaded.
        "atexit_fence" => drop(unsafe { libc::atexit(at_exit) }),
        "daemon" => drop(std::process::Command::new("setsid").args(["sleep", "1000"]).spawn().unwrap()),
        "twice" => twice(),
        // The shell command replaces this process.
        "exec" => panic!("{}", std::process::Command::new("sh").args(["-c", value]).exec()),
        _ => print_something(name, value),
    }
}

// Leaves a part of a traffic matrix of about so many bytes, as a node does at exit.
fn leave_part(bytes: usize) {
    let file = boot::own_part(joined().memory.header().cookie(), rank()).unwrap();
    let (rank, nodes, long) = (rank(), boot().size(), "x".repeat(bytes));
    let head = format!("\"format\":\"gasnet-sci matrix\",\"version\":1,\"nodes\":{nodes},\"program\":\"p\"");
    let row = format!("{{\"from\":{rank},\"to\":0,\"put\":[1,64],\"sci\":\"{long}\"}}");
    let places = format!("\"topology\":null,\"places\":[{{\"rank\":{rank}}}]");
    std::fs::write(file, format!("{{{head},\"seconds\":1.0,{places},\"rows\":[{row}]}}")).unwrap();
}

fn print_something(name: &str, value: &str) {
    match name {
        "ready" => write_whole(b"ready\n"),
        "part" => leave_part(value.parse().unwrap_or(1)),
        "positions" => {
            let positions = (0..boot().size()).map(|rank| joined().memory.header().record(rank).position());
            let text: String = positions.map(|at| format!(" {}", at.unwrap())).collect();
            write_whole(format!("positions{text}\n").as_bytes());
        }
        "env" => match std::env::var(value) {
            Ok(text) => write_whole(format!("{value}={text}\n").as_bytes()),
            Err(_) => write_whole(format!("{value} unset\n").as_bytes()),
        },
        // The addresses of a function, of static data, and of a function of a library.
        "layout" => {
            let library = libc::getpid as *const libc::c_void;
            write_whole(format!("{:p} {:p} {library:p}\n", take_over as *const u8, &raw const CODE).as_bytes());
        }
        // The personality of a program that this node starts.
        "personality" => {
            let found = std::process::Command::new("cat").arg("/proc/self/personality").output().unwrap();
            write_whole(&found.stdout);
        }
        "arguments" => {
            join();
            let arguments: Vec<String> = std::env::args().skip(1).collect();
            write_whole(format!("{}: {arguments:?}\n", rank()).as_bytes());
            job::exit(0);
        }
        "stdin" => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).unwrap();
            write_whole(format!("{} read {text:?}\n", rank()).as_bytes());
        }
        _ if name.contains("task") => crate::node_tasks::act(name, value),
        "buffer" => {
            let text = std::ffi::CString::new(value).unwrap();
            // SAFETY: a C string and C's stdout.
            unsafe { libc::fputs(text.as_ptr(), stdout) };
        }
        // SAFETY: C's stdout.
        "flush" => drop(unsafe { libc::fflush(stdout) }),
        "lines" => lines(value.parse().unwrap()),
        // One line of this many megabytes.
        "long" => (0..value.parse().unwrap()).for_each(|_| write_whole(&[b'y'; 1 << 20])),
        // So many lines, each of the node's number three million times.
        "long_lines" => (0..value.parse().unwrap()).for_each(|_| {
            let digit = rank().to_string().into_bytes();
            write_whole(&[digit.repeat(LONG), b"\n".to_vec()].concat());
        }),
        "dispositions" => dispositions(),
        _ => panic!("unknown operation {name}"),
    }
}

// --- joining -------------------------------------------------------------------------------------

// Joins as gasnet_init does.
fn try_join() -> Result<Joined, String> {
    let config = Config::from_env().map_err(|e| e.to_string())?.0;
    let joined = boot::join(&config, &ThisHost { reserve: config.reserve }).map_err(|e| e.to_string())?;
    exit::register_process_exit();
    exit::install_error_hooks();
    signals::install_at_init(&config);
    joined.boot.fence().map_err(|e| e.to_string())?;
    joined.memory.set_phase(Phase::Inited);
    Ok(joined)
}

fn join() {
    match try_join() {
        Ok(joined) => drop(JOINED.set(joined)),
        Err(error) => {
            write_to(2, format!("{error}\n").as_bytes());
            leave_main(99);
        }
    }
}

fn attach() {
    signals::install_at_attach(&Config::from_env().unwrap().0);
    joined().memory.set_phase(Phase::Attached);
    boot().fence().unwrap();
}

fn exchange(rounds: u64) {
    let boot = boot();
    let words = |round: u64, rank: u32| [round * 1000 + u64::from(rank); 8];
    for round in 0..rounds {
        boot::put_words(boot, KEY, &words(round, boot.rank())).unwrap();
        boot.fence().unwrap();
        for peer in 0..boot.size() {
            assert_eq!(boot::get_words(boot, peer, KEY), Ok(words(round, peer)));
        }
    }
}

fn twice() {
    let handoff = std::env::var("GASNET_SCI_BOOT").unwrap();
    join();
    // SAFETY: this process has one thread; the child runs this program's code only.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: this process has one thread.
        unsafe { std::env::set_var("GASNET_SCI_BOOT", handoff) };
        join();
    }
    let mut status = 0;
    // SAFETY: `status` is writable.
    unsafe { libc::waitpid(child, &mut status, 0) };
    job::exit(libc::WEXITSTATUS(status));
}

// --- ends and signals ----------------------------------------------------------------------------

pub fn signal(name: &str) -> i32 {
    signal_number(name).unwrap()
}

fn raise(signal: i32) {
    // SAFETY: touches no memory.
    unsafe { libc::raise(signal) };
}

// Another process sends the signals, as a user does, so that only this thread can take them. The second one comes when
// the handler of the first one runs: before that, the two might be taken for one.
fn raise_twice(signal: i32) {
    let node = std::process::id() as i32;
    let (mut ran, heard) = std::io::pipe().unwrap();
    HEARD.set(heard).unwrap();
    // SAFETY: this process has one thread; the child makes system calls only.
    if unsafe { libc::fork() } > 0 {
        return;
    }
    // SAFETY: touches no memory.
    unsafe { libc::kill(node, signal) };
    let _ = ran.read_exact(&mut [0; 1]); // without that handler it waits until the job ends
    // SAFETY: touches no memory.
    unsafe { libc::kill(node, signal) };
    // SAFETY: `_exit` takes an integer and ends the process.
    unsafe { libc::_exit(0) }
}

fn handle(signal: i32, handler: extern "C" fn(i32)) {
    // SAFETY: the handlers below make async-signal-safe calls only.
    unsafe { libc::signal(signal, handler as libc::sighandler_t) };
}

extern "C" fn on_quit(_: i32) {
    write_whole(b"quit handler\n");
    job::exit(1);
}

extern "C" fn on_quit_slowly(_: i32) {
    if let Some(mut heard) = HEARD.get() {
        heard.write_all(b"!").unwrap();
        thread::sleep(Duration::from_secs(15)); // the second signal ends this node, however late it comes
    }
    thread::sleep(Duration::from_millis(1500));
    write_whole(b"late\n");
    job::exit(1);
}

extern "C" fn on_usr1(_: i32) {
    job::exit(CODE.load(Ordering::Relaxed));
}

extern "C" fn at_exit() {
    boot().fence().unwrap();
    write_whole(b"atexit\n");
}

fn spin_for(time: Duration) {
    let begin = Instant::now();
    while begin.elapsed() < time {
        std::hint::spin_loop();
    }
}

fn exit_threads(code: i32) {
    for _ in 0..4 {
        thread::spawn(move || job::exit(code));
    }
    job::exit(code)
}

fn stdio_lock() {
    let (locked, wait) = std::sync::mpsc::channel();
    thread::spawn(move || {
        // SAFETY: C's stdout.
        unsafe { flockfile(stdout) };
        locked.send(()).unwrap();
        thread::sleep(Duration::from_secs(1000));
    });
    wait.recv().unwrap();
}

#[allow(unconditional_recursion)] // it is meant to run out of stack
fn overflow(depth: u64) -> u64 {
    let frame = std::hint::black_box([depth; 64]);
    overflow(depth + 1) + frame[0]
}

fn dispositions() {
    let names = "ABRT ILL SEGV BUS FPE INT TERM HUP PIPE QUIT";
    let is_default = |name: &str| {
        let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: a null new action changes nothing; `action` is writable.
        unsafe { libc::sigaction(signal(name), std::ptr::null(), action.as_mut_ptr()) };
        // SAFETY: zeroed is valid.
        unsafe { action.assume_init() }.sa_sigaction == libc::SIG_DFL
    };
    let taken: Vec<&str> = names.split(' ').filter(|name| !is_default(name)).collect();
    write_whole(if taken.is_empty() { "all default\n".into() } else { format!("{taken:?}\n") }.as_bytes());
}

// --- output --------------------------------------------------------------------------------------

pub fn write_whole(bytes: &[u8]) {
    write_to(1, bytes);
}

fn write_to(fd: i32, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        // SAFETY: `bytes` is readable.
        let n = unsafe { libc::write(fd, bytes.as_ptr().cast(), bytes.len()) };
        bytes = &bytes[n.max(0) as usize..];
    }
}

const PIECE: usize = 1000;

/// Bytes of a line of `long_lines`: more than any node's share of the launcher's memory.
pub const LONG: usize = 3_000_000;

/// A line that `lines` writes, without its end.
pub fn line(rank: u32, number: usize) -> String {
    format!("{rank} {number} {}", ".".repeat(number % 97))
}

// Every tenth line goes to stderr. Lines are written in pieces that end anywhere, as a stream's buffer does it. Those of
// node 0 end with a line: one that it leaves unfinished is taken for a prompt, if this process is not scheduled for a tenth
// of a second.
fn lines(count: usize) {
    let mut held = [String::new(), String::new()];
    for number in 0..count {
        let stream = usize::from(number % 10 == 9);
        let _ = writeln!(held[stream], "{}", line(rank(), number));
        if held[stream].len() >= PIECE {
            let end = if rank() == 0 { held[stream].len() } else { PIECE };
            let rest = held[stream].split_off(end);
            write_to(stream as i32 + 1, held[stream].as_bytes());
            held[stream] = rest;
        }
    }
    held.iter().zip([1, 2]).for_each(|(text, fd)| write_to(fd, text.as_bytes()));
}

/// Checks that every line of `lines:count` that nodes wrote to stdout is there, whole and in order. Lines of stderr
/// may be among them.
pub fn check_lines(out: &str, nodes: usize, count: usize) {
    let mut next = vec![[0, 9]; nodes];
    for line in out.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let [rank, number, dots] = words[..] else { panic!("torn line {line:?}") };
        let (rank, number): (usize, usize) = (rank.parse().unwrap(), number.parse().unwrap());
        assert_eq!(dots, ".".repeat(number % 97), "torn line {line:?}");
        let stream = usize::from(number % 10 == 9);
        assert_eq!(number, next[rank][stream], "lines of node {rank} are out of order");
        next[rank][stream] += if stream == 1 { 10 } else { 1 + usize::from(number % 10 == 8) };
    }
    let end = if count.is_multiple_of(10) { count } else { panic!("choose a multiple of ten") };
    assert!(next.iter().all(|n| n[0] == end), "lines are missing: {next:?}");
}

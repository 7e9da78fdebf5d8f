//! Joining a job that a foreign launcher started (Open MPI's mpirun, Slurm's srun, and others that speak PMIx).
//!
//! PMIx gives rank and size, and exchanges values between all processes. Out of that comes what our own launcher
//! hands over: a job memory on each host. Steps, with a fence of PMIx after each:
//!
//! 1. Every process publishes the key of its host (`hosts`), node 0 the job's secret. All compute the number of each
//!    node's host.
//! 2. The first node of each host makes the memory and publishes where it is. In a job of several hosts it also publishes
//!    where the other hosts can connect (`meeting`).
//! 3. The others open it. They publish whether they need help, and those who do get a copy of the descriptor.
//!
//! Signals, standard streams and deaths are the launcher's business. What else a supervisor does is in `watch`; where the process belongs to a
//! guest, nobody does it.
//!
//! Must not know: messages, segments.

pub mod abi;
mod exchange;
mod foreign;
mod hosts;
mod library;
mod links;
mod meeting;
mod pass;
mod watch;

pub use exchange::Exchange;
pub use foreign::{Foreign, found};

use super::contact::address::Endpoint;
use super::member::{JobError, Joined, enter};
use crate::base::config::Config;
use crate::base::log;
use crate::os::own_threads;
use crate::os::sys::{self, SignalSet};
use crate::supervise::JobHeader;
use hosts::{Made, Offer};
use library::Library;
use links::{Link, Links};
use meeting::Hub;

use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;
use watch::Watch;

const CARD: &str = "gasnet-sci.host";
const OFFER: &str = "gasnet-sci.memory";
const SECRET: &str = "gasnet-sci.secret";
const HELP: &str = "gasnet-sci.help";
const LINK: &str = "gasnet-sci.link";

/// Joins the job that `who` names. `fits` gives the reason if that number of nodes does not fit this host. `None`: the
/// launcher started this process alone.
///
/// # Errors
/// What was tried, and why it failed. A process of several is never left to itself.
pub fn join(who: &str, config: &Config, fits: &impl Fn(u32) -> Result<(), String>) -> Result<Option<Joined>, JobError> {
    let place = |problem: String| {
        JobError::Place(format!(
            "{who} says that a launcher started this process, but joining its other processes failed: {problem}"
        ))
    };
    if sys::is_privileged() {
        return Err(place(
            "this program has rights that its caller lacks (setuid, setgid or file capabilities), so it shares no \
             memory with the caller's processes"
                .into(),
        ));
    }
    let library: &'static Library = Box::leak(Box::new(begin().map_err(place)?));
    let nodes = library.size().map_err(place)?;
    if nodes == 1 && config.nodes > 1 {
        library.finalize(); // this process forks the nodes, and is none itself
        return Ok(None);
    }
    log::set_identity(library.rank(), nodes); // errors from here on come from this node
    let fits = |local| fits(local).map_err(JobError::TooMany);
    let found = share(library, nodes, config, fits).map_err(|problem| match problem {
        Problem::Place(text) => place(text),
        Problem::Whole(error) => error,
    })?;
    let Place { file, header, several_hosts, tells_hosts } = found;
    let rank = library.rank();
    let mut joined = enter(header, rank, file, None, config).map_err(JobError::Place)?;
    if several_hosts {
        joined.boot = Box::new(Exchange::new(library, nodes));
    }
    if config.guest {
        watch::stand_aside(library);
        return Ok(Some(joined));
    }
    let exit_time = Duration::from_secs_f64(config.exit_seconds(nodes));
    watch::start(Watch { library, header, rank, tells_hosts, exit_time })
        .map_err(|e| place(format!("pthread_create: {e}")))?;
    library.on_lost_connection(lost).map_err(place)?;
    Ok(Some(joined))
}

// PMIx starts a thread, which inherits the mask: signals are for the client's threads.
fn begin() -> Result<Library, String> {
    let mask = SignalSet::all_but_faults().apply(libc::SIG_SETMASK);
    let library = own_threads::of_library(Library::begin);
    mask.apply(libc::SIG_SETMASK);
    library
}

extern "C" fn lost(
    _handler: usize,
    _status: abi::Status,
    _source: *const abi::Proc,
    _info: *mut abi::Info,
    _infos: usize,
    _results: *mut abi::Info,
    _result_count: usize,
    _done: Option<abi::EventDone>,
    _argument: *mut libc::c_void,
) {
    watch::launcher_is_gone();
}

/// What comes out of the steps.
struct Place {
    file: OwnedFd,
    header: JobHeader,
    several_hosts: bool,
    tells_hosts: bool,
}

enum Problem {
    Place(String),
    Whole(JobError),
}

impl From<String> for Problem {
    fn from(text: String) -> Problem {
        Problem::Place(text)
    }
}

fn share(
    library: &Library,
    nodes: u32,
    config: &Config,
    fits: impl Fn(u32) -> Result<(), JobError>,
) -> Result<Place, Problem> {
    let me = library.rank();
    library.publish(CARD, hosts::key(config.host.as_deref()).as_bytes())?;
    let word = || sys::secret().map(u64::to_le_bytes).map_err(|e| e.to_string());
    if me == 0 {
        library.publish(SECRET, [word()?, word()?].as_flattened())?;
    }
    library.fence()?;
    let secret = library.fetch(0, SECRET)?;
    let words =
        |bytes: &[u8]| Some([u64::from_le_bytes(*bytes.first_chunk()?), u64::from_le_bytes(*bytes.last_chunk()?)]);
    let secret =
        words(&secret).filter(|_| secret.len() == 16).ok_or("node 0 published no secret of 16 bytes".to_string())?;
    let keys = (0..nodes).map(|rank| library.fetch(rank, CARD)).collect::<Result<Vec<_>, _>>()?;
    let hosts = hosts::numbers(&keys);
    let own = hosts[me as usize];
    let locals: Vec<u32> = (0..nodes).filter(|rank| hosts[*rank as usize] == own).collect();
    let maker = locals[0];
    fits(locals.len() as u32).map_err(Problem::Whole)?;
    let made = if maker == me { Some(hosts::make(own, &hosts, secret)?) } else { None };
    if let Some(Made { offer, .. }) = &made {
        library.publish(OFFER, &offer.bytes())?;
    }
    let count = hosts.iter().max().map_or(1, |last| last + 1);
    let mut hub = None;
    if me == 0 && count > 1 {
        let at = endpoint(config)?;
        let mut secret = [0; 16];
        secret.as_chunks_mut().0.iter_mut().try_for_each(|part| word().map(|word| *part = word))?;
        let made = Hub::open(&at, secret, count)?;
        library.publish(LINK, &made.card)?;
        hub = Some(made);
    }
    library.fence()?;
    let several_hosts = count > 1;
    let Some(made) = made else {
        let (file, header) = take(library, maker, nodes)?;
        return Ok(Place { file, header, several_hosts, tells_hosts: false });
    };
    let (file, header) = give(library, made, &locals)?;
    let met = match hub {
        Some(hub) => hub.gather()?,
        None if several_hosts => vec![meeting::connect(&library.fetch(0, LINK)?, own, count, &endpoint(config)?)?],
        None => Vec::new(),
    };
    let silence = Duration::from_secs_f64(config.hosts.link_timeout);
    let link = |met| Link::new(met, silence).map_err(|e| format!("a link between hosts: {e}"));
    // A guest's process ends when it likes, so that the end of a link means nothing.
    let met = met.into_iter().filter(|_| !config.guest);
    let links = met.map(link).collect::<Result<_, _>>()?;
    // Its own handle of the same number: the thread has a table of its own, where the number is the same.
    Links { links, header, memory: file.as_raw_fd() }
        .start()
        .map_err(|e| format!("a thread for the links between hosts: {e}"))?;
    Ok(Place { file, header, several_hosts, tells_hosts: several_hosts })
}

// Where this host talks to the others.
fn endpoint(config: &Config) -> Result<Endpoint, String> {
    Endpoint::choose(config.hosts.interface.as_deref(), config.hosts.ports.clone())
}

// The maker's half of step 3.
fn give(library: &Library, made: Made, locals: &[u32]) -> Result<(OwnedFd, JobHeader), String> {
    library.publish(HELP, &[0])?;
    library.fence()?;
    let mut needy = 0;
    for rank in &locals[1..] {
        needy += u32::from(library.fetch(*rank, HELP)? == [1]);
    }
    if needy > 0 {
        let problem = |e| format!("{needy} nodes of this host cannot be given the job's memory: {e}");
        let door = made.door.ok_or_else(|| problem("no socket for it".to_string()))?;
        door.serve(needy, &made.file).map_err(|e| problem(e.to_string()))?;
    }
    Ok((made.file, made.header))
}

// The half of the others.
fn take(library: &Library, maker: u32, nodes: u32) -> Result<(OwnedFd, JobHeader), String> {
    let offer = library.fetch(maker, OFFER)?;
    let offer = Offer::read(&offer).ok_or_else(|| format!("node {maker} published nothing usable about its memory"))?;
    let opened = hosts::open(offer, nodes);
    library.publish(HELP, &[opened.is_err().into()])?;
    library.fence()?;
    opened.or_else(|by_path| {
        hosts::fetch(offer, nodes).map_err(|by_socket| {
            format!(
                "the memory of node {maker}, which seems to be on this host, is out of reach ({by_path}; over a socket: \
                 {by_socket}); give each of the two its own GASNET_SCI_HOST"
            )
        })
    })
}

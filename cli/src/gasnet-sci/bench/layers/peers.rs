//! The layers that are programs of their own: TCP, which this command runs itself, and MPI and PVM, which are compiled here if they are
//! installed.

use super::super::jobs::Settings;
use super::super::plan::Trip;
use super::{MPI, PVM, RINGS, TCP};
use crate::registry::{self, Scratch};
use gasnet_sci::os::signal;
use std::env::current_exe;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const SOURCES: [(&str, &str); 3] = [
    ("layer.h", include_str!("../../../../../c-tests/apps/deck/layer.h")),
    ("layer-mpi.c", include_str!("../../../../../c-tests/apps/deck/layer-mpi.c")),
    ("layer-pvm.c", include_str!("../../../../../c-tests/apps/deck/layer-pvm.c")),
];

/// Where Debian has PVM.
const PVM_ROOT: &str = "/usr/lib/pvm3";
/// How long its daemon may take until it serves, and until it has ended.
const PVM_PATIENCE: Duration = Duration::from_secs(5);

/// What a run measured, or why it did not.
pub type Samples = Result<Vec<(Trip, usize, f64)>, String>;
/// A layer's name, and what runs it once.
pub type Program<'a> = (&'static str, Box<dyn Fn() -> Samples + 'a>);

/// A directory with the compiled programs, and what they are told.
pub struct Place {
    scratch: Scratch,
    arguments: [String; 4],
    /// Why there is no program of MPI.
    mpi: Result<(), String>,
    /// Why there is no program of PVM.
    pvm: Result<(), String>,
    /// What Open MPI says of itself.
    components: String,
}

impl Place {
    /// Compiles what can be compiled.
    pub fn new(settings: &Settings) -> io::Result<Place> {
        let scratch = registry::scratch()
            .map_err(|error| io::Error::other(format!("--layers: no directory for compiled programs: {error}")))?;
        let nanoseconds = settings.layers_budget() * 1000;
        let arguments = [settings.rounds, nanoseconds, settings.cpus[0] as u32, settings.cpus[1] as u32];
        let arguments = arguments.map(|number| number.to_string());
        let mut place = Place { scratch, arguments, mpi: Ok(()), pvm: Ok(()), components: String::new() };
        for (name, text) in SOURCES {
            fs::write(place.file(name), text)?;
        }
        place.mpi = place.prepare_mpi();
        place.pvm = place.compile("gcc", "layer-pvm", &["-lpvm3"], "PVM's headers (Debian: pvm-dev) are not installed");
        Ok(place)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    /// All of them.
    pub fn programs(&self) -> Vec<Program<'_>> {
        let mut all: Vec<Program<'_>> = vec![(RINGS, Box::new(|| self.rings())), (TCP, Box::new(|| self.tcp()))];
        for (who, component) in MPI {
            all.push((who, Box::new(move || self.mpi(component))));
        }
        all.push((PVM, Box::new(|| self.pvm())));
        all
    }

    fn compile(&self, compiler: &str, program: &str, libraries: &[&str], why: &str) -> Result<(), String> {
        let mut command = Command::new(compiler);
        command.args(["-std=gnu11", "-D_GNU_SOURCE", "-O2", "-o", program, &format!("{program}.c")]).args(libraries);
        output(command.current_dir(self.scratch.path())).map(drop).map_err(|problem| format!("{why}: {problem}"))
    }

    fn prepare_mpi(&mut self) -> Result<(), String> {
        self.compile("mpicc", "layer-mpi", &[], "no compiler of MPI (Debian: libopenmpi-dev)")?;
        let info = output(Command::new("ompi_info").arg("--parsable")).map_err(|why| format!("no Open MPI: {why}"))?;
        self.components = String::from_utf8_lossy(&info.stdout).into();
        Ok(())
    }

    /// The bare connection.
    fn tcp(&self) -> Samples {
        samples(&output(Command::new(this()?).arg("bench-layer").args(&self.arguments))?)
    }

    /// The same program by drop-in sockets.
    fn rings(&self) -> Samples {
        let mut command = Command::new(this()?);
        command.args(["sock", "run", "-v", "--"]).arg(this()?).arg("bench-layer").args(&self.arguments);
        let done = output(&mut command)?;
        let said = String::from_utf8_lossy(&done.stderr);
        if !said.contains("goes by rings") || said.contains("steps down") {
            return Err(format!("the connection stayed with the kernel: {}", last_line(&done.stderr)));
        }
        samples(&done)
    }

    fn mpi(&self, component: &str) -> Samples {
        self.mpi.clone()?;
        if !self.components.contains(&format!("mca:btl:{component}:")) {
            let where_from =
                if component == "sci" { ": OMPI_MCA_mca_base_component_path must name its directory" } else { "" };
            return Err(format!("Open MPI finds no component {component}{where_from}"));
        }
        let mut command = Command::new("mpirun");
        command.args(["-n", "2", "--oversubscribe", "--bind-to", "none", "--mca", "pml", "ob1", "--mca", "btl"]);
        command.arg(format!("{component},self")).arg(self.file("layer-mpi")).args(&self.arguments);
        // Who runs this as root has decided it.
        command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        samples(&output(&mut command)?)
    }

    /// A virtual machine of its own, whose files are in the directory, so that one that the user has is not disturbed.
    fn pvm(&self) -> Samples {
        self.pvm.clone()?;
        let with = |program: &Path| {
            let mut command = Command::new(program);
            command.env("PVM_ROOT", PVM_ROOT).env("PVM_TMP", self.scratch.path()).env("PVM_ALLOW_ROOT", "1");
            command.current_dir(self.scratch.path());
            command
        };
        let mut daemon = with(Path::new("pvmd"));
        let daemon = daemon.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let mut daemon = daemon.map_err(|why| format!("no pvmd (Debian: pvm): {why}"))?;
        let result = self.await_daemon(&mut daemon).and_then(|()| {
            let done = output(with(&self.file("layer-pvm")).args(&self.arguments))?;
            samples(&done)
        });
        end(&mut daemon);
        result
    }

    // The daemon writes its address into a file when it serves.
    fn await_daemon(&self, daemon: &mut Child) -> Result<(), String> {
        let until = Instant::now() + PVM_PATIENCE;
        loop {
            let mut entries = fs::read_dir(self.scratch.path()).map_err(|why| why.to_string())?.flatten();
            if entries.any(|entry| entry.file_name().to_string_lossy().starts_with("pvmd.")) {
                return Ok(());
            }
            if let Ok(Some(status)) = daemon.try_wait() {
                return Err(format!("pvmd: {status}"));
            }
            if Instant::now() > until {
                return Err(format!("pvmd does not serve after {} s", PVM_PATIENCE.as_secs()));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

// Its processes end with the daemon when that is asked; when it is killed they notice.
fn end(daemon: &mut Child) {
    signal::kill(daemon.id() as i32, libc::SIGTERM);
    let until = Instant::now() + PVM_PATIENCE;
    while Instant::now() < until {
        if !matches!(daemon.try_wait(), Ok(None)) {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let _ = daemon.kill();
    let _ = daemon.wait();
}

fn this() -> Result<PathBuf, String> {
    current_exe().map_err(|why| format!("this command does not find itself: {why}"))
}

/// What a program printed, if it ended well.
fn output(command: &mut Command) -> Result<Output, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let done = command.stdin(Stdio::null()).output().map_err(|why| format!("{name}: {why}"))?;
    if done.status.success() {
        return Ok(done);
    }
    Err(format!("{name}: {}: {}", done.status, last_line(&done.stderr)))
}

fn last_line(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    text.lines().map(str::trim).rfind(|line| line.chars().any(char::is_alphanumeric)).unwrap_or_default().to_owned()
}

/// Reads lines as layer.h prints them.
fn samples(done: &Output) -> Samples {
    let text = String::from_utf8_lossy(&done.stdout);
    let found: Option<Vec<_>> = text.lines().map(sample).collect();
    found
        .filter(|all| !all.is_empty())
        .ok_or_else(|| format!("its output is no list of figures: {}", last_line(&done.stdout)))
}

fn sample(line: &str) -> Option<(Trip, usize, f64)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [kind, bytes, ns] = words[..] else { return None };
    let trip = match kind {
        "trip" => Trip::Half,
        "exchange" => Trip::Exchange,
        _ => return None,
    };
    Some((trip, bytes.parse().ok()?, ns.parse().ok().filter(|ns| *ns > 0.0)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    #[test]
    fn lines_of_programs_are_read_and_others_are_refused() {
        assert!(sample("trip 4 151.25") == Some((Trip::Half, 4, 151.25)));
        assert!(sample("exchange 1048576 80000.00") == Some((Trip::Exchange, 1 << 20, 80000.0)));
        for line in ["", "trip 4", "trip 4 0.00", "back 4 1.0", "trip 4 1.0 x", "trip four 1.0"] {
            assert!(sample(line).is_none(), "{line}");
        }
    }

    #[test]
    fn a_run_without_figures_says_its_last_line() {
        let (status, stderr) = (ExitStatus::from_raw(0), Vec::new());
        let done = Output { status, stdout: b"no figures\n---\n".to_vec(), stderr };
        assert!(samples(&done).unwrap_err().ends_with(": no figures"));
        assert!(output(Command::new("false").arg("x")).unwrap_err().starts_with("false: exit status: 1"));
        assert!(output(&mut Command::new("gasnet-sci-no-such-program")).unwrap_err().contains("No such file"));
    }
}

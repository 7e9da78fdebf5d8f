//! `gasnet-sci tree`: build trees of GASNet, for clients whose build takes one instead of an installation, as UPC++'s does.
//!
//! Such a build greps the versions in `gasnet_config.h`, makes targets in `NAME-conduit`, includes the make fragments there, lets
//! `config.status` fill templates, and installs by the tree's Makefile. Here the libraries are those of the installation, so that no
//! target has anything to do. Release and debug differ in what clients are compiled with, and are one tree each.
//!
//! The make fragments are those of the installation: what is written here of them is only what differs.
//!
//! Must not know: how programs are built; `packaging/conduit.mak.in` does.

use clap::ArgMatches;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The thread modes in which clients take a tree.
const THREADS: [&str; 2] = ["seq", "par"];
/// The conduit whose fragments every installation has.
const OWN: &str = "sci";
/// The launcher of the udp conduit that drivers start.
const UDP_LAUNCHER: &str = "amudprun";

/// Writes the trees.
pub fn run(options: &ArgMatches) -> io::Result<()> {
    let directory = std::path::absolute(options.get_one::<PathBuf>("directory").expect("clap requires it"))?;
    let conduit = options.get_one::<String>("as").expect("clap has a default");
    let installation = match options.get_one::<PathBuf>("installation") {
        Some(given) => fs::canonicalize(given).map_err(|error| about(given, &error))?,
        None => own_installation()?,
    };
    let installation = Installation(installation);
    installation.check()?;
    if !conduit.starts_with(|c: char| c.is_ascii_lowercase())
        || !conduit.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
    {
        return Err(io::Error::other(format!(
            "--as is '{conduit}': allowed are letters, digits and _, the first a letter, no capitals"
        )));
    }
    for mode in [Mode::Opt, Mode::Debug] {
        let at = directory.join(mode.name());
        Tree { installation: &installation, conduit, mode, at: word("DIR", &at)? }.write()?;
    }
    println!(
        "wrote {0}/opt and {0}/debug: build trees of GASNet with conduit {conduit}, of the installation in {1}",
        directory.display(),
        installation.0.display()
    );
    Ok(())
}

/// What clients are compiled for.
#[derive(Clone, Copy)]
enum Mode {
    Opt,
    Debug,
}

impl Mode {
    fn name(self) -> &'static str {
        match self {
            Mode::Opt => "opt",
            Mode::Debug => "debug",
        }
    }

    /// The word for GASNet's configure.
    fn switch(self) -> &'static str {
        match self {
            Mode::Opt => "--disable-debug",
            Mode::Debug => "--enable-debug",
        }
    }
}

/// The installation's directory.
struct Installation(PathBuf);

impl Installation {
    fn fragment(&self, threads: &str) -> PathBuf {
        self.0.join(format!("include/{OWN}-conduit/{OWN}-{threads}.mak"))
    }

    fn check(&self) -> io::Result<()> {
        let first = self.fragment(THREADS[0]);
        match first.is_file() {
            true => word("the installation", &self.0).map(drop),
            false => Err(io::Error::other(format!(
                "{} is no installation with headers: {} is missing; install with ci/install or the development package, or \
                 say --installation DIR",
                self.0.display(),
                first.display()
            ))),
        }
    }

    fn read(&self, name: &str) -> io::Result<String> {
        let path = self.0.join(name);
        fs::read_to_string(&path).map_err(|error| about(&path, &error))
    }
}

/// One tree.
struct Tree<'a> {
    installation: &'a Installation,
    conduit: &'a str,
    mode: Mode,
    at: &'a str,
}

impl Tree<'_> {
    fn write(&self) -> io::Result<()> {
        let Tree { installation, conduit, .. } = self;
        let part = format!("{conduit}-conduit");
        for threads in THREADS {
            let path = installation.fragment(threads);
            let text = fs::read_to_string(&path).map_err(|error| about(&path, &error))?;
            self.file(&format!("{part}/{conduit}-{threads}.mak"), &self.fragment(&text, threads, &path)?, false)?;
        }
        // Build systems ask the first, which they only read, for versions, and the others for the compiler.
        self.file("gasnet_config.h", &installation.read("include/gasnet_config.h")?, false)?;
        for name in ["gasnet_portable_platform.h", "portable_platform.h"] {
            self.file(&format!("include/{name}"), &installation.read(&format!("include/{name}"))?, false)?;
        }
        self.file(&format!("{part}/gasnet_sci_conduit.h"), &self.fill(CONDUIT_HEADER), false)?;
        self.file(&format!("{part}/Makefile"), &self.fill(PARTS), false)?;
        self.file("Makefile", &self.fill(MAKEFILE), false)?;
        self.file("config.status", &self.fill(CONFIG_STATUS), true)?;
        // Drivers look in the second place while a client's build is not installed.
        let launcher = format!("gasnetrun_{conduit}");
        for directory in ["bin", &format!("{part}/contrib")] {
            self.file(&format!("{directory}/{launcher}"), &self.fill(LAUNCHER), true)?;
        }
        if *conduit == "udp" {
            self.file("other/amudp/Makefile", &self.fill(PARTS), false)?;
            for directory in ["bin", "other/amudp"] {
                self.file(&format!("{directory}/{UDP_LAUNCHER}"), &self.fill(LAUNCHER), true)?;
            }
        }
        Ok(())
    }

    fn fill(&self, template: &str) -> String {
        let installation = self.installation.0.display().to_string();
        template
            .replace("@installation@", &installation)
            .replace("@conduit@", self.conduit)
            .replace("@CONDUIT@", &self.conduit.to_uppercase())
            .replace("@mode@", self.mode.name())
            .replace("@switch@", self.mode.switch())
    }

    /// The installation's fragment `text` with this tree's headers and mode.
    fn fragment(&self, text: &str, threads: &str, path: &Path) -> io::Result<String> {
        let headers = format!("-I$(GASNET_PREFIX)/include/{OWN}-conduit");
        let mut out = format!(
            "# gasnet-sci: how to build GASNet clients in a build tree of conduit {}, thread mode {}, {}. Written by gasnet-sci tree.\n",
            self.conduit,
            threads.to_uppercase(),
            self.mode.name()
        );
        let mut found = 0;
        for line in text.lines().skip(1) {
            let (name, value) = line.split_once(" =").unwrap_or((line, ""));
            let line = match (name, self.mode) {
                ("GASNET_PREFIX", _) => {
                    found += 1;
                    // The tree has a line of its own, which `make install` changes.
                    format!("GASNET_PREFIX = {}\nGASNET_TREE = {}", self.installation.0.display(), self.at)
                }
                ("GASNET_INCLUDES", _) if value.contains(&headers) => {
                    found += 1;
                    line.replace(&headers, &format!("-I$(GASNET_TREE)/{}-conduit", self.conduit))
                }
                ("GASNET_DEFINES", Mode::Debug) => {
                    found += 1;
                    format!("{name} = -DGASNET_DEBUG=1{value}")
                }
                ("GASNET_OPT_CFLAGS" | "GASNET_OPT_CXXFLAGS", Mode::Debug) => format!("{name} = -g"),
                _ => line.to_string(),
            };
            out.push_str(&line);
            out.push('\n');
        }
        let wanted = if matches!(self.mode, Mode::Debug) { 3 } else { 2 };
        match found == wanted {
            true => Ok(out),
            false => Err(about(path, &"it is not a make fragment of this version; install again")),
        }
    }

    fn file(&self, name: &str, text: &str, is_program: bool) -> io::Result<()> {
        let path = Path::new(self.at).join(name);
        let write = || {
            path.parent().map_or(Ok(()), fs::create_dir_all)?;
            fs::write(&path, text)?;
            fs::set_permissions(&path, fs::Permissions::from_mode(if is_program { 0o755 } else { 0o644 }))
        };
        write().map_err(|error| about(&path, &error))
    }
}

const CONDUIT_HEADER: &str = include_str!("../../../packaging/conduit.h.in");
const MAKEFILE: &str = include_str!("tree/Makefile.in");
const PARTS: &str = include_str!("tree/parts.mk.in");
const CONFIG_STATUS: &str = include_str!("tree/config.status.in");
const LAUNCHER: &str = include_str!("tree/launcher.in");

/// The installation that this command lies in.
fn own_installation() -> io::Result<PathBuf> {
    let here = std::env::current_exe().and_then(fs::canonicalize)?;
    Ok(here.parent().and_then(Path::parent).unwrap_or(Path::new("/")).to_path_buf())
}

/// The path as a word that makefiles and shells take as it is.
fn word<'a>(what: &str, path: &'a Path) -> io::Result<&'a str> {
    let is_plain = |text: &&str| text.chars().all(|c| c.is_ascii_alphanumeric() || "/._+=@~-".contains(c));
    path.to_str().filter(is_plain).ok_or_else(|| {
        let path = path.display();
        io::Error::other(format!("{what} is '{path}': makefiles take letters, digits and / . _ + = @ ~ -"))
    })
}

fn about(path: &Path, problem: &dyn std::fmt::Display) -> io::Error {
    io::Error::other(format!("{}: {problem}", path.display()))
}

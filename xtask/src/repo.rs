//! Where things are in the repository, and the shell tools that scripts and xtask share.

use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs, thread};

/// What the names of directories end in, if the library in them is not the release build for this machine: `of_profile` of ci/lib.sh.
pub fn of_profile() -> String {
    let profile = env::var("CI_PROFILE").ok().filter(|profile| profile != "release");
    let ends = [profile, env::var("CI_ARCH").ok().filter(|arch| !arch.is_empty())];
    ends.into_iter().flatten().map(|word| format!("-{word}")).collect()
}

/// The repository and its directories, all absolute.
pub struct Repo {
    pub root: PathBuf,
    /// cargo's target directory.
    pub target: PathBuf,
    /// The directory that a user links against (lib, include, bin). `make_stage` fills it.
    pub stage: PathBuf,
    pub cores: usize,
}

impl Repo {
    /// The repository that this program was built from.
    pub fn find() -> Result<Repo> {
        let root =
            Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask lies in the repository")?.to_path_buf();
        let target = root.join(env::var_os("CARGO_TARGET_DIR").unwrap_or("target".into()));
        let cores = thread::available_parallelism().map_or(1, |cores| cores.get());
        Ok(Repo { stage: target.join(format!("stage{}", of_profile())), target, root, cores })
    }

    /// A command that runs in the repository, with empty input and without the variables that cargo sets for what it
    /// runs.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.root).stdin(Stdio::null());
        // The search path would come before the library paths in client programs.
        command.env_remove("LD_LIBRARY_PATH").env("CARGO_TARGET_DIR", &self.target);
        command
    }

    pub fn cargo(&self) -> Command {
        self.command(&env::var("CARGO").unwrap_or("cargo".into()))
    }

    /// Makes sure that the tools named by `words` are installed. As root on Debian it installs them. This is `set_up`
    /// of ci/lib.sh.
    pub fn set_up(&self, words: &str) -> Result<()> {
        self.library(&format!("set_up {words}"))
    }

    /// Builds the release library, unless it is fresh, and puts what a user needs into the stage. This is
    /// `make_stage` of ci/lib.sh.
    pub fn make_stage(&self) -> Result<()> {
        self.library("make_stage")
    }

    /// Runs a line of bash with the functions of ci/lib.sh.
    pub fn library(&self, line: &str) -> Result<()> {
        let status = self.command("bash").args(["-c", &format!(". ci/lib.sh; {line}"), "xtask"]).status()?;
        if !status.success() {
            bail!("{line}: {status}");
        }
        Ok(())
    }

    /// The compiler's options for a client of the stage's library.
    pub fn client_flags(&self) -> Vec<String> {
        let (include, library) = (self.stage.join("include"), self.stage.join("lib"));
        vec![
            format!("-I{}", include.display()),
            format!("-L{}", library.display()),
            "-lgasnet_sci".into(),
            format!("-Wl,-rpath,{}", library.display()),
        ]
    }

    /// Compiles a C file, unless what came of it is newer than the file, the headers beside it and the library.
    pub fn compile(&self, compiler: &str, source: &Path, out: &Path, flags: &[String]) -> Result<()> {
        let age = |path: &Path| fs::metadata(path).and_then(|data| data.modified()).ok();
        let beside = fs::read_dir(source.parent().context("a file lies in a directory")?)?;
        let headers =
            beside.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.extension() == Some("h".as_ref()));
        let needs = [source.into(), self.stage.join("include/gasnet.h"), self.stage.join("lib/libgasnet_sci.so")];
        if age(out) > headers.chain(needs).map(|path| age(&path)).max().context("there are some")? {
            return Ok(());
        }
        fs::create_dir_all(out.parent().context("a file lies in a directory")?)?;
        let mut command = self.command(compiler);
        command.args(["-D_GNU_SOURCE", "-Wall", "-Wextra"]).arg(source).arg("-o").arg(out).args(flags);
        match outcome(&mut command)? {
            (true, _) => Ok(()),
            (false, log) => bail!("{} does not compile:\n{log}", source.display()),
        }
    }

    pub fn read(&self, path: &str) -> Result<String> {
        fs::read_to_string(self.root.join(path)).with_context(|| format!("cannot read {path}"))
    }

    pub fn write(&self, path: &str, text: &str) -> Result<()> {
        fs::write(self.root.join(path), text).with_context(|| format!("cannot write {path}"))
    }

    /// The file of c-tests/ with this name, in any of its folders.
    pub fn c_test(&self, name: &str) -> Result<PathBuf> {
        let mut folders = vec![self.root.join("c-tests")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder)? {
                let entry = entry?;
                if entry.file_type()?.is_dir() {
                    folders.push(entry.path());
                } else if entry.file_name() == name {
                    return Ok(entry.path());
                }
            }
        }
        bail!("c-tests/ has no {name}")
    }
}

/// The text that a command prints on either stream, and whether it succeeded.
pub fn outcome(command: &mut Command) -> Result<(bool, String)> {
    let output = command.output().with_context(|| format!("cannot run {:?}", command.get_program()))?;
    let text = [output.stdout, output.stderr].concat();
    Ok((output.status.success(), String::from_utf8_lossy(&text).into_owned()))
}

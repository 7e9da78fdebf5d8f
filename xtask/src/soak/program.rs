//! The programs that soak runs, and in which variants.

use fastrand::Rng;

/// One of these, drawn at random.
pub fn one<T: Copy>(random: &mut Rng, of: &[T]) -> T {
    of[random.usize(..of.len())]
}

/// The program that the job runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Program {
    /// The mix of GASNet-1.
    Soak,
    /// The mix of GASNet-EX.
    Mixed,
    /// Nodes that post to a mail box until one of them is killed.
    Death,
    /// One of ci/rows/programs.toml, or of [`FLOODS`].
    Listed(&'static Listed),
}

/// A program that ci/c-tests builds, with its arguments.
#[derive(Debug, PartialEq)]
pub struct Listed {
    pub name: String,
    pub arguments: String,
    /// Refused calls are part of it, so that it prints lines on stderr.
    pub noise: bool,
}

/// Programs that run until they are killed: floods of requests with replies, and with large payloads. Without -x testam stops
/// after 8 MB.
pub const FLOODS: [(&str, &str); 4] = [
    ("testam", "-x 100000000 64 E"),
    ("testam", "-x 100000000 65536 Q"),
    ("testcoreflow", "100000"),
    ("stencil", "-q -i 100000000"),
];

impl Listed {
    /// It lives as long as this process, as plans do.
    pub fn of(name: &str, arguments: &str, noise: bool) -> &'static Listed {
        Box::leak(Box::new(Listed { name: name.to_owned(), arguments: arguments.to_owned(), noise }))
    }
}

/// What the node is that is killed, of the nodes of [`Program::Death`], and which one it is.
pub const ROLES: [(&str, usize); 4] = [("sender", 1), ("owner", 0), ("borrower", 0), ("waiter", 1)];
/// Bytes of their messages: each form once.
pub const LENGTHS: [u64; 4] = [40, 1000, 20_000, 300_000];

impl Program {
    /// Its binary.
    pub fn name(self) -> &'static str {
        match self {
            Program::Soak => "testsoak",
            Program::Mixed => "ex-testmixed",
            Program::Death => "deck-testdeath",
            Program::Listed(program) => &program.name,
        }
    }

    pub fn source(self) -> &'static str {
        match self {
            Program::Soak => "c-tests/job/testsoak.c",
            Program::Mixed => "c-tests/ex/testmixed.c",
            Program::Death => "c-tests/deck/testdeath.c",
            Program::Listed(_) => "c-tests",
        }
    }

    /// The directories of its builds: thread mode, then what is not the default: segment mode, debugging; `large` are
    /// transfers of up to 128 KiB.
    pub fn builds(self) -> &'static [&'static str] {
        match self {
            Program::Soak => &["seq", "parsync", "par", "par-everything"],
            Program::Mixed => &[
                "seq", "parsync", "par", "par", "par-everything", "seq-debug", "parsync-debug", "par-debug",
                "seq-large", "par-large",
            ],
            Program::Death => &["par"],
            Program::Listed(_) => &["seq", "parsync-debug", "par"],
        }
    }

    /// Numbers of nodes of a run, of which one is drawn.
    pub fn nodes(self) -> &'static [usize] {
        match self {
            Program::Soak => &[2, 2, 3, 4, 4, 5, 8, 16],
            Program::Mixed => &[1, 2, 2, 3, 4, 5, 6, 7, 8],
            Program::Death => &[2, 2, 3, 4],
            Program::Listed(_) => &[4],
        }
    }

    /// Further settings, which are drawn last.
    pub fn settings(self, random: &mut Rng) -> &'static [&'static str] {
        match self {
            Program::Soak | Program::Death | Program::Listed(_) => &[],
            Program::Mixed => one::<&[&str]>(
                random,
                &[
                    &[],
                    &[],
                    &["GASNET_SCI_UNMAPPED=odd"],
                    &["GASNET_SCI_UNMAPPED=higher"],
                    &["GASNET_SCI_DMA=always", "GASNET_SCI_DMA_THREAD_MIN=64"],
                    &["GASNET_VIS_AMPIPE=no", "GASNET_VIS_REMOTECONTIG=no"],
                    &["GASNET_VIS_MAXCHUNK=100", "GASNET_COLL_OPT=no"],
                    &["GASNET_COLL_SCRATCH_SIZE=1K"],
                ],
            ),
        }
    }

    /// Rounds of a run that nothing ends: a part of a second.
    pub fn rounds(self, random: &mut Rng) -> u64 {
        match self {
            Program::Soak => 20 + random.u64(..60),
            Program::Mixed => 40 + random.u64(..160),
            Program::Death => one(random, &LENGTHS),
            Program::Listed(_) => 0,
        }
    }
}

//! How two nodes make sure of each other before a connection carries anything: HELLO and PROOF.
//!
//! ```text
//! connector → acceptor   HELLO
//! acceptor → connector   HELLO
//! connector → acceptor   PROOF
//! acceptor → connector   PROOF; then frames, both ways
//! HELLO (64 bytes)       magic u64 | lowest version u16 | highest version u16 | from u32 | to u32 | protected u32 | layout u64 | nonce 32
//! PROOF (32 bytes)       HMAC-SHA-256 of the job's secret over: which side, both HELLOs
//! ```
//! Protected is 1 of a node that seals what follows, else 0: both must say the same.
//!
//! Both nonces are in both proofs, so neither proof can be used again. Nothing here is secret but the job's secret, which is
//! never sent. The connector proves itself first, so what a stranger says changes nothing at the acceptor.
//!
//! Must not know: sockets, links, what is carried afterwards.

use crate::os::sys;
use hmac::{Hmac, Mac};
use sha2::Sha256;

/// Bytes of a HELLO.
pub const HELLO: usize = 64;
/// Bytes of a PROOF.
pub const PROOF: usize = 32;

const MAGIC: u64 = u64::from_le_bytes(*b"GASNSCIW");
/// The versions of the wire that this library speaks. Raise the highest for a change that older ones would not understand, of the cards
/// (`card`) as well.
pub const VERSIONS: [u16; 2] = [2, 2];

/// What a node says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    /// Lowest and highest version of the wire.
    pub versions: [u16; 2],
    /// Its rank.
    pub from: u32,
    /// The rank that it wants to talk to, or was asked for.
    pub to: u32,
    /// What follows the greeting is sealed.
    pub is_protected: bool,
    /// Version of the memory's layout.
    pub layout: u64,
    /// Random bytes.
    pub nonce: [u8; 32],
}

/// What is wrong with a greeting. The texts name the reason, and not the stranger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is no HELLO.
    Garbage,
    /// There is no common version of the wire; theirs.
    Version([u16; 2]),
    /// Another layout; theirs.
    Layout(u64),
    /// A rank that does not exist, or is not meant.
    Rank(u32),
    /// What it sends is protected, or is not, as it says; this node's is not, or is.
    Protected(bool),
    /// It does not know the job's secret.
    Proof,
    /// It said nothing in time, or stopped in the middle.
    Silent,
    /// It closed the connection before it had said who it is.
    Gone,
    /// It had not greeted yet when too many others came.
    Crowd,
}

/// Number of kinds of refusals.
pub const KINDS: usize = 9;

impl Refusal {
    /// The kind, below [`KINDS`].
    pub fn kind(self) -> usize {
        match self {
            Refusal::Garbage => 0,
            Refusal::Version(_) => 1,
            Refusal::Layout(_) => 2,
            Refusal::Rank(_) => 3,
            Refusal::Proof => 4,
            Refusal::Silent => 5,
            Refusal::Gone => 6,
            Refusal::Crowd => 7,
            Refusal::Protected(_) => 8,
        }
    }
}

impl Refusal {
    /// What to do about it, if the stranger was asked for a node of the job.
    pub fn remedy(self) -> &'static str {
        match self {
            Refusal::Version(_) | Refusal::Layout(_) => "install the same version on all hosts",
            Refusal::Protected(_) => "set GASNET_SCI_SECURE to the same for all nodes",
            _ => "does another job, or another host, have this address (GASNET_SCI_IFACE, GASNET_SCI_PORTS)?",
        }
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Refusal::Garbage => f.write_str("it does not speak this library's protocol"),
            Refusal::Version([low, high]) => {
                let [ours, most] = VERSIONS;
                write!(f, "it speaks versions {low} to {high} of the wire, this library {ours} to {most}")
            }
            Refusal::Layout(theirs) => write!(f, "it runs a library with another memory layout ({theirs:#x})"),
            Refusal::Rank(rank) => write!(f, "it says that it is node {rank}, which cannot be"),
            Refusal::Protected(true) => {
                f.write_str("it protects what it sends, and this node does not (GASNET_SCI_SECURE)")
            }
            Refusal::Protected(false) => {
                f.write_str("it does not protect what it sends, and this node does (GASNET_SCI_SECURE)")
            }
            Refusal::Proof => f.write_str("it does not belong to this job (wrong proof)"),
            Refusal::Silent => f.write_str("it did not greet in time"),
            Refusal::Gone => f.write_str("it closed the connection before it had greeted"),
            Refusal::Crowd => f.write_str("it had not greeted when too many others came"),
        }
    }
}

impl Hello {
    /// A HELLO of node `from` to node `to`, with a new nonce.
    pub fn new(from: u32, to: u32, layout: u64) -> Hello {
        let mut nonce = [0; 32];
        nonce.chunks_exact_mut(8).for_each(|eight| eight.copy_from_slice(&sys::random().to_ne_bytes()));
        Hello { versions: VERSIONS, from, to, is_protected: false, layout, nonce }
    }

    /// Its bytes.
    pub fn bytes(&self) -> [u8; HELLO] {
        let mut bytes = [0; HELLO];
        bytes[..8].copy_from_slice(&MAGIC.to_le_bytes());
        bytes[8..10].copy_from_slice(&self.versions[0].to_le_bytes());
        bytes[10..12].copy_from_slice(&self.versions[1].to_le_bytes());
        bytes[12..16].copy_from_slice(&self.from.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.to.to_le_bytes());
        bytes[20..24].copy_from_slice(&u32::from(self.is_protected).to_le_bytes());
        bytes[24..32].copy_from_slice(&self.layout.to_le_bytes());
        bytes[32..].copy_from_slice(&self.nonce);
        bytes
    }

    /// What these bytes say, if a node of this library can have said it. `layout` is this node's.
    pub fn read(bytes: &[u8; HELLO], layout: u64) -> Result<Hello, Refusal> {
        let two = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let four = |at: usize| u32::from(two(at)) | u32::from(two(at + 2)) << 16;
        let eight = |at: usize| u64::from(four(at)) | u64::from(four(at + 4)) << 32;
        if eight(0) != MAGIC {
            return Err(Refusal::Garbage);
        }
        let versions = [two(8), two(10)];
        if versions[0] > VERSIONS[1] || versions[1] < VERSIONS[0] {
            return Err(Refusal::Version(versions));
        }
        if eight(24) != layout {
            return Err(Refusal::Layout(eight(24)));
        }
        let mut nonce = [0; 32];
        nonce.copy_from_slice(&bytes[32..]);
        Ok(Hello { versions, from: four(12), to: four(16), is_protected: four(20) == 1, layout, nonce })
    }
}

/// The side of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// It made the connection.
    Connector,
    /// It was connected to.
    Acceptor,
}

fn mac(secret: &[u8; 16], side: Side, hellos: [&Hello; 2]) -> Option<Hmac<Sha256>> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).ok()?; // every length of key is one
    mac.update(if side == Side::Connector { b"C" } else { b"A" });
    hellos.iter().for_each(|hello| mac.update(&hello.bytes()));
    Some(mac)
}

/// The proof of `side` of a connection on which these were said: the connector's HELLO first.
pub fn prove(secret: &[u8; 16], side: Side, hellos: [&Hello; 2]) -> [u8; PROOF] {
    mac(secret, side, hellos).map_or([0; PROOF], |mac| mac.finalize().into_bytes().into())
}

/// True if `proof` is that of [`prove`]. Takes as long whatever is wrong.
pub fn is_proven(secret: &[u8; 16], side: Side, hellos: [&Hello; 2], proof: &[u8; PROOF]) -> bool {
    mac(secret, side, hellos).is_some_and(|mac| mac.verify_slice(proof).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hello_comes_back_as_it_was_and_a_wrong_one_is_refused_by_its_reason() {
        let hello = Hello { is_protected: true, ..Hello::new(3, 70_000, 0x1234_5678_9abc) };
        let bytes = hello.bytes();
        assert_eq!(Hello::read(&bytes, hello.layout), Ok(hello));
        assert_ne!(Hello::new(3, 7, 1).nonce, Hello::new(3, 7, 1).nonce);
        let with = |at: usize, value: u8| {
            let mut wrong = bytes;
            wrong[at] = value;
            Hello::read(&wrong, hello.layout)
        };
        assert_eq!(with(0, 0), Err(Refusal::Garbage));
        assert_eq!(with(9, 7), Err(Refusal::Version([0x702, 2])));
        assert_eq!(with(10, 0), Err(Refusal::Version([2, 0])));
        assert!(matches!(with(24, 0), Err(Refusal::Layout(_))));
    }

    #[test]
    fn a_proof_is_of_one_secret_one_side_and_one_greeting() {
        let (a, b, c) = (Hello::new(0, 1, 5), Hello::new(1, 0, 5), Hello::new(1, 0, 5));
        let proof = prove(&[7; 16], Side::Connector, [&a, &b]);
        assert!(is_proven(&[7; 16], Side::Connector, [&a, &b], &proof));
        assert!(!is_proven(&[8; 16], Side::Connector, [&a, &b], &proof));
        assert!(!is_proven(&[7; 16], Side::Acceptor, [&a, &b], &proof));
        assert!(!is_proven(&[7; 16], Side::Connector, [&a, &c], &proof));
        assert!(!is_proven(&[7; 16], Side::Connector, [&b, &a], &proof));
    }
}

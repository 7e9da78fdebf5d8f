//! What goes between hosts, protected: keys that two nodes make together, and the seal of records and packets.
//!
//! | file | what |
//! |---|---|
//! | `exchange` | two messages, from which both nodes have a key for each direction |
//! | `epoch` | the keys of a direction, one after the other |
//! | `ordered` | seals all, and opens what comes whole and in order |
//! | `record` | a stream, cut into sealed records whose lengths are proven |
//! | `packets` | opens what is lost, repeated and overtaken on the way |
//!
//! Rules:
//! 1. A key belongs to one direction of one link. A connection has one more for the lengths of its records, which never changes (`record`). A number seals once: [`ordered::Sealer`] refuses one that is not higher than all before.
//! 2. The numbers of a key end far below what AES-GCM bears. The next key has another secret, made of the one before by a function that
//!    nobody can turn round. [`epoch::Secret`] is overwritten when it is given up; keys that `ring` has made of it, and what HMAC and Noise
//!    computed with, are given back to the system as they are. A node has the present key and the secret of the next one, and of packets
//!    the key before the present one, too, for those that were overtaken ([`packets::PacketOpener`]). Who learns what it has opens
//!    nothing that went before those keys.
//! 3. Nothing that came is a plain byte to anybody before its tag was found right.
//! 4. The exchange is Noise's NNpsk0: new keys for each link, proven by the job's secret. Who learns the secret after the job, or has
//!    read it from files, opens nothing that was recorded. Who has it during the job can be a node of it.
//!
//! The cipher is AES-128-GCM by `ring`: the job's secret has 128 bits, too. Bytes per nanosecond that one core seals, in one process
//! alone (2026-11, EPYC 9004 VM with VAES; to open takes as long):
//!
//! | bytes of a record | 64 | 1400 | 16 KiB | 64 KiB | 256 KiB |
//! |---|---|---|---|---|---|
//! | ring, AES-128-GCM | 0.80 | 5.6 | 9.9 | 10.1 | 10.0 |
//! | ring, AES-256-GCM | 0.79 | 5.0 | 8.7 | 9.0 | 8.8 |
//! | ring, ChaCha20-Poly1305 | 0.37 | 1.9 | 2.6 | 2.7 | 2.7 |
//! | aws-lc-rs, AES-128-GCM | 0.69 | 5.5 | 11.5 | 12.5 | 12.6 |
//! | RustCrypto aes-gcm, AES-256-GCM | 0.46 | 2.1 | 2.6 | 2.8 | 2.8 |
//!
//! Both C libraries are maintained (`ring` for rustls, `aws-lc-rs` by Amazon). `ring` is ahead for messages, and takes a fifth of the time to
//! build; for long records both are faster than a connection.
//!
//! Must not know: sockets, clocks, what the bytes are.

pub mod epoch;
pub mod exchange;
pub mod ordered;
pub mod packets;
pub mod record;
#[cfg(all(test, not(loom)))]
mod tests;

/// Bytes of the tag behind what is sealed.
pub const TAG: usize = 16;
/// The cipher's name, for people.
pub const CIPHER: &str = "AES-128-GCM";

/// What is wrong with a record, a packet, or a message of the exchange. The texts follow "what came".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Its tag is wrong: it was changed, or repeated, or made by somebody who has not the key.
    Changed,
    /// It is shorter than a tag, or it has a length that no record has.
    Short,
    /// Its number has come already.
    Repeated,
    /// Its number is too old to know whether it has come already.
    Old,
    /// Its number is so far ahead that its key cannot be known.
    Ahead,
    /// This number, or a higher one, has sealed already; or there is none left.
    Spent,
    /// A message of the exchange does not prove the job's secret for this pair.
    Exchange,
    /// This node cannot make its own message of the exchange, because the system gives no random bytes. The text follows "this node".
    Random,
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Refused::Changed => "was changed on the way, or is not of this job",
            Refused::Short => "has a length that nothing protected has",
            Refused::Repeated => "came a second time",
            Refused::Old => "came too late",
            Refused::Ahead => "has a number that cannot be",
            Refused::Spent => "was sealed under a number that is spent",
            Refused::Exchange => "does not prove that it belongs to this job",
            Refused::Random => "gets no keys: the system gives no random bytes",
        })
    }
}

/// True if the processor has instructions for the cipher. Without them it works as well, at a tenth of the speed.
pub fn is_fast() -> bool {
    #[cfg(target_arch = "x86_64")]
    let has = std::is_x86_feature_detected!("aes") && std::is_x86_feature_detected!("pclmulqdq");
    #[cfg(target_arch = "aarch64")]
    let has = std::arch::is_aarch64_feature_detected!("aes") && std::arch::is_aarch64_feature_detected!("pmull");
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let has = false;
    has
}

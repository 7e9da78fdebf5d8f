//! Far peers: nodes of other hosts.

#[cfg(test)]
pub mod conformance;
pub mod ofi;
#[allow(unsafe_code)] // calls with memory of clients
pub mod wire;

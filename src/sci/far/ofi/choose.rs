//! Which provider is taken: what libfabric offers, in the order in which it is tried, and why the rest is of no use.

#![allow(unsafe_code)] // infos of libfabric

use super::bindings::*;
use super::fabric::Traits;
use super::library::{Hints, Infos, Library};
use libc::{c_char, c_int};
use std::ffi::CStr;
use std::sync::Arc;

/// Providers of networks that read and write memory themselves, the best first.
const HARDWARE: [&str; 7] = ["cxi", "opx", "psm2", "psm3", "efa", "verbs", "ucx"];
/// Providers over sockets, the best first (design-hosts: 1.15, 1.2 and 1.3–2 of raw TCP's round trip).
const SOFTWARE: [&str; 3] = ["net", "tcp", "tcp;ofi_rxm"];

/// What the wire can do with regions: a peer's word for memory may be its address, keys may be the provider's.
const REGIONS: c_int = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
/// Room for the provider that every context of ours has (`engine::Context`).
const MODES: u64 = FI_CONTEXT | FI_CONTEXT2;

/// An info that fits, and what it says.
pub struct Candidate {
    pub infos: Arc<Infos>,
    pub info: *mut fi_info,
    pub traits: Traits,
}

/// What a user's word names: `net`, `tcp;ofi_rxm`, `verbs@mlx5_0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted<'a> {
    pub provider: &'a str,
    pub domain: Option<&'a str>,
}

impl<'a> Wanted<'a> {
    pub fn new(word: &'a str) -> Wanted<'a> {
        match word.split_once('@') {
            Some((provider, domain)) => Wanted { provider, domain: Some(domain) },
            None => Wanted { provider: word, domain: None },
        }
    }
}

/// Those that fit, the best first. Without `wanted`: none that works on one host only, and none that is known to be slow.
pub fn candidates(library: &'static Library, wanted: Option<Wanted>) -> Result<Vec<Candidate>, String> {
    let mut found: Vec<(usize, Candidate)> = Vec::new();
    let mut failed = libc::ENODATA;
    // Those that keep sends behind writes come first; the same info comes again in the second list, and is left out.
    for order in [FI_ORDER_SAS | FI_ORDER_SAW, FI_ORDER_SAS] {
        let infos = match library.infos(&ask(library, wanted, order)?) {
            Ok(infos) => Arc::new(infos),
            Err(error) => {
                failed = error;
                continue;
            }
        };
        for info in infos.all() {
            let Some(traits) = traits(info) else { continue };
            let Some(rank) = rank(&traits.provider, wanted) else { continue };
            // Providers over sockets take any word for a domain, and give all of them.
            if wanted.and_then(|wanted| wanted.domain).is_some_and(|domain| domain != traits.domain) {
                continue;
            }
            if found.iter().any(|(_, known)| same(&known.traits, &traits)) {
                continue;
            }
            // An interface that reaches this host only comes last.
            let rank = rank * 2 + usize::from(is_loopback(info) && wanted.is_none_or(|wanted| wanted.domain.is_none()));
            found.push((rank, Candidate { infos: infos.clone(), info, traits }));
        }
    }
    found.sort_by_key(|(rank, _)| *rank); // stable: libfabric's own order among equals
    if found.is_empty() {
        return Err(explain(library, wanted, failed));
    }
    Ok(found.into_iter().map(|(_, candidate)| candidate).collect())
}

fn same(a: &Traits, b: &Traits) -> bool {
    (&a.provider, &a.domain) == (&b.provider, &b.domain)
}

/// The place of a provider among those that are tried. None: it is not.
fn rank(provider: &str, wanted: Option<Wanted>) -> Option<usize> {
    if wanted.is_some() {
        return Some(0); // libfabric has chosen
    }
    let base = provider.split(';').next().unwrap_or(provider);
    if let Some(place) = HARDWARE.iter().position(|name| *name == base) {
        return Some(place);
    }
    SOFTWARE.iter().position(|name| *name == provider).map(|place| HARDWARE.len() + place)
}

/// Hints for what the wire needs.
fn ask(library: &'static Library, wanted: Option<Wanted>, order: u64) -> Result<Hints, String> {
    let hints = library.hints()?;
    // SAFETY: a structure of libfabric's that nobody else has.
    let info = unsafe { &mut *hints.as_ptr() };
    info.caps = FI_MSG | FI_RMA;
    info.mode = MODES;
    // SAFETY: fi_allocinfo makes all attributes.
    let ep = unsafe { &mut *info.ep_attr };
    ep.type_ = FI_EP_RDM;
    // SAFETY: fi_allocinfo makes all attributes.
    let tx = unsafe { &mut *info.tx_attr };
    tx.msg_order = order;
    tx.op_flags = FI_DELIVERY_COMPLETE; // to be told that the provider can; calls say themselves what they want
    // SAFETY: fi_allocinfo makes all attributes.
    let rx = unsafe { &mut *info.rx_attr };
    rx.msg_order = order;
    // SAFETY: fi_allocinfo makes all attributes.
    let domain = unsafe { &mut *info.domain_attr };
    domain.threading = FI_THREAD_DOMAIN;
    domain.control_progress = FI_PROGRESS_MANUAL;
    domain.data_progress = FI_PROGRESS_MANUAL;
    domain.resource_mgmt = FI_RM_ENABLED;
    domain.mr_mode = REGIONS;
    name(&hints, wanted);
    Ok(hints)
}

/// Puts the names that are wanted into the hints.
fn name(hints: &Hints, wanted: Option<Wanted>) {
    let Some(wanted) = wanted else { return };
    // SAFETY: a structure of libfabric's that nobody else has.
    let info = unsafe { &mut *hints.as_ptr() };
    // SAFETY: fi_allocinfo makes all attributes.
    let fabric = unsafe { &mut *info.fabric_attr };
    fabric.prov_name = Hints::text(wanted.provider);
    if let Some(name) = wanted.domain {
        // SAFETY: fi_allocinfo makes all attributes.
        let domain = unsafe { &mut *info.domain_attr };
        domain.name = Hints::text(name);
    }
}

fn text(name: *const c_char) -> String {
    if name.is_null() {
        return String::new();
    }
    // SAFETY: a name of libfabric's, which ends with 0.
    unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned()
}

/// What an info says. None: it lacks an attribute, which no provider's does. It also takes back the completion level that was asked
/// for, so that sends do not wait for the peer.
fn traits(info: *mut fi_info) -> Option<Traits> {
    // SAFETY: an info of a live list, which only this thread uses.
    let info = unsafe { info.as_ref() }?;
    // SAFETY: an info of a live list, which only this thread uses.
    let tx = unsafe { info.tx_attr.as_mut() }?;
    // SAFETY: an info of a live list, which only this thread uses.
    let rx = unsafe { info.rx_attr.as_ref() }?;
    // SAFETY: an info of a live list, which only this thread uses.
    let ep = unsafe { info.ep_attr.as_ref() }?;
    // SAFETY: an info of a live list, which only this thread uses.
    let domain = unsafe { info.domain_attr.as_ref() }?;
    // SAFETY: an info of a live list, which only this thread uses.
    let fabric = unsafe { info.fabric_attr.as_ref() }?;
    tx.op_flags = 0;
    let mode = domain.mr_mode;
    Some(Traits {
        provider: text(fabric.prov_name),
        domain: text(domain.name),
        ordered: tx.msg_order & rx.msg_order & FI_ORDER_SAW != 0,
        multi_receive: info.caps & FI_MULTI_RECV != 0,
        virtual_addresses: mode & FI_MR_VIRT_ADDR != 0,
        provider_keys: mode & FI_MR_PROV_KEY != 0,
        endpoint_regions: mode & FI_MR_ENDPOINT != 0,
        key_bytes: domain.mr_key_size,
        inject: tx.inject_size,
        sends: tx.size,
        receives: rx.size,
        longest: ep.max_msg_size,
    })
}

/// True for an address of IP that only this host reaches.
fn is_loopback(info: *mut fi_info) -> bool {
    // SAFETY: an info of a live list.
    let Some(info) = (unsafe { info.as_ref() }) else { return false };
    if info.src_addr.is_null() || info.src_addrlen < std::mem::size_of::<libc::sockaddr_in>() {
        return false;
    }
    // SAFETY: at least as many bytes.
    let address: libc::sockaddr_in = unsafe { info.src_addr.cast::<libc::sockaddr_in>().read_unaligned() };
    match i32::from(address.sin_family) {
        libc::AF_INET => address.sin_addr.s_addr.to_ne_bytes()[0] == 127,
        libc::AF_INET6 if info.src_addrlen >= std::mem::size_of::<libc::sockaddr_in6>() => {
            // SAFETY: at least as many bytes.
            let address: libc::sockaddr_in6 = unsafe { info.src_addr.cast::<libc::sockaddr_in6>().read_unaligned() };
            let ip = std::net::Ipv6Addr::from(address.sin6_addr.s6_addr);
            ip.is_loopback() || ip.is_unicast_link_local() // the latter needs an interface, which an address does not name
        }
        _ => false,
    }
}

/// Why nothing fits: what the provider has when nothing is asked for but its name.
fn explain(library: &'static Library, wanted: Option<Wanted>, error: c_int) -> String {
    let who = wanted.map_or_else(|| "any provider".to_owned(), |wanted| format!("provider {}", wanted.provider));
    let Some(wanted) = wanted else {
        return format!("libfabric has no provider for this network ({})", library.error(error));
    };
    let Ok(hints) = library.hints() else { return format!("{who}: out of memory") };
    name(&hints, Some(wanted));
    // SAFETY: a structure of libfabric's that nobody else has.
    let info = unsafe { &mut *hints.as_ptr() };
    info.mode = u64::MAX;
    // SAFETY: fi_allocinfo makes all attributes.
    let domain = unsafe { &mut *info.domain_attr };
    domain.mr_mode = c_int::MAX & !3; // every mode bit but the two old words for sets of them
    let place = wanted.domain.map_or_else(String::new, |domain| format!(" on {domain}"));
    let none =
        |error| format!("libfabric has no {who}{place} here ({}); fi_info lists what it has", library.error(error));
    let infos = match library.infos(&hints) {
        Ok(infos) => infos,
        Err(error) => return none(error),
    };
    let all = infos.all();
    let all: Vec<*mut fi_info> = all
        .into_iter()
        .filter(|info| wanted.domain.is_none_or(|name| traits(*info).is_some_and(|traits| traits.domain == name)))
        .collect();
    if all.is_empty() {
        return none(error);
    }
    let mut lacks = Vec::new();
    for info in all {
        for lack in missing(info) {
            if !lacks.contains(&lack) {
                lacks.push(lack);
            }
        }
    }
    if lacks.is_empty() {
        lacks.push("not all that is needed at once".to_owned());
    }
    format!("libfabric's {who} does not fit: {}", lacks.join(", "))
}

/// What stands against one info.
fn missing(info: *mut fi_info) -> Vec<String> {
    // SAFETY: an info of a live list.
    let Some(info) = (unsafe { info.as_ref() }) else { return Vec::new() };
    let mut lacks = Vec::new();
    // SAFETY: an info of a live list; attributes that are missing are null.
    if unsafe { info.ep_attr.as_ref() }.is_some_and(|ep| ep.type_ != FI_EP_RDM) {
        return vec!["it has no reliable datagrams".to_owned()];
    }
    if info.caps & FI_RMA == 0 {
        lacks.push("it has no FI_RMA".to_owned());
    }
    if info.mode & FI_MSG_PREFIX != 0 {
        lacks.push("it needs the mode FI_MSG_PREFIX".to_owned());
    }
    // SAFETY: an info of a live list.
    let tx = unsafe { info.tx_attr.as_ref() };
    if tx.is_some_and(|tx| tx.msg_order & FI_ORDER_SAS == 0) {
        lacks.push("it keeps no order of messages".to_owned());
    }
    // SAFETY: an info of a live list.
    let mode = unsafe { info.domain_attr.as_ref() }.map_or(0, |domain| domain.mr_mode);
    if mode & FI_MR_LOCAL != 0 {
        lacks.push("it needs the mode FI_MR_LOCAL".to_owned());
    }
    if mode & !(REGIONS | FI_MR_LOCAL | 3) != 0 {
        lacks.push(format!("it needs the modes of memory {:#x}", mode & !(REGIONS | FI_MR_LOCAL | 3)));
    }
    lacks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_names_a_provider_and_perhaps_a_domain() {
        assert_eq!(Wanted::new("tcp;ofi_rxm"), Wanted { provider: "tcp;ofi_rxm", domain: None });
        assert_eq!(Wanted::new("verbs@mlx5_0"), Wanted { provider: "verbs", domain: Some("mlx5_0") });
    }

    #[test]
    fn hardware_comes_first_and_what_is_slow_or_of_one_host_not_at_all() {
        assert!(rank("verbs;ofi_rxm", None) < rank("net", None));
        assert!(rank("net", None) < rank("tcp;ofi_rxm", None));
        for name in ["shm", "sockets", "udp;ofi_rxd", "net;ofi_rxm"] {
            assert_eq!(rank(name, None), None, "{name}");
            assert_eq!(rank(name, Some(Wanted::new(name))), Some(0), "{name}");
        }
    }

    /// What stands against an info with these words.
    fn lacks(kind: u32, order: u64, caps: u64, mode: u64, regions: c_int) -> Vec<String> {
        // SAFETY: zeros are a value of the structures of libfabric.
        let ep: fi_ep_attr = unsafe { std::mem::zeroed() };
        // SAFETY: zeros are a value of the structures of libfabric.
        let tx: fi_tx_attr = unsafe { std::mem::zeroed() };
        // SAFETY: zeros are a value of the structures of libfabric.
        let domain: fi_domain_attr = unsafe { std::mem::zeroed() };
        // SAFETY: zeros are a value of the structures of libfabric.
        let info: fi_info = unsafe { std::mem::zeroed() };
        let mut ep = fi_ep_attr { type_: kind, ..ep };
        let mut tx = fi_tx_attr { msg_order: order, ..tx };
        let mut domain = fi_domain_attr { mr_mode: regions, ..domain };
        let (ep_attr, tx_attr, domain_attr) = (&raw mut ep, &raw mut tx, &raw mut domain);
        missing(&mut fi_info { caps, mode, ep_attr, tx_attr, domain_attr, ..info })
    }

    #[test]
    fn what_a_provider_needs_that_the_wire_has_not_is_named() {
        assert_eq!(lacks(0, 0, 0, 0, 0), ["it has no reliable datagrams"]);
        assert_eq!(lacks(FI_EP_RDM, FI_ORDER_SAS, FI_RMA, MODES, REGIONS), [""; 0], "what the wire has");
        let lacks = lacks(FI_EP_RDM, 0, 0, FI_MSG_PREFIX, FI_MR_LOCAL | 1 << 10).join(", ");
        for word in ["FI_RMA", "order", "FI_MSG_PREFIX", "FI_MR_LOCAL", "0x400"] {
            assert!(lacks.contains(word), "{lacks}");
        }
    }
}

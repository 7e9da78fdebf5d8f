//! `gasnet-sci sisci`: the nodes, segments, interrupts and groups of SISCI programs on this host.

use ::sisci::survey::{Kind, Peer, Report, Resource, survey};
use clap::ArgMatches;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Write};
use std::time::{SystemTime, UNIX_EPOCH};

/// Prints what there is.
pub fn run(options: &ArgMatches) -> io::Result<()> {
    let found = survey().map_err(|line| io::Error::new(io::ErrorKind::InvalidInput, line))?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let mut out = io::stdout().lock();
    if options.get_flag("json") {
        return writeln!(out, "{:#}", json(&found.nodes, &found.resources));
    }
    let nodes = found.nodes.iter().map(|&(node, _)| node);
    let all: BTreeSet<u32> = nodes.chain(found.resources.iter().map(|resource| resource.node)).collect();
    if all.is_empty() {
        writeln!(out, "there are no nodes")?;
    }
    for node in all {
        let processes: Vec<String> =
            found.nodes.iter().filter(|(of, _)| *of == node).map(|&(_, process)| process_name(process)).collect();
        writeln!(out, "node {node}: {}", or(processes.join(", "), "its processes have called SCITerminate"))?;
        for resource in found.resources.iter().filter(|resource| resource.node == node) {
            print(&mut out, resource, now)?;
        }
    }
    let members = found.resources.iter().filter(|resource| resource.kind == Kind::Member);
    let mut groups: BTreeMap<u32, Vec<&Resource>> = BTreeMap::new();
    members.for_each(|member| groups.entry(member.id).or_default().push(member));
    for (group, members) in groups {
        let size = members.iter().find_map(|member| Some(member.report.as_ref()?.size)).unwrap_or(0);
        let nodes: Vec<String> = members.iter().map(|member| member.node.to_string()).collect();
        writeln!(out, "group {group}: {size} bytes, nodes {}", nodes.join(", "))?;
    }
    Ok(())
}

fn or(text: String, otherwise: &str) -> String {
    if text.is_empty() { otherwise.into() } else { text }
}

/// What a resource is called.
fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Segment => "segment",
        Kind::Member => "member of group",
        Kind::Interrupt => "interrupt",
        Kind::DataInterrupt => "data interrupt",
    }
}

/// Prints a resource, and a line for each of its connections.
fn print(out: &mut impl Write, resource: &Resource, now: u64) -> io::Result<()> {
    let owner = resource.process.map_or("?".into(), process_name);
    let what = kind(resource.kind);
    let Some(report) = &resource.report else {
        return writeln!(out, "  {what} {}: of {owner}, which does not answer", resource.id);
    };
    let said = words(resource.kind, report).join(", ");
    writeln!(out, "  {what} {}: {said}, of {owner}, for {} s", resource.id, now.saturating_sub(report.since))?;
    for Peer { node, process, since, is_far } in &report.peers {
        let age = now.saturating_sub(*since);
        let who = if *is_far { "on another host".into() } else { process_name(*process) };
        writeln!(out, "    node {node} is connected: {who}, for {age} s")?;
    }
    Ok(())
}

/// What a line says of a resource.
fn words(kind: Kind, report: &Report) -> Vec<String> {
    let mut words = Vec::new();
    match kind {
        Kind::Segment | Kind::Member => {
            words.push(format!("{} bytes", report.size));
            words.push(if report.is_available { "available" } else { "not available" }.into());
            if report.others > 0 {
                words.push(format!("{} other owners", report.others));
            }
        }
        Kind::Interrupt | Kind::DataInterrupt => {
            words.push(if report.has_callback { "with a callback" } else { "waited for" }.into());
            if report.waiting > 0 {
                words.push(format!("{} not taken", report.waiting));
            }
        }
    }
    words
}

/// A process's number and the name of its program.
fn process_name(process: u32) -> String {
    program(process).map_or(process.to_string(), |name| format!("{process} {name}"))
}

/// The name of a process's program.
fn program(process: u32) -> Option<String> {
    let words = fs::read(format!("/proc/{process}/cmdline")).ok()?;
    let first = words.split(|byte| *byte == 0).next()?;
    let name = String::from_utf8_lossy(first.rsplit(|byte| *byte == b'/').next()?).into_owned();
    (!name.is_empty()).then_some(name)
}

/// All of it as one object.
fn json(nodes: &[(u32, u32)], resources: &[Resource]) -> Value {
    let process = |process: u32| json!({"process": process, "program": program(process)});
    let node = |&(node, of): &(u32, u32)| {
        let mut entry = process(of);
        entry["node"] = node.into();
        entry
    };
    let peer = |peer: &Peer| {
        let mut entry = if peer.is_far { json!({"process": null, "program": null}) } else { process(peer.process) };
        entry["node"] = peer.node.into();
        entry["since"] = peer.since.into();
        entry["other_host"] = peer.is_far.into();
        entry
    };
    let resource = |resource: &Resource| {
        let mut entry = json!({"node": resource.node, "id": resource.id, "answers": resource.report.is_some()});
        entry["owner"] = resource.process.map_or(Value::Null, process);
        let Some(report) = &resource.report else { return entry };
        entry["since"] = report.since.into();
        entry["flags"] = report.flags.into();
        entry["callback"] = report.has_callback.into();
        entry["connections"] = report.peers.iter().map(peer).collect();
        if matches!(resource.kind, Kind::Segment | Kind::Member) {
            entry["size"] = report.size.into();
            entry["available"] = report.is_available.into();
            entry["other_owners"] = report.others.into();
        } else {
            entry["not_taken"] = report.waiting.into();
        }
        entry
    };
    let of = |kind| resources.iter().filter(|resource| resource.kind == kind).map(resource).collect::<Value>();
    json!({
        "nodes": nodes.iter().map(node).collect::<Value>(),
        "segments": of(Kind::Segment),
        "members": of(Kind::Member),
        "interrupts": of(Kind::Interrupt),
        "data_interrupts": of(Kind::DataInterrupt),
    })
}

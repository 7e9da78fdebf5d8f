//! What a launcher says of its job before it starts anything.

use super::super::hosts::Host;
use super::super::mapping::Mapping;
use super::super::options::Order;
use super::super::stop::advise;
use super::remote::Command;
use super::tree;
use gasnet_sci::os::topology::format_list;
use std::path::Path;

/// Prints which nodes run on which hosts, and by which commands.
pub fn show(
    order: &Order,
    mapping: Option<&Mapping>,
    file: &Path,
    hosts: &[Host],
    map: Option<&[u32]>,
    command: &Command,
    most: usize,
) {
    let is_used = |at: &usize| map.is_none_or(|map| map.contains(&(*at as u32))) && !command.is_own(&hosts[*at].name);
    let used: Vec<usize> = (0..hosts.len()).filter(is_used).collect();
    let groups = tree::groups(&used, most);
    let words = order.arguments.iter().map(|argument| format!(" {argument:?}"));
    advise(&format!("{} nodes of {file:?}{}", order.nodes, words.collect::<String>()));
    for (number, host) in (0..).zip(hosts) {
        let group = groups.iter().find(|group| group[1..].contains(&(number as usize)));
        let from = group.map(|group| format!(", from host {}", hosts[group[0]].name)).unwrap_or_default();
        let ranks = map
            .map(|map| (0..).zip(map).filter(|(_, at)| **at == number).map(|(rank, _)| rank).collect::<Vec<usize>>());
        let nodes = match ranks {
            Some(ranks) if ranks.is_empty() => continue,
            Some(ranks) => format!("nodes {}", format_list(&ranks)),
            None => "nodes by its load".into(),
        };
        advise(&format!("host {}: {nodes}, by {}{from}", host.name, command.show(&host.name)));
    }
    // Which CPUs these are each agent says, when it starts.
    for (mapping, rank) in mapping.iter().flat_map(|mapping| (0..order.nodes).map(move |rank| (mapping, rank))) {
        advise(&format!("node {rank}: {}", mapping.place(rank)));
    }
}

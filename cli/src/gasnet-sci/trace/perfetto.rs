//! The run in the JSON format of Chrome's and Perfetto's viewers: a process for each node, a flow for each message.

use super::kinds::Class;
use super::messages::Messages;
use super::run::{Event, HAS_BYTES, HAS_TIME, NONE, Run};
use serde_json::json;
use std::io::{self, Write};

/// Microseconds, which is the format's unit, to the nanosecond.
fn us(ns: u64) -> String {
    format!("{}.{:03}", ns / 1000, ns % 1000)
}

/// The lanes of a node: what takes time, and messages.
const LANES: [&str; 2] = ["calls", "messages"];

fn lane(class: Class) -> usize {
    usize::from(matches!(class, Class::Send | Class::Handler))
}

/// Writes the whole file.
pub fn write(out: &mut impl Write, run: &Run, messages: &Messages) -> io::Result<()> {
    write!(out, "{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
    let mut comma = "\n";
    for node in &run.nodes {
        let host = node.host.as_ref().map_or(String::new(), |(host, _)| format!(" on {host}"));
        let name = json!({"ph": "M", "name": "process_name", "pid": node.rank, "args": {"name": format!("node {}{host}", node.rank)}});
        let order =
            json!({"ph": "M", "name": "process_sort_index", "pid": node.rank, "args": {"sort_index": node.rank}});
        write!(out, "{comma}{name},\n{order}")?;
        comma = ",\n";
        for (lane, name) in LANES.iter().enumerate() {
            let name = json!({"ph": "M", "name": "thread_name", "pid": node.rank, "tid": lane, "args": {"name": name}});
            write!(out, ",\n{name}")?;
        }
    }
    let mut flows = 0u64;
    for (place, node) in run.nodes.iter().enumerate() {
        for (at, event) in node.events.iter().enumerate() {
            one(out, run, node.rank, event)?;
            let sent = messages.origin[place][at];
            let Some(from) = run.place(event.peer).filter(|_| sent != NONE) else { continue };
            flows += 1;
            let begin = run.nodes[from].events[sent as usize].begin;
            let flow = |ph: &str, rank, ts| {
                format!(
                    "{{\"ph\":\"{ph}\",\"id\":{flows},\"cat\":\"message\",\"name\":\"message\",\"pid\":{rank},\"tid\":1,\"ts\":{}}}",
                    us(ts)
                )
            };
            write!(
                out,
                ",\n{},\n{}",
                flow("s", event.peer, begin),
                flow("f\",\"bp\":\"e", node.rank, event.begin.max(begin))
            )?;
        }
        for note in &node.notes {
            let name = json!(note.text);
            write!(
                out,
                ",\n{{\"ph\":\"i\",\"s\":\"p\",\"name\":{name},\"pid\":{},\"tid\":0,\"ts\":{}}}",
                node.rank,
                us(note.when)
            )?;
        }
    }
    writeln!(out, "\n]}}")
}

fn one(out: &mut impl Write, run: &Run, rank: u32, event: &Event) -> io::Result<()> {
    let kind = run.kind(event);
    let lane = lane(kind.class);
    write!(
        out,
        ",\n{{\"name\":\"{}\",\"cat\":\"{}\",\"pid\":{rank},\"tid\":{lane},\"ts\":{}",
        kind.name,
        kind.letter,
        us(event.begin)
    )?;
    match (event.has & HAS_TIME != 0, lane) {
        (true, _) => write!(out, ",\"ph\":\"X\",\"dur\":{}", us(event.ns))?,
        // Flows begin and end at slices only; so a message is one without a length.
        (false, 1) => write!(out, ",\"ph\":\"X\",\"dur\":0")?,
        (false, _) => write!(out, ",\"ph\":\"i\",\"s\":\"t\"")?,
    }
    let mut args = Vec::new();
    if event.peer != NONE {
        args.push(format!("\"node\":{}", event.peer));
    }
    if event.has & HAS_BYTES != 0 {
        args.push(format!("\"bytes\":{}", event.bytes));
    }
    if event.handler != 0 {
        args.push(format!("\"handler\":{}", event.handler));
    }
    if let Some(team) = &run.kind(event).team {
        args.push(format!("\"team\":\"{team}\""));
    }
    if !args.is_empty() {
        write!(out, ",\"args\":{{{}}}", args.join(","))?;
    }
    write!(out, "}}")
}

#[cfg(test)]
mod tests {
    use super::super::messages;
    use super::super::read::of_lines;
    use super::*;
    use serde_json::Value;

    #[test]
    fn messages_are_flows_and_durations_are_slices() {
        let run = of_lines(&[
            "0 0.000001500> (A) AMREQUEST_MEDIUM node=1 bytes=8 handler=200",
            "1 0.000002500> (A) AMREQUEST_HANDLER node=0 bytes=8 handler=200",
            "1 0.000009000> (B) BARRIER us=1.25",
            "1 0.000009500> (H) say \"hello\"",
        ]);
        let mut text = Vec::new();
        write(&mut text, &run, &messages::find(&run)).unwrap();
        let file: Value = serde_json::from_slice(&text).unwrap();
        let events = file["traceEvents"].as_array().unwrap();
        let of = |ph: &str| events.iter().filter(|event| event["ph"] == ph).collect::<Vec<_>>();
        assert_eq!((of("M").len(), of("X").len(), of("s").len(), of("f").len(), of("i").len()), (8, 3, 1, 1, 1));
        let (start, finish) = (of("s")[0], of("f")[0]);
        assert_eq!((&start["pid"], &start["ts"]), (&json!(0), &json!(1.5)));
        assert_eq!(
            (&finish["pid"], &finish["ts"], &finish["id"], &finish["bp"]),
            (&json!(1), &json!(2.5), &start["id"], &json!("e"))
        );
        let barrier = events.iter().find(|event| event["name"] == "BARRIER").unwrap();
        assert_eq!((&barrier["ts"], &barrier["dur"]), (&json!(7.75), &json!(1.25)));
        let send = events.iter().find(|event| event["name"] == "AMREQUEST_MEDIUM").unwrap();
        assert_eq!(send["args"], json!({"node": 1, "bytes": 8, "handler": 200}));
        assert_eq!(of("i")[0]["name"], "say \"hello\"");
    }
}

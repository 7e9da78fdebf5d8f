//! ucx_perftest, which has patterns of its own. It reads a file of tests. Their names say which cell a result belongs
//! to.

use super::bench::Bench;
use super::samples::Sample;
use anyhow::Result;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::thread::sleep;
use std::time::Duration;

/// Which of UCX's interfaces is measured.
#[derive(Clone, Copy, PartialEq)]
pub enum Layer {
    Uct,
    Ucp,
}

/// Bandwidths are measured three times, because ucx_perftest gives one figure for a whole test.
const REPEAT: usize = 3;

const SMALL: [usize; 6] = [8, 64, 512, 1024, 4096, 8192];
const MESSAGES: [usize; 8] = [8, 64, 512, 1024, 4096, 8192, 32768, 65536];
const TRANSFERS: [usize; 9] = [8, 64, 512, 4096, 32768, 65536, 262_144, 1_048_576, 4_194_304];

/// The tests of a section, one per line. Empty if the layer has nothing comparable.
fn tests(layer: Layer, section: &str) -> String {
    let mut text = String::new();
    let mut line = |times: usize, cell: &str, bytes: usize, test: &str, options: &str| {
        let count = match bytes {
            65537.. => 100,
            4097.. => 1000,
            _ => 20_000,
        };
        for _ in 0..times {
            text += format!("{cell}.{bytes} -t {test} -s {bytes} -n {count} -w 100 {options}").trim_end();
            text.push('\n');
        }
    };
    let (short, bcopy) = ("-x posix -d memory -D short", "-x posix -d memory -D bcopy");
    match (layer, section) {
        (Layer::Uct, "am") => {
            line(1, "trip.short", 8, "am_lat", short);
            line(REPEAT, "rate.short", 8, "am_bw", short);
            let ways = [8, 64].map(|bytes| (bytes, short)).into_iter().chain(SMALL.map(|bytes| (bytes, bcopy)));
            for (bytes, way) in ways {
                line(1, "trip.medium", bytes, "am_lat", way);
                line(REPEAT, "flood.medium", bytes, "am_bw", way);
            }
        }
        (Layer::Uct, "rma") => {
            line(1, "trip.put", 8, "put_lat", short);
            for bytes in TRANSFERS {
                line(REPEAT, "flood.put", bytes, "put_bw", short);
                line(REPEAT, "flood.get", bytes, "get", bcopy);
            }
        }
        (Layer::Ucp, "am") => {
            for bytes in MESSAGES {
                line(1, "trip.medium", bytes, "ucp_am_lat", "");
                line(REPEAT, "flood.medium", bytes, "ucp_am_bw", "");
            }
            for bytes in TRANSFERS {
                line(1, "trip.long", bytes, "tag_lat", "");
                line(REPEAT, "flood.long", bytes, "tag_bw", "");
            }
        }
        (Layer::Ucp, "rma") => {
            for bytes in TRANSFERS {
                line(REPEAT, "flood.put", bytes, "ucp_put_bw", "");
                line(REPEAT, "flood.get", bytes, "ucp_get", "");
            }
        }
        _ => {}
    }
    text
}

/// The samples in what ucx_perftest prints with -f -v. It prints a line per test: name, iterations, latency at the
/// median (one way, microseconds), average, overall, bandwidth twice (2^20 bytes per second), rate twice (messages
/// per second). Of repetitions the best counts, because other load on the machine can only slow one down.
fn figures(how: &str, section: &str, text: &str) -> Vec<Sample> {
    let mut best: BTreeMap<(String, usize, &str), f64> = BTreeMap::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.split(',').collect();
        let name: Vec<&str> = fields[0].split('.').collect();
        let ([kind, operation, bytes], 9) = (&name[..], fields.len()) else { continue };
        let number = |field: usize| fields[field].trim().parse::<f64>();
        let (Ok(bytes), Ok(latency), Ok(rate)) = (bytes.parse::<usize>(), number(2), number(8)) else { continue };
        let operation = if section == "am" { format!("{operation} message") } else { (*operation).to_owned() };
        let (operation, unit, value) = match *kind {
            "trip" => (operation + " round trip", "us", 2.0 * latency),
            "rate" => (operation + " flood", "ns", 1e9 / rate),
            "flood" => (operation + " flood", "MB/s", rate * bytes as f64 / 1e6),
            _ => continue,
        };
        let so_far = best.entry((operation, bytes, unit)).or_insert(value);
        *so_far = if unit == "MB/s" { so_far.max(value) } else { so_far.min(value) };
    }
    let sample = |((operation, bytes, unit), value): ((String, usize, &str), f64)| Sample {
        how: how.into(),
        who: "ucx".into(),
        section: section.into(),
        operation,
        nodes: 2,
        bytes,
        unit: unit.into(),
        value,
    };
    best.into_iter().map(sample).collect()
}

/// Whether a process of this host listens at a TCP port. What ucx_perftest prints would say it, but stays in its buffer until it ends.
fn listens(port: u16) -> Result<bool> {
    let sockets = fs::read_to_string("/proc/net/tcp")? + &fs::read_to_string("/proc/net/tcp6").unwrap_or_default();
    let end = format!(":{port:04X}");
    Ok(sockets.lines().any(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        fields.len() > 3 && fields[1].ends_with(&end) && fields[3] == "0A"
    }))
}

/// One turn of a layer, with a server and a client.
pub fn ucx(bench: &mut Bench, section: &str, nodes: usize, layer: Layer) -> Result<()> {
    // Both sides read the file of tests. The first test is also given on the command line, because ucx_perftest does
    // not start without one.
    let (how, first) = match layer {
        Layer::Uct => ("ucx, uct", "-t am_lat -x posix -d memory"),
        Layer::Ucp => ("ucx, ucp", "-t tag_lat"),
    };
    let tests = tests(layer, section);
    if bench.is_broken(how, nodes) || tests.is_empty() {
        return Ok(());
    }
    let list = bench.directory.path().join("tests");
    fs::write(&list, tests)?;
    let log = bench.directory.path().join("server");
    let port = fastrand::u16(20_000..30_000);
    let side = |core: &str| {
        let mut command = bench.command(120, "ucx_perftest");
        command.env("UCX_TLS", "posix,cma,self").args(["-c", core, "-p", &port.to_string()]);
        command.args(first.split(' ')).arg("-b").arg(&list);
        command
    };
    let mut server = side("0").stdout(File::create(&log)?).stderr(File::options().append(true).open(&log)?).spawn()?;
    for _ in 0..200 {
        if listens(port)? {
            break;
        }
        sleep(Duration::from_millis(50));
    }
    let output = side("1").args(["127.0.0.1", "-f", "-v"]).output()?;
    if output.status.success() {
        let text = String::from_utf8_lossy(&output.stdout);
        figures(how, section, &text).into_iter().for_each(|sample| bench.samples.add(sample));
    } else {
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        bench.failed(how, nodes, &format!("ucx_perftest, {section}"), &err);
        server.kill()?;
    }
    server.wait()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_test_names_its_cell() {
        for (layer, section) in [Layer::Uct, Layer::Ucp].into_iter().flat_map(|layer| [(layer, "am"), (layer, "rma")]) {
            for line in tests(layer, section).lines() {
                let (name, options) = line.split_once(' ').unwrap();
                let bytes = name.split('.').nth(2).unwrap();
                assert!(options.contains(&format!(" -s {bytes} ")), "{line}");
            }
        }
        assert_eq!(tests(Layer::Ucp, "coll"), "");
    }

    #[test]
    fn a_port_is_listened_at_while_its_socket_lives() {
        let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = socket.local_addr().unwrap().port();
        assert!(listens(port).unwrap());
        drop(socket);
        assert!(!listens(port).unwrap());
    }

    #[test]
    fn the_best_of_repetitions_counts() {
        let text = "flood.put.64,1,0.1,0.1,0.1,1,1,1e6,1e6\nflood.put.64,1,0.1,0.1,0.1,1,1,2e6,2e6\n\
                    trip.put.8,1,0.5,0.1,0.1,1,1,1e6,1e6\nFinal: nothing\n";
        let found = figures("ucx, uct", "rma", text);
        let values: Vec<(&str, f64)> = found.iter().map(|sample| (sample.unit.as_str(), sample.value)).collect();
        assert_eq!(values, [("MB/s", 128.0), ("us", 1.0)]);
    }
}

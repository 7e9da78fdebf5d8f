//! What the wire over UDP bears: datagrams that are lost by the third, a link that is dark for a while, and one that stays dark.
//!
//! The dark link is between two hosts that the launcher still reaches: so nobody but their nodes notices it.

use super::hosts::Network;
use super::job::{self, Bench, End, Job};
use super::options::layout;
use super::relay::Relay;
use super::soak::faults;
use crate::repo::Repo;
use anyhow::{Context, Result};
use clap::Args;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// A bad network, in the words of GASNET_SCI_UDP_FAULTS. The launcher's own connections are not hit.
const BAD: &str = "loss=30,dup=5,reorder=8,flip=1,seed=7";
/// Programs that verify what they move, with arguments that make a part of a second over a good network.
const PROGRAMS: [(&str, &[&str]); 2] = [("testam", &["1", "256"]), ("testmixed", &["5"])];
/// Floods all others until it is killed, or a time is over; then its status is 3.
const FLOOD: &str = "testvictim";
const UNDISTURBED: i32 = 3;

const DARK: Duration = Duration::from_secs(5);
/// After a dark time the link carries a flood again within this time: no timeout is longer than 2 s.
const GOES_ON: Duration = Duration::from_millis(2500);
/// So many frames are more than questions and answers.
const FRAMES: u64 = 200;
/// GASNET_SCI_UDP_DEAD of the link that stays dark, and what the end of the job may take after that.
const DEAD: Duration = Duration::from_secs(3);
const THEN: Duration = Duration::from_secs(1);

/// 30 % of loss, a blackout of 5 s, and one that is longer than GASNET_SCI_UDP_DEAD, over UDP
#[derive(Args)]
pub struct Options {
    #[arg(long, value_name = "K", default_value = "1")]
    times: u32,
}

pub fn run(repo: &Repo, options: &Options) -> Result<bool> {
    repo.make_stage()?;
    let names: Vec<String> = PROGRAMS.iter().map(|(name, _)| *name).chain([FLOOD]).map(String::from).collect();
    let directory = job::build(repo, "par", &names)?;
    let layout = layout("1+1+1").map_err(anyhow::Error::msg)?;
    let bench = Bench::make(repo, layout, &Network::Relay(Vec::new(), 1))?;
    let (mut passed, mut failed) = (0, 0);
    for _ in 0..options.times {
        let losses = PROGRAMS.iter().flat_map(|case| ["normal", "seed"].map(|mode| (case, mode)));
        for ((name, arguments), mode) in losses {
            let wrong = lossy(&bench, &directory.join(name), arguments, mode)?;
            say(&format!("{name}, {mode}, 30 % lost"), wrong, &mut passed, &mut failed);
        }
        say("dark for 5 s", dark(&bench, &directory, false)?, &mut passed, &mut failed);
        say("dark for ever", dark(&bench, &directory, true)?, &mut passed, &mut failed);
    }
    println!("dark: {passed} passed, {failed} failed");
    Ok(failed == 0)
}

/// Prints how a case went: how long it took, or what was wrong.
fn say(case: &str, wrong: Result<Duration, String>, passed: &mut u32, failed: &mut u32) {
    match &wrong {
        Ok(took) => println!("{case}: {} ms", took.as_millis()),
        Err(wrong) => println!("FAILED: {case}: {wrong}"),
    }
    *(if wrong.is_ok() { passed } else { failed }) += 1;
}

fn start(bench: &Bench, program: &Path, arguments: &[&str], settings: &[(&str, &str)]) -> Result<Job> {
    let words = [vec![program.display().to_string()], arguments.iter().map(|word| (*word).to_owned()).collect()];
    bench.start(&words.concat(), &[&[("GASNET_SCI_NETWORK", "udp")], settings].concat())
}

/// What a job has left, and the first lines that it has printed on stderr.
fn told(end: &End) -> String {
    let lines: Vec<&str> = end.outcome.err.lines().take(5).collect();
    format!("; left: {:?}; {}", end.left, lines.join(" | "))
}

fn lossy(bench: &Bench, program: &Path, arguments: &[&str], mode: &str) -> Result<Result<Duration, String>> {
    let settings = [("GASNET_SCI_UDP_FAULTS", BAD), ("GASNET_SCI_UDP_MODE", mode)];
    let mut job = start(bench, program, arguments, &settings)?;
    let status = job.wait(job.start + Duration::from_secs(300))?;
    let took = job.start.elapsed();
    let end = bench.end(&mut job, status)?;
    let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let wrong = faults(&name, bench.layout.nodes(), &end.outcome);
    let is_right = wrong.is_empty() && end.left.is_empty();
    Ok(if is_right { Ok(took) } else { Err(format!("{wrong:?}, status {status:?}{}", told(&end))) })
}

/// Cuts the link between the second and the third host in a flood. Says how long after its end the flood went on; `for_ever`: how long after
/// its begin the job ended.
fn dark(bench: &Bench, directory: &Path, for_ever: bool) -> Result<Result<Duration, String>> {
    let relay = bench.hosts.as_ref().and_then(|hosts| hosts.relay.as_ref()).context("it was asked for")?;
    let dead = if for_ever { DEAD } else { 2 * DARK };
    let settings = [("GASNET_SCI_UDP_DEAD", &*dead.as_secs().to_string())];
    let mut job = start(bench, &directory.join(FLOOD), &["flood", "20"], &settings)?;
    let mut problem = await_flood(relay, Instant::now() + Duration::from_secs(10)).err();
    relay.set_dead(1, 2, true);
    let begin = Instant::now();
    let (took, status) = if for_ever {
        let status = job.wait(begin + Duration::from_secs(20))?;
        let took = begin.elapsed();
        relay.set_dead(1, 2, false);
        (took, status)
    } else {
        thread::sleep(DARK);
        relay.set_dead(1, 2, false);
        let begin = Instant::now();
        problem = problem.or(await_flood(relay, begin + GOES_ON).err());
        (begin.elapsed(), job.wait(job.start + Duration::from_secs(60))?)
    };
    let end = bench.end(&mut job, status)?;
    let right = match for_ever {
        true => took <= dead + THEN && status == Some(1) && end.outcome.err.contains("no sign of life"),
        false => status == Some(UNDISTURBED),
    };
    let problem = problem.or((!right || !end.left.is_empty()).then(|| "a wrong end".to_owned()));
    Ok(problem.map_or(Ok(took), |what| Err(format!("{what} after {took:?}, status {status:?}{}", told(&end)))))
}

/// Waits until the link between the second and the third host carries a flood.
fn await_flood(relay: &Relay, until: Instant) -> Result<(), String> {
    let before = relay.passed(1, 2);
    while relay.passed(1, 2) < before + FRAMES {
        if Instant::now() > until {
            return Err(format!("{} frames came through", relay.passed(1, 2) - before));
        }
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

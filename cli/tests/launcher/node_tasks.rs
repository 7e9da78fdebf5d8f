//! What nodes of the tests do with tasks.

use super::node::{joined, rank, write_whole};
use gasnet_sci::supervise::Boxes;
use gasnet_sci::supervise::tasks::{Answer, LEAST, NEXT, Refusal, Request, guest};
use std::path::Path;
use std::sync::mpsc::channel;
use std::thread;

fn ask(request: &Request) -> Answer {
    guest::ask(joined().memory.header(), request, || {}).unwrap()
}

// Asks for tasks that run this line of shell at this place.
fn ask_for(line: &str, count: u32, place: i32) -> Answer {
    let arguments = ["sh", "-c", line].map(|word| word.as_bytes().to_vec()).into();
    let environment = std::env::vars().flat_map(|(name, value)| format!("{name}={value}\0").into_bytes()).collect();
    ask(&Request::Start(guest::program(Path::new("sh"), arguments, environment).unwrap(), count, place))
}

// The number of the first.
fn start(line: &str, count: u32, place: i32) -> u32 {
    match ask_for(line, count, place) {
        Answer::Started(task) => task,
        answer => panic!("{answer:?}"),
    }
}

fn end_of(task: u32) -> i32 {
    match ask(&Request::Await(task)) {
        Answer::Ended(status) => status,
        answer => panic!("{answer:?}"),
    }
}

/// Carries out an operation whose name has "task" in it.
pub fn act(name: &str, value: &str) {
    let number = || value.parse::<i32>().unwrap();
    match name {
        "task" => assert_eq!(end_of(start("echo out; exit 7", 1, number())), 7 << 8),
        "task_lines" => assert_eq!(end_of(start(&format!("seq {value}"), 1, NEXT)), 0),
        "leave_task" => drop(start("sleep 1000", 1, value.parse().unwrap_or(LEAST))),
        // So many in one request, all of which end.
        "tasks" => {
            let first = start("exit 3", number() as u32, LEAST);
            (first..first + number() as u32).for_each(|task| assert_eq!(end_of(task), 3 << 8, "{task}"));
        }
        "tasks_refused" => {
            let answer = ask_for("exit 3", number() as u32, LEAST);
            assert!(matches!(&answer, Answer::Refused(Refusal::Resource(why)) if why.contains("ulimit")), "{answer:?}");
        }
        // A program that cannot be executed.
        "tasks_wrong" => {
            let answer =
                ask(&Request::Start(guest::program(Path::new("/"), vec![], vec![]).unwrap(), number() as u32, NEXT));
            assert!(matches!(answer, Answer::Refused(Refusal::Argument(_))), "{answer:?}");
        }
        // So many threads at a time, each with a task of its own.
        "task_threads" => thread::scope(|scope| {
            let wait = |number: i32| assert_eq!(end_of(start(&format!("exit {number}"), 1, NEXT)), number << 8);
            (0..number()).for_each(|number| drop(scope.spawn(move || wait(number))));
        }),
        // So many threads wait for tasks that do not end, until one of them is refused.
        "task_crowd" => {
            let first = start("sleep 1000", number() as u32, rank() as i32);
            let (send, answers) = channel();
            for task in first..first + number() as u32 {
                let send = send.clone();
                thread::spawn(move || send.send(ask(&Request::Await(task))));
            }
            let answer = answers.recv().unwrap();
            assert!(matches!(&answer, Answer::Refused(Refusal::Resource(why)) if why.contains("ulimit")), "{answer:?}");
        }
        // Does what a node with mail boxes does, so that a job may survive it, and starts a task.
        "boxes_and_task" => {
            joined().memory.header().record(rank()).set_boxes(Boxes::Open);
            (rank() == 0).then(|| start("sleep 1; exit 7", 1, LEAST));
        }
        // Waits in a thread that stays.
        "await_task_aside" => drop(thread::spawn({
            let task = number() as u32;
            move || end_of(task)
        })),
        "await_task" => write_whole(format!("task {value} ended {}\n", end_of(number() as u32)).as_bytes()),
        _ => panic!("{name}"),
    }
}

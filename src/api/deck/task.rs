//! Tasks: programs that a node starts while the job runs (contract: seed-deck-parastation.md B3).

#![allow(unsafe_code)] // clients' strings; exported names

use super::constants::*;
use super::{deck, status, wrong};
use crate::deck::Failure;
use crate::supervise::node;
use crate::supervise::tasks::{self, Answer, Refusal, Request, guest};
use std::ffi::{CStr, OsStr, c_char, c_int};
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

const _: () = assert!(DECK_NEXT == tasks::NEXT && DECK_LEAST == tasks::LEAST);

unsafe extern "C" {
    static environ: *const *const c_char;
}

/// `deck_spawn`.
///
/// # Safety
/// `prog` is NULL or a C string, `argv` NULL or a list of C strings that NULL ends, `tasks` NULL or writable for `n` numbers. No thread
/// changes the environment meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn deck_spawn(
    prog: *const c_char,
    argv: *const *mut c_char,
    n: c_int,
    place: c_int,
    numbers: *mut c_int,
) -> c_int {
    status("deck_spawn", || {
        let nodes = deck()?.am().nodes();
        if prog.is_null() || numbers.is_null() {
            return wrong("the program or the place for the tasks' numbers is NULL");
        }
        let count = u32::try_from(n).ok().filter(|n| (1..=tasks::MOST).contains(n));
        let Some(count) = count else { return wrong(format!("{n} tasks; 1 to {} are possible", tasks::MOST)) };
        let is_place = place == DECK_NEXT || place == DECK_LEAST || u32::try_from(place).is_ok_and(|node| node < nodes);
        if !is_place {
            return wrong(format!("place {place} is no node, DECK_NEXT or DECK_LEAST: the job has {nodes} nodes"));
        }
        // SAFETY: as the caller promises.
        let (name, mut arguments, environment) =
            unsafe { (CStr::from_ptr(prog).to_bytes(), list(argv.cast()), list(environ)) };
        if arguments.is_empty() {
            arguments.push(name.to_vec());
        }
        let environment = environment.into_iter().flat_map(|entry| [entry, vec![0]].concat()).collect();
        let program = guest::program(Path::new(OsStr::from_bytes(name)), arguments, environment);
        let request = Request::Start(program.map_err(Failure::argument)?, count, place);
        match ask(&request)? {
            Answer::Started(first) => {
                // SAFETY: as the caller promises.
                (0..count).for_each(|at| unsafe { numbers.add(at as usize).write((first + at) as c_int) });
                Ok(())
            }
            answer => refused(answer),
        }
    })
}

/// `deck_wait`.
///
/// # Safety
/// `status` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn deck_wait(task: c_int, result: *mut c_int) -> c_int {
    status("deck_wait", || {
        deck()?;
        let Ok(task) = u32::try_from(task) else { return wrong(format!("there is no task {task}")) };
        match ask(&Request::Await(task))? {
            Answer::Ended(status) => {
                // SAFETY: NULL or writable, as the caller promises.
                if let Some(result) = unsafe { result.as_mut() } {
                    *result = status;
                }
                Ok(())
            }
            answer => refused(answer),
        }
    })
}

/// The strings of a list that NULL ends.
///
/// # Safety
/// NULL, or such a list.
unsafe fn list(at: *const *const c_char) -> Vec<Vec<u8>> {
    // SAFETY: as the caller promises; nothing is read behind the NULL.
    let entry = |i: usize| unsafe { at.as_ref().and_then(|first| (&raw const *first).add(i).read().as_ref()) };
    // SAFETY: a C string.
    (0..).map_while(entry).map(|text| unsafe { CStr::from_ptr(text) }.to_bytes().to_vec()).collect()
}

// Messages are served meanwhile.
fn ask(request: &Request) -> Result<Answer, Failure> {
    let am = deck()?.am();
    let Some(node) = node::current() else { return Err(Failure::Init) };
    guest::ask(&node.header, request, || {
        am.poll();
    }).map_err(|error| match error.kind() {
        ErrorKind::NotConnected => Failure::argument(
            "nobody can start a task: this job has no supervisor (it has one under gasnetrun_sci, and if it forked its nodes)",
        ),
        _ => Failure::memory(format!("the supervisor does not answer: {error}")),
    })
}

fn refused(answer: Answer) -> Result<(), Failure> {
    match answer {
        Answer::Refused(Refusal::Argument(line)) => wrong(line),
        Answer::Refused(Refusal::Resource(line)) => Err(Failure::memory(line)),
        answer => Err(Failure::memory(format!("the supervisor answers {answer:?}"))),
    }
}

//! Tasks: programs that a node starts while the job runs (contract: seed-deck-parastation.md B3).

#![allow(unsafe_code)] // clients' strings; exported names

use super::constants::*;
use super::{deck, status, wrong};
use crate::deck::Failure;
use crate::supervise::node;
use crate::supervise::tasks::{self, Answer, Refusal, Request, guest};
use std::ffi::{CStr, OsStr, c_char, c_int};
use std::io::ErrorKind;
use std::mem::MaybeUninit;
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
        // SAFETY: a C string, as the caller promises.
        let name = unsafe { CStr::from_ptr(prog) }.to_bytes();
        // SAFETY: NULL or such a list, as the caller promises.
        let mut arguments = unsafe { list(argv.cast()) };
        // SAFETY: the list of the C library, which no thread changes.
        let environment = unsafe { list(environ) };
        if arguments.is_empty() {
            arguments.push(name.to_vec());
        }
        let environment = environment.into_iter().flat_map(|entry| [entry, vec![0]].concat()).collect();
        let program = guest::program(Path::new(OsStr::from_bytes(name)), arguments, environment);
        let request = Request::Start(program.map_err(Failure::argument)?, count, place);
        match ask(&request)? {
            Answer::Started(first) => {
                // SAFETY: writable for so many numbers, as the caller promises.
                let numbers =
                    unsafe { std::slice::from_raw_parts_mut(numbers.cast::<MaybeUninit<c_int>>(), count as usize) };
                for (number, task) in numbers.iter_mut().zip(first..) {
                    number.write(task as c_int);
                }
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
unsafe fn list(mut at: *const *const c_char) -> Vec<Vec<u8>> {
    let mut list = Vec::new();
    // SAFETY: NULL, or the next entry of such a list.
    while let Some(entry) = unsafe { at.as_ref() }
        && !entry.is_null()
    {
        // SAFETY: a C string.
        list.push(unsafe { CStr::from_ptr(*entry) }.to_bytes().to_vec());
        at = at.wrapping_add(1);
    }
    list
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

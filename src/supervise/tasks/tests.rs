//! The ledger of tasks, and messages on the connection of a guest.

use super::desk::{Desk, Heard, framed, message};
use super::*;
use crate::os::sys;
use std::io::{Read, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};

fn heard(desk: &mut Desk) -> Vec<Heard> {
    let mut set = Vec::new();
    desk.interests(&mut set);
    sys::poll(&mut set, None).unwrap();
    desk.serve(&set)
}

/// Of a guest that goes the desk knows whether it has read its answer: else the end of a task would be lost with it.
#[test]
fn a_guest_that_goes_without_reading_its_answer_has_not_heard_it() {
    let address = SocketAddr::from_abstract_name(format!("gasnet-sci-desk-{}", sys::pid())).unwrap();
    let mut desk = Desk::at(&address).unwrap();
    for (is_answered, reads) in [(true, true), (true, false), (false, false)] {
        let mut guest = UnixStream::connect_addr(&address).unwrap();
        guest.write_all(&framed(&Request::Await(1))).unwrap();
        assert!(heard(&mut desk).is_empty(), "it is only let in");
        let Heard::Request(number, Request::Await(1)) = heard(&mut desk)[0] else { panic!() };
        assert!(!is_answered || desk.answer(number, &Answer::Ended(7)));
        if reads {
            let mut bytes = [0; 64];
            let got = guest.read(&mut bytes).unwrap();
            assert_eq!(message(&bytes[..got]), Ok(Some(Answer::Ended(7))));
        }
        drop(guest);
        let all = heard(&mut desk);
        assert!(matches!(all[..], [Heard::Left(who, has_read)] if who == number && has_read == reads));
    }
}

fn refused(answer: Option<Answer>) -> bool {
    matches!(answer, Some(Answer::Refused(Refusal::Argument(_))))
}

#[test]
fn the_end_of_a_task_is_told_once() {
    let mut ledger: Ledger<u8> = Ledger::new();
    assert_eq!((ledger.admit(2), ledger.admit(1)), (Ok(0), Ok(2)));
    assert_eq!(ledger.ended(1, 256), None, "nobody waits");
    assert_eq!(ledger.wait(1, 7), Some(Answer::Ended(256)));
    assert!(refused(ledger.wait(1, 7)), "told before");
    assert_eq!(ledger.wait(0, 7), None);
    assert!(refused(ledger.wait(0, 8)), "another one waits");
    assert_eq!(ledger.ended(0, 9), Some((7, Answer::Ended(9))));
    assert!(refused(ledger.wait(0, 7)));
    assert!(refused(ledger.wait(3, 7)), "no such task");
    assert_eq!(ledger.ended(3, 0), None, "of no task");
}

#[test]
fn a_guest_that_has_gone_leaves_the_end_to_others() {
    let mut ledger: Ledger<u8> = Ledger::new();
    assert_eq!(ledger.admit(1), Ok(0));
    assert_eq!(ledger.wait(0, 7), None);
    ledger.left(|who| who == 8, false);
    assert!(refused(ledger.wait(0, 8)));
    ledger.left(|who| who == 7, false);
    assert_eq!(ledger.ended(0, 1), None);
    assert_eq!(ledger.wait(0, 8), Some(Answer::Ended(1)));
    ledger.left(|who| who == 8, false); // it had gone before it read that
    assert_eq!(ledger.wait(0, 9), Some(Answer::Ended(1)));
    ledger.left(|who| who == 9, true);
    assert!(refused(ledger.wait(0, 7)), "told before");
}

#[test]
fn what_does_not_start_has_no_end() {
    let mut ledger: Ledger<u8> = Ledger::new();
    assert!(ledger.admit(0).is_err() && ledger.admit(MOST + 1).is_err());
    assert_eq!(ledger.admit(MOST), Ok(0));
    ledger.withdraw(0, MOST);
    assert!(refused(ledger.wait(5, 1)));
    assert_eq!((ledger.admit(1), ledger.given()), (Ok(MOST), MOST + 1));
    ledger.next = i32::MAX as u32;
    assert!(matches!(ledger.admit(1), Err(Refusal::Resource(_))));
}

#[test]
fn a_message_is_read_when_all_of_it_has_come() {
    let program = Program {
        file: b"/bin/true".into(),
        arguments: vec![b"true".into(), Vec::new()],
        environment: b"A=1\0".into(),
        directory: b"/".into(),
    };
    let request = Request::Start(program, 3, LEAST);
    let bytes = framed(&request);
    for cut in 0..bytes.len() {
        assert_eq!(message::<Request>(&bytes[..cut]), Ok(None), "{cut}");
    }
    assert_eq!(message(&bytes), Ok(Some(request)));
    let longer = [&bytes[..], &[0]].concat();
    assert!(message::<Request>(&longer).is_err(), "more than a message");
    assert!(message::<Request>(&u32::MAX.to_le_bytes()).is_err(), "longer than any");
    assert!(message::<Request>(&[1, 0, 0, 0, 9]).is_err(), "no request");
}

//! Frames come out as they went in, whole or in pieces, and no bytes do any harm.

use super::super::header::HALF;
use super::*;
use proptest::option;
use proptest::prelude::*;
use std::io::Write;
use std::time::{Duration, Instant};

fn half() -> impl Strategy<Value = Half> {
    any::<[u64; HALF]>()
}

fn phase() -> impl Strategy<Value = Phase> {
    (0..=5u32).prop_map(Phase::from_word)
}

fn end() -> impl Strategy<Value = End> {
    let how = prop_oneof![(1..=64).prop_map(How::Signal), any::<u8>().prop_map(How::Status), Just(How::Inner)];
    (any::<u32>(), any::<i32>(), phase(), how).prop_map(|(rank, pid, phase, how)| End { rank, pid, phase, how })
}

fn hello() -> impl Strategy<Value = Hello> {
    (any::<[u32; 4]>(), any::<u64>(), ".*", ".*").prop_map(|([channel, handoff, cpus, load], layout, library, host)| {
        Hello { channel, handoff, layout, library, host, cpus, load }
    })
}

fn program(bytes: Vec<u8>) -> Program {
    Program {
        file: bytes.clone(),
        arguments: vec![bytes.clone(), bytes.clone()],
        environment: bytes.clone(),
        directory: bytes,
    }
}

fn frame() -> impl Strategy<Value = Frame> {
    let bytes = || prop::collection::vec(any::<u8>(), 0..200);
    prop_oneof![
        hello().prop_map(Frame::Hello),
        bytes().prop_map(Frame::Start),
        (any::<u8>(), ".*").prop_map(|(status, line)| Frame::Failed(status, line)),
        (any::<u32>(), prop::collection::vec((any::<u32>(), half()), 0..4)).prop_map(|(g, h)| Frame::Bulletin(g, h)),
        (any::<u32>(), prop::collection::vec(half(), 0..4)).prop_map(|(g, h)| Frame::Release(g, h)),
        bytes().prop_map(Frame::Input),
        (any::<u32>(), 0..2u8, bytes()).prop_map(|(rank, stream, bytes)| Frame::Output(rank, stream, bytes)),
        any::<u32>().prop_map(Frame::Taken),
        (1..=64).prop_map(Frame::Signal),
        any::<bool>().prop_map(Frame::Pause),
        (any::<u32>(), phase()).prop_map(|(rank, phase)| Frame::Phase(rank, phase)),
        (end(), any::<Option<u8>>()).prop_map(|(end, code)| Frame::Ended(end, code)),
        any::<Option<u8>>().prop_map(Frame::Ask),
        Just(Frame::Kill),
        Just(Frame::Beat),
        ".*".prop_map(Frame::Line),
        any::<Option<u8>>().prop_map(Frame::Done),
        (0..2u8).prop_map(Frame::Shut),
        any::<u32>().prop_map(Frame::Load),
        any::<u32>().prop_map(Frame::Branch),
        (any::<u32>(), prop::collection::vec(bytes(), 0..4)).prop_map(|(host, words)| Frame::Reach(host, words)),
        (any::<u32>(), bytes()).prop_map(|(host, bytes)| Frame::Through(host, bytes)),
        (any::<u32>(), bytes()).prop_map(|(host, bytes)| Frame::Said(host, bytes)),
        (any::<u32>(), ".*").prop_map(|(host, how)| Frame::Gone(host, how)),
        (any::<u32>(), bytes()).prop_map(|(rank, bytes)| Frame::Part(rank, bytes)),
        (any::<u64>(), any::<u32>()).prop_map(|(guest, task)| Frame::Request(guest, Request::Await(task))),
        (any::<u64>(), any::<bool>()).prop_map(|(guest, has_read)| Frame::Left(guest, has_read)),
        (any::<u64>(), bytes(), any::<u32>(), any::<i32>()).prop_map(|(guest, bytes, count, place)| {
            Frame::Request(guest, Request::Start(program(bytes), count, place))
        }),
        (any::<u64>(), any::<i32>()).prop_map(|(guest, status)| Frame::Answer(guest, Answer::Ended(status))),
        (any::<u32>(), any::<u32>(), bytes()).prop_map(|(first, count, bytes)| Frame::Run(
            first,
            count,
            program(bytes)
        )),
        (any::<u32>(), option::of(".*".prop_map(Refusal::Resource))).prop_map(|(first, why)| Frame::Ran(first, why)),
        (any::<u32>(), any::<i32>()).prop_map(|(task, status)| Frame::Finished(task, status)),
        (any::<u32>(), 0..2u8, any::<bool>()).prop_map(|(rank, stream, hold)| Frame::Hold(rank, stream, hold)),
    ]
}

proptest! {
    #[test]
    fn frames_arrive_whole_however_their_bytes_come(frames in prop::collection::vec(frame(), 0..6), cut in any::<prop::sample::Index>()) {
        let mut bytes = Vec::new();
        frames.iter().for_each(|frame| frame.encode(&mut bytes));
        let (mut got, mut at) = (Vec::new(), 0);
        let cut = if bytes.is_empty() { 0 } else { cut.index(bytes.len()) };
        for end in [cut, bytes.len()] {
            while let Some((frame, len)) = Frame::decode(&bytes[at..end]).unwrap() {
                got.push(frame);
                at += len;
            }
        }
        prop_assert_eq!(at, bytes.len());
        prop_assert_eq!(got, frames);
    }

    #[test]
    fn any_bytes_are_a_frame_or_none(bytes in prop::collection::vec(any::<u8>(), 0..300), kind in 0..28u8, len in 1..200u32) {
        let _ = Frame::decode(&bytes);
        // The same with a head that is right.
        let with_head: Vec<u8> = len.to_le_bytes().into_iter().chain([kind]).chain(bytes).collect();
        if let Ok(Some((frame, taken))) = Frame::decode(&with_head) {
            prop_assert_eq!(taken, HEAD + len as usize);
            let mut again = Vec::new();
            frame.encode(&mut again);
            prop_assert_eq!(Frame::decode(&again), Ok(Some((frame, again.len()))));
        }
    }
}

/// The bytes are those of 0.2. Every version writes them so, and reads them.
#[test]
fn a_greeting_has_the_form_of_every_version() {
    let (library, host) = ("0.2.0".to_string(), "hostB".to_string());
    let hello = Hello { channel: 3, handoff: 7, layout: 0x11, library, host, cpus: 400, load: 25 };
    let mut bytes = Vec::new();
    Frame::Hello(hello.clone()).encode(&mut bytes);
    let of_0_2: &[u8] = b"\x2a\0\0\0\x01\0\0\0\x03\0\0\0\x07\0\0\0\x11\0\0\0\0\0\0\0\
        \x05\0\0\x000.2.0\x05\0\0\0hostB\x90\x01\0\0\x19\0\0\0";
    assert_eq!(bytes, of_0_2);
    let longer = [&[0x2b][..], &of_0_2[1..], b"+"].concat();
    assert_eq!(Frame::decode(of_0_2), Ok(Some((Frame::Hello(hello.clone()), of_0_2.len()))));
    assert_eq!(Frame::decode(&longer), Ok(Some((Frame::Hello(hello), longer.len()))), "of a later version");
    (HEAD..of_0_2.len()).for_each(|len| assert_eq!(Frame::decode(&of_0_2[..len]), Ok(None), "{len} bytes"));
}

#[test]
fn what_cannot_be_is_refused() {
    let whole = |body: &[u8]| [&(body.len() as u32).to_le_bytes(), body].concat();
    let mut end = Vec::new();
    let how = How::Signal(64);
    Frame::Ended(End { rank: 3, pid: 99, phase: Phase::Exiting, how }, Some(9)).encode(&mut end);
    let refused = |bytes: &[u8]| Frame::decode(bytes).is_err();
    assert!(!refused(&end));
    let long = (LONGEST as u32 + 1).to_le_bytes();
    for head in [long, [0; 4], *b"Welc"] {
        assert!(refused(&head), "{head:?}: no length that a frame can have");
    }
    let body = &end[HEAD..];
    assert!(refused(&whole(&[body, &[0]].concat())), "a byte too many");
    (1..body.len()).for_each(|len| assert!(refused(&whole(&body[..len])), "{len} bytes"));
    for (at, value, what) in [(4, 6, "phase"), (5, 3, "how"), (6, 130, "signal"), (8, 2, "whether there is a code")] {
        let mut body = body.to_vec();
        assert!(body[at] < value);
        body[at] = value;
        assert!(refused(&whole(&body)), "{what}");
    }
    for body in [&[26][..], &[6, 0, 2, 0], &[17, 2], &[9, 2], &[8, 130, 1], &[8, 0], &[15, 1, 0xff], &[1, 5, 0]] {
        assert!(refused(&whole(body)), "{body:?}: a kind, stream, flag, signal, text or length that cannot be");
    }
    for kind in [3, 4, 21] {
        assert!(refused(&whole(&[kind, 0, 0xff, 0xff, 0xff, 0xff, 0x0f])), "{kind}: more than there is memory for");
    }
}

fn ends() -> (Channel, Channel) {
    let ((up_read, up_write), (down_read, down_write)) = (std::io::pipe().unwrap(), std::io::pipe().unwrap());
    let agent = Channel::of_agent(down_read.into(), up_write.into()).unwrap();
    (Channel::of_launcher(up_read.into(), down_write.into()).unwrap(), agent)
}

#[test]
fn more_than_a_pipe_holds_arrives_in_order_and_then_the_end() {
    let (mut launcher, mut agent) = ends();
    for number in 0..100 {
        agent.send(&Frame::Output(number, 1, vec![number as u8; 20_000]));
    }
    assert!(agent.is_holding());
    let mut got = Vec::new();
    while got.len() < 100 {
        agent.flush();
        got.extend(launcher.receive().unwrap());
    }
    let expected: Vec<Frame> = (0..100).map(|number| Frame::Output(number, 1, vec![number as u8; 20_000])).collect();
    assert!(got == expected && !launcher.is_over());
    drop(agent);
    assert_eq!(launcher.receive(), Ok(vec![]));
    assert!(launcher.is_over());
}

#[test]
fn text_before_an_agent_is_skipped_and_text_instead_of_one_is_refused() {
    let (read, mut write) = std::io::pipe().unwrap();
    let (_kept, other) = std::io::pipe().unwrap();
    let mut launcher = Channel::of_launcher(read.into(), other.into()).unwrap();
    write.write_all(b"Welcome\nto this host").unwrap();
    assert_eq!((launcher.receive(), &launcher.noise()[..]), (Ok(vec![]), "to this host"));
    write.write_all(&MAGIC).unwrap();
    let mut bytes = Vec::new();
    Frame::Beat.encode(&mut bytes);
    write.write_all(&bytes).unwrap();
    assert_eq!((launcher.receive(), &launcher.noise()[..]), (Ok(vec![Frame::Beat]), ""));
    write.write_all(b"garbage!").unwrap();
    assert!(launcher.receive().unwrap_err().contains("no frame"));
    assert!(launcher.is_over());
}

#[test]
fn what_was_written_before_the_end_is_read_though_nobody_listens_any_more() {
    let (mut launcher, mut agent) = ends();
    agent.send(&Frame::Done(Some(3)));
    drop(agent);
    launcher.send(&Frame::Beat);
    assert!(!launcher.is_over() && !launcher.is_holding());
    assert_eq!(launcher.receive(), Ok(vec![Frame::Done(Some(3))]));
    assert!(launcher.is_over());
}

#[test]
fn frames_that_are_put_back_come_first() {
    let (mut launcher, mut agent) = ends();
    launcher.put_back([Frame::Kill].into_iter());
    assert!(launcher.is_readable(&[]) && launcher.next_beat() <= Instant::now());
    agent.send(&Frame::Beat);
    assert_eq!(launcher.receive(), Ok(vec![Frame::Kill, Frame::Beat]));
    assert!(!launcher.is_readable(&[]));
}

#[test]
fn silence_counts_only_while_this_process_has_its_turns() {
    let (mut launcher, _agent) = ends();
    let start = Instant::now();
    let at = |seconds| start + Duration::from_secs(seconds);
    (1..=9).for_each(|second| launcher.beat(at(second)));
    assert!(launcher.silence(at(9)) > Duration::from_secs(8));
    launcher.beat(at(60)); // it was stopped
    assert_eq!(launcher.silence(at(60)), Duration::ZERO);
}

#[test]
fn a_channel_without_pipes_is_one_with_two() {
    let (mut launcher, mut agent) = (Channel::through(), ends().1);
    agent.send(&Frame::Load(7));
    launcher.send(&Frame::Kill);
    let mut bytes = Vec::new();
    Frame::Kill.encode(&mut bytes);
    assert_eq!((launcher.take_held(), launcher.is_holding()), (bytes, false));
    assert!(!launcher.is_readable(&[]) && !launcher.is_readable_now());
    launcher.feed(b"Welcome\n");
    launcher.feed(&MAGIC);
    let mut bytes = Vec::new();
    Frame::Load(7).encode(&mut bytes);
    launcher.feed(&bytes);
    assert!(launcher.is_readable(&[]) && launcher.is_readable_now());
    assert_eq!((launcher.receive(), launcher.is_over()), (Ok(vec![Frame::Load(7)]), false));
    assert!(!launcher.is_readable(&[]));
    launcher.feed(&bytes);
    launcher.end();
    assert_eq!((launcher.receive(), launcher.is_over()), (Ok(vec![Frame::Load(7)]), true));
}

/// The fuzz target starts from them; as other bytes they would lead it nowhere.
#[test]
fn the_seeds_are_frames_of_all_kinds() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/seeds/channel");
    let mut kinds = std::collections::HashSet::new();
    for file in std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
        let bytes = std::fs::read(&file).unwrap();
        let mut rest = &bytes[..];
        while let Some((frame, len)) = Frame::decode(rest).unwrap_or_default() {
            kinds.insert(std::mem::discriminant(&frame));
            rest = &rest[len..];
        }
        assert_eq!(rest.is_empty(), !file.ends_with("long"), "{}", file.display());
    }
    assert_eq!(kinds.len(), 25, "all but START, whose body the launcher's program defines");
}

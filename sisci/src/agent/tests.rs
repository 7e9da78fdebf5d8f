//! Agents whose callers and owners are the test.
#![allow(unsafe_code)] // Memory of segments.

use super::*;
use crate::memory::page;
use crate::net::with_owner;
use rustix::net::{SendFlags, send};

fn mapping() -> Mapping {
    let memory = Memory::new(page()).unwrap();
    memory.map(0, memory.length, ptr::null_mut(), false).unwrap()
}

#[test]
fn a_caller_writes_and_reads_within_the_segment_alone() {
    let (agent, _owner, _caller) = agent();
    let mapping = mapping();
    let base = mapping.base;
    let target = Target::Memory(Watch::new(mapping, 1).into());
    let end = page() as u64;
    let byte = |at: u64| {
        // SAFETY: within the mapping, which the target has.
        unsafe { base.wrapping_add(at as usize).read_volatile() }
    };
    let obeys = |say, body: &[u8]| agent.obey(&target, say, body).is_ok();
    assert!(obeys(Say::Stores(vec![(0, 1), (end - 2, 2)]), &[1, 2, 3]));
    assert!(obeys(Say::Copy(end - 3), &[9]));
    assert_eq!([byte(0), byte(end - 3), byte(end - 2), byte(end - 1)], [1, 9, 2, 3]);
    for (say, body) in [
        (Say::Stores(vec![(end - 1, 2)]), &[0, 0][..]),
        (Say::Stores(vec![(u64::MAX, 2)]), &[0, 0]),
        (Say::Stores(vec![(0, 2)]), &[0]),
        (Say::Stores(vec![(0, 1)]), &[0, 0]),
        (Say::Stores(vec![(0, u32::MAX)]), &[0]),
        (Say::Copy(end), &[0]),
        (Say::Copy(u64::MAX), &[0]),
        (Say::Read { at: end - 1, size: 2, is_shown: true }, &[]),
        (Say::Read { at: u64::MAX, size: 1, is_shown: true }, &[]),
        (Say::Read { at: 0, size: MOST as u32 + 1, is_shown: true }, &[]),
        (Say::Trigger, &[]),
        (Say::Data, &[]),
    ] {
        assert!(!obeys(say.clone(), body), "{say:?}");
    }
}

#[test]
fn a_caller_that_takes_nothing_is_waited_for_once() {
    let (agent, _owner, caller) = agent();
    let target = Arc::new(Target::Memory(Watch::new(mapping(), 1).into()));
    agent.obey(&target, Say::Stores(vec![(0, 1)]), &[1]).unwrap();
    let teller = CallerNews { agent: agent.into(), target: target.clone(), is_slow: AtomicBool::new(false) };
    let is_slow = || teller.is_slow.load(Ordering::Relaxed);
    // Answers leave no room.
    let full = [0; MOST];
    while send(&teller.agent.socket, &full, SendFlags::DONTWAIT | SendFlags::NOSIGNAL).is_ok() {}
    teller.tell();
    assert!(is_slow());
    let Target::Memory(watch) = &*target else { panic!("it is memory") };
    let changes = watch.lock().changes(0, &(0..0)).unwrap();
    watch.lock().note_told(&changes);
    teller.tell();
    assert!(is_slow(), "it had nothing to take");
    watch.lock().store(&[(64, 1)], &[1]).unwrap();
    let mut taken = vec![0; MOST];
    while recv(&caller, &mut taken[..], RecvFlags::DONTWAIT).is_ok() {}
    teller.tell();
    assert!(!is_slow());
}

#[test]
fn a_caller_of_an_interrupt_only_triggers_it() {
    let (agent, owner, _caller) = agent();
    assert!(agent.obey(&Target::Socket, Say::Data, &[7; message::MOST]).is_ok());
    assert!(agent.obey(&Target::Socket, Say::Data, &[7; message::MOST + 1]).is_err());
    assert!(agent.obey(&Target::Socket, Say::Copy(0), &[7]).is_err());
    drop(owner);
    assert!(agent.obey(&Target::Socket, Say::Data, &[7]).is_err(), "nobody takes it");
    // A page of interrupts of which none is left.
    assert!(agent.obey(&Target::Page(mapping()), Say::Trigger, &[]).is_err());
    assert!(agent.obey(&Target::Page(mapping()), Say::Read { at: 0, size: 8, is_shown: true }, &[]).is_err());
}

#[test]
fn owner_and_caller_see_the_end_while_other_threads_have_the_agent() {
    let (agent, owner, caller) = agent();
    let agent = Arc::new(agent);
    let _other = agent.clone();
    shutdown(&caller, Shutdown::Write).unwrap();
    agent.attend(&Target::Socket);
    for end in [&owner, &caller] {
        assert_eq!(recv(end, &mut [0; 8][..], RecvFlags::DONTWAIT).map(|(count, _)| count), Ok(0));
    }
}

#[test]
fn a_thread_that_looks_for_news_says_that_the_owner_asks_to_leave() {
    for is_slow in [true, false] {
        let (agent, _owner, caller) = agent();
        // The service has found that another thread has the right to say something.
        agent.shall_leave.store(true, Ordering::SeqCst);
        let target = Arc::new(Target::Memory(Watch::new(mapping(), 1).into()));
        let teller = CallerNews { agent: agent.into(), target, is_slow: AtomicBool::new(is_slow) };
        teller.tell();
        let mut inbox = Inbox::default();
        let (count, _) = recv(&caller, inbox.room(), RecvFlags::DONTWAIT).unwrap();
        inbox.came(count);
        assert_eq!(inbox.next::<Said>().unwrap().map(|(said, _)| said), Some(Said::Leave));
    }
}

#[test]
fn news_that_have_no_room_go_before_what_is_said_next() {
    let (agent, _owner, caller) = agent();
    let connection = news::number();
    let target = Arc::new(Target::Memory(Watch::new(mapping(), connection).into()));
    let teller = CallerNews { agent: agent.into(), target, is_slow: AtomicBool::new(true) };
    // More than there is room for.
    let (said, frames) = (Said::News { after: 0, pieces: vec![(0, MOST as u32)] }, 16);
    assert_eq!(teller.agent.news_come(&said, &[7; MOST], frames, (connection, 1)), Ok(false));
    let is_told = || news::since(0).is_some_and(|(_, known)| known.contains(&(connection, 1)));
    let mut inbox = Inbox::default();
    let mut next = |meanwhile: &dyn Fn()| loop {
        if let Some((said, body)) = inbox.next::<Said>().unwrap() {
            return (said, body.len());
        }
        meanwhile();
        if let Ok((count, _)) = recv(&caller, inbox.room(), RecvFlags::DONTWAIT) {
            inbox.came(count);
        }
    };
    teller.tell();
    assert!(!is_told(), "nobody hears of what has not gone");
    for _ in 0..frames {
        // What is left goes, though there is nothing to tell.
        assert_eq!(next(&|| teller.tell()), (said.clone(), MOST));
    }
    assert!(is_told());
    teller.agent.say(&Said::Done(3), &[]).unwrap();
    assert_eq!(next(&|| ()), (Said::Done(3), 0));
}

#[test]
fn hosts_that_read_at_once_do_not_wait_for_each_other() {
    // Two connections. Who sends on one knows of news that come on the other.
    let sides = [(); 2].map(|()| {
        let ((line, socket), number, mapping) = (with_owner(), news::number(), mapping());
        line.name(number);
        let (base, (agent, owner)) = (mapping.base as usize, agent_of(socket.into()));
        let target = Target::Memory(Watch::new(mapping, number).into());
        agent.obey(&target, Say::Stores(vec![(0, 8)]), &[1; 8]).unwrap();
        (line, number, agent, target, base, owner)
    });
    for (side, other) in [(0, 1), (1, 0)] {
        sides[side].0.send(&Say::After(vec![(sides[other].1, 1)]), &[], None).unwrap();
    }
    std::thread::scope(|scope| {
        for (line, ..) in &sides {
            scope.spawn(move || {
                let mut word = 0_u64;
                // SAFETY: there is room.
                let read = unsafe { line.read(0, (&raw mut word).cast(), 8, None) };
                line.close();
                (read.unwrap(), assert_eq!(word, 2))
            });
            while !line.is_read() {
                std::thread::yield_now();
            }
        }
        for (_, _, agent, target, ..) in &sides {
            scope.spawn(move || agent.run(target));
        }
        // Most likely both owners wait for news by now, which only the readers can take. It is right in any order.
        std::thread::sleep(Duration::from_millis(50));
        for (_, _, agent, target, base, _) in &sides {
            let Target::Memory(watch) = target else { panic!("it is memory") };
            // SAFETY: within the mapping, which the target has; aligned.
            unsafe { ptr::with_exposed_provenance_mut::<u64>(*base).write_volatile(2) };
            agent.tell(&mut watch.lock(), &(0..0), Some(TELL)).unwrap();
        }
    });
}

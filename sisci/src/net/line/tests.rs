//! A connection whose owner is the test.

use super::*;
use std::os::unix::net::UnixStream;
use std::{io::Write, thread};

/// The next words of a caller, with the size of their body; nothing at the end.
fn hear(owner: &UnixStream, inbox: &mut Inbox) -> Option<(Say, usize)> {
    loop {
        if let Some((say, body)) = inbox.next().unwrap() {
            return Some((say, body.len()));
        }
        match recv(owner, inbox.room(), RecvFlags::empty()).unwrap().0 {
            0 => return None,
            count => inbox.came(count),
        }
    }
}

/// What an owner says, as one that waits until all of it is taken. Whether it was.
fn tell(mut owner: &UnixStream, said: &Said, body: &[u8]) -> bool {
    let mut bytes = Vec::new();
    frame(said, body, &mut bytes).unwrap();
    owner.write_all(&bytes).is_ok()
}

#[test]
fn a_trigger_waits_for_bytes_that_another_thread_had_yet_to_send() {
    let [(data, owner), (other, _other), (waker, woken)] = [(); 3].map(|()| with_owner());
    order(std::slice::from_ref(&data));
    order(std::slice::from_ref(&other));
    data.send(&Say::Copy(0), &[1], None).unwrap();
    let trigger = thread::spawn(move || {
        let triggered = waker.trigger(&Say::Trigger, &[], None);
        drop(data);
        triggered
    });
    let mut inbox = Inbox::default();
    assert_eq!(hear(&owner, &mut inbox), Some((Say::Copy(0), 1)));
    assert_eq!(hear(&owner, &mut inbox), Some((Say::Ask(1), 0)), "whether it has arrived");
    assert_eq!(recv(&woken, &mut [0][..], RecvFlags::DONTWAIT).err(), Some(Errno::AGAIN), "not woken before");
    assert!(tell(&owner, &Said::Done(1), &[]));
    trigger.join().unwrap().unwrap();
    assert_eq!(hear(&woken, &mut Inbox::default()), Some((Say::Trigger, 0)));
}

#[test]
fn one_thread_reads_while_another_sends() {
    let (line, owner) = with_owner();
    let owner = thread::spawn(move || {
        let mut inbox = Inbox::default();
        while let Some((say, _)) = hear(&owner, &mut inbox) {
            assert!(match say {
                Say::Read { size, .. } => tell(&owner, &Said::Bytes, &vec![7; size as usize]),
                Say::Ask(number) => tell(&owner, &Said::Done(number), &[]),
                _ => true,
            });
        }
    });
    let mut to = vec![0; 64 * MOST];
    thread::scope(|scope| {
        let sender = scope.spawn(|| (0..512).try_for_each(|_| line.send(&Say::Copy(0), &[1; MOST], None)));
        for _ in 0..8 {
            // SAFETY: there is room.
            unsafe { line.read(0, to.as_mut_ptr(), to.len()) }.unwrap();
        }
        sender.join().unwrap().unwrap();
    });
    assert!(to.iter().all(|&byte| byte == 7));
    drop(line);
    owner.join().unwrap();
}

#[test]
fn deadlines_are_kept() {
    let (line, owner) = with_owner();
    let sending = line.out.lock();
    assert!(!line.settle(Some(Instant::now())));
    drop(sending);
    assert!(tell(&owner, &Said::Bytes, &[0; MOST]));
    line.hear_out(Instant::now());
    assert_eq!(recv(&line.socket, &mut [0][..], RecvFlags::DONTWAIT), Ok((1, 1)), "the time was over");
}

#[test]
fn what_is_connected_to_again_has_taken_all_of_the_closed_connection() {
    let (line, owner) = with_owner();
    let (aim, soon) = ((44, What::DataInterrupt, 9), || Instant::now() + Duration::from_secs(60));
    let Ok(mut line) = Arc::try_unwrap(line) else { panic!("somebody else has it") };
    line.aim = aim;
    let line = Arc::new(line);
    line.send(&Say::Data, &[7], None).unwrap();
    line.close();
    assert!(!left(aim, Instant::now()));
    assert!(left((45, What::DataInterrupt, 9), soon()), "another one is not waited for");
    let taker = thread::spawn(move || {
        let mut inbox = Inbox::default();
        assert_eq!(hear(&owner, &mut inbox), Some((Say::Data, 1)));
        assert_eq!(hear(&owner, &mut inbox), None);
    });
    assert!(left(aim, soon()));
    taker.join().unwrap();
    assert!(LEAVING.lock().iter().all(|line| line.aim != aim));
}

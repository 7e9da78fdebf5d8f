//! A connection whose owner is the test.
#![allow(unsafe_code)] // What is read goes to memory.

use super::super::say::{MOST, Said};
use super::*;
use rustix::net::{RecvFlags, recv};
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::thread;

/// The next words of a caller, with the size of their body, but for what it knows of other connections; nothing at the end.
fn hear_of(owner: &UnixStream, inbox: &mut Inbox) -> Option<(Say, usize)> {
    loop {
        match hear_all(owner, inbox) {
            Some((Say::After(_), _)) => {}
            said => return said,
        }
    }
}

/// The same with that.
fn hear_all(owner: &UnixStream, inbox: &mut Inbox) -> Option<(Say, usize)> {
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
    assert_eq!(hear_of(&owner, &mut inbox), Some((Say::Copy(0), 1)));
    assert_eq!(hear_of(&owner, &mut inbox), Some((Say::Ask(1), 0)), "whether it has arrived");
    assert_eq!(recv(&woken, &mut [0][..], RecvFlags::DONTWAIT).err(), Some(Errno::AGAIN), "not woken before");
    assert!(tell(&owner, &Said::Done(1), &[]));
    trigger.join().unwrap().unwrap();
    assert_eq!(hear_of(&woken, &mut Inbox::default()), Some((Say::Trigger, 0)));
}

#[test]
fn one_thread_reads_while_another_sends() {
    let (line, owner) = with_owner();
    let owner = thread::spawn(move || {
        let mut inbox = Inbox::default();
        while let Some((say, _)) = hear_of(&owner, &mut inbox) {
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
            unsafe { line.read(0, to.as_mut_ptr(), to.len(), None) }.unwrap();
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
        assert_eq!(hear_of(&owner, &mut inbox), Some((Say::Data, 1)));
        assert_eq!(hear_of(&owner, &mut inbox), None);
    });
    assert!(left(aim, soon()));
    taker.join().unwrap();
    assert!(LEAVING.lock().iter().all(|line| line.aim != aim));
}

#[test]
fn what_follows_from_news_waits_until_they_are_shown() {
    let (line, owner) = with_owner();
    let number = news::number();
    let other_number = number.wrapping_add(1 << 40); // of another process
    named(number, &line);
    let shown = Arc::new(Mutex::new(Vec::new()));
    let (own, all) = (Arc::downgrade(&line), shown.clone());
    assert!(line.on_news(Box::new(move || {
        let mut all = all.lock();
        all.extend(
            own.upgrade().unwrap().news().into_iter().map(|changed| (changed.number, changed.after, changed.bytes)),
        );
    })));
    let news = |after: u64| Said::News { after, pieces: vec![(8, 8)] };
    thread::scope(|scope| {
        let waits = scope.spawn(|| hear(&[(number, 2), (other_number, 9)]));
        assert!(tell(&owner, &news(1), &[1; 8]));
        while shown.lock().is_empty() {
            thread::yield_now();
        }
        assert!(!waits.is_finished());
        assert!(tell(&owner, &news(3), &[2; 8]));
        waits.join().unwrap();
    });
    assert_eq!(*shown.lock(), [(1, 1, vec![1; 8]), (2, 3, vec![2; 8])]);
    // All that this process sends says so, once.
    let (other, other_owner) = with_owner();
    other.send(&Say::Trigger, &[], None).unwrap();
    let mut inbox = Inbox::default();
    let Some((Say::After(known), 0)) = hear_all(&other_owner, &mut inbox) else { panic!("what is known") };
    assert!(known.contains(&(number, 2)) && known.contains(&(other_number, 9)));
    assert_eq!(hear_all(&other_owner, &mut inbox), Some((Say::Trigger, 0)));
    // A connection that has ended has no more, whatever others claim. Nor has one of which this process is the owner.
    drop(owner);
    let own = news::number();
    hear(&[(number, u64::MAX), (own, u64::MAX)]);
    assert!(line.end().is_some());
    let (_, known) = news::since(0).unwrap();
    assert!(known.contains(&(number, 2)) && known.iter().all(|(connection, _)| *connection != own));
}

#[test]
fn bytes_tell_how_many_news_there_were_before_them() {
    let (line, owner) = with_owner();
    let says = thread::spawn(move || {
        let news = Said::News { after: 0, pieces: vec![] };
        assert!(tell(&owner, &news, &[]) && tell(&owner, &Said::Bytes, &[7; MOST]));
        assert!(tell(&owner, &news, &[]) && tell(&owner, &news, &[]) && tell(&owner, &Said::Bytes, &[7; 8]));
        let mut inbox = Inbox::default();
        let read = Say::Read { at: 0, size: MOST as u32, is_shown: true };
        assert_eq!(hear_of(&owner, &mut inbox), Some((read, 0)));
    });
    let (mut to, mut before) = (vec![0; MOST + 8], Vec::new());
    // SAFETY: there is room.
    unsafe { line.read(0, to.as_mut_ptr(), to.len(), Some(&mut before)) }.unwrap();
    assert_eq!(before, [1, 3]);
    says.join().unwrap();
}

#[test]
fn what_comes_together_with_the_last_bytes_is_taken_as_well() {
    let (line, mut owner) = with_owner();
    let mut bytes = Vec::new();
    frame(&Said::Bytes, &[7; 8], &mut bytes).unwrap();
    frame(&Said::News { after: 0, pieces: vec![] }, &[], &mut bytes).unwrap();
    frame(&Said::Done(3), &[], &mut bytes).unwrap();
    owner.write_all(&bytes).unwrap();
    let mut to = [0; 8];
    // SAFETY: there is room.
    unsafe { line.read(0, to.as_mut_ptr(), 8, None) }.unwrap();
    let answered = line.answered.load(Ordering::Relaxed); // Relaxed: one thread
    assert_eq!((to, line.heard.count(), answered), ([7; 8], 1, 3));
}

#[test]
fn who_waits_for_the_reader_sees_what_that_one_has_taken() {
    let (line, _owner) = with_owner();
    // The reader, which waits for something else.
    let back = line.back.lock();
    let (looks, has_come) = (AtomicU64::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        let waits = scope.spawn(|| {
            line.wait_back(Some(Instant::now() + line.timeout), || {
                looks.fetch_add(1, Ordering::Relaxed);
                has_come.load(Ordering::Relaxed)
            })
        });
        while looks.load(Ordering::Relaxed) == 0 && !waits.is_finished() {
            thread::yield_now();
        }
        has_come.store(true, Ordering::Relaxed);
        assert!(waits.join().unwrap(), "while another thread reads");
    });
    drop(back);
}

/// A connection whose owner has so much time.
fn with_timeout(timeout: Duration) -> (Line, UnixStream) {
    let (line, owner) = with_owner();
    let Ok(mut line) = Arc::try_unwrap(line) else { panic!("somebody else has it") };
    line.timeout = timeout;
    (line, owner)
}

#[test]
fn who_reads_takes_what_comes_while_its_question_has_no_room() {
    let (line, owner) = with_owner();
    let mut full = 0;
    while let Ok(count) = send(&line.socket, &[0; MOST], SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
        full += count;
    }
    let says = thread::spawn(move || {
        // More than there is room for. Until it is taken the owner takes nothing.
        let news = Said::News { after: 0, pieces: vec![(0, MOST as u32)] };
        assert!((0..64).all(|_| tell(&owner, &news, &[1; MOST])));
        assert_eq!(io::copy(&mut (&owner).take(full as u64), &mut io::sink()).unwrap(), full as u64);
        let read = Say::Read { at: 0, size: 8, is_shown: false };
        assert_eq!(hear_of(&owner, &mut Inbox::default()), Some((read, 0)));
        assert!(tell(&owner, &Said::Bytes, &[7; 8]));
    });
    let mut to = [0; 8];
    // SAFETY: there is room.
    unsafe { line.read(0, to.as_mut_ptr(), 8, None) }.unwrap();
    says.join().unwrap();
    assert_eq!(to, [7; 8]);
}

#[test]
fn who_reads_takes_what_comes_while_another_thread_sends() {
    let (line, owner) = with_owner();
    let sending = line.out.lock();
    thread::scope(|scope| {
        let reads = scope.spawn(|| {
            let mut to = [0; 8];
            // SAFETY: there is room.
            unsafe { line.read(0, to.as_mut_ptr(), 8, None) }.unwrap();
        });
        assert!(tell(&owner, &Said::News { after: 0, pieces: vec![] }, &[]));
        while line.heard.count() == 0 {
            thread::yield_now();
        }
        drop(sending);
        let read = Say::Read { at: 0, size: 8, is_shown: false };
        assert_eq!(hear_of(&owner, &mut Inbox::default()), Some((read, 0)));
        assert!(tell(&owner, &Said::Bytes, &[7; 8]));
        reads.join().unwrap();
    });
}

#[test]
fn an_owner_that_says_a_byte_now_and_then_is_not_waited_for() {
    let (line, mut owner) = with_timeout(Duration::from_millis(50));
    let says = thread::spawn(move || {
        let mut bytes = Vec::new();
        // Whole frames do not give it more time, either.
        (0..300).for_each(|_| frame(&Said::News { after: 0, pieces: vec![] }, &[], &mut bytes).unwrap());
        frame(&Said::Bytes, &[7; 8], &mut bytes).unwrap();
        let mut says = |byte: &u8| {
            thread::sleep(Duration::from_millis(1));
            owner.write_all(&[*byte]).is_ok()
        };
        bytes.iter().all(&mut says)
    });
    let mut to = [0; 8];
    // SAFETY: there is room.
    assert!(unsafe { line.read(0, to.as_mut_ptr(), 8, None) }.is_err());
    assert_eq!(line.end(), Some(End::Lost));
    assert!(!says.join().unwrap(), "it was not heard to the end");
}

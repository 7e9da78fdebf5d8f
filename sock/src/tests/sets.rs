//! epoll.

use super::*;

#[test]
fn a_level_that_nobody_read_is_told_again_while_others_wait() {
    let _alone = alone();
    let (mut one, other) = pair();
    let set = Arc::new(Epoll::new());
    set.add(&other, libc::EPOLLIN);
    let done = Arc::new(AtomicBool::new(false));
    let waiters: Vec<_> = (0..2)
        .map(|_| {
            let (set, done) = (Arc::clone(&set), Arc::clone(&done));
            thread::spawn(move || {
                let mut told = 0;
                while told < 2 && !done.load(Ordering::Relaxed) {
                    let found = set.wait(LONG / 4);
                    assert!(!found.is_empty() || done.load(Ordering::Relaxed), "the level was not told");
                    told += 1;
                }
                done.store(true, Ordering::Relaxed);
            })
        })
        .collect();
    until(|| sleeps(&conn(&other), IN));
    thread::sleep(Duration::from_millis(20)); // so that both sleep, which is the hard order
    one.write_all(b"x").unwrap();
    waiters.into_iter().for_each(|it| it.join().unwrap());
}

#[test]
fn an_item_whose_copy_lives_on_is_gone_from_the_set() {
    let _alone = alone();
    let (mut one, other) = pair();
    let set = Epoll::new();
    set.add(&other, libc::EPOLLIN);
    let copy = other.try_clone().unwrap();
    drop(other);
    one.write_all(b"x").unwrap();
    drop(one);
    assert_eq!(set.wait(20), []);
    let mut given = epoll_event { events: 0, u64: 0 };
    // Nor does the kernel wake for it, for ever.
    // SAFETY: there is room for the one event.
    assert_eq!(unsafe { real::epoll_pwait(set.0, &mut given, 1, 0, std::ptr::null()) }, 0);
    drop(copy);
}

#[test]
fn items_come_and_go_and_are_told_as_the_kernel_tells_them() {
    let _alone = alone();
    let (mut one, mut other) = pair();
    let fd = other.as_raw_fd();
    let set = Epoll::new();
    let (add, change, remove) = (libc::EPOLL_CTL_ADD, libc::EPOLL_CTL_MOD, libc::EPOLL_CTL_DEL);
    assert_eq!((set.control(change, fd, libc::EPOLLIN), real::errno()), (-1, libc::ENOENT));
    for round in 0..50 {
        set.add(&other, libc::EPOLLIN);
        assert_eq!((set.control(add, fd, libc::EPOLLIN), real::errno()), (-1, libc::EEXIST));
        assert_eq!(set.wait(0), []);
        one.write_all(b"x").unwrap();
        assert_eq!(set.wait(LONG), [(fd, libc::EPOLLIN)]);
        if round % 2 == 0 {
            assert_eq!(set.control(change, fd, libc::EPOLLOUT), 0);
            assert_eq!(set.wait(LONG), [(fd, libc::EPOLLOUT)]);
        }
        assert_eq!(set.control(remove, fd, 0), 0);
        assert_eq!((set.control(remove, fd, 0), real::errno()), (-1, libc::ENOENT));
        assert_eq!((set.control(change, fd, libc::EPOLLIN), real::errno()), (-1, libc::ENOENT));
        assert_eq!(set.wait(0), []);
        set.add(&other, libc::EPOLLOUT);
        assert_eq!(set.wait(LONG), [(fd, libc::EPOLLOUT)]);
        assert_eq!(set.control(remove, fd, 0), 0);
        other.read_exact(&mut [0]).unwrap();
    }
    // An edge is new after each addition; one shot is silent until it is changed.
    one.write_all(b"x").unwrap();
    for _ in 0..2 {
        set.add(&other, libc::EPOLLIN | libc::EPOLLET);
        assert_eq!(set.wait(LONG), [(fd, libc::EPOLLIN)]);
        assert_eq!(set.wait(0), []);
        assert_eq!(set.control(remove, fd, 0), 0);
    }
    set.add(&other, libc::EPOLLIN | libc::EPOLLONESHOT);
    for _ in 0..2 {
        assert_eq!(set.wait(LONG), [(fd, libc::EPOLLIN)]);
        assert_eq!(set.wait(0), []);
        assert_eq!(set.control(change, fd, libc::EPOLLIN | libc::EPOLLONESHOT), 0);
    }
    // One that was removed does not wake when its connection ends, and tells of the end when it is added again.
    assert_eq!(set.control(remove, fd, 0), 0);
    drop(one);
    assert_eq!(set.wait(20), []);
    set.add(&other, libc::EPOLLIN | libc::EPOLLRDHUP);
    assert_eq!(set.wait(LONG), [(fd, libc::EPOLLIN | libc::EPOLLRDHUP)]);
}

#[test]
fn a_descriptor_that_stdio_took_over_is_still_watched_if_it_was() {
    let _alone = alone();
    let (mut one, other) = pair();
    let (mut two, removed) = pair();
    let set = Epoll::new();
    for stream in [&other, &removed] {
        set.add(stream, libc::EPOLLIN);
    }
    assert_eq!(set.control(libc::EPOLL_CTL_DEL, removed.as_raw_fd(), 0), 0);
    for stream in [&other, &removed] {
        crate::step::descriptor(stream.as_raw_fd(), "a test");
        crate::calls::descriptors::let_go(stream.as_raw_fd());
    }
    for stream in [&mut one, &mut two] {
        stream.write_all(b"x").unwrap();
    }
    assert_eq!(set.wait(LONG), [(other.as_raw_fd(), libc::EPOLLIN)]);
    (&other).read_exact(&mut [0]).unwrap();
    assert_eq!(set.wait(20), []);
}

#[test]
fn a_thread_that_sleeps_in_a_set_is_told_of_what_others_add() {
    let _alone = alone();
    let (mut one, other) = pair();
    let set = Arc::new(Epoll::new());
    for events in [libc::EPOLLIN, libc::EPOLLIN | libc::EPOLLET] {
        let sleeping = Arc::clone(&set);
        let waiter = thread::spawn(move || sleeping.wait(LONG));
        thread::sleep(Duration::from_millis(10)); // either order must do
        set.add(&other, events);
        one.write_all(b"x").unwrap();
        assert_eq!(waiter.join().unwrap(), [(other.as_raw_fd(), libc::EPOLLIN)]);
        assert_eq!(set.control(libc::EPOLL_CTL_DEL, other.as_raw_fd(), 0), 0);
    }
}

#[test]
fn a_child_that_closes_what_it_inherited_leaves_its_parents_set_alone() {
    let _alone = alone();
    let (mut one, other) = pair();
    let set = Epoll::new();
    set.add(&other, libc::EPOLLIN);
    assert_eq!(set.wait(0), []);
    let fd = other.as_raw_fd();
    assert!(ended_well(in_child(|| close(fd) == 0)));
    let Epoll(ep) = set;
    let waiter = thread::spawn(move || std::mem::ManuallyDrop::new(Epoll(ep)).wait(LONG));
    until(|| sleeps(&conn(&other), IN));
    one.write_all(b"x").unwrap();
    assert_eq!(waiter.join().unwrap(), [(fd, libc::EPOLLIN)]);
}

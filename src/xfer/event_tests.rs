//! Events, their leaves, arrays and sets, without an engine of messages.

#![allow(unsafe_code)] // client memory and mapped segments

use super::*;
use crate::verbs::Local;

fn take() -> (usize, Taken) {
    let (id, op) = home::take().unwrap();
    (op.handle(id), (id, op))
}

fn array(words: &mut [usize]) -> Events {
    // SAFETY: the slice's own words; callers use it for one call.
    unsafe { Events::new(words.as_mut_ptr(), words.len()) }.unwrap()
}

#[test]
fn handles_are_never_small_and_lead_back() {
    for whose in [Whose::Own, Whose::Any] {
        let (handle, (id, op)) = take();
        assert!(handle >> 32 > 0, "not 0, and not 1, which has a meaning in GASNet-EX");
        assert_eq!(find(handle, whose).map(|live| live.id), Ok(id));
        let wrong = [0, 1, handle & 0xffff_ffff, handle + (1 << 32), handle + (8 << 32), handle | 0x8000_0000, !0];
        for wrong in wrong {
            assert_eq!(find(wrong, whose).err(), Some(NotLive::Unknown), "{wrong:#x}");
            assert!(!is_dead(wrong), "{wrong:#x}");
        }
        assert!(!is_dead(handle));
        assert_eq!(test(handle, whose), Ok(true));
        assert_eq!(find(handle, whose).err(), Some(NotLive::Synced));
        assert!(is_dead(handle) && is_dead(handle | (Part::Local as usize) << PART), "with its leaves");
        let (again, taken) = take();
        assert_eq!(taken.0, id, "the last given is taken next");
        assert_eq!(find(handle, whose).err(), Some(NotLive::Synced), "its new use is another handle");
        home::give(id, op);
        assert_ne!(again, handle);
    }
    assert_eq!(find(u32::MAX as usize - 70, Whose::Own).err(), Some(NotLive::Unknown), "no op has it");
}

#[test]
fn another_threads_handle_is_for_those_who_may_sync_any() {
    home::move_in();
    let (handle, (id, op)) = take();
    let elsewhere = || {
        let own = find(handle, Whose::Own).err();
        (own, test(handle, Whose::Any), test(handle, Whose::Any).is_err())
    };
    op.start();
    let seen = std::thread::scope(|scope| scope.spawn(elsewhere).join().unwrap());
    assert_eq!(seen, (Some(NotLive::Foreign), Ok(false), false));
    assert!(op.finish());
    let seen = std::thread::scope(|scope| scope.spawn(elsewhere).join().unwrap());
    assert_eq!(seen, (Some(NotLive::Foreign), Ok(true), true), "synced there, once");
    assert_eq!(find(handle, Whose::Own).err(), Some(NotLive::Synced));
    let found = (0..300).map(|_| home::take().unwrap()).filter(|taken| taken.0 == id).count();
    assert_eq!(found, 1, "this thread has it back");
}

/// A root with a message and a copy in flight, and the count of copies.
fn in_flight() -> (usize, Taken, &'static crate::sync::AtomicU64) {
    let (root, (id, op)) = take();
    op.start();
    let mut copies = None;
    op.queue(Local::WhenAsked, |count| {
        copies = Some(count);
        Ok::<(), ()>(())
    })
    .unwrap();
    (root, (id, op), copies.unwrap())
}

#[test]
fn a_leaf_is_complete_with_its_part_and_never_after_its_root() {
    let (root, (_, op), copies) = in_flight();
    let ask = |part| leaf(root, part).unwrap();
    let (local, category) = (ask(Part::Local), ask(Part::Category));
    assert!(local != root && category != root && local != category);
    assert_eq!(ask(Part::Local), local, "asking makes nothing");
    copies.fetch_add(1, crate::sync::Ordering::Release); // ORDERING: as the engine
    assert_eq!(ask(Part::Local), 0);
    assert_eq!([local, category, root].map(|event| test(event, Whose::Any).unwrap()), [true, false, false]);
    assert!(op.finish());
    assert_eq!(
        [local, category, category].map(|event| test(event, Whose::Any).unwrap()),
        [true; 3],
        "any number of times"
    );
    assert_eq!(find(local, Whose::Own).err(), Some(NotLive::Unknown), "leaves are no handles of GASNet-1");
    assert_eq!(test(root, Whose::Any), Ok(true));
    assert!(test(local, Whose::Any).is_err() && leaf(root, Part::Local).is_err(), "dead with its root");
    assert_eq!(leaf(0, Part::Local), Ok(0));
    assert!(test(root | 3 << PART, Whose::Any).is_err());
}

#[test]
fn a_root_and_its_leaves_stand_in_an_array_in_any_order() {
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let (root, (_, op), copies) = in_flight();
        let events = [root, leaf(root, Part::Local).unwrap(), leaf(root, Part::Category).unwrap()];
        let mut words = order.map(|i| events[i]);
        let before = words;
        assert_eq!(array(&mut words).test(Whose::Any), Ok(Look { synced: 0, pending: 3 }));
        assert_eq!(words, before);
        copies.fetch_add(1, crate::sync::Ordering::Release); // ORDERING: as the engine
        assert_eq!(array(&mut words).test(Whose::Any), Ok(Look { synced: 1, pending: 2 }), "a leaf counts");
        assert!(op.finish());
        assert_eq!(array(&mut words).test(Whose::Any), Ok(Look { synced: 2, pending: 0 }));
        assert_eq!(words, [0; 3]);
        let mut late = [events[1]];
        assert!(array(&mut late).test(Whose::Any).is_err(), "its root was synced by an earlier call");
    }
}

#[test]
fn a_leaf_that_is_seen_before_its_root_completes_is_looked_at_again() {
    // Complete between the look at the leaf, which is pending, and the one at the root.
    let (root, (_, op), _) = in_flight();
    let (other, (_, last), copies) = in_flight();
    let early = leaf(other, Part::Category).unwrap();
    let mut words = [early, root, other];
    assert!(last.finish());
    let events = array(&mut words);
    let mut first = true;
    let found = events.look(|event| {
        if std::mem::take(&mut first) {
            assert_eq!(is_leaf_done(event), Ok(Some(false)));
            copies.fetch_add(1, crate::sync::Ordering::Release); // ORDERING: as the engine
            return Ok(false);
        }
        sync_root(home::here(), event, Whose::Any)
    });
    assert_eq!(found, Ok(Look { synced: 1, pending: 2 }));
    assert_eq!(is_leaf_done(early), Ok(None), "which `test_any` takes for complete");
    assert!(op.finish());
}

#[test]
fn arrays_of_one_thread_find_what_is_no_handle_of_its() {
    let [(a, (_, op)), (b, _)] = [take(), take()];
    op.start();
    let mut words = [0, a, b, 0];
    assert_eq!(array(&mut words).test(Whose::Own), Ok(Look { synced: 1, pending: 1 }));
    assert_eq!(words, [0, a, 0, 0]);
    let some = Look { synced: 1, pending: 1 };
    assert!(some.is_enough(false) && !some.is_enough(true) && Look::default().is_enough(true));
    assert!(op.finish());
    assert!(array(&mut [a, a]).test(Whose::Own).is_err(), "a duplicate was synced by its first");
    assert!(array(&mut [a]).test(Whose::Own).is_err() && array(&mut []).test(Whose::Own).is_ok());
    // SAFETY: NULL.
    assert!(unsafe { Events::new(std::ptr::null_mut(), 1) }.is_err());
    // SAFETY: NULL, and no events.
    assert!(unsafe { Events::new(std::ptr::null_mut(), 0) }.unwrap().test(Whose::Any).is_ok());
}

#[test]
fn a_region_catches_what_starts_inside_and_leaves_the_sets_alone() {
    let (before, op) = home::here().implicit(Set::Puts).unwrap();
    op.start();
    assert!(begin_region().is_ok() && begin_region().is_err(), "no nesting");
    let (inside, caught) = home::here().implicit(Set::Puts).unwrap();
    assert_ne!(before, inside);
    assert_eq!(home::here().implicit(Set::Gets).unwrap().0, inside);
    assert!(Sets::PUTS.test().is_err(), "no implicit sync inside");
    caught.start();
    let root = end_region().unwrap();
    assert_eq!(find(root, Whose::Own).map(|live| live.id), Ok(inside));
    assert!(end_region().is_err());
    let sets = [Sets::PUTS, Sets::GETS, Sets::LOCAL, Sets::NONE, Sets::PUTS.and(Sets::GETS)];
    assert_eq!(sets.map(|set| set.test().unwrap()), [false, true, true, true, false]);
    assert!(op.finish() && Sets::PUTS.test().unwrap());
    assert!(caught.finish() && test(root, Whose::Any).unwrap());
    assert!(begin_region().is_ok() && end_region() == Ok(0), "an empty one is complete");
}

#[test]
fn a_root_has_the_leaves_of_what_it_stands_for() {
    let every = |root| [None, Some(Set::Puts), Some(Set::Gets), Some(Set::Rmw)].map(|set| category(root, set).unwrap());
    let (plain, (_, op)) = take();
    op.start();
    assert_eq!(every(plain), [None; 4], "a get, an atomic operation, a put with DEFER");
    assert!(op.finish() && test(plain, Whose::Any).unwrap());
    let (put, (_, op), copies) = in_flight();
    op.note_asked();
    assert_eq!(every(put), [Some(put | PARTS & 1 << PART), None, None, None]);
    copies.fetch_add(1, crate::sync::Ordering::Release); // ORDERING: as the engine
    assert_eq!(category(put, None), Ok(Some(0)), "locally complete");
    assert!(op.finish() && test(put, Whose::Any).unwrap());
    assert!(category(put, None).is_err());
    assert!(begin_region().is_ok());
    let (_, op) = home::here().implicit(Set::Gets).unwrap();
    op.start();
    let region = end_region().unwrap();
    assert_eq!(every(region), [Some(0), Some(0), Some(region | 2 << PART), Some(0)], "of gets alone");
    assert!(op.finish() && test(region, Whose::Any).unwrap());
    let (again, (_, op)) = take();
    op.start();
    assert_eq!(every(again), [None; 4], "what the op was before does not matter");
    assert!(op.finish() && test(again, Whose::Any).unwrap());
    assert_eq!(every(0), [Some(0); 4]);
}

#[test]
fn a_region_with_a_copy_has_a_root_even_if_the_copy_is_over() {
    for _ in 0..3 {
        assert!(begin_region().is_ok());
        let (_, op) = home::here().implicit(Set::Gets).unwrap();
        op.queue(Local::WhenAsked, |made| {
            made.fetch_add(1, crate::sync::Ordering::Release); // ORDERING: as the engine
            Ok::<(), ()>(())
        })
        .unwrap();
        assert!(op.is_done());
        let root = end_region().unwrap();
        assert_ne!(root, 0);
        assert_eq!(test(root, Whose::Own), Ok(true));
        assert!(begin_region().is_ok() && end_region() == Ok(0), "the same op, without a copy");
    }
}

//! What comes to a standing agent from anybody.

use super::talk::{IN, MAGIC, PIECE, Refusal, admit, enter};
use gasnet_sci::sci::far::seal::exchange::OFFER;
use proptest::prelude::*;
use std::io::Write;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (near, listener.accept().unwrap().0)
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(20)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn nobody_is_admitted_for_any_bytes(known in 0..=MAGIC.len(), bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let (mut near, far) = pair();
        let _ = near.write_all(&[&MAGIC[..known], &bytes].concat());
        near.shutdown(Shutdown::Write).unwrap();
        let refusal = admit(&far, &[7; 16], soon()).err().unwrap();
        let is_whole = known == MAGIC.len() && bytes.len() >= OFFER;
        prop_assert_eq!(refusal == Refusal::Secret, is_whole, "{:?}", refusal);
    }
}

#[test]
fn both_sides_know_each_other_and_what_follows_is_theirs() {
    let (near, far) = pair();
    thread::scope(|scope| {
        scope.spawn(|| {
            let (mut sender, _) = enter(&near, &[7; 16], soon()).unwrap();
            sender.send(IN, &[1; PIECE]).unwrap();
            sender.send(IN, &[]).unwrap();
            (&near).write_all(&[0; 100]).unwrap(); // of somebody between them
        });
        let (_, mut receiver) = admit(&far, &[7; 16], soon()).unwrap();
        assert_eq!(receiver.next().unwrap(), (IN, &[1; PIECE][..]));
        assert_eq!(receiver.next().unwrap(), (IN, &[][..]));
        assert!(receiver.next().unwrap_err().to_string().contains("was changed on the way"));
    });
}

#[test]
fn who_says_nothing_is_not_waited_for() {
    let (_near, far) = pair();
    assert_eq!(admit(&far, &[7; 16], Instant::now() + Duration::from_millis(20)).err(), Some(Refusal::Garbage));
}

//! A relay between two nodes that hands bytes on in pieces of any size, some of them late.

use crate::sci::random::Random;
use parking_lot::Mutex;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// The relay to one node. It ends with the connections.
pub(super) struct Relay {
    pub(super) port: u16,
}

impl Relay {
    pub(super) fn to(node: SocketAddr) -> Relay {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || {
            for (seed, from) in (0..).zip(listener.incoming().map_while(Result::ok)) {
                let Ok(to) = TcpStream::connect(node) else { return };
                let random = Arc::new(Mutex::new(Random::new(seed)));
                for (from, to) in [(from.try_clone(), to.try_clone()), (Ok(to), Ok(from))] {
                    let random = random.clone();
                    thread::spawn(move || pass_on(&from.unwrap(), &to.unwrap(), &random));
                }
            }
        });
        Relay { port }
    }
}

fn pass_on(mut from: &TcpStream, mut to: &TcpStream, random: &Mutex<Random>) {
    let mut bytes = vec![0; 1 << 18];
    let _ = to.set_nodelay(true);
    while let Ok(got @ 1..) = from.read(&mut bytes) {
        let mut rest = &bytes[..got];
        while !rest.is_empty() {
            let choice = random.lock().below(16);
            let most = [1, 15, 17, 300, 9_000, 70_000, 200_000][choice.min(6)];
            let (piece, behind) = rest.split_at(most.min(rest.len()));
            if choice == 0 {
                thread::sleep(Duration::from_micros(200));
            }
            if to.write_all(piece).is_err() {
                return;
            }
            rest = behind;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}

//! Somebody at the other end of a connection who speaks the protocol byte by byte, right or wrong.

use super::super::greet::{HELLO, Hello, PROOF, Side, is_proven, prove};
use super::super::head::{HEAD, Head, Kind};
use super::*;
use std::io::{Read, Write};

/// What a stranger has wrong in its HELLO.
pub(super) type Change = fn(&mut [u8; HELLO]);

/// Node `me` by hand.
pub(super) struct Hand {
    pub(super) socket: TcpStream,
    mine: Hello,
    secret: [u8; 16],
}

impl Hand {
    /// Connects to a node. Its system takes the connection; the node need not look.
    pub(super) fn connect(to: SocketAddr, me: u32, peer: u32, secret: [u8; 16]) -> Hand {
        let socket = TcpStream::connect(to).unwrap();
        Hand { socket, mine: Hello::new(me, peer, LAYOUT), secret }
    }

    pub(super) fn hello(&self) -> [u8; HELLO] {
        self.mine.bytes()
    }

    /// Says `bytes`. The other side may have closed the connection.
    pub(super) fn say(&mut self, bytes: &[u8]) {
        let _ = self.socket.write_all(bytes);
    }

    /// Reads so many bytes while the nodes of `pair` work. `None`: the connection ends before.
    pub(super) fn hear<const N: usize>(&mut self, pair: &Pair<Tcp>) -> Option<[u8; N]> {
        self.socket.set_nonblocking(true).unwrap();
        let (mut bytes, mut have) = ([0; N], 0);
        loop {
            pair.nodes.iter().for_each(|node| _ = node.wire.progress(node, true));
            match self.socket.read(&mut bytes[have..]) {
                Ok(0) => return None,
                Ok(got) => have += got,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => std::thread::yield_now(),
                Err(_) => return None,
            }
            if have == N {
                self.socket.set_nonblocking(false).unwrap();
                return Some(bytes);
            }
        }
    }

    /// Greets as a connector. False: it was refused.
    pub(super) fn greet(&mut self, pair: &Pair<Tcp>) -> bool {
        self.say(&self.hello());
        let Some(theirs) = self.hear::<HELLO>(pair) else { return false };
        let theirs = Hello::read(&theirs, LAYOUT).unwrap();
        self.say(&prove(&self.secret, Side::Connector, [&self.mine, &theirs]));
        let Some(proof) = self.hear::<PROOF>(pair) else { return false };
        assert!(is_proven(&self.secret, Side::Acceptor, [&self.mine, &theirs], &proof));
        true
    }

    /// Sends a head and what follows it.
    pub(super) fn send(&mut self, kind: Kind, len: usize, done: u64, body: &[u8]) {
        let head: [u8; HEAD] = Head { len, kind, flags: 0, done }.bytes();
        self.say(&head);
        self.say(body);
    }
}

//! First contacts at several addresses, and at addresses where nobody answers.

use super::*;
use crate::boot::contact::book::Way;
use crate::boot::contact::card::Spot;
use std::net::Ipv6Addr;

/// The card of a process of another machine that listens at these addresses.
fn elsewhere(spots: &[SocketAddr]) -> Vec<u8> {
    let spots = spots.iter().map(|at| Spot { at: *at, prefix: 8 }).collect();
    Card { machine: 1, spots }.bytes()
}

/// Works until node 0 has lost node 1, and returns why.
fn loss(pair: &Pair<Tcp>) -> String {
    let node = &pair.nodes[0];
    let _ = node.post(1, b"x");
    node.loss()
}

/// A socket that listens and whose queue is full: the system drops what comes, as a firewall does.
fn full() -> (SocketAddr, Vec<Socket>) {
    let listener = Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    listener.bind(&SocketAddr::from((Ipv4Addr::new(127, 0, 0, 3), 0)).into()).unwrap();
    listener.listen(0).unwrap();
    let at = listener.local_addr().unwrap().as_socket().unwrap();
    let mut sockets = vec![listener];
    for _ in 0..3 {
        let socket = Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM.nonblocking(), None).unwrap();
        let _ = socket.connect(&at.into());
        sockets.push(socket);
    }
    (at, sockets)
}

/// The system gives each attempt up after its own time. With `limit_retransmission` that is soon.
#[test]
fn an_address_that_drops_all_is_told_by_this_nodes_own_limit() {
    let (at, _sockets) = full();
    let mut wires = wires(2);
    wires.truncate(1);
    let wires: Vec<Tcp> = wires.into_iter().map(|wire| wire.with_contact(Duration::from_secs(1))).collect();
    let addresses = vec![wires[0].address(), Endpoint::at(at.ip(), at.port()).card().bytes()];
    let why = loss(&Pair::with_addresses(wires, addresses));
    for part in ["no answer for 1 s (GASNET_SCI_START_TIMEOUT) from ", &at.to_string(), "_PORTS", "_IFACE"] {
        assert!(why.contains(part), "{why}");
    }
}

/// The last attempt has failed as the system says, and the time is over.
#[test]
fn what_the_system_says_of_one_attempt_is_not_the_reason() {
    let (at, _sockets) = full();
    let mut wires = wires(2);
    wires.truncate(1);
    let wires: Vec<Tcp> = wires.into_iter().map(|wire| wire.with_contact(Duration::from_secs(1))).collect();
    let addresses = vec![wires[0].address(), Endpoint::at(at.ip(), at.port()).card().bytes()];
    let pair = Pair::with_addresses(wires, addresses);
    let node = &pair.nodes[0];
    assert_eq!(node.post(1, b"x"), Ok(true));
    std::thread::sleep(Duration::from_millis(1100));
    // The system gives up just then.
    let mut receiving = node.wire.receiving.lock();
    node.wire.take_newcomers(&mut receiving);
    let key = *receiving.greetings.keys().next().unwrap();
    let greeting = receiving.greetings.remove(&key).unwrap();
    node.wire.unmade(&mut receiving, 1, &greeting, io::ErrorKind::TimedOut, "Connection timed out (os error 110)");
    drop(receiving);
    let why = loss(&pair);
    assert!(why.starts_with("no answer for 1 s") && why.contains("timed out"), "{why}");
}

/// The times are told to the wire, which reads no clock here.
#[test]
fn a_try_that_falls_due_while_the_node_computes_is_made_before_the_contact_is_judged() {
    let (at, _sockets) = full();
    let limit = Duration::from_secs(60);
    let wire = Tcp::new(0, 2, LAYOUT, SECRET, &here()).unwrap().with_contact(limit);
    let addresses = vec![wire.address(), Endpoint::at(at.ip(), at.port()).card().bytes()];
    let pair = Pair::with_addresses(vec![wire], addresses);
    let wire = &pair.nodes[0].wire;
    let is_open = || matches!(&*wire.peer(1).contact.lock(), Contact::Begun(_));
    assert_eq!(pair.nodes[0].post(1, b"x"), Ok(true));
    let (mut receiving, mut now, mut tries) = (wire.receiving.lock(), Instant::now(), 0);
    while is_open() {
        wire.take_newcomers(&mut receiving);
        let key = *receiving.greetings.keys().next().expect("it is tried");
        tries += 1;
        wire.look_at_contacts(&mut receiving, now + limit / 2);
        let greeting = receiving.greetings.remove(&key).expect("it has its time");
        wire.unmade(&mut receiving, 1, &greeting, io::ErrorKind::HostUnreachable, "No route to host");
        now += Duration::from_secs(3600);
        wire.look_at_contacts(&mut receiving, now);
    }
    assert_eq!(tries, 5, "the first one, and one for each hour in which the node computes, four times");
}

#[test]
fn an_address_that_refuses_is_named_with_what_to_do() {
    let gone = here().listen(1).unwrap().card; // and is closed
    let mut wires = wires(2);
    wires.truncate(1);
    let addresses = vec![wires[0].address(), gone.bytes()];
    let why = loss(&Pair::with_addresses(wires, addresses));
    for part in ["cannot connect to ", &gone.addresses(), "refused", "_PORTS", "_IFACE"] {
        assert!(why.contains(part), "{why}");
    }
}

/// Somebody without the secret is at the first address; nothing answers at the second; the node is at the third, of IPv6.
#[test]
fn addresses_are_tried_in_turn_until_the_node_answers() {
    let Ok(six) = Endpoint::at(Ipv6Addr::LOCALHOST.into(), 0).listen(1) else { return }; // a system without IPv6
    drop(six);
    let stranger = Tcp::new(1, 2, LAYOUT, *b"another job's!!!", &here()).unwrap();
    let (dropped, _sockets) = full();
    let second = Tcp::new(1, 2, LAYOUT, SECRET, &Endpoint::at(Ipv6Addr::LOCALHOST.into(), 0)).unwrap();
    let [at_stranger, at_second] = [&stranger, &second].map(|wire| wire.card.spots[0].at);
    let first = Tcp::new(0, 2, LAYOUT, SECRET, &here()).unwrap();
    let addresses = vec![first.address(), second.address()];
    let other = Pair::with_addresses(vec![stranger], addresses.clone());
    let pair = Pair::with_addresses(vec![first, second], addresses);
    let node = &pair.nodes[0];
    // All are addresses of the loopback, which no card of another machine has, so the ways are given by hand.
    let ways = [at_stranger, dropped, at_second].map(|to| Way { to, from: None }).to_vec();
    *node.wire.peer(1).contact.lock() = Contact::Begun(Attempts::new(ways));
    node.wire.connect(1);
    assert_eq!(node.post(1, b"there"), Ok(true));
    pair.until("the frame", || {
        other.nodes[0].wire.progress(&other.nodes[0], true);
        pair.came(1) == 1
    });
    assert!(node.losses.lock().is_empty(), "{:?}", node.losses.lock());
}

#[test]
fn a_loopback_of_another_machine_is_no_address() {
    let mut wires = wires(2);
    wires.truncate(1);
    let addresses = vec![wires[0].address(), elsewhere(&["127.0.0.1:9".parse().unwrap()])];
    let why = loss(&Pair::with_addresses(wires, addresses));
    assert!(why.contains("no way to its addresses (127.0.0.1:9)"), "{why}");
}

/// Something else has the port of the node: it takes each connection, and closes it.
#[test]
fn something_that_takes_connections_and_closes_them_is_named_with_its_address() {
    let service = std::net::TcpListener::bind((Ipv4Addr::new(127, 0, 0, 3), 0)).unwrap();
    let at = service.local_addr().unwrap();
    let wire = Tcp::new(0, 2, LAYOUT, SECRET, &here()).unwrap().with_contact(Duration::from_secs(1));
    let addresses = vec![wire.address(), Endpoint::at(at.ip(), at.port()).card().bytes()];
    let pair = Pair::with_addresses(vec![wire], addresses);
    let (ended, mut taken) = (AtomicBool::new(false), 0);
    let why = std::thread::scope(|scope| {
        scope.spawn(|| {
            // Relaxed: the connection behind it orders it.
            taken = service.incoming().take_while(|_| !ended.load(Ordering::Relaxed)).count();
        });
        let why = loss(&pair);
        ended.store(true, Ordering::Relaxed); // Relaxed: as above
        drop(TcpStream::connect(at).unwrap());
        why
    });
    for part in
        ["no contact for 1 s", &at.to_string(), "something listens at ", "closes: it is no node of this job", "_PORTS"]
    {
        assert!(why.contains(part), "{why}");
    }
    assert!(taken > 1, "it is tried again");
}

//! Threads of a node that wait for mail boxes sleep, and nobody is forgotten: neither the thread that serves for the others, nor a message
//! that a call leaves to it, nor the thread in a berth. Long sleeps have no end of their own here
//! ([`HeapFabric::sleeping_soundly`]), so that a wake-up that is missing is seen, and no time of these tests is measured. So they are tied to
//! the heap adapter: sleeps of the one that ships always end by themselves, and its wake-ups are tried by `sci::conformance`.

use super::world::{Shape, Watchdog};
use crate::deck::engine::{Deck, Handle};
use crate::deck::owner::Credit;
use crate::deck::waiting::Key;
use crate::deck::{Failure, LINE_MOST, Until, names};
use crate::sci::NodeId;
use crate::sci::heap::{Heap, HeapFabric};
use crate::sync::{AtomicBool, Ordering};
use crate::testkit::party::{Options, Party, letter};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread::Scope;
use std::time::{Duration, Instant};

/// A thread that was woken is there by then, on the slowest machine. Where nothing wakes it, it never is.
const SOON: Duration = Duration::from_secs(20);

const ONE: Credit = Credit { messages: 1, bytes: LINE_MOST as u64 };
const FOUR: Credit = Credit { messages: 4, bytes: 400 };

struct Scene {
    fabric: Arc<HeapFabric>,
    party: Party<Heap>,
    /// The thread that serves may leave.
    over: AtomicBool,
    _watch: Watchdog,
}

impl Scene {
    fn new() -> Scene {
        let fabric = HeapFabric::sleeping_soundly(2);
        let adapters = [0, 1].map(|node| Heap::join(&fabric, NodeId(node)).unwrap());
        let mut shape = Shape { threaded: true, acquainted: true, ..Shape::new(2, 4) };
        shape.config.spin = Some(1);
        let party = Party::new(&shape, &adapters, Options { limit: 1000, boxes: 4, heap: 4096, near: true }, |_, _| ());
        // Nodes have threads of their own here, so there is no work but what calls leave.
        party.0.iter().for_each(|member| member.deck.am().background(-1));
        Scene { fabric, party, over: AtomicBool::new(false), _watch: Watchdog::start() }
    }

    fn deck(&self, node: usize) -> &'static Deck<Heap> {
        self.party.0[node].deck
    }

    /// A box of node 0, and a handle of it that node 1 has, with all its credits.
    fn with_credits(&self, capacity: Credit) -> (Handle, Handle) {
        let own = self.deck(0).open(None, capacity).unwrap();
        let there = self.deck(1).handle(own.id, false);
        let asked = self.deck(1).post(&there, &letter(&[0; LINE_MOST]), Until::Now);
        assert_eq!(asked, Err(Failure::Again), "it asks first");
        for node in [0, 1, 0, 1] {
            self.party.poll(node);
        }
        (own, there)
    }

    /// Starts a thread of the node that serves, and waits for `keys`. It falls asleep.
    fn serve<'s>(&'s self, scope: &'s Scope<'s, '_>, node: usize, keys: &'static [Key]) -> Receiver<()> {
        let deck = self.deck(node);
        let over = || Ok(self.over.load(Ordering::Relaxed).then_some(())); // Relaxed: a flag, alone
        let left = run(scope, move || deck.waiting.wait(deck.am(), keys, Until::Forever, over).unwrap());
        self.await_sleepers(node as u32, 1);
        left
    }

    /// Waits until so many threads of the node sleep soundly.
    fn await_sleepers(&self, node: u32, count: u32) {
        let since = Instant::now();
        while self.fabric.asleep(node) != count {
            assert!(since.elapsed() < SOON, "{} of {count} threads of node {node} sleep", self.fabric.asleep(node));
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// What the thread has to say, unless nobody wakes it. Then all are woken, so that the test can end.
    fn soon<T>(&self, thread: Receiver<T>, what: &str) -> T {
        thread.recv_timeout(SOON).unwrap_or_else(|_| {
            crate::base::log::error(format_args!("{what} sleeps on")); // the watchdog may end the process before the panic is shown
            self.wake_all();
            panic!("{what} sleeps on");
        })
    }

    /// Ends the thread that serves.
    fn end(&self, serves: Receiver<()>) {
        self.wake_all();
        serves.recv().unwrap();
    }

    /// Wakes all, and lets the thread that serves leave.
    fn wake_all(&self) {
        self.over.store(true, Ordering::Relaxed); // Relaxed: as above
        self.party.0.iter().for_each(|member| member.deck.waiting.wake_all(Key::Object(1)));
        self.fabric.end_sleeps();
    }
}

/// Runs `body` on a thread.
fn run<'s, T: Send + 's>(scope: &'s Scope<'s, '_>, body: impl FnOnce() -> T + Send + 's) -> Receiver<T> {
    let (done, result) = channel();
    scope.spawn(move || drop(done.send(body())));
    result
}

fn take(deck: &Deck<Heap>, own: &Handle) -> u8 {
    let message = deck.take(own, Until::Forever).unwrap();
    let byte = message.bytes()[0];
    deck.release(message.storage).unwrap();
    byte
}

fn post(deck: &Deck<Heap>, to: &Handle, byte: u8) {
    deck.post(to, &letter(&[byte]), Until::Forever).unwrap();
}

/// Rules 1 and 5 of `deck::waiting`. A call without a key, whose time is short, serves beside the thread that serves for all. That one
/// still hears who has something for it.
#[test]
fn a_second_server_does_not_make_the_first_one_deaf() {
    const TWO: [Key; 2] = [Key::Object(2), Key::Object(1)];
    const MANY: [Key; 3] = [Key::Object(2), Key::Object(3), Key::Object(1)];
    for keys in [&TWO[1..], &TWO[..], &MANY[..]] {
        let scene = Scene::new();
        let keys: &'static [Key] = keys.to_vec().leak();
        std::thread::scope(|scope| {
            let serves = scene.serve(scope, 0, keys);
            let deck = scene.deck(0);
            let until = Until::Time(Instant::now() + Duration::from_millis(3));
            let second = deck.waiting.wait(deck.am(), &[], until, || Ok(None::<()>));
            assert_eq!(second, Err(Failure::TimedOut));
            assert_eq!(scene.fabric.asleep(0), 1, "nobody has woken the first one");
            scene.over.store(true, Ordering::Relaxed); // Relaxed: as in `Scene::serve`
            deck.waiting.wake(Key::Object(1));
            scene.soon(serves, "the thread that serves");
        });
    }
}

/// Rule 7 of `deck::waiting`: the sender wakes the thread in the berth and no other one, and that thread serves the message.
#[test]
fn a_thread_in_a_berth_serves_the_message_that_it_was_called_for() {
    let scene = Scene::new();
    let (own, there) = scene.with_credits(FOUR);
    std::thread::scope(|scope| {
        let serves = scene.serve(scope, 0, &[Key::Object(1)]);
        let waits = run(scope, || take(scene.deck(0), &own));
        scene.await_sleepers(0, 2);
        post(scene.deck(1), &there, 7);
        assert_eq!(scene.soon(waits, "the thread in the berth"), 7);
        assert_eq!(scene.fabric.asleep(0), 1, "the thread that serves was not needed");
        scene.end(serves);
    });
}

/// A node waits for a name that node 0 has to tell it. The call that makes the box leaves the answer to the thread that serves.
#[test]
fn what_a_new_name_leaves_due_goes_out_while_the_server_sleeps() {
    let scene = Scene::new();
    let name = (0..).map(|n: u32| n.to_string().into_bytes()).find(|name| names::home(name, 2) == 0).unwrap();
    std::thread::scope(|scope| {
        let finds = run(scope, || scene.deck(1).find(&name, Until::Forever).unwrap());
        scene.await_sleepers(1, 1);
        // Node 0 has not seen the request yet.
        let serves = scene.serve(scope, 0, &[Key::Object(1)]);
        let own = scene.deck(0).open(Some(&name), FOUR).unwrap();
        assert_eq!(scene.soon(finds, "who waits for a name").id, own.id);
        scene.end(serves);
    });
}

/// A thread of node 0 posts to a box of its own node, where another thread waits. The credits of each message come back by what its
/// post leaves due.
#[test]
fn what_a_post_to_the_own_node_leaves_due_goes_out_while_the_server_sleeps() {
    let scene = Scene::new();
    let deck = scene.deck(0);
    let own = deck.open(None, ONE).unwrap();
    std::thread::scope(|scope| {
        let serves = scene.serve(scope, 0, &[Key::Object(1)]);
        let takes = run(scope, || [(); 3].map(|()| take(deck, &own)));
        scene.await_sleepers(0, 2);
        let posts = run(scope, || (1..=3).for_each(|byte| post(deck, &own, byte)));
        scene.soon(posts, "who posts");
        assert_eq!(scene.soon(takes, "who takes"), [1, 2, 3]);
        scene.end(serves);
    });
}

/// Node 1 waits for credits. Node 0 retrieves one message after the other, and then does something else.
#[test]
fn what_a_retrieval_leaves_due_goes_out_while_the_server_sleeps() {
    let scene = Scene::new();
    let (own, there) = scene.with_credits(ONE);
    std::thread::scope(|scope| {
        post(scene.deck(1), &there, 1);
        let posts = run(scope, || (2..=4).for_each(|byte| post(scene.deck(1), &there, byte)));
        scene.await_sleepers(1, 1);
        while scene.deck(0).pending(&own) != Ok(1) {}
        let serves = scene.serve(scope, 0, &[Key::Object(1)]);
        for byte in 1..=3 {
            assert_eq!(take(scene.deck(0), &own), byte);
        }
        scene.soon(posts, "who waits for credits");
        scene.end(serves);
    });
}

/// Two retrievals, one right behind the other, so that the second one does not poll. Then the program does something else.
#[test]
fn what_a_quick_retrieval_leaves_due_goes_out_while_the_server_sleeps() {
    let scene = Scene::new();
    let (own, there) = scene.with_credits(ONE);
    let deck = scene.deck(0);
    let quick = deck.open(None, Credit { messages: 100, bytes: 1 << 16 }).unwrap();
    std::thread::scope(|scope| {
        post(scene.deck(1), &there, 1);
        (0..30).for_each(|byte| post(deck, &quick, byte));
        let posts = run(scope, || post(scene.deck(1), &there, 2));
        scene.await_sleepers(1, 1);
        while deck.pending(&own) != Ok(1) {}
        let serves = scene.serve(scope, 0, &[Key::Object(1)]);
        deck.am().background(1); // there is work, so that retrievals look how quick they are
        (0..30).for_each(|byte| assert_eq!(take(deck, &quick), byte));
        assert_eq!(take(deck, &own), 1);
        deck.am().background(-1);
        scene.soon(posts, "who waits for credits");
        scene.end(serves);
    });
}

/// Rule 8 of `deck::waiting`. The end reaches the thread that serves, one that sleeps beside it, the one in a berth, a call that waits for the
/// answer of another node, and one that begins to wait later.
#[test]
fn the_end_reaches_all_that_wait() {
    let scene = Scene::new();
    let (own, _) = scene.with_credits(FOUR);
    let deck = scene.deck(0);
    let name = (0..).map(|n| format!("name {n}").into_bytes()).find(|name| names::home(name, 2) == 1).unwrap();
    let wait = |keys: &[Key]| deck.waiting.wait(deck.am(), keys, Until::Forever, || Ok(None::<()>));
    std::thread::scope(|scope| {
        let serves = run(scope, || wait(&[Key::Object(1)]));
        scene.await_sleepers(0, 1);
        let (sleeps, asks) =
            (run(scope, || wait(&[Key::Object(2)])), run(scope, || deck.find(&name, Until::Forever).map(drop)));
        let berth = run(scope, || deck.take(&own, Until::Forever).map(drop));
        scene.await_sleepers(0, 2); // the fabric counts those that are not parked
        deck.waiting.end();
        for (thread, what) in
            [(serves, "the thread that serves"), (sleeps, "another one"), (asks, "a clone"), (berth, "a take")]
        {
            assert_eq!(scene.soon(thread, what), Err(Failure::Init), "{what}");
        }
        assert_eq!(wait(&[Key::Object(3)]), Err(Failure::Init));
        assert_eq!(wait(&[]), Err(Failure::Init), "without a key");
        assert_eq!(deck.waiting.wait(deck.am(), &[], Until::Forever, || Ok(Some(5))), Ok(5), "what is there is found");
    });
}

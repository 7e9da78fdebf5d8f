//! quinn-proto: one stream, with its usual TLS, all windows as large as ours.

use super::net::End;
use super::{DATAGRAM, PIECE};
use bytes::BytesMut;
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, Endpoint, EndpointConfig, Event, ServerConfig,
    StreamEvent, StreamId, TransportConfig, VarInt,
};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Datagrams of one call.
const BATCH: usize = 10;

pub struct Quinn {
    begin: Instant,
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    peer: SocketAddr,
    source: Vec<u8>,
    segment: Vec<u8>,
    /// Bytes to send, or to come, and how many of them were.
    bytes: usize,
    moved: usize,
    stream: Option<StreamId>,
    is_sender: bool,
    is_done: bool,
    ready: Vec<Vec<u8>>,
}

fn transport() -> Arc<TransportConfig> {
    let mut transport = TransportConfig::default();
    let window = VarInt::from_u32(64 << 20);
    transport.stream_receive_window(window).receive_window(window).send_window(64 << 20);
    transport.initial_mtu(DATAGRAM as u16).min_mtu(DATAGRAM as u16).mtu_discovery_config(None);
    Arc::new(transport)
}

impl Quinn {
    /// Both ends: the first one sends so many bytes.
    pub fn pair(bytes: usize) -> [Quinn; 2] {
        let made = rcgen::generate_simple_self_signed(vec!["peer".into()]).expect("a certificate");
        let key = rustls::pki_types::PrivatePkcs8KeyDer::from(made.key_pair.serialize_der());
        let mut roots = rustls::RootCertStore::empty();
        roots.add(made.cert.der().clone()).expect("a root");
        let mut server = ServerConfig::with_single_cert(vec![made.cert.der().clone()], key.into()).expect("a server");
        server.transport_config(transport());
        let mut client = ClientConfig::with_root_certificates(Arc::new(roots)).expect("a client");
        client.transport_config(transport());
        let begin = Instant::now();
        let mut config = EndpointConfig::default();
        config.max_udp_payload_size(DATAGRAM as u16).expect("a size");
        let config = Arc::new(config);
        let [at, peer] = [1, 2].map(|port| SocketAddr::from(([10, 0, 0, 1], port)));
        let end = |endpoint, peer, is_sender| Quinn {
            begin,
            endpoint,
            connection: None,
            peer,
            source: vec![1; PIECE],
            segment: vec![0; PIECE],
            bytes,
            moved: 0,
            stream: None,
            is_sender,
            is_done: false,
            ready: Vec::new(),
        };
        let mut first = end(Endpoint::new(config.clone(), None, false, Some([1; 32])), peer, true);
        first.connection = Some(first.endpoint.connect(begin, client, peer, "peer").expect("a connection"));
        [first, end(Endpoint::new(config, Some(Arc::new(server)), false, Some([2; 32])), at, false)]
    }

    fn time(&self, now: u64) -> Instant {
        self.begin + Duration::from_micros(now)
    }

    /// What the connection has for its user, and for its endpoint.
    fn work(&mut self) {
        let Some((handle, connection)) = &mut self.connection else { return };
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(event);
            }
        }
        while let Some(event) = connection.poll() {
            match event {
                Event::Connected if self.is_sender => self.stream = connection.streams().open(Dir::Uni),
                Event::Stream(StreamEvent::Opened { dir }) => self.stream = connection.streams().accept(dir),
                Event::Stream(StreamEvent::Finished { .. }) => self.is_done = true,
                Event::ConnectionLost { reason } => panic!("{reason}"),
                _ => {}
            }
        }
        let Some(stream) = self.stream else { return };
        if self.is_sender {
            while self.moved < self.bytes {
                let from = self.moved % PIECE;
                let Ok(count) = connection.send_stream(stream).write(&self.source[from..]) else { return };
                self.moved += count;
                if self.moved == self.bytes {
                    connection.send_stream(stream).finish().expect("it is open");
                }
            }
            return;
        }
        let mut receiving = connection.recv_stream(stream);
        let Ok(mut chunks) = receiving.read(false) else { return };
        while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
            let at = chunk.offset as usize % PIECE;
            let first = chunk.bytes.len().min(PIECE - at);
            self.segment[at..at + first].copy_from_slice(&chunk.bytes[..first]);
            self.segment[..chunk.bytes.len() - first].copy_from_slice(&chunk.bytes[first..]);
            self.moved += chunk.bytes.len();
        }
        let _ = chunks.finalize();
        self.is_done = self.moved == self.bytes;
    }
}

impl End for Quinn {
    fn hear(&mut self, now: u64, datagram: Vec<u8>) {
        let (now, mut answer) = (self.time(now), Vec::new());
        match self.endpoint.handle(now, self.peer, None, None, BytesMut::from(&datagram[..]), &mut answer) {
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                let (_, connection) = self.connection.as_mut().expect("it is there");
                connection.handle_event(event);
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                let accepted = self.endpoint.accept(incoming, now, &mut answer, None);
                self.connection = Some(accepted.map_err(|error| error.cause).expect("a connection"));
            }
            Some(DatagramEvent::Response(_)) => self.ready.push(answer),
            None => {}
        }
        self.work();
    }

    fn on_timer(&mut self, now: u64) {
        let now = self.time(now);
        self.connection.iter_mut().for_each(|(_, connection)| connection.handle_timeout(now));
        self.work();
    }

    fn timer(&mut self) -> u64 {
        let at = self.connection.as_mut().and_then(|(_, connection)| connection.poll_timeout());
        // Not before its time.
        at.map_or(u64::MAX, |at| at.saturating_duration_since(self.begin).as_nanos().div_ceil(1000) as u64)
    }

    fn next(&mut self, now: u64) -> Option<Vec<u8>> {
        if self.ready.is_empty() {
            self.work();
            let (now, mut bytes) = (self.time(now), Vec::new());
            let (_, connection) = self.connection.as_mut()?;
            let sent = connection.poll_transmit(now, BATCH, &mut bytes)?;
            let each = sent.segment_size.unwrap_or(sent.size).max(1);
            self.ready = bytes[..sent.size].chunks(each).rev().map(<[u8]>::to_vec).collect();
        }
        self.ready.pop()
    }

    fn is_done(&self) -> bool {
        self.is_done
    }

    fn moved(&self) -> u64 {
        self.moved as u64
    }
}

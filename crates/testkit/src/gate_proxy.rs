//! A proxy in front of a server through which nothing passes while a gate is closed, as where a network is cut. It knows no protocol.
//! Rule: nothing is lost or reset: what comes while a gate is closed is held, and passes when it is opened; an end of a connection is, too.

use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::limits::LOOK_AGAIN;

/// A gate of any number of proxies: what all ways from and to one machine have in common. It is open at first.
#[derive(Clone, Default)]
pub struct NetworkGate(Arc<GateState>);

#[derive(Default)]
struct GateState {
    is_closed: Mutex<bool>,
    changed: Condvar,
}

impl NetworkGate {
    /// From now on nothing passes, on connections that are open either.
    pub fn close(&self) {
        *self.state() = true;
    }

    /// What was held passes.
    pub fn open(&self) {
        *self.state() = false;
        self.0.changed.notify_all();
    }

    /// Whether nothing passes.
    pub fn is_closed(&self) -> bool {
        *self.state()
    }

    /// Waits until it is open, or until the proxy has ended.
    fn pass(&self, has_ended: &AtomicBool) {
        let mut is_closed = self.state();
        while *is_closed && !has_ended.load(Ordering::SeqCst) {
            let waited = self.0.changed.wait_timeout(is_closed, LOOK_AGAIN);
            is_closed = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn state(&self) -> MutexGuard<'_, bool> {
        self.0
            .is_closed
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Says by the first bytes of a client which gates its connection has besides those of the proxy: those of the client's own machine.
pub type ClientGates = Arc<dyn Fn(&[u8]) -> Vec<NetworkGate> + Send + Sync>;

/// The proxy. It ends with its value, and so do its connections.
pub struct GateProxy {
    port: u16,
    shared: Arc<Shared>,
}

struct Shared {
    server: u16,
    gates: Vec<NetworkGate>,
    client_gates: ClientGates,
    has_ended: AtomicBool,
    links: Mutex<Links>,
}

/// Both sides of each connection, to be shut at the end.
#[derive(Default)]
struct Links {
    next: u64,
    open: HashMap<u64, [TcpStream; 2]>,
}

/// What both directions of a connection have in common.
struct Link {
    shared: Arc<Shared>,
    number: u64,
    gates: Mutex<Vec<NetworkGate>>,
}

impl GateProxy {
    /// In front of a server that listens on this port of 127.0.0.1.
    pub fn start(server: u16, gates: &[NetworkGate]) -> GateProxy {
        GateProxy::with_client_gates(server, gates, Arc::new(|_| Vec::new()))
    }

    /// Where clients have gates, too.
    pub fn with_client_gates(
        server: u16,
        gates: &[NetworkGate],
        client_gates: ClientGates,
    ) -> GateProxy {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("127.0.0.1 has a free port");
        let port = listener.local_addr().expect("it is bound").port();
        let shared = Arc::new(Shared {
            server,
            gates: gates.to_vec(),
            client_gates,
            has_ended: AtomicBool::new(false),
            links: Mutex::default(),
        });
        let accepting = Arc::clone(&shared);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if accepting.has_ended.load(Ordering::SeqCst) {
                    return;
                }
                let shared = Arc::clone(&accepting);
                std::thread::spawn(move || shared.carry(client));
            }
        });
        GateProxy { port, shared }
    }

    /// The port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for GateProxy {
    fn drop(&mut self) {
        self.shared.has_ended.store(true, Ordering::SeqCst);
        let open = std::mem::take(&mut self.shared.links().open);
        for stream in open.values().flatten() {
            let _ = stream.shutdown(Shutdown::Both);
        }
        // The thread that accepts looks again.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

impl Shared {
    fn links(&self) -> MutexGuard<'_, Links> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Carries bytes in both directions, each in a thread, of which one is this one.
    fn carry(self: Arc<Shared>, client: TcpStream) {
        self.gates
            .iter()
            .for_each(|gate| gate.pass(&self.has_ended));
        let Ok(server) = TcpStream::connect(("127.0.0.1", self.server)) else {
            return;
        };
        let _ = client.set_nodelay(true);
        let _ = server.set_nodelay(true);
        let Some(link) = self.link(&client, &server) else {
            return;
        };
        let (Ok(from_server), Ok(to_client)) = (server.try_clone(), client.try_clone()) else {
            return;
        };
        let back = Arc::clone(&link);
        let answers = std::thread::spawn(move || back.pump(from_server, to_client, |_| ()));
        let (first, of_client) = (Arc::clone(&link), Arc::clone(&self.client_gates));
        link.pump(client, server, |bytes| {
            let more = of_client(bytes);
            first.gates().extend(more);
        });
        let _ = answers.join();
        self.links().open.remove(&link.number);
    }

    fn link(self: &Arc<Shared>, client: &TcpStream, server: &TcpStream) -> Option<Arc<Link>> {
        let streams = [client.try_clone().ok()?, server.try_clone().ok()?];
        let mut links = self.links();
        if self.has_ended.load(Ordering::SeqCst) {
            return None;
        }
        let number = links.next;
        links.next += 1;
        links.open.insert(number, streams);
        Some(Arc::new(Link {
            shared: Arc::clone(self),
            number,
            gates: Mutex::new(self.gates.clone()),
        }))
    }
}

impl Link {
    fn gates(&self) -> MutexGuard<'_, Vec<NetworkGate>> {
        self.gates.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pass(&self) {
        let gates = self.gates().clone();
        gates
            .iter()
            .for_each(|gate| gate.pass(&self.shared.has_ended));
    }

    /// Carries what comes until the end, which it passes on; `first` sees the first bytes before they pass.
    fn pump(&self, mut from: TcpStream, mut to: TcpStream, first: impl Fn(&[u8])) {
        let mut buffer = [0; 16 * 1024];
        let mut is_first = true;
        let ended = loop {
            let read = from.read(&mut buffer);
            let Ok(count @ 1..) = read else {
                break read.is_ok();
            };
            let bytes = buffer.get(..count).unwrap_or_default();
            if is_first {
                first(bytes);
                is_first = false;
            }
            self.pass();
            if to.write_all(bytes).is_err() {
                break false;
            }
        };
        self.pass();
        if ended {
            let _ = to.shutdown(Shutdown::Write);
        } else {
            let _ = to.shutdown(Shutdown::Both);
            let _ = from.shutdown(Shutdown::Both);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// A server that answers each byte with itself.
    fn echo() -> u16 {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                std::thread::spawn(move || {
                    let mut from = stream.try_clone().unwrap();
                    let mut to = stream;
                    let _ = std::io::copy(&mut from, &mut to);
                });
            }
        });
        port
    }

    fn client(proxy: &GateProxy) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", proxy.port())).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_millis(300)))
            .unwrap();
        stream
    }

    fn read(stream: &mut TcpStream, count: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; count];
        stream.read_exact(&mut bytes).ok().map(|()| bytes)
    }

    #[test]
    fn closed_gate_holds_bytes_until_it_is_opened() {
        let gate = NetworkGate::default();
        let proxy = GateProxy::start(echo(), std::slice::from_ref(&gate));
        let mut open = client(&proxy);
        open.write_all(b"one").unwrap();
        open.set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        assert_eq!(read(&mut open, 3).as_deref(), Some(&b"one"[..]));

        gate.close();
        let mut new = client(&proxy);
        new.write_all(b"new").unwrap();
        open.set_read_timeout(Some(Duration::from_millis(300)))
            .unwrap();
        open.write_all(b"two").unwrap();
        assert_eq!(read(&mut open, 3), None);
        assert_eq!(read(&mut new, 3), None);

        gate.open();
        for (stream, bytes) in [(&mut open, b"two"), (&mut new, b"new")] {
            stream
                .set_read_timeout(Some(Duration::from_secs(60)))
                .unwrap();
            assert_eq!(read(stream, 3).as_deref(), Some(&bytes[..]));
        }
    }

    #[test]
    fn gate_of_a_client_closes_its_connections_alone() {
        let gate = NetworkGate::default();
        let of_client = gate.clone();
        let proxy = GateProxy::with_client_gates(
            echo(),
            &[],
            Arc::new(move |bytes| match bytes.first() {
                Some(b'a') => vec![of_client.clone()],
                _ => Vec::new(),
            }),
        );
        gate.close();
        let (mut one, mut other) = (client(&proxy), client(&proxy));
        one.write_all(b"a").unwrap();
        other.write_all(b"b").unwrap();
        other
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        assert_eq!(read(&mut other, 1).as_deref(), Some(&b"b"[..]));
        assert_eq!(read(&mut one, 1), None);
    }

    #[test]
    fn proxy_that_ends_closes_connections_at_a_closed_gate() {
        let gate = NetworkGate::default();
        let proxy = GateProxy::start(echo(), std::slice::from_ref(&gate));
        gate.close();
        let mut held = client(&proxy);
        held.set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        drop(proxy);
        let mut byte = [0];
        assert_eq!(held.read(&mut byte).unwrap_or(0), 0);
    }
}

//! A proxy in front of a server that cuts a connection after so many bytes, lets it fall silent or holds it up. It knows no protocol.
//! Rule: what may pass has passed when the connection is cut, and nothing behind it has.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Where the next connection on which something moves is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Behind so many bytes to the server.
    ToServer(usize),
    /// Behind so many bytes to the client.
    ToClient(usize),
}

/// What becomes of the server's side at a cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerSide {
    /// It is closed as the client's is.
    Closes,
    /// It stays open, as where a machine is gone, and nothing more reaches it.
    StaysOpen,
    /// It stays open as the client's does, and nothing more passes either way, as where packets are dropped.
    FallsSilent,
    /// It stays open as the client's does, and what comes behind the cut passes so much later.
    Waits(Duration),
}

/// The proxy. It ends with its value, and so do its connections.
pub struct CutProxy {
    port: u16,
    shared: Arc<Shared>,
}

struct Shared {
    server: u16,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    armed: Option<(Cut, ServerSide)>,
    refuses: bool,
    ignores: bool,
    has_ended: bool,
    /// Connections of which the client's side is open.
    open: usize,
    /// Both sides of all connections.
    streams: Vec<TcpStream>,
}

/// Which way bytes go.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    ToServer,
    ToClient,
}

impl CutProxy {
    /// In front of a server that listens on this port of 127.0.0.1.
    pub fn start(server: u16) -> CutProxy {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("127.0.0.1 has a free port");
        let port = listener.local_addr().expect("it is bound").port();
        let shared = Arc::new(Shared {
            server,
            state: Mutex::default(),
        });
        let accepting = Arc::clone(&shared);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let mut state = accepting.state();
                if state.has_ended {
                    return;
                }
                if state.ignores {
                    state.streams.push(client);
                } else if !state.refuses {
                    drop(state);
                    accepting.carry(client);
                }
            }
        });
        CutProxy { port, shared }
    }

    /// The port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// How many connections have neither been closed by their client nor cut.
    pub fn open_connections(&self) -> usize {
        self.shared.state().open
    }

    /// Cuts one connection, from now on counted. Bytes of every connection count, also of one that only says that it ends: so there should be one.
    pub fn cut_once(&self, cut: Cut, server: ServerSide) {
        self.shared.state().armed = Some((cut, server));
    }

    /// Whether the cut is still to come.
    pub fn is_armed(&self) -> bool {
        self.shared.state().armed.is_some()
    }

    /// Cuts nothing any more.
    pub fn disarm(&self) {
        self.shared.state().armed = None;
    }

    /// Closes new connections at once.
    pub fn refuse(&self) {
        self.shared.state().refuses = true;
    }

    /// Takes new connections, and nothing passes on them.
    pub fn ignore(&self) {
        self.shared.state().ignores = true;
    }

    /// New connections are as at the beginning.
    pub fn accept(&self) {
        let mut state = self.shared.state();
        (state.refuses, state.ignores) = (false, false);
    }
}

impl Drop for CutProxy {
    fn drop(&mut self) {
        let streams = {
            let mut state = self.shared.state();
            state.has_ended = true;
            std::mem::take(&mut state.streams)
        };
        for stream in streams {
            let _ = stream.shutdown(Shutdown::Both);
        }
        // The thread that accepts looks again.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Carries bytes in both directions, each in a thread.
    fn carry(self: &Arc<Shared>, client: TcpStream) {
        let Ok(server) = TcpStream::connect(("127.0.0.1", self.server)) else {
            return;
        };
        let copy = |stream: &TcpStream| {
            let _ = stream.set_nodelay(true);
            stream.try_clone().expect("a socket can be duplicated")
        };
        let mut state = self.state();
        state.streams.extend([copy(&client), copy(&server)]);
        state.open += 1;
        drop(state);
        let fate = Arc::new(LinkFate::default());
        for (way, from, to) in [
            (Way::ToServer, copy(&client), copy(&server)),
            (Way::ToClient, copy(&server), copy(&client)),
        ] {
            let (shared, fate) = (Arc::clone(self), Arc::clone(&fate));
            std::thread::spawn(move || {
                shared.pump(way, from, to, &fate);
                if way == Way::ToServer {
                    shared.state().open -= 1;
                }
            });
        }
    }

    fn pump(&self, way: Way, mut from: TcpStream, mut to: TcpStream, fate: &LinkFate) {
        let mut buffer = [0; 16 * 1024];
        while let Ok(count @ 1..) = from.read(&mut buffer) {
            if fate.is_silent.load(Ordering::SeqCst) {
                continue;
            }
            let (passing, cut) = self.passing(way, count);
            let bytes = buffer.get(..passing).unwrap_or_default();
            let passed = to.write_all(bytes).is_ok();
            match cut {
                None if passed => {}
                None => break,
                Some(ServerSide::Closes) => break,
                Some(ServerSide::StaysOpen) => {
                    let client = match way {
                        Way::ToServer => &from,
                        Way::ToClient => &to,
                    };
                    fate.stays_open.store(true, Ordering::SeqCst);
                    let _ = client.shutdown(Shutdown::Both);
                    return;
                }
                Some(ServerSide::FallsSilent) => fate.is_silent.store(true, Ordering::SeqCst),
                Some(ServerSide::Waits(time)) => {
                    wait(time);
                    let rest = buffer.get(passing..count).unwrap_or_default();
                    if to.write_all(rest).is_err() {
                        break;
                    }
                }
            }
        }
        // One end does not learn of the other's.
        if fate.stays_open.load(Ordering::SeqCst) || fate.is_silent.load(Ordering::SeqCst) {
            return;
        }
        let _ = from.shutdown(Shutdown::Both);
        let _ = to.shutdown(Shutdown::Both);
    }

    /// How many of these bytes pass, and whether that is the cut.
    fn passing(&self, way: Way, count: usize) -> (usize, Option<ServerSide>) {
        let mut state = self.state();
        let Some((cut, server)) = state.armed else {
            return (count, None);
        };
        let (of, left) = match cut {
            Cut::ToServer(left) => (Way::ToServer, left),
            Cut::ToClient(left) => (Way::ToClient, left),
        };
        if of != way {
            return (count, None);
        }
        if count < left {
            let left = left - count;
            let cut = match way {
                Way::ToServer => Cut::ToServer(left),
                Way::ToClient => Cut::ToClient(left),
            };
            state.armed = Some((cut, server));
            return (count, None);
        }
        state.armed = None;
        (left, Some(server))
    }
}

/// What both directions of a connection have in common.
#[derive(Default)]
struct LinkFate {
    /// The client's side is cut, and the server's is not.
    stays_open: AtomicBool,
    /// Nothing passes any more.
    is_silent: AtomicBool,
}

#[expect(
    clippy::disallowed_methods,
    reason = "a thread of the proxy serves one direction of one connection"
)]
fn wait(time: Duration) {
    std::thread::sleep(time);
}

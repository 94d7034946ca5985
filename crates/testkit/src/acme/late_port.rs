//! A port of 127.0.0.1 whose server is named later, or changed: what comes before waits. It knows no protocol.
//! Rule: no connection is refused while it is there; one whose server cannot be reached is closed.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The port. It ends with its value; connections that are open end with their sides.
pub struct LatePort {
    port: u16,
    state: Arc<PortState>,
}

#[derive(Default)]
struct PortState {
    target: Mutex<Target>,
    changed: Condvar,
}

#[derive(Clone, Copy, Default)]
enum Target {
    #[default]
    Unknown,
    Port(u16),
    Ended,
}

impl LatePort {
    /// A free port, which leads nowhere yet.
    #[must_use]
    pub fn open() -> LatePort {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("127.0.0.1 has a free port");
        let port = listener.local_addr().expect("it is bound").port();
        let state = Arc::new(PortState::default());
        let accepting = Arc::clone(&state);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if matches!(*accepting.target(), Target::Ended) {
                    return;
                }
                let state = Arc::clone(&accepting);
                std::thread::spawn(move || state.carry(client));
            }
        });
        LatePort { port, state }
    }

    /// The port on 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Where connections go from now on, those that wait too.
    pub fn lead_to(&self, port: u16) {
        *self.state.target() = Target::Port(port);
        self.state.changed.notify_all();
    }

    /// Has connections wait from now on, those that are open excepted.
    pub fn hold(&self) {
        *self.state.target() = Target::Unknown;
    }
}

impl Drop for LatePort {
    fn drop(&mut self) {
        *self.state.target() = Target::Ended;
        self.state.changed.notify_all();
        // The thread that accepts looks again.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

impl PortState {
    fn target(&self) -> MutexGuard<'_, Target> {
        self.target.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Carries bytes in both directions, each in a thread, of which one is this one.
    fn carry(&self, client: TcpStream) {
        let Some(server) = self.server() else { return };
        let (Ok(from_client), Ok(to_client)) = (client.try_clone(), client.try_clone()) else {
            return;
        };
        let Ok(to_server) = server.try_clone() else {
            return;
        };
        let requests = std::thread::spawn(move || pump(from_client, to_server));
        pump(server, to_client);
        let _ = requests.join();
    }

    fn server(&self) -> Option<TcpStream> {
        let mut target = self.target();
        loop {
            match *target {
                Target::Port(port) => {
                    drop(target);
                    return TcpStream::connect(("127.0.0.1", port)).ok();
                }
                Target::Ended => return None,
                Target::Unknown => {
                    let waited = self.changed.wait(target);
                    target = waited.unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }
}

fn pump(mut from: TcpStream, mut to: TcpStream) {
    let mut buffer = [0; 16 * 1024];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        if to.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}

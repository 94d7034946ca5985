//! The crate's errors. Says what failed and what the caller can do, and holds the cause.

use std::any::Any;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use crate::ListenAddress;

/// An error of the application or of any other layer above.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What to do where an address cannot be listened on.
fn listen_advice(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::AddrInUse => "stop the program that uses it, or choose another address",
        io::ErrorKind::AddrNotAvailable => {
            "no interface of this machine has it: choose another address, as 127.0.0.1 or 0.0.0.0"
        }
        io::ErrorKind::NotFound => "its folder is not there: make it, or choose another address",
        io::ErrorKind::PermissionDenied => {
            "this user may not listen there: choose another address, or allow it (ports below 1024 need CAP_NET_BIND_SERVICE)"
        }
        _ => "choose another address",
    }
}

/// What can go wrong in this crate.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The text is no listen address. Correct it.
    #[error("`{text}` is not an address to listen on: {advice}")]
    Address {
        /// What was given.
        text: String,
        /// How to write it.
        advice: String,
    },
    /// The configuration lists no address. Add one.
    #[error("no address to listen on; give at least one, such as 127.0.0.1:8080")]
    NoAddress,
    /// The kernel refused the address. Choose another, or stop what holds it.
    #[error("cannot listen on {address} ({source}); {}", listen_advice(source))]
    Listen {
        /// The address as configured.
        address: ListenAddress,
        /// The kernel's reason.
        source: io::Error,
    },
    /// A running server answers on the UNIX socket. Stop it, or choose another path.
    #[error("a running server already listens on unix:{path}; stop it or choose another path", path = path.display())]
    SocketInUse {
        /// Path of the socket.
        path: PathBuf,
    },
    /// The path holds something else, which is left alone. Choose another path, or remove it.
    #[error("{path} exists and is not a socket; remove it or choose another path", path = path.display())]
    NotASocket {
        /// Path of the file.
        path: PathBuf,
    },
    /// The system gave no thread or event loop. Lower the number of workers, or raise the system's limits.
    #[error("cannot start {what} ({source}); use fewer workers or raise the system's limits")]
    Start {
        /// What was to be started.
        what: &'static str,
        /// The system's reason.
        source: io::Error,
    },
    /// The application did not load. Correct it; at a reload the old one goes on.
    #[error(transparent)]
    Load(#[from] LoadFailure),
    /// A worker thread ended by a panic. This is a bug in a service; the other workers were drained.
    #[error("worker {worker} ended by a panic; its message is in the log")]
    WorkerLost {
        /// Number of the worker.
        worker: usize,
    },
    /// The offload queue is full and the job did not run. Try later, or raise `offload_queue_max`.
    #[error(
        "the offload queue is full (offload_queue_max = {queue_max}); try later or raise the limit"
    )]
    OffloadFull {
        /// The limit that was reached.
        queue_max: usize,
    },
    /// The offloaded job panicked. What it did until then is unknown.
    #[error("the offloaded job panicked: {message}")]
    OffloadPanicked {
        /// Message of the panic.
        message: String,
    },
    /// The server or the pool has stopped. Nothing was done.
    #[error("the server has stopped")]
    Stopped,
}

impl Error {
    /// What the system's refusal to start this is to the caller.
    pub(crate) fn start(what: &'static str) -> impl Fn(io::Error) -> Error {
        move |source| Error::Start { what, source }
    }
}

/// Why the application did not load, and on which worker.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the application did not load on worker {worker}: {cause}")]
pub struct LoadFailure {
    /// Number of the first worker that failed.
    pub worker: usize,
    /// What the service's `load` returned.
    #[source]
    pub cause: Arc<dyn std::error::Error + Send + Sync>,
}

/// The text of a panic, for an error message.
pub(crate) fn panic_message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic without a text").to_owned()
}

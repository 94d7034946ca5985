//! One worker thread per core: listeners, balancing, offload, timers, reload, drain and the watchdog.
//! Knows no HTTP, no Ruby and no SQL: what a connection says is the business of a [`WorkerService`].
//! Nothing on a worker blocks, and nothing on the request path is shared between workers.
//!
//! ```no_run
//! use std::rc::Rc;
//! use tsumugi_worker::{BoundServer, BoxError, Config, Connection, Current, WorkerHandle, WorkerService};
//!
//! struct Hello;
//!
//! impl WorkerService for Hello {
//!     type App = String;
//!     async fn load(&self) -> Result<Rc<String>, BoxError> {
//!         Ok(Rc::new("hello\n".to_owned()))
//!     }
//!     async fn serve(&self, connection: Connection, app: Current<String>) {
//!         let text = app.current();
//!         let _ = connection.stream.writable().await;
//!         drop((text, connection));
//!     }
//!     async fn retire(&self, _app: Rc<String>) {}
//! }
//!
//! let mut config = Config::default();
//! config.listen.push("127.0.0.1:8080".parse()?);
//! let exit = BoundServer::bind(config)?.run(|_worker: &WorkerHandle| Hello)?;
//! std::process::exit(i32::from(exit.code()));
//! # #[allow(unreachable_code)]
//! # Ok::<(), tsumugi_worker::Error>(())
//! ```
#![forbid(unsafe_code)]

mod accept;
mod address;
mod arrival;
mod balance;
mod cache_padded;
mod config;
mod connection;
mod control;
mod error;
mod handle;
mod host;
mod lifecycle;
mod limits;
mod listen;
mod listening_socket;
mod log_format;
mod observer;
mod offload;
mod outlet;
mod phase;
mod reload_log;
mod server;
mod service;
mod shared;
mod snapshot;
mod stream;
mod turn;
mod watchdog;
mod worker;

pub use address::ListenAddress;
pub use config::{Config, Pinning, Scheduling, Signals};
pub use connection::{Connection, Slot};
pub use control::{Exit, unblock_signals};
pub use error::{BoxError, Error, LoadFailure, Result};
pub use handle::{Handle, SocketLoan};
pub use host::raise_open_files;
pub use limits::WorkerLimits;
pub use listen::{SocketFile, remove_stale_socket};
pub use listening_socket::{FileOwner, ListeningSocket};
pub use log_format::LogFormat;
pub use observer::{Observer, Sample};
pub use offload::{OffloadFuture, Pool};
pub use outlet::{ERRORS, OUTPUT, Outlet};
pub use phase::ServerPhase;
pub use reload_log::{ReloadRecord, ReloadTrigger};
pub use server::{BoundServer, alone};
pub use service::{Current, WorkerService};
pub use snapshot::{OffloadSnapshot, ServerSnapshot, WorkerSnapshot};
pub use stream::{Peer, SocketStream};
pub use turn::{WatchedFuture, WorkerTurn};
pub use watchdog::ObserverGuard;
pub use worker::{DrainReason, LocalTask, WorkerHandle};

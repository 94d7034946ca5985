//! One worker thread per core: listeners, balancing, offload, timers, reload, drain and the watchdog.
//! Knows no HTTP, no Ruby and no SQL: what a connection says is the business of a [`Service`].
//! Nothing on a worker blocks, and nothing on the request path is shared between workers.
//!
//! ```no_run
//! use std::rc::Rc;
//! use tsumugi_worker::{BoxError, Config, Connection, Current, Server, Service, Worker};
//!
//! struct Hello;
//!
//! impl Service for Hello {
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
//! let exit = Server::bind(config)?.run(|_worker: &Worker| Hello)?;
//! std::process::exit(i32::from(exit.code()));
//! # #[allow(unreachable_code)]
//! # Ok::<(), tsumugi_worker::Error>(())
//! ```
#![forbid(unsafe_code)]

mod accept;
mod address;
mod balance;
mod config;
mod connection;
mod control;
mod error;
mod handle;
mod host;
mod life;
mod limits;
mod listen;
mod offload;
mod outlet;
mod server;
mod service;
mod shared;
mod snapshot;
mod stream;
mod turn;
mod watchdog;
mod worker;

pub use address::Address;
pub use config::{Config, Pinning, Scheduling, Signals};
pub use connection::{Connection, Slot};
pub use control::Exit;
pub use error::{BoxError, Error, LoadFailure, Result};
pub use handle::Handle;
pub use limits::Limits;
pub use offload::{Offload, Pool};
pub use outlet::{ERRORS, OUTPUT, Outlet};
pub use server::{Server, alone};
pub use service::{Current, Service};
pub use snapshot::{OffloadSnapshot, Snapshot, WorkerSnapshot};
pub use stream::{Peer, Stream};
pub use turn::{Turn, Watched};
pub use watchdog::{Observer, Sample, Watch};
pub use worker::Worker;

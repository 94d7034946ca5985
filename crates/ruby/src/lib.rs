//! The Ruby face: an application file on a VM of its own per worker, one fibre per request, waits turned into futures.
//! Knows no socket. The API is Ruby (prelude/); natives here only start work, and one function waits (`driver`).

#![forbid(unsafe_code)]
// Futures of natives nest statements in transactions in pools: with other features than the usual ones 128 is not enough.
#![recursion_limit = "256"]

mod absent;
mod admission;
mod answer;
mod app;
mod compiled_names;
mod console;
mod conversation;
mod driver;
mod error;
mod exchange;
mod finish;
mod frames;
mod held_streams;
mod host;
mod job_lock;
mod job_setup;
mod job_worker;
mod jobs;
mod json;
mod limits;
mod load;
mod load_failure;
mod loaded_files;
mod maintenance;
mod natives;
mod openapi;
mod program;
mod public;
mod resources;
mod routes;
mod settings;
mod streaming;
mod test_file;
mod timers;
mod web;

pub use app::App;
pub use console::{Console, ConsoleReply};
pub use error::Error;
pub use limits::Limits;
pub use loaded_files::LoadedFiles;
pub use maintenance::{Maintenance, MaintenanceEvent, MaintenanceOutcome};
pub use program::{Program, serve};
pub use settings::{Settings, SharedDatabases, SharedResources};
pub use test_file::{TestFile, TestOutcome};
pub use tsumugi_client::CallMode;
pub use tsumugi_http::secret::Secret;
pub use tsumugi_mruby::ExceptionReport;
pub use tsumugi_server::Mode;

/// The signatures of what authors in Ruby call, as a file of RBS.
pub const SIGNATURES: &str = include_str!("../sig/tsumugi.rbs");

//! The options of `tsumugi serve`, and the start of a server from them: for the command and for every program that serves by itself.
//! Knows no application: what is served is a [`Program`](tsumugi_front::Program) of the caller's.
//! Rule: what an option names and cannot be used is told before anything is bound, and what cannot be bound before anything is loaded.

#![forbid(unsafe_code)]

mod front;
mod limit;
mod limits;
mod listen;
mod log;
mod options;
pub mod table;

pub use front::bind;
pub use limit::{Limit, LimitError, Limited, Limits, Row, WORKER, assigned, row};
pub use limits::{LAST_LINES_MS_MAX, WORKERS_MAX};
pub use listen::Listen;
pub use log::{begin_log, begin_log_in, end_log, story, streams_apart};
pub use options::{Options, Prepared, workers};

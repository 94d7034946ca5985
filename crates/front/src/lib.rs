//! What stands before applications on every worker, whatever language they are written in: TLS, HTTP, compression, access log, figures
//! and the admin pages' contents. Knows no Ruby, no route and no command line.
//! Rule: what is switched off costs a request one look at an empty option.

#![forbid(unsafe_code)]

mod application;
mod databases;
mod front;
mod service;
mod stores;

pub use application::{Application, Program, Shown, VmFigures};
pub use front::{Board, Desk, Front, Mode};
pub use service::Service;

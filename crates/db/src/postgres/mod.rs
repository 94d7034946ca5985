//! PostgreSQL behind its driver, which does the protocol: a backend of `server`, and what no other database has (COPY, LISTEN, pipelines,
//! sessions).
//! Knows no HTTP and no Ruby. Rule: single statements share connections and never change a session; what does gets a
//! connection of its own, which is made clean before the next caller has it.

mod backend;
mod bind;
mod commit_question;
mod copy;
mod explain;
mod failure;
mod inquiry;
mod link;
mod listen;
mod pipeline;
mod plan;
mod read;
mod replicas;
mod rows;
mod session;
mod settings;
mod stream;
mod transaction;
mod write_notes;

pub use backend::Postgres;
pub use copy::{CopyIn, CopyOut};
pub use listen::{Listener, ListenerEvent};
pub(crate) use rows::{Field, Row, Rows};
pub use session::Session;

//! The task of one pipelined connection, generic over its protocol: callers append requests to one buffer, one task sends them and cuts what
//! comes back, and each reply goes to the caller whose request it answers. Beside it is what both drivers' configurations need: URLs,
//! passwords, look-ups of names. Knows no protocol, no SQL and opens no socket.
//!
//! A driver implements [`Protocol`]: where replies are cut, how much the server still owes, how it is asked to stop, what it is sent at the
//! end. It gets a [`PipelineRef`] from [`start`], writes by [`Pipeline::request`], and reads by [`Replies`]. Everything stays on one thread.
//! Rule: a caller that leaves never disturbs the others; its replies are thrown away or undone, and nothing here allocates per request once
//! the connection is warm.

#![forbid(unsafe_code)]

mod address;
mod cancel;
pub mod limits;
mod loss;
mod pipeline;
mod pump;
mod replies;
mod secret;
mod send_buffer;
mod slots;
#[cfg(test)]
mod tests;
mod url;

pub use self::address::{look_up, off_thread};
pub use self::cancel::interrupt;
pub use self::loss::{Loss, LossReason, ReplyLoss, StatementFate};
pub use self::pipeline::{
    CancelOutcome, LossOf, Pipeline, PipelineRef, Protocol, ReasonOf, Transform,
};
pub use self::pump::start;
pub use self::replies::Replies;
pub use self::secret::Secret;
pub use self::send_buffer::FlushMode;
pub use self::slots::{Delivery, Item, Ticket};
pub use self::url::url_pairs;

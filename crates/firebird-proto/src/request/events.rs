//! Requests about events: where they come, for which names, and cancel. The events themselves are read by `events`.
//! Rule: an event is asked for by a number that the caller chose and that is not in use.

use bytes::BufMut;

use crate::error::Misuse;
use crate::handle::Database;
use crate::op;
use crate::wire::{put_cstring, sendable};

use super::Requests;

/// A connection for nothing but events.
const ASYNCHRONOUS: u32 = 1;

/// The number by which a request for events is known, chosen by the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EventId(pub u32);

impl Requests<'_> {
    /// op_connect_request: where to connect for events. Answered by a response with [`crate::events::port`] in its data.
    pub fn connect_request(&mut self, database: Database) {
        self.words([op::CONNECT_REQUEST, ASYNCHRONOUS, database.0, 0]);
    }

    /// op_que_events: the server reports once when a count is greater than in `block`, which [`crate::events::Events`] writes. Answered by a
    /// response here, and by an event on the other connection.
    ///
    /// # Errors
    /// [`Misuse::Length`]; nothing was written.
    pub fn que_events(
        &mut self,
        database: Database,
        block: &[u8],
        id: EventId,
    ) -> Result<(), Misuse> {
        sendable(block, "block of events")?;
        self.words([op::QUE_EVENTS, database.0]);
        put_cstring(self.out, block);
        // Where a client of old had its callback; it comes back as it is.
        self.out.put_u64(0);
        self.words([id.0]);
        Ok(())
    }

    /// op_cancel_events: what was asked for by `id` is no longer reported, unless it is under way. Answered by a response.
    pub fn cancel_events(&mut self, database: Database, id: EventId) {
        self.words([op::CANCEL_EVENTS, database.0, id.0]);
    }
}

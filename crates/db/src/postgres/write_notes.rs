//! What is noted of writes and reads on a database that has replicas, for the user that the current request is of. Asks nothing.
//! Rule: what belongs to no request counts for all that belongs to none.

use std::cell::OnceCell;
use std::rc::Rc;

use tsumugi_pg::LogPosition;

use crate::recency::Recency;

/// Where it is noted what was written to a database and seen of it.
#[derive(Default)]
pub(super) struct WriteNotes {
    /// The cluster; set when it was first connected to.
    system: OnceCell<u64>,
    /// Of what belongs to no request.
    own: Rc<Recency>,
}

impl WriteNotes {
    pub(super) fn set_system(&self, system: u64) {
        // The first one counts: a cluster does not become another one.
        let _ = self.system.set(system);
    }

    /// None before it was connected to.
    pub(super) fn system(&self) -> Option<u64> {
        self.system.get().copied()
    }

    /// That of the request which is being polled.
    pub(super) fn recency(&self) -> Rc<Recency> {
        Recency::current().unwrap_or_else(|| Rc::clone(&self.own))
    }

    /// Something was written; the log went on to this place at most, where that is known.
    pub(super) fn note_write(&self, position: Option<LogPosition>) {
        if let Some(system) = self.system() {
            self.recency().note_write(system, position);
        }
    }

    /// Something was seen that the log had at this place.
    pub(super) fn note_read(&self, position: LogPosition) {
        if let Some(system) = self.system() {
            self.recency().note_read(system, position);
        }
    }

    /// The same on the primary.
    pub(super) fn note_primary_read(&self, position: LogPosition) {
        if let Some(system) = self.system() {
            self.recency().note_primary_read(system, position);
        }
    }
}

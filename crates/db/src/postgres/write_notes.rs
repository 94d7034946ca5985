//! What is noted of writes and reads on a database that has replicas, for the user that the current request is of. Asks nothing.
//! Rule: what belongs to no request counts for all that belongs to none.

use std::cell::OnceCell;
use std::rc::Rc;

use tsumugi_pg::LogPosition;

use crate::recency::Recency;

/// A write from when it is sent. Dropped before it is known what became of it, because nobody waits any more or no answer came, it may have been done, and
/// counts as done at a place that is not known.
pub(super) struct PendingWrite {
    /// That of the request which has sent it, whoever waits for its end.
    recency: Rc<Recency>,
    system: u64,
    is_settled: bool,
}

impl PendingWrite {
    /// It was done; the log went on to this place at most, where that is known.
    pub(super) fn written(mut self, position: Option<LogPosition>) {
        self.is_settled = true;
        self.recency.note_write(self.system, position);
    }

    /// It was not done, or belongs to a transaction that is still open.
    pub(super) fn nothing_written(mut self) {
        self.is_settled = true;
    }
}

impl Drop for PendingWrite {
    fn drop(&mut self) {
        if !self.is_settled {
            self.recency.note_write(self.system, None);
        }
    }
}

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

    /// Something is about to be written; none before it was connected to.
    pub(super) fn begin_write(&self) -> Option<PendingWrite> {
        Some(PendingWrite {
            recency: self.recency(),
            system: self.system()?,
            is_settled: false,
        })
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

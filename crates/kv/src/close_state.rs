//! Whether a database's thread has let go of its folder: what opens the folder again waits for it. Knows no database.
//! Rule: it is open from before the folder is touched until nothing of the database touches it any more.

use std::sync::{Condvar, Mutex, PoisonError};

/// Whether a database's thread has ended and let go of its folder.
#[derive(Debug, Default)]
pub(crate) struct CloseState {
    is_open: Mutex<bool>,
    changed: Condvar,
}

impl CloseState {
    pub(crate) fn open(&self) {
        *self.is_open.lock().unwrap_or_else(PoisonError::into_inner) = true;
    }

    pub(crate) fn close(&self) {
        *self.is_open.lock().unwrap_or_else(PoisonError::into_inner) = false;
        self.changed.notify_all();
    }

    pub(crate) fn is_closed(&self) -> bool {
        !*self.is_open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn wait(&self) {
        let is_open = self.is_open.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.changed.wait_while(is_open, |is_open| *is_open));
    }
}

//! Streams of rows in Ruby's hands, by whom they belong to. Knows no VM and no job.
//! Rule: a stream closes at once when what it belongs to ends, whoever still refers to it; what is sent as the body of a response is the
//! response's.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use tsumugi_db::RowStream;

/// A row stream that Ruby holds.
pub(crate) struct HeldStream {
    /// None while a fibre waits for its next rows, and at the end.
    unread: RefCell<Option<RowStream>>,
    state: Cell<HeldState>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum HeldState {
    Open,
    /// It was read, left or sent.
    Used,
    /// What it belonged to has ended.
    Closed,
}

impl HeldStream {
    /// For its next rows, or for good.
    pub fn take(&self) -> Option<RowStream> {
        self.unread.take()
    }

    /// Some of its rows have been read.
    pub fn put_back(&self, stream: RowStream) {
        if self.state.get() == HeldState::Open {
            self.unread.replace(Some(stream));
        }
    }

    /// Nothing more is read from it here.
    pub fn finish(&self) {
        self.end(HeldState::Used);
    }

    /// Whether it was closed before it was used.
    pub fn is_closed(&self) -> bool {
        self.state.get() == HeldState::Closed
    }

    fn end(&self, state: HeldState) {
        if self.state.get() == HeldState::Open {
            self.state.set(state);
            self.unread.take();
        }
    }
}

/// The streams that belong to one request or job. Dropped, it closes them.
#[derive(Default)]
pub(crate) struct HeldStreams(RefCell<Vec<Weak<HeldStream>>>);

impl HeldStreams {
    /// Another one.
    pub fn hold(&self, stream: RowStream) -> Rc<HeldStream> {
        let held = Rc::new(HeldStream {
            unread: RefCell::new(Some(stream)),
            state: Cell::new(HeldState::Open),
        });
        let mut all = self.0.borrow_mut();
        let is_open = |held: Rc<HeldStream>| held.state.get() == HeldState::Open;
        all.retain(|held| held.upgrade().is_some_and(is_open));
        all.push(Rc::downgrade(&held));
        held
    }

    /// Closes all that are open.
    pub fn close(&self) {
        for held in self.0.take().iter().filter_map(Weak::upgrade) {
            held.end(HeldState::Closed);
        }
    }
}

impl Drop for HeldStreams {
    fn drop(&mut self) {
        self.close();
    }
}

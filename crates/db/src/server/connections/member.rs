//! One connection in the pool and its users. Decides nothing: the pool does.
//! Rule: it is free, shared by some, or one caller has it alone; never two of these.

use std::cell::Cell;

use tokio::time::Instant;

pub(crate) struct Member<C> {
    pub(crate) connection: C,
    state: Cell<State>,
    reserved: Cell<bool>,
    retired: Cell<bool>,
    free_since: Cell<Instant>,
    /// When it was last known to live.
    last_reply_at: Cell<Instant>,
    expires: Instant,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Free,
    Shared(usize),
    Exclusive,
}

impl<C> Member<C> {
    pub(super) fn new(connection: C, expires: Instant) -> Self {
        Member {
            connection,
            state: Cell::new(State::Free),
            reserved: Cell::new(false),
            retired: Cell::new(false),
            free_since: Cell::new(Instant::now()),
            last_reply_at: Cell::new(Instant::now()),
            expires,
        }
    }

    pub(super) fn is_free(&self) -> bool {
        self.state.get() == State::Free
    }

    /// How many share it now.
    pub(super) fn sharers(&self) -> usize {
        match self.state.get() {
            State::Shared(sharers) => sharers,
            State::Free | State::Exclusive => 0,
        }
    }

    /// Whether it is shared already and open to more.
    pub(super) fn takes_sharers(&self) -> bool {
        self.sharers() > 0 && !self.reserved.get() && !self.retired.get()
    }

    pub(super) fn is_reserved(&self) -> bool {
        self.reserved.get()
    }

    /// Takes no new sharers: a caller waits to have it alone.
    pub(super) fn reserve(&self) {
        self.reserved.set(true);
    }

    /// Takes sharers again.
    pub(super) fn unreserve(&self) {
        self.reserved.set(false);
    }

    /// Takes no new callers once it is too old. Called by the clock, so that handing it out need not look there.
    pub(super) fn age(&self) {
        if Instant::now() >= self.expires {
            self.retired.set(true);
        }
    }

    pub(super) fn is_retired(&self) -> bool {
        self.retired.get()
    }

    pub(super) fn free_since(&self) -> Instant {
        self.free_since.get()
    }

    pub(super) fn last_reply_at(&self) -> Instant {
        self.last_reply_at.get()
    }

    /// It answered the pool itself, which is no use of it: it is free for as long as it was.
    pub(super) fn answered(&self, free_since: Instant) {
        if self.is_free() {
            self.free_since.set(free_since);
        }
    }

    /// One more shares it.
    pub(super) fn join(&self) {
        debug_assert!(self.state.get() != State::Exclusive);
        self.state.set(State::Shared(self.sharers() + 1));
    }

    /// A sharer leaves.
    pub(super) fn leave(&self) {
        match self.sharers() {
            0 => unreachable!("only a sharer leaves"),
            1 => self.release(),
            sharers => self.state.set(State::Shared(sharers - 1)),
        }
    }

    /// One keeps it alone.
    pub(super) fn take(&self) {
        debug_assert!(self.is_free());
        self.state.set(State::Exclusive);
    }

    /// The last sharer keeps it alone.
    pub(super) fn keep(&self) {
        debug_assert!(self.sharers() == 1);
        self.state.set(State::Exclusive);
    }

    /// No caller has it any more.
    pub(super) fn release(&self) {
        self.state.set(State::Free);
        self.reserved.set(false);
        self.free_since.set(Instant::now());
        self.last_reply_at.set(self.free_since.get());
    }
}

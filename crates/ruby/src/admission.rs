//! Whether a worker's VM has room for one more request. Knows bytes, no request.
//! Rule: what the application left free when it had loaded is for requests, but an eighth: those that were let in end with it.
//! Where there is no room, requests take turns: what the application keeps can only be let go of by one of them.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use std::time::Instant;

use tsumugi_mruby::Vm;
use tsumugi_server::dispatch::RefusalCount;

use crate::limits::{COLLECTION_PAUSE_MIN, COLLECTION_SHARE, ROOM_TO_END_SHARE, TURN_MAX};

/// How full the VM may be.
pub(crate) struct Admission {
    /// Bytes of the VM up to which a request is let in.
    used_max: Cell<usize>,
    /// Bytes that may be added to what the last collection left, before a worker with nothing to do collects.
    garbage_max: Cell<usize>,
    /// What the last collection left.
    left: Cell<usize>,
    /// When the VM may be collected again.
    next: Cell<Option<Instant>>,
    /// Jobs that ran at the last collection.
    ran: Cell<usize>,
    /// The request that was let in last without room, and when.
    turn: RefCell<Option<(Weak<()>, Instant)>>,
    pub refused: RefusalCount,
}

/// By what a request is let in. Dropped when it is over, with the block that makes its body.
pub(crate) enum Entry {
    Room,
    /// No other is let in without room for a while.
    Turn {
        _held: Rc<()>,
    },
}

impl Default for Admission {
    /// Lets everything in: the application is being loaded.
    fn default() -> Admission {
        Admission {
            used_max: Cell::new(usize::MAX),
            garbage_max: Cell::new(usize::MAX),
            left: Cell::new(0),
            next: Cell::new(None),
            ran: Cell::new(0),
            turn: RefCell::default(),
            refused: RefusalCount::default(),
        }
    }
}

impl Admission {
    /// The application has loaded: what it uses is taken for granted.
    pub fn begin(&self, vm: &Vm, bytes_max: usize) {
        vm.enter(|scope| scope.collect());
        let used = vm.memory_used();
        let free = bytes_max.saturating_sub(used);
        self.used_max.set(used + free - free / ROOM_TO_END_SHARE);
        self.garbage_max.set(free / ROOM_TO_END_SHARE);
        self.left.set(used);
    }

    /// Lets one more request in beside so many jobs, or not. Collects when there seems to be no room, but seldom. Beside no job there
    /// always is room: nobody else would give anything back.
    pub fn enter(&self, vm: &Vm, running: usize) -> Option<Entry> {
        if self.has_room(vm, running) || running == 0 {
            return Some(Entry::Room);
        }
        self.turn()
    }

    fn has_room(&self, vm: &Vm, running: usize) -> bool {
        let used_max = self.used_max.get();
        let used = vm.memory_used();
        if used <= used_max {
            return true;
        }
        if self.left.get() > used_max {
            self.collect(vm, running);
        } else if self.is_early() && used <= used_max + self.garbage_max.get() / 2 {
            return true; // it may all be garbage, and where it is not, those who were let in have the other half
        } else {
            self.collect_now(vm, running);
        }
        vm.memory_used() <= used_max
    }

    /// A request is let in without room when the last one of these is over, or has had `TURN_MAX`.
    fn turn(&self) -> Option<Entry> {
        let mut turn = self.turn.borrow_mut();
        let now = Instant::now();
        let taken = turn
            .as_ref()
            .is_some_and(|(held, since)| held.strong_count() > 0 && now - *since < TURN_MAX);
        (!taken).then(|| {
            let held = Rc::default();
            *turn = Some((Rc::downgrade(&held), now));
            Entry::Turn { _held: held }
        })
    }

    /// Does a worker with nothing to do hold so much that it should collect?
    pub fn should_collect(&self, vm: &Vm) -> bool {
        vm.memory_used().saturating_sub(self.left.get()) > self.garbage_max.get()
    }

    /// Collects, unless the last time was a short while ago and little has been added since: with many parked fibres it takes long,
    /// and finds little as long as most of them are parked.
    pub fn collect(&self, vm: &Vm, running: usize) {
        if self.is_early() && 2 * running >= self.ran.get() && !self.should_collect(vm) {
            return;
        }
        self.collect_now(vm, running);
    }

    fn is_early(&self) -> bool {
        self.next.get().is_some_and(|next| Instant::now() < next)
    }

    fn collect_now(&self, vm: &Vm, running: usize) {
        let begin = Instant::now();
        self.ran.set(running);
        vm.enter(|scope| scope.collect());
        self.left.set(vm.memory_used());
        let end = Instant::now();
        let pause = (end - begin) * COLLECTION_SHARE;
        self.next.set(Some(end + pause.max(COLLECTION_PAUSE_MIN)));
    }
}

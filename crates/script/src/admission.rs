//! Whether a worker's VM has room for one more request. Knows bytes, no request.
//! Rule: what the application left free when it had loaded is for requests, but an eighth: those that were let in end with it.

use std::cell::Cell;
use std::time::{Duration, Instant};

use tsumugi_mruby::Vm;

use crate::limits::{COLLECTION_PAUSE_MIN, COLLECTION_SHARE, ROOM_TO_END_SHARE};

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
    refused: Cell<Refused>,
}

/// Refusals since the last line about them.
#[derive(Clone, Copy, Default)]
struct Refused {
    count: u64,
    line: Option<Instant>,
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
            refused: Cell::default(),
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

    /// Is there room for one more request beside so many jobs? Collects when there seems to be none, but seldom. Beside no job there
    /// always is: nobody else would give anything back, and what the application keeps can only be let go of by a request.
    pub fn has_room(&self, vm: &Vm, running: usize) -> bool {
        let used_max = self.used_max.get();
        vm.memory_used() <= used_max || {
            self.collect(vm, running);
            running == 0 || vm.memory_used() <= used_max
        }
    }

    /// Does a worker with nothing to do hold so much that it should collect?
    pub fn should_collect(&self, vm: &Vm) -> bool {
        vm.memory_used().saturating_sub(self.left.get()) > self.garbage_max.get()
    }

    /// Collects, unless the last time was a short while ago and little has been added since: with many parked fibres it takes long,
    /// and finds little as long as most of them are parked.
    pub fn collect(&self, vm: &Vm, running: usize) {
        let begin = Instant::now();
        let early = self.next.get().is_some_and(|next| begin < next);
        if early && 2 * running >= self.ran.get() && !self.should_collect(vm) {
            return;
        }
        self.ran.set(running);
        vm.enter(|scope| scope.collect());
        self.left.set(vm.memory_used());
        let end = Instant::now();
        let pause = (end - begin) * COLLECTION_SHARE;
        self.next.set(Some(end + pause.max(COLLECTION_PAUSE_MIN)));
    }

    /// Counts a refusal; a number when a line should tell of so many.
    pub fn refuse(&self) -> Option<u64> {
        let mut refused = self.refused.get();
        refused.count += 1;
        let now = Instant::now();
        let due = refused
            .line
            .is_none_or(|line| now - line >= Duration::from_secs(1));
        let shown = due.then_some(refused.count);
        if due {
            refused = Refused {
                count: 0,
                line: Some(now),
            };
        }
        self.refused.set(refused);
        shown
    }
}

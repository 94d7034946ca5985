//! Stopping Ruby from another thread: the watchdog asks, the instruction hook of the VM acts.
//! A request names the entry into the VM it is meant for, so it can never hit the next one.

use std::ffi::c_int;
use std::sync::{Mutex, PoisonError};

use crate::sys::{self, RawVm};

struct Open(*mut RawVm);
// SAFETY: used only for `ts_entry` and `ts_interrupt`, which touch atomics, and only under the lock that closing takes.
unsafe impl Send for Open {}

/// A handle to interrupt one VM from any thread.
pub struct Interrupter {
    vm: Mutex<Option<Open>>,
}

impl Interrupter {
    pub(crate) fn new(vm: *mut RawVm) -> Self {
        Interrupter {
            vm: Mutex::new(Some(Open(vm))),
        }
    }

    /// After this nothing reaches the VM any more.
    pub(crate) fn close(&self) {
        *self.vm.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn with<R>(&self, f: impl FnOnce(*mut RawVm) -> R) -> Option<R> {
        let guard = self.vm.lock().unwrap_or_else(PoisonError::into_inner);
        guard.as_ref().map(|open| f(open.0))
    }

    /// The number of the current or last entry into the VM; `None` once it is closed.
    pub fn entry(&self) -> Option<u64> {
        // SAFETY: the VM is open while the lock is held; reads an atomic.
        self.with(|vm| unsafe { sys::ts_entry(vm) })
    }

    /// Has the VM report where it is (see [`Vm::on_slow`](crate::Vm::on_slow)), if it still runs `entry`.
    pub fn report(&self, entry: u64) {
        self.send(sys::INTERRUPT_REPORT, entry);
    }

    /// Raises `Tsumugi::Overrun` in whatever runs, if it still runs `entry`. `rescue Exception` and `ensure` work on.
    pub fn stop(&self, entry: u64) {
        self.send(sys::INTERRUPT_STOP, entry);
    }

    /// Raises at every instruction of the application until control leaves it: for code that rescued [`stop`](Self::stop).
    pub fn insist(&self, entry: u64) {
        self.send(sys::INTERRUPT_INSIST, entry);
    }

    fn send(&self, what: c_int, entry: u64) {
        // SAFETY: the VM is open while the lock is held; stores atomics.
        self.with(|vm| unsafe { sys::ts_interrupt(vm, what, entry) });
    }
}

//! Values that outlive their scope: slots of one Array that the collector never frees.

use std::rc::{Rc, Weak};

use crate::scope::Scope;
use crate::sys;
use crate::value::Value;
use crate::vm::Inner;

/// A value kept alive until this is dropped.
pub struct Root {
    vm: Weak<Inner>,
    slot: i64,
}

impl Drop for Root {
    fn drop(&mut self) {
        if let Some(inner) = self.vm.upgrade() {
            // SAFETY: the slot is in use, so it is within the array; nothing is allocated.
            unsafe { sys::ts_unroot(inner.raw.as_ptr(), self.slot) };
            inner.free_roots.borrow_mut().push(self.slot);
        }
    }
}

impl Scope<'_> {
    /// Keeps a value alive beyond this scope.
    pub fn root(&self, value: Value<'_>) -> Root {
        let inner = &self.vm().inner;
        let slot = inner.free_roots.borrow_mut().pop().unwrap_or_else(|| {
            let slot = inner.roots.get();
            inner.roots.set(slot + 1);
            slot
        });
        // SAFETY: the slot is free and within the array or next to its end.
        let rooted =
            self.protect(|out| unsafe { sys::ts_root(self.vm().raw(), slot, value.raw, out) });
        assert!(rooted.is_ok(), "memory for a root");
        Root {
            vm: Rc::downgrade(inner),
            slot,
        }
    }

    /// The value of a root of this VM.
    pub fn rooted(&self, root: &Root) -> Value<'_> {
        assert!(
            std::ptr::eq(root.vm.as_ptr(), Rc::as_ptr(&self.vm().inner)),
            "a root is used with its own VM"
        );
        // SAFETY: the slot is in use, so it is within the array.
        let raw = unsafe {
            let raw = sys::ts_rooted(self.vm().raw(), root.slot);
            sys::ts_protect(self.vm().raw(), raw);
            raw
        };
        self.hold(raw)
    }
}

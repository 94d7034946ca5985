//! Values that outlive their scope: slots of one Array that the collector never frees.
//! Rule: a slot that could not be filled is free again; the first slot holds the VM's own NoMemoryError and is never freed.

use std::rc::{Rc, Weak};

use crate::scope::{Scope, protected};
use crate::sys;
use crate::value::{Raise, Result, Value};
use crate::vm::{NO_MEMORY, VmInner};

/// A value kept alive until this is dropped.
pub struct Root {
    vm: Weak<VmInner>,
    slot: i64,
}

impl Drop for Root {
    fn drop(&mut self) {
        if self.slot == NO_MEMORY {
            return;
        }
        if let Some(inner) = self.vm.upgrade() {
            // SAFETY: the slot is in use, so it is within the array; nothing is allocated.
            unsafe { sys::ts_unroot(inner.raw.as_ptr(), self.slot) };
            inner.free_roots.borrow_mut().push(self.slot);
        }
    }
}

impl Scope<'_> {
    /// Keeps a value alive beyond this scope. Raises NoMemoryError when there is no place for it.
    pub fn root(&self, value: Value<'_>) -> Result<'_, Root> {
        let inner = &self.vm().inner;
        let slot = inner.free_roots.borrow_mut().pop().unwrap_or_else(|| {
            let slot = inner.roots.get();
            inner.roots.set(slot + 1);
            slot
        });
        // SAFETY: the slot is free, and within the array or beyond its end, which then grows.
        let rooted = protected!(self, unsafe ts_root(slot, value.raw));
        if let Err(raised) = rooted {
            inner.free_roots.borrow_mut().push(slot);
            return Err(raised);
        }
        Ok(self.root_of(slot))
    }

    /// Keeps an exception alive beyond this scope; the VM's NoMemoryError in its stead when there is no place for it.
    pub fn root_raised(&self, Raise(exception): Raise<'_>) -> Root {
        self.root(exception)
            .unwrap_or_else(|_| self.root_of(NO_MEMORY))
    }

    /// Runs `f` in a scope of its own, which nothing outlives but what it raises.
    pub fn nested_try(
        &self,
        f: impl for<'i, 'vm> FnOnce(&'i Scope<'vm>) -> Result<'i, ()>,
    ) -> Result<'_, ()> {
        let ended = self.nested(|scope| f(scope).map_err(|raised| scope.root_raised(raised)));
        ended.map_err(|exception| Raise(self.rooted(&exception)))
    }

    fn root_of(&self, slot: i64) -> Root {
        Root {
            vm: Rc::downgrade(&self.vm().inner),
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

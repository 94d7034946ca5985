//! Fibres as Rust drives them: one is resumed until it yields or ends.

use std::ffi::c_int;

use crate::scope::Scope;
use crate::sys;
use crate::value::{Kind, Raise, Result, Value};

impl Scope<'_> {
    /// Resumes a fibre until it yields or ends; answers what it yielded. What it waits in returns `value`. Only when nothing
    /// runs in the VM (asserted).
    pub fn resume(&self, fiber: Value<'_>, value: Value<'_>) -> Result<'_, Value<'_>> {
        self.resume_with(fiber, value, false)
    }

    /// The same, but what it waits in raises.
    pub fn resume_raising(&self, fiber: Value<'_>, raised: Raise<'_>) -> Result<'_, Value<'_>> {
        self.resume_with(fiber, raised.0, true)
    }

    fn resume_with(
        &self,
        fiber: Value<'_>,
        value: Value<'_>,
        raises: bool,
    ) -> Result<'_, Value<'_>> {
        assert_eq!(fiber.kind(), Kind::Fiber, "resume takes a Fiber");
        // SAFETY: reads the VM's state.
        let at_rest = unsafe { sys::ts_at_rest(self.vm.raw()) } != 0;
        assert!(
            at_rest,
            "a fibre is resumed only when nothing runs in the VM"
        );
        // SAFETY: the tag was checked and the VM is at rest; a `Raise` holds an exception, which the caller's scope protects.
        self.protect(|out| unsafe {
            let raises = c_int::from(raises);
            sys::ts_resume(self.vm.raw(), fiber.raw, value.raw, raises, out)
        })
    }
}

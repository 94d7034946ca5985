//! Fibres as Rust drives them: one is resumed until it yields or ends.

use crate::scope::{Scope, protected};
use crate::sys;
use crate::value::{Kind, Raise, Result, Value};

/// What a wait ends with.
enum Input<'v> {
    Returned(Value<'v>),
    Raised(Raise<'v>),
}

impl Scope<'_> {
    /// Resumes a fibre until it yields or ends; answers what it yielded. What it waits in returns `value`. Only when nothing
    /// runs in the VM (asserted).
    pub fn resume(&self, fiber: Value<'_>, value: Value<'_>) -> Result<'_, Value<'_>> {
        self.resume_with(fiber, Input::Returned(value))
    }

    /// The same, but what it waits in raises.
    pub fn resume_raising(&self, fiber: Value<'_>, raised: Raise<'_>) -> Result<'_, Value<'_>> {
        self.resume_with(fiber, Input::Raised(raised))
    }

    /// Lets go of what a fibre that yielded refers to, but for its self and what its block closes over. For a loop that sets its
    /// variables anew when it is resumed.
    pub fn forget(&self, fiber: Value<'_>) {
        assert_eq!(fiber.kind(), Kind::Fiber, "forget takes a Fiber");
        // SAFETY: the tag was checked; nothing is allocated.
        unsafe { sys::ts_forget(fiber.raw) };
    }

    fn resume_with(&self, fiber: Value<'_>, input: Input<'_>) -> Result<'_, Value<'_>> {
        assert_eq!(fiber.kind(), Kind::Fiber, "resume takes a Fiber");
        // SAFETY: reads the VM's state.
        let at_rest = unsafe { sys::ts_at_rest(self.vm.raw()) } != 0;
        assert!(
            at_rest,
            "a fibre is resumed only when nothing runs in the VM"
        );
        let (value, raises) = match input {
            Input::Returned(value) => (value, 0),
            Input::Raised(Raise(exception)) => (exception, 1),
        };
        // SAFETY: the tag was checked and the VM is at rest; a `Raise` holds an exception, which the caller's scope protects.
        protected!(self, unsafe ts_resume(fiber.raw, value.raw, raises))
    }
}

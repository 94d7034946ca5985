//! Ruby's global variables, as Rust reads and sets them. They are the VM's, not a fibre's: what sets one for a fibre
//! must put it right whenever another fibre runs.

use crate::scope::{Scope, protected};
use crate::sys;
use crate::value::{Result, Symbol, Value};

impl Scope<'_> {
    /// A global variable, or nil. `name` begins with `$`.
    pub fn global(&self, name: Symbol) -> Value<'_> {
        // SAFETY: an unknown name answers nil.
        self.hold(unsafe { sys::ts_global(self.vm.raw(), name.0) })
    }

    /// Sets a global variable.
    pub fn set_global(&self, name: Symbol, value: Value<'_>) -> Result<'_, ()> {
        // SAFETY: the value is live.
        protected!(self, unsafe ts_global_set(name.0, value.raw)).map(drop)
    }
}

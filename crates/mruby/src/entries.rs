//! The entries of a Hash, as they are at one moment: what Ruby does to the Hash afterwards changes nothing about them.

use std::ffi::c_void;

use crate::scope::Scope;
use crate::sys::{self, RawValue};
use crate::value::{Kind, Result, Value};
use crate::vm::abort_on_panic;

impl Scope<'_> {
    /// All entries of a Hash in insertion order; none for anything else.
    pub fn entries(&self, hash: Value<'_>) -> Result<'_, Vec<(Value<'_>, Value<'_>)>> {
        if hash.kind() != Kind::Hash {
            return Ok(Vec::new());
        }
        unsafe extern "C" fn visit(context: *mut c_void, key: RawValue, value: RawValue) {
            abort_on_panic(|| {
                // SAFETY: `context` is the vector below, alive during the walk.
                unsafe { &mut *context.cast::<Vec<(Value<'_>, Value<'_>)>>() }
                    .push((Value::new(key), Value::new(value)));
            });
        }
        let mut entries: Vec<(Value<'_>, Value<'_>)> = Vec::with_capacity(self.hash_len(hash));
        let context = (&raw mut entries).cast::<c_void>();
        // SAFETY: the tag was checked; `visit` only pushes to the vector, so nothing changes the Hash on the way; the shim
        // protects each key and value.
        unsafe { sys::ts_hash_each(self.vm.raw(), hash.raw, visit, context) };
        self.note_held();
        Ok(entries)
    }
}

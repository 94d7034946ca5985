//! Rust data inside Ruby objects. The object owns it; the collector drops it.

use std::any::TypeId;
use std::ffi::c_void;

use crate::memory::Memory;
use crate::scope::{Scope, protected};
use crate::sys;
use crate::value::{Kind, Result, Value};
use crate::vm::abort_on_panic;

impl Scope<'_> {
    /// Lets instances of `class` carry Rust data: call once, before the first [`wrap`](Self::wrap).
    pub fn carries_data(&self, class: Value<'_>) {
        assert_eq!(class.kind(), Kind::Class, "only a class can carry data");
        // SAFETY: the tag was checked.
        unsafe { sys::ts_class_carries_data(class.raw) };
    }

    /// A new instance of `class` that owns `data`; the collector drops it. Its Drop must not enter the VM.
    pub fn wrap<T: 'static>(&self, class: Value<'_>, data: T) -> Result<'_, Value<'_>> {
        self.wrap_sized(class, data, 0)
    }

    /// The same of the class at this path.
    pub fn wrap_as<T: 'static>(&self, class: &str, data: T) -> Result<'_, Value<'_>> {
        self.wrap(self.constant(class)?, data)
    }

    /// The same for data that owns `bytes` of memory: the collector comes as early as if they were the VM's own.
    pub fn wrap_sized<T: 'static>(
        &self,
        class: Value<'_>,
        data: T,
        bytes: usize,
    ) -> Result<'_, Value<'_>> {
        let pointer = Box::into_raw(Box::new(Carried {
            header: Header::of::<T>(bytes),
            data,
        }));
        // SAFETY: the pointer is owned by the object from here on.
        let made = protected!(self, unsafe ts_data(class.raw, pointer.cast()));
        match made {
            Ok(_) => self.vm().inner.memory.own(bytes),
            // SAFETY: no object took it.
            Err(_) => drop(unsafe { Box::from_raw(pointer) }),
        }
        made
    }

    /// The Rust data of an object, when it carries a `T`.
    pub fn data<'s, T: 'static>(&'s self, value: Value<'s>) -> Option<&'s T> {
        // SAFETY: the shim checks that the pointer is one of ours; the header says which type it is. The object, hence
        // the data, lives for 's.
        unsafe {
            let header = sys::ts_data_pointer(value.raw).cast::<Header>();
            if header.is_null() || (*header).type_id != TypeId::of::<T>() {
                return None;
            }
            Some(&(*header.cast::<Carried<T>>()).data)
        }
    }
}

#[repr(C)]
struct Header {
    type_id: TypeId,
    bytes: usize,
    drop: unsafe fn(*mut Header),
}

#[repr(C)]
struct Carried<T> {
    header: Header,
    data: T,
}

impl Header {
    fn of<T: 'static>(bytes: usize) -> Self {
        unsafe fn drop_carried<T>(header: *mut Header) {
            // SAFETY: called once, with the pointer that `wrap` made for this T.
            drop(unsafe { Box::from_raw(header.cast::<Carried<T>>()) });
        }
        Header {
            type_id: TypeId::of::<T>(),
            bytes,
            drop: drop_carried::<T>,
        }
    }
}

/// The collector frees an object that carries data.
///
/// # Safety
/// `pointer` is one that `wrap` made in a VM that was opened with this `memory`, and this is its only call.
#[unsafe(no_mangle)]
unsafe extern "C" fn ts_host_drop_data(memory: *mut c_void, pointer: *mut c_void) {
    let header = pointer.cast::<Header>();
    // SAFETY: the caller's promise.
    abort_on_panic(|| unsafe {
        (*memory.cast::<Memory>()).disown((*header).bytes);
        ((*header).drop)(header);
    });
}

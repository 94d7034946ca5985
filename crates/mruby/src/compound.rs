//! Values that are made from many pieces by one entry into the VM: records, Arrays of what is there.
//! Nothing here that `scope` could not do piece by piece; each entry is protected, and that costs as much as the piece.

use std::marker::PhantomData;
use std::ptr::null;

use crate::scope::Scope;
use crate::sys::{self, RawField, RawValue};
use crate::value::{Kind, Result, Symbol, Value};

/// A field of a record: a value that exists, or a String that is made with it.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Field<'a> {
    raw: RawField,
    source: PhantomData<&'a [u8]>,
}

impl<'a> Field<'a> {
    /// A String of these bytes.
    pub fn string(bytes: &'a [u8]) -> Field<'a> {
        Field {
            raw: RawField {
                value: RawValue::NIL,
                bytes: bytes.as_ptr().cast(), // of an empty slice it is no null pointer either
                len: bytes.len(),
            },
            source: PhantomData,
        }
    }
}

impl<'a> From<Value<'a>> for Field<'a> {
    fn from(value: Value<'a>) -> Field<'a> {
        Field {
            raw: RawField {
                value: value.raw,
                bytes: null(),
                len: 0,
            },
            source: PhantomData,
        }
    }
}

impl Scope<'_> {
    /// A Hash of `names` and the `fields` in the same places.
    pub fn record(&self, names: &[Symbol], fields: &[Field<'_>]) -> Result<'_, Value<'_>> {
        self.make_record(names, fields, RawValue::NIL)
    }

    /// Appends such a Hash to an Array. Unlike a value it takes no place in the scope: for loops over many.
    pub fn push_record(
        &self,
        array: Value<'_>,
        names: &[Symbol],
        fields: &[Field<'_>],
    ) -> Result<'_, ()> {
        assert_eq!(
            array.kind(),
            Kind::Array,
            "push_record onto what is no Array"
        );
        self.make_record(names, fields, array.raw).map(drop)
    }

    fn make_record(
        &self,
        names: &[Symbol],
        fields: &[Field<'_>],
        array: RawValue,
    ) -> Result<'_, Value<'_>> {
        assert_eq!(
            names.len(),
            fields.len(),
            "a record has a field for each name"
        );
        // SAFETY: Symbol and Field are transparent; the shim reads `names.len()` of both, and values and bytes live.
        self.protect(|out| unsafe {
            sys::ts_record(
                self.vm.raw(),
                names.len(),
                names.as_ptr().cast(),
                fields.as_ptr().cast(),
                array,
                out,
            )
        })
    }

    /// An Array of these values.
    pub fn array_of(&self, values: &[Value<'_>]) -> Result<'_, Value<'_>> {
        // SAFETY: Value is transparent; the shim copies `values.len()` of them.
        self.protect(|out| unsafe {
            sys::ts_array_of(self.vm.raw(), values.as_ptr().cast(), values.len(), out)
        })
    }
}

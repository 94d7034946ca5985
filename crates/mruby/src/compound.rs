//! Values that are made from many pieces by one entry into the VM: records, Arrays of what is there.
//! Nothing here that `scope` could not do piece by piece; each entry is protected, and that costs as much as the piece.

use std::marker::PhantomData;
use std::ptr::null;

use crate::scope::{Scope, protected};
use crate::sys::{RawField, RawValue};
use crate::value::{Kind, Result, Symbol, Value};

/// A field of a record: a value that exists, or a String that is made with it.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct RecordField<'a> {
    raw: RawField,
    source: PhantomData<&'a [u8]>,
}

impl<'a> RecordField<'a> {
    /// A String of these bytes.
    pub fn string(bytes: &'a [u8]) -> RecordField<'a> {
        RecordField {
            raw: RawField {
                value: RawValue::NIL,
                bytes: bytes.as_ptr().cast(), // of an empty slice it is no null pointer either
                len: bytes.len(),
            },
            source: PhantomData,
        }
    }
}

impl<'a> From<Value<'a>> for RecordField<'a> {
    fn from(value: Value<'a>) -> RecordField<'a> {
        RecordField {
            raw: RawField {
                value: value.raw,
                bytes: null(),
                len: 0,
            },
            source: PhantomData,
        }
    }
}

/// What fields become.
enum Shape<'a> {
    /// A Hash of these names.
    Hash(&'a [Symbol]),
    /// An Array of so many.
    Array(usize),
}

impl Scope<'_> {
    /// A Hash of `names` and the `fields` in the same places.
    pub fn record(&self, names: &[Symbol], fields: &[RecordField<'_>]) -> Result<'_, Value<'_>> {
        self.make_records(Shape::Hash(names), 1, fields, RawValue::NIL)
    }

    /// Appends `count` such Hashes to an Array, `fields` holding those of one after those of the other. Unlike a value they take
    /// no place in the scope: for loops over many.
    pub fn push_records(
        &self,
        array: Value<'_>,
        names: &[Symbol],
        count: usize,
        fields: &[RecordField<'_>],
    ) -> Result<'_, ()> {
        self.push_made(array, Shape::Hash(names), count, fields)
    }

    /// Appends `count` Arrays of `width` fields each, in the same way.
    pub fn push_arrays(
        &self,
        array: Value<'_>,
        width: usize,
        count: usize,
        fields: &[RecordField<'_>],
    ) -> Result<'_, ()> {
        self.push_made(array, Shape::Array(width), count, fields)
    }

    fn push_made(
        &self,
        array: Value<'_>,
        shape: Shape<'_>,
        count: usize,
        fields: &[RecordField<'_>],
    ) -> Result<'_, ()> {
        assert_eq!(
            array.kind(),
            Kind::Array,
            "records are pushed onto an Array"
        );
        self.make_records(shape, count, fields, array.raw).map(drop)
    }

    fn make_records(
        &self,
        shape: Shape<'_>,
        count: usize,
        fields: &[RecordField<'_>],
        array: RawValue,
    ) -> Result<'_, Value<'_>> {
        let (len, names) = match shape {
            // Of an empty slice it is no null pointer either, which would mean Arrays.
            Shape::Hash(names) => (names.len(), names.as_ptr().cast()),
            Shape::Array(width) => (width, null()),
        };
        assert_eq!(
            Some(fields.len()),
            len.checked_mul(count),
            "each record has all of its fields"
        );
        // SAFETY: Symbol and Field are transparent; the shim reads `len` names, unless `names` is null, and as many fields for each
        // record, and values and bytes live.
        let fields = fields.as_ptr().cast();
        protected!(self, unsafe ts_records(len, names, count, fields, array))
    }

    /// Sets an element of an Array; what is between its end and the element becomes nil.
    pub fn set_array_at(
        &self,
        array: Value<'_>,
        index: usize,
        element: Value<'_>,
    ) -> Result<'_, ()> {
        assert_eq!(array.kind(), Kind::Array, "an element of what is no Array");
        let index = i64::try_from(index).unwrap_or(i64::MAX);
        // SAFETY: the tag was checked; both values are live; what is beyond the largest Array raises.
        protected!(self, unsafe ts_array_set(array.raw, index, element.raw)).map(drop)
    }

    /// An Array of what is made one after the other; what raises ends it.
    pub fn list<'s>(
        &'s self,
        values: impl IntoIterator<Item = Result<'s, Value<'s>>>,
    ) -> Result<'s, Value<'s>> {
        let values = values.into_iter();
        let list = self.array(values.size_hint().0)?;
        for value in values {
            self.push(list, value?)?;
        }
        Ok(list)
    }

    /// An Array of Strings.
    pub fn strings(
        &self,
        texts: impl IntoIterator<Item = impl AsRef<[u8]>>,
    ) -> Result<'_, Value<'_>> {
        self.list(texts.into_iter().map(|text| self.string(text)))
    }

    /// A Hash of these names, as Symbols.
    pub fn fields(&self, fields: &[(&str, Value<'_>)]) -> Result<'_, Value<'_>> {
        let hash = self.hash(fields.len())?;
        for (name, value) in fields {
            self.hash_set(hash, Value::symbol(self.intern(name)), *value)?;
        }
        Ok(hash)
    }

    /// An Array of these values.
    pub fn array_of(&self, values: &[Value<'_>]) -> Result<'_, Value<'_>> {
        // SAFETY: Value is transparent; the shim copies `values.len()` of them.
        protected!(self, unsafe ts_array_of(values.as_ptr().cast(), values.len()))
    }
}

//! Arrays: their binary form item by item, and `Vec` and slices as arrays of one dimension.
//! Not the text form; that is `literal`. Rule: the items are counted against the bytes before room is made for them.

use std::borrow::Cow;

use bytes::{BufMut as _, BytesMut};

use super::decode;
use super::encode::{self, Encode, Encoded};
use super::kind::Shape;
use super::literal;
use super::read::Reader;
use super::{Decode, DecodeError, EncodeError, Format, Oid, Type};
use crate::limits::ARRAY_DIMENSIONS_MAX;

const WHAT: &str = "array";
const INVALID: DecodeError = DecodeError::Invalid { what: WHAT };
/// Bytes of an item that is NULL, the shortest.
const ITEM_BYTES_MIN: usize = 4;

/// One dimension of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Dimension {
    /// How many items, at least one.
    pub length: i32,
    /// The index of the first item; 1 unless someone said otherwise.
    pub lower: i32,
}

impl Dimension {
    /// `length` items from index 1; `None` if an array cannot have as many or has none.
    pub fn new(length: usize) -> Option<Self> {
        let length = i32::try_from(length).ok().filter(|length| *length > 0)?;
        Some(Self { length, lower: 1 })
    }
}

/// An array where it lies in a message: the head is checked, the items are still to be read.
#[derive(Debug, Clone)]
pub(crate) struct ArrayRef<'a> {
    dimensions: [Dimension; ARRAY_DIMENSIONS_MAX],
    rank: usize,
    count: usize,
    items: Reader<'a>,
}

impl<'a> ArrayRef<'a> {
    /// The array in all of `bytes`, with items of type `element`.
    pub fn scan(element: &Type, bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let rank = usize::try_from(reader.i32()?).map_err(|_| INVALID)?;
        let flags = reader.i32()?;
        let oid: Oid = reader.u32()?;
        if rank > ARRAY_DIMENSIONS_MAX || !matches!(flags, 0 | 1) || oid != element.oid() {
            return Err(INVALID);
        }
        let mut dimensions = [Dimension {
            length: 0,
            lower: 0,
        }; ARRAY_DIMENSIONS_MAX];
        let mut count = usize::from(rank > 0);
        for dimension in dimensions.iter_mut().take(rank) {
            dimension.length = reader.i32()?;
            dimension.lower = reader.i32()?;
            let length = usize::try_from(dimension.length).map_err(|_| INVALID)?;
            // The server's own rule: the index after the last one is a number, too.
            if length == 0 || dimension.lower.checked_add(dimension.length).is_none() {
                return Err(INVALID);
            }
            count = count.checked_mul(length).ok_or(INVALID)?;
        }
        if count > reader.rest().len() / ITEM_BYTES_MIN {
            return Err(DecodeError::Truncated);
        }
        Ok(Self {
            dimensions,
            rank,
            count,
            items: reader,
        })
    }

    pub fn dimensions(&self) -> &[Dimension] {
        self.dimensions.get(..self.rank).unwrap_or_default()
    }

    pub const fn len(&self) -> usize {
        self.count
    }

    /// The next item; `None` is NULL. To be called `len` times.
    #[inline]
    pub fn item(&mut self) -> Result<Option<&'a [u8]>, DecodeError> {
        self.items.field()
    }

    /// To be called after the last item.
    pub const fn end(&self) -> Result<(), DecodeError> {
        self.items.end()
    }

    /// Calls `step` for every brace, separator and item, in the order of the text form.
    pub fn walk(
        &mut self,
        step: impl FnMut(Step<Option<&'a [u8]>>) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        let dimensions = self.dimensions.get(..self.rank).unwrap_or_default();
        let items = (0..self.count).map(|_| self.items.field());
        walk(dimensions, items, step)?;
        self.items.end()
    }
}

/// A part of an array's text form.
pub(crate) enum Step<T> {
    Open,
    Close,
    Separator,
    Item(T),
}

/// Goes through the items in `dimensions`.
pub(crate) fn walk<T, E>(
    dimensions: &[Dimension],
    items: impl Iterator<Item = Result<T, E>>,
    mut step: impl FnMut(Step<T>) -> Result<(), E>,
) -> Result<(), E> {
    if dimensions.is_empty() {
        step(Step::Open)?;
        return step(Step::Close);
    }
    // How many items one pair of braces of each dimension holds.
    let mut strides = [1_usize; ARRAY_DIMENSIONS_MAX];
    let mut stride = 1_usize;
    for (place, dimension) in strides.iter_mut().zip(dimensions.iter().rev()) {
        stride = stride.saturating_mul(usize::try_from(dimension.length).unwrap_or(0));
        *place = stride.max(1);
    }
    let strides = strides.get(..dimensions.len()).unwrap_or_default();
    let edges = |index: usize| {
        let strides = strides.iter();
        strides.filter(move |stride| index.is_multiple_of(**stride))
    };
    for (index, item) in items.enumerate() {
        if index > 0 {
            step(Step::Separator)?;
        }
        edges(index).try_for_each(|_| step(Step::Open))?;
        step(Step::Item(item?))?;
        edges(index + 1).try_for_each(|_| step(Step::Close))?;
    }
    Ok(())
}

/// Appends `items` as an array of type `ty`. If an item goes as text only, the whole array does.
pub(crate) fn write_array<T: Encode>(
    dimensions: &[Dimension],
    items: &[T],
    ty: &Type,
    rust: &'static str,
    out: &mut BytesMut,
) -> Result<Encoded, EncodeError> {
    let Shape::Array(element) = ty.shape() else {
        return encode::mismatch(ty, rust);
    };
    if dimensions.len() > ARRAY_DIMENSIONS_MAX {
        return Err(encode::out_of_range(ty));
    }
    encode::binary_or_text(
        out,
        |out| write_binary(dimensions, items, element, out),
        |out| literal::array(dimensions, items, element, out),
    )
}

/// Answers `Text`, with half an array in `out`, when it meets an item that goes as text.
fn write_binary<T: Encode>(
    dimensions: &[Dimension],
    items: &[T],
    element: &Type,
    out: &mut BytesMut,
) -> Result<Format, EncodeError> {
    out.put_i32(i32::try_from(dimensions.len()).unwrap_or(0));
    let flags_at = out.len();
    out.put_i32(0);
    out.put_u32(element.oid());
    for dimension in dimensions {
        out.put_i32(dimension.length);
        out.put_i32(dimension.lower);
    }
    let mut nulls = false;
    for item in items {
        match encode::part(out, |out| item.encode(element, out))? {
            Encoded::Value(Format::Text) => return Ok(Format::Text),
            Encoded::Value(Format::Binary) => {}
            Encoded::Null => nulls = true,
        }
    }
    if let Some(flags) = out.get_mut(flags_at..flags_at + 4).filter(|_| nulls) {
        flags.copy_from_slice(&1_i32.to_be_bytes());
    }
    Ok(Format::Binary)
}

fn write_list<T: Encode>(
    items: &[T],
    ty: &Type,
    out: &mut BytesMut,
) -> Result<Encoded, EncodeError> {
    if items.is_empty() {
        return write_array(&[], items, ty, "list", out);
    }
    let dimension = Dimension::new(items.len()).ok_or(EncodeError::TooLong)?;
    write_array(&[dimension], items, ty, "list", out)
}

fn accepts_list<T: Encode>(ty: &Type) -> bool {
    matches!(ty.shape(), Shape::Array(element) if T::accepts(element))
}

/// The built-in array type of a hinted element.
fn list_hint<T: Encode>() -> Option<Oid> {
    let element = T::type_hint()?;
    Type::array_of(element).map(Type::oid)
}

macro_rules! lists {
    ($([$($generics:tt)*] $rust:ty;)*) => {
        $(
            impl<$($generics)*> Encode for $rust {
                fn accepts(ty: &Type) -> bool {
                    accepts_list::<T>(ty)
                }

                fn encode(&self, ty: &Type, out: &mut BytesMut) -> Result<Encoded, EncodeError> {
                    write_list(&self[..], ty, out)
                }

                fn type_hint() -> Option<Oid> {
                    list_hint::<T>()
                }
            }
        )*
    };
}

lists! {
    [T: Encode] Vec<T>;
    [T: Encode] &[T];
    [T: Encode, const N: usize] [T; N];
}

impl<'a, T: Decode<'a>> Decode<'a> for Vec<T> {
    fn accepts(ty: &Type) -> bool {
        match ty.shape() {
            Shape::Array(element) => T::accepts(element),
            Shape::Multirange(range) => T::accepts(range),
            _ => false,
        }
    }

    /// Arrays of several dimensions are out of range; read those as a [`Value`](super::Value).
    fn from_binary(ty: &Type, bytes: &'a [u8]) -> Result<Self, DecodeError> {
        match ty.shape() {
            Shape::Array(element) => {
                let mut array = ArrayRef::scan(element, bytes)?;
                if array.dimensions().len() > 1 {
                    return Err(DecodeError::OutOfRange { rust: "Vec" });
                }
                let mut list = Self::with_capacity(array.len());
                for _ in 0..array.len() {
                    list.push(T::decode(element, array.item()?)?);
                }
                array.end()?;
                Ok(list)
            }
            Shape::Multirange(range) => {
                let mut reader = Reader::new(bytes);
                let count = reader.count(ITEM_BYTES_MIN, "multirange")?;
                let mut list = Self::with_capacity(count);
                for _ in 0..count {
                    list.push(T::decode(range, reader.field()?)?);
                }
                reader.end()?;
                Ok(list)
            }
            _ => decode::mismatch(ty, "Vec"),
        }
    }

    fn from_text(ty: &Type, bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let Shape::Array(element) = ty.shape() else {
            return decode::mismatch(ty, "Vec from text format");
        };
        let mut list = Self::new();
        let dimensions = literal::read_array(element, bytes, |item| {
            list.push(match item {
                None => T::from_null(element)?,
                Some(Cow::Borrowed(text)) => T::from_text(element, text)?,
                Some(Cow::Owned(text)) => T::from_unescaped(element, &text)?,
            });
            Ok(())
        })?;
        if dimensions.len() > 1 {
            return Err(DecodeError::OutOfRange { rust: "Vec" });
        }
        Ok(list)
    }
}

//! A value of any type, known at run time. Not for hot paths: rows to JSON never make one.
//! Rule: what was read from a type's binary form is written back byte for byte.

use std::net::IpAddr;

use bytes::{BufMut as _, BytesMut};

use super::array::{ArrayRef, Dimension, write_array};
use super::composite::RowRef;
use super::decode::{parsed, utf8};
use super::encode::{self, Encode, Encoded};
use super::hstore::{read_entries, write_entries};
use super::kind::{Field, Shape};
use super::range::{Range, RangeRef};
use super::read::Reader;
use super::{
    Bits, Date, Decode, DecodeError, EncodeError, Format, Inet, Interval, Lsn, MacAddr, MacAddr8,
    Money, Numeric, Oid, Tid, Time, TimeTz, Timestamp, TimestampTz, Type, Uuid, geometry, literal,
};
use crate::limits::TYPE_DEPTH_MAX;

/// A value of any type.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "a variant's name is its type's")]
pub enum Value {
    Null,
    Bool(bool),
    /// `"char"`
    Char(i8),
    Int2(i16),
    Int4(i32),
    Int8(i64),
    /// oid, xid, cid
    Oid(u32),
    Xid8(u64),
    Float4(f32),
    Float8(f64),
    Numeric(Numeric),
    /// All texts, enums, jsonpath, ltree.
    Text(String),
    /// json and jsonb
    Json(String),
    Bytea(Vec<u8>),
    Uuid(Uuid),
    Date(Date),
    Time(Time),
    TimeTz(TimeTz),
    Timestamp(Timestamp),
    TimestampTz(TimestampTz),
    Interval(Interval),
    Money(Money),
    /// inet and cidr
    Inet(Inet),
    MacAddr(MacAddr),
    MacAddr8(MacAddr8),
    /// bit and varbit
    Bits(Bits),
    Tid(Tid),
    Lsn(Lsn),
    Point(geometry::Point),
    Line(geometry::Line),
    Lseg(geometry::Lseg),
    Box(geometry::Box),
    Path(geometry::Path),
    Polygon(geometry::Polygon),
    Circle(geometry::Circle),
    /// Keys and values, in the server's order.
    Hstore(Vec<(String, Option<String>)>),
    Void,
    Array(Array),
    Range(std::boxed::Box<Range<Value>>),
    Multirange(Vec<Range<Value>>),
    /// A row with its columns in order.
    Composite(Vec<Column>),
    /// A value of a type that is read as text only.
    Other {
        oid: Oid,
        text: String,
    },
}

/// An array of any number of dimensions.
#[derive(Debug, Clone, PartialEq)]
pub struct Array {
    dimensions: Vec<Dimension>,
    values: Vec<Value>,
}

/// A column of a row.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Its name; `f1`, `f2`, … in a `record`.
    pub name: String,
    /// The number of its type.
    pub oid: Oid,
    /// What it holds.
    pub value: Value,
}

impl Array {
    /// `values` in `dimensions`, the last index running fastest; `None` if their numbers do not agree.
    pub fn new(dimensions: Vec<Dimension>, values: Vec<Value>) -> Option<Self> {
        let first = usize::from(!dimensions.is_empty());
        let count = dimensions.iter().try_fold(first, |count, dimension| {
            count.checked_mul(usize::try_from(dimension.length).ok()?)
        })?;
        (count == values.len() && (dimensions.is_empty() || count > 0))
            .then_some(Self { dimensions, values })
    }

    /// `values` in one dimension from index 1.
    pub fn list(values: Vec<Value>) -> Self {
        Self {
            dimensions: Dimension::new(values.len()).into_iter().collect(),
            values,
        }
    }

    /// The dimensions; none if the array is empty.
    pub fn dimensions(&self) -> &[Dimension] {
        &self.dimensions
    }

    /// The items, the last index running fastest.
    pub fn values(&self) -> &[Value] {
        &self.values
    }
}

impl<'a> Decode<'a> for Value {
    fn accepts(_ty: &Type) -> bool {
        true
    }

    /// Fails with `UnknownType` for types that are read as text only; see [`Type::format`].
    fn from_binary(ty: &Type, bytes: &'a [u8]) -> Result<Self, DecodeError> {
        read(ty, bytes, 0)
    }

    /// Rows, ranges, hstore and types that are not known become [`Value::Other`].
    fn from_text(ty: &Type, bytes: &'a [u8]) -> Result<Self, DecodeError> {
        read_text(ty, bytes, 0)
    }

    fn from_unescaped(ty: &Type, text: &[u8]) -> Result<Self, DecodeError> {
        read_text(ty, text, 0)
    }

    fn from_null(_ty: &Type) -> Result<Self, DecodeError> {
        Ok(Self::Null)
    }
}

fn read_field(ty: &Type, bytes: Option<&[u8]>, depth: usize) -> Result<Value, DecodeError> {
    bytes.map_or(Ok(Value::Null), |bytes| read(ty, bytes, depth))
}

fn read(ty: &Type, bytes: &[u8], depth: usize) -> Result<Value, DecodeError> {
    if depth > TYPE_DEPTH_MAX {
        return Err(DecodeError::TooDeep);
    }
    Ok(match ty.shape() {
        Shape::Hstore => Value::Hstore(read_entries(bytes)?),
        Shape::Void => {
            Reader::new(bytes).end()?;
            Value::Void
        }
        Shape::Record => read_row(None, bytes, depth)?,
        Shape::Composite(fields) => read_row(Some(fields), bytes, depth)?,
        Shape::Array(element) => read_array(element, bytes, depth)?,
        Shape::Range(bound) => Value::Range(std::boxed::Box::new(read_range(bound, bytes, depth)?)),
        Shape::Multirange(range) => read_multirange(range, bytes, depth)?,
        Shape::Opaque => return Err(DecodeError::UnknownType { oid: ty.oid() }),
        shape => return read_plain(shape, ty, Form::Binary(bytes)),
    })
}

/// Both ways to a value that holds no others.
#[derive(Clone, Copy)]
enum Form<'a> {
    Binary(&'a [u8]),
    Text(&'a [u8]),
}

impl<'a> Form<'a> {
    fn decode<T: Decode<'a>>(self, ty: &Type) -> Result<T, DecodeError> {
        match self {
            Self::Binary(bytes) => T::from_binary(ty, bytes),
            Self::Text(bytes) => T::from_text(ty, bytes),
        }
    }
}

/// The shapes that have a Rust type of their own, which is what their variants hold.
macro_rules! plain {
    ($($variant:ident)*) => {
        fn read_plain(shape: Shape<'_>, ty: &Type, form: Form<'_>) -> Result<Value, DecodeError> {
            Ok(match shape {
                Shape::Text | Shape::Versioned => Value::Text(form.decode(ty)?),
                Shape::Json | Shape::Jsonb => Value::Json(form.decode(ty)?),
                $(Shape::$variant => Value::$variant(form.decode(ty)?),)*
                _ => return Err(DecodeError::UnknownType { oid: ty.oid() }),
            })
        }

        fn encode_plain(
            value: &Value,
            ty: &Type,
            out: &mut BytesMut,
        ) -> Result<Encoded, EncodeError> {
            match value {
                $(Value::$variant(value) => value.encode(ty, out),)*
                _ => encode::mismatch(ty, "Value"),
            }
        }
    };
}

plain! {
    Bool Char Int2 Int4 Int8 Oid Xid8 Float4 Float8 Bytea
    Numeric Uuid Date Time TimeTz Timestamp TimestampTz Interval Money Inet MacAddr MacAddr8 Bits Tid Lsn
    Point Line Lseg Box Path Polygon Circle
}

fn read_row(fields: Option<&[Field]>, bytes: &[u8], depth: usize) -> Result<Value, DecodeError> {
    let mut row = RowRef::scan(fields, bytes)?;
    let mut columns = Vec::with_capacity(row.len());
    while let Some(part) = row.part()? {
        columns.push(Column {
            value: read_field(part.ty, part.bytes, depth + 1)?,
            oid: part.ty.oid(),
            name: part.name.into_owned(),
        });
    }
    Ok(Value::Composite(columns))
}

fn read_array(element: &Type, bytes: &[u8], depth: usize) -> Result<Value, DecodeError> {
    let mut array = ArrayRef::scan(element, bytes)?;
    let mut values = Vec::with_capacity(array.len());
    for _ in 0..array.len() {
        values.push(read_field(element, array.item()?, depth + 1)?);
    }
    array.end()?;
    Ok(Value::Array(Array {
        dimensions: array.dimensions().to_vec(),
        values,
    }))
}

fn read_range(bound: &Type, bytes: &[u8], depth: usize) -> Result<Range<Value>, DecodeError> {
    RangeRef::scan(bytes)?.try_map(|bytes| read(bound, bytes, depth + 1))
}

fn read_multirange(range: &Type, bytes: &[u8], depth: usize) -> Result<Value, DecodeError> {
    const INVALID: DecodeError = DecodeError::Invalid { what: "multirange" };
    let Shape::Range(bound) = range.shape() else {
        return Err(DecodeError::UnknownType { oid: range.oid() });
    };
    let mut reader = Reader::new(bytes);
    let count = reader.count(4, "multirange")?;
    let mut ranges = Vec::with_capacity(count);
    for _ in 0..count {
        let bytes = reader.field()?.ok_or(INVALID)?;
        ranges.push(read_range(bound, bytes, depth + 1)?);
    }
    reader.end()?;
    Ok(Value::Multirange(ranges))
}

fn read_text(ty: &Type, bytes: &[u8], depth: usize) -> Result<Value, DecodeError> {
    if depth > TYPE_DEPTH_MAX {
        return Err(DecodeError::TooDeep);
    }
    let other = || {
        Ok(Value::Other {
            oid: ty.oid(),
            text: utf8(bytes)?.to_owned(),
        })
    };
    Ok(match ty.shape() {
        Shape::Void => Value::Void,
        Shape::Array(element) => read_text_array(element, bytes, depth)?,
        // Another locale's money is text.
        Shape::Money => {
            return parsed(bytes, "money")
                .map(Value::Money)
                .or_else(|_| other());
        }
        Shape::Inet if ty.base().oid() == Type::CIDR.oid() => {
            let inet: Inet = parsed(bytes, "cidr")?;
            let network = Inet::network(inet.address(), inet.prefix());
            Value::Inet(network.ok_or(DecodeError::Invalid { what: "cidr" })?)
        }
        Shape::Hstore
        | Shape::Record
        | Shape::Composite(_)
        | Shape::Range(_)
        | Shape::Multirange(_)
        | Shape::Opaque => return other(),
        shape => return read_plain(shape, ty, Form::Text(bytes)),
    })
}

fn read_text_array(element: &Type, bytes: &[u8], depth: usize) -> Result<Value, DecodeError> {
    let mut values = Vec::new();
    let dimensions = literal::read_array(element, bytes, |item| {
        values.push(match item {
            None => Value::Null,
            Some(text) => read_text(element, &text, depth + 1)?,
        });
        Ok(())
    })?;
    Ok(Value::Array(Array { dimensions, values }))
}

impl Encode for Value {
    fn accepts(_ty: &Type) -> bool {
        true
    }

    fn encode(&self, ty: &Type, out: &mut BytesMut) -> Result<Encoded, EncodeError> {
        match self {
            Self::Null => Ok(Encoded::Null),
            Self::Text(value) | Self::Json(value) | Self::Other { text: value, .. } => {
                value.encode(ty, out)
            }
            Self::Hstore(entries) => {
                let pairs = entries.iter().map(|(key, value)| (key, value));
                write_entries(entries.len(), pairs, ty, out)
            }
            Self::Void if matches!(ty.shape(), Shape::Void) => Encoded::BINARY,
            Self::Void => encode::mismatch(ty, "void"),
            Self::Array(array) => write_array(&array.dimensions, &array.values, ty, "Array", out),
            Self::Range(range) => range.encode(ty, out),
            Self::Multirange(ranges) => encode_multirange(ranges, ty, out),
            Self::Composite(columns) => encode_row(columns, ty, out),
            plain => encode_plain(plain, ty, out),
        }
    }
}

fn encode_multirange(
    ranges: &[Range<Value>],
    ty: &Type,
    out: &mut BytesMut,
) -> Result<Encoded, EncodeError> {
    let Shape::Multirange(range) = ty.shape() else {
        return encode::mismatch(ty, "multirange");
    };
    let binary = |out: &mut BytesMut| -> Result<Format, EncodeError> {
        out.put_i32(i32::try_from(ranges.len()).map_err(|_| EncodeError::TooLong)?);
        for item in ranges {
            if encode::part(out, |out| item.encode(range, out))? == Encoded::Value(Format::Text) {
                return Ok(Format::Text);
            }
        }
        Ok(Format::Binary)
    };
    encode::binary_or_text(out, binary, |out| {
        let mut text = vec![b'{'];
        for (index, item) in ranges.iter().enumerate() {
            if index > 0 {
                text.push(b',');
            }
            literal::write_part(item, range, &mut text)?;
        }
        text.push(b'}');
        out.extend_from_slice(&text);
        Encoded::TEXT
    })
}

/// Columns go by their order, not by their names.
fn encode_row(columns: &[Column], ty: &Type, out: &mut BytesMut) -> Result<Encoded, EncodeError> {
    let types: Option<Vec<&Type>> = match ty.shape() {
        Shape::Composite(fields) if fields.len() == columns.len() => {
            Some(fields.iter().map(|field| field.ty.as_type()).collect())
        }
        Shape::Record => columns
            .iter()
            .map(|column| Type::from_oid(column.oid))
            .collect(),
        _ => None,
    };
    let Some(types) = types else {
        return encode::mismatch(ty, "row");
    };
    let binary = |out: &mut BytesMut| -> Result<Format, EncodeError> {
        out.put_i32(i32::try_from(columns.len()).map_err(|_| EncodeError::TooLong)?);
        for (column, ty) in columns.iter().zip(&types) {
            out.put_u32(ty.oid());
            let part = encode::part(out, |out| column.value.encode(ty, out))?;
            if part == Encoded::Value(Format::Text) {
                return Ok(Format::Text);
            }
        }
        Ok(Format::Binary)
    };
    encode::binary_or_text(out, binary, |out| {
        let mut text = vec![b'('];
        for (index, (column, ty)) in columns.iter().zip(&types).enumerate() {
            if index > 0 {
                text.push(b',');
            }
            let at = text.len();
            if literal::write_part(&column.value, ty, &mut text)?.is_some() {
                literal::quote_field(&mut text, at);
            }
        }
        text.push(b')');
        out.extend_from_slice(&text);
        Encoded::TEXT
    })
}

/// Values from what has a variant of its own.
macro_rules! from {
    ($($rust:ty => $variant:ident),* $(,)?) => {
        $(
            impl From<$rust> for Value {
                fn from(value: $rust) -> Self {
                    Self::$variant(value)
                }
            }
        )*
    };
}

from!(
    bool => Bool, i16 => Int2, i32 => Int4, i64 => Int8, u32 => Oid, u64 => Xid8, f32 => Float4, f64 => Float8,
    Numeric => Numeric, String => Text, Vec<u8> => Bytea, Uuid => Uuid, Date => Date, Time => Time, TimeTz => TimeTz,
    Timestamp => Timestamp, TimestampTz => TimestampTz, Interval => Interval, Money => Money, Inet => Inet,
    MacAddr => MacAddr, MacAddr8 => MacAddr8, Bits => Bits, Lsn => Lsn, Array => Array,
);

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<IpAddr> for Value {
    fn from(address: IpAddr) -> Self {
        Self::Inet(address.into())
    }
}

impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

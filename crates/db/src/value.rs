//! Values that go into a statement and references to values that come out of one.
//! Not a conversion framework: a value keeps the type that the caller or the database gave it.

/// A value bound to a `?`.
///
/// SQLite has no boolean type: `Boolean` is stored there as 1 or 0. It turns a `Real` that is not a number into NULL.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// SQL NULL.
    Null,
    /// True or false.
    Boolean(bool),
    /// A 64-bit signed integer.
    Integer(i64),
    /// A double.
    Real(f64),
    /// UTF-8 text, which may contain NUL.
    Text(String),
    /// Bytes.
    Blob(Vec<u8>),
}

/// A value of a result, borrowed from its packed rows.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ValueRef<'a> {
    /// SQL NULL.
    Null,
    /// A 64-bit signed integer.
    Integer(i64),
    /// A double.
    Real(f64),
    /// UTF-8 text.
    Text(&'a str),
    /// Bytes.
    Blob(&'a [u8]),
}

impl<'a> ValueRef<'a> {
    /// Whether this is NULL.
    pub fn is_null(self) -> bool {
        self == ValueRef::Null
    }

    /// The integer, if this is one.
    pub fn as_integer(self) -> Option<i64> {
        match self {
            ValueRef::Integer(integer) => Some(integer),
            _ => None,
        }
    }

    /// The text, if this is text.
    pub fn as_text(self) -> Option<&'a str> {
        match self {
            ValueRef::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Value::Boolean(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Value::Integer(value)
    }
}

impl From<i32> for Value {
    fn from(value: i32) -> Self {
        Value::Integer(value.into())
    }
}

impl From<u32> for Value {
    fn from(value: u32) -> Self {
        Value::Integer(value.into())
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Value::Real(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Value::Text(value.to_owned())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Value::Text(value)
    }
}

impl From<&[u8]> for Value {
    fn from(value: &[u8]) -> Self {
        Value::Blob(value.to_owned())
    }
}

impl From<Vec<u8>> for Value {
    fn from(value: Vec<u8>) -> Self {
        Value::Blob(value)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Value::Null, Into::into)
    }
}

impl From<ValueRef<'_>> for Value {
    fn from(value: ValueRef<'_>) -> Self {
        match value {
            ValueRef::Null => Value::Null,
            ValueRef::Integer(integer) => Value::Integer(integer),
            ValueRef::Real(real) => Value::Real(real),
            ValueRef::Text(text) => Value::Text(text.to_owned()),
            ValueRef::Blob(blob) => Value::Blob(blob.to_owned()),
        }
    }
}

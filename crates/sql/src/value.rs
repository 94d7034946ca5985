//! Values that a query carries to the places where it binds them. Not a type system: the database's driver decides how each is sent.
//! Rule: a value keeps the type that its author gave it.

/// A value to be bound. Exhaustive, so that no driver forgets a kind.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// SQL NULL.
    Null,
    /// True or false. SQLite, which has no such type, stores it as 1 or 0.
    Boolean(bool),
    /// A 64-bit signed integer.
    Integer(i64),
    /// A double. SQLite turns one that is not a number into NULL.
    Real(f64),
    /// UTF-8 text; also dates, exact numbers and whatever else the database reads from text. On Firebird it is a number only beside
    /// `+ - * / %`, and a text in other expressions.
    Text(String),
    /// An exact number in plain digits, `-1.50`, which is a number in every expression. Elsewhere it is bound as its text.
    Decimal(String),
    /// Bytes.
    Blob(Vec<u8>),
    /// A list, for a parameter that is an array, or of type json. SQLite, which has neither, gets it as JSON text.
    List(Vec<Value>),
    /// JSON text, for a parameter of type json or jsonb. SQLite stores it as text.
    Json(String),
}

impl Value {
    /// Bytes of its texts and blobs.
    pub fn bytes(&self) -> usize {
        match self {
            Value::Text(text) | Value::Decimal(text) | Value::Json(text) => text.len(),
            Value::Blob(blob) => blob.len(),
            Value::List(list) => list.iter().map(Value::bytes).sum(),
            Value::Null | Value::Boolean(_) | Value::Integer(_) | Value::Real(_) => 0,
        }
    }
}

/// Lossless conversions to the variant of the same kind.
macro_rules! from {
    ($($source:ty => $variant:ident),* $(,)?) => {
        $(impl From<$source> for Value {
            fn from(value: $source) -> Self {
                Value::$variant(value.into())
            }
        })*
    };
}

from! {
    bool => Boolean,
    i8 => Integer,
    i16 => Integer,
    i32 => Integer,
    i64 => Integer,
    u8 => Integer,
    u16 => Integer,
    u32 => Integer,
    f32 => Real,
    f64 => Real,
    &str => Text,
    String => Text,
    &[u8] => Blob,
    Vec<u8> => Blob,
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Value::Null, Into::into)
    }
}

/// Values of any types that [`Value`] can be made from: `values![1, "a", None::<i64>]`.
#[macro_export]
macro_rules! values {
    ($($value:expr),* $(,)?) => {
        ::std::vec::Vec::<$crate::Value>::from([$($crate::Value::from($value)),*])
    };
}

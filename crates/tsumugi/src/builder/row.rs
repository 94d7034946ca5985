//! Rows of results as values of the author's types, through serde: a struct by the names of the columns, a tuple by their order, a single
//! value from the first one. Rule: a value becomes what the type asks for or is refused with its column's name; NULL only an `Option`.

use serde::de::value::{BorrowedStrDeserializer, MapDeserializer, SeqDeserializer};
use serde::de::{self, DeserializeOwned, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;
use tsumugi_db::{Row, Rows, TypedValueRef, ValueKind, ValueRef};

use crate::deserialize_error::{DeserializeError, into_itself, newtype_method, sequence_methods};
use crate::error::{Error, Result};

/// A row as a value.
///
/// # Errors
/// [`Error::Usage`] where the row is no `T`: it names the columns and says what does not fit.
pub fn from_row<T: DeserializeOwned>(row: Row<'_>) -> Result<T> {
    T::deserialize(RowDeserializer(row)).map_err(|error| {
        let names: Vec<&str> = row.columns().names().collect();
        let name = std::any::type_name::<T>();
        let columns = names.join(", ");
        Error::Usage(format!("the row ({columns}) is no {name}: {}", error.0).into())
    })
}

/// All rows as values.
///
/// # Errors
/// As [`from_row`], of the first row that is no `T`.
pub fn from_rows<T: DeserializeOwned>(rows: &Rows) -> Result<Vec<T>> {
    rows.iter().map(from_row).collect()
}

struct RowDeserializer<'a>(Row<'a>);

impl<'a> RowDeserializer<'a> {
    fn cells(&self) -> impl Iterator<Item = Cell<'a>> + use<'a> {
        self.0.values().map(Cell)
    }

    fn expect(&self, length: usize) -> Result<(), DeserializeError> {
        match self.0.columns().names().count() {
            columns if columns == length => Ok(()),
            columns => Err(DeserializeError(format!(
                "it has {columns} columns, not {length}"
            ))),
        }
    }

    fn first(&self) -> Result<Cell<'a>, DeserializeError> {
        let none = || DeserializeError("it has no column".to_owned());
        self.cells().next().ok_or_else(none)
    }
}

impl<'de> de::Deserializer<'de> for RowDeserializer<'de> {
    type Error = DeserializeError;

    sequence_methods!(first, cells);

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        self.deserialize_map(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        let names = self.0.columns().names().map(BorrowedStrDeserializer::new);
        let named = names.zip(self.cells());
        visitor.visit_map(MapDeserializer::new(
            named.map(|(name, cell)| (Key(name), cell)),
        ))
    }
}

/// The name of a column.
struct Key<'a>(BorrowedStrDeserializer<'a, DeserializeError>);

impl<'de> IntoDeserializer<'de, DeserializeError> for Key<'de> {
    type Deserializer = BorrowedStrDeserializer<'de, DeserializeError>;

    fn into_deserializer(self) -> Self::Deserializer {
        self.0
    }
}

/// A value of a row.
#[derive(Clone, Copy)]
struct Cell<'a>(ValueRef<'a>);

into_itself!(Cell<'de>);

/// A value as its database prints it.
fn print(typed: &TypedValueRef<'_>) -> Result<String, DeserializeError> {
    let mut text = Vec::new();
    typed
        .write_text(&mut text)
        .map_err(|error| DeserializeError(error.to_string()))?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// An exact decimal becomes the number type that is asked for.
macro_rules! numbers {
    ($($method:ident $visit:ident $type:ty;)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
            match self.0 {
                ValueRef::Typed(typed) if typed.kind() == ValueKind::Decimal => {
                    let text = print(&typed)?;
                    let error = |_| DeserializeError(format!("{text} is no {}", stringify!($type)));
                    visitor.$visit(text.parse::<$type>().map_err(error)?)
                }
                _ => self.deserialize_any(visitor),
            }
        })*
    };
}

impl<'de> de::Deserializer<'de> for Cell<'de> {
    type Error = DeserializeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        match self.0 {
            ValueRef::Null => visitor.visit_unit(),
            ValueRef::Integer(integer) => visitor.visit_i64(integer),
            ValueRef::Real(real) => visitor.visit_f64(real),
            ValueRef::Text(text) => visitor.visit_borrowed_str(text),
            ValueRef::Blob(bytes) => visitor.visit_borrowed_bytes(bytes),
            ValueRef::Boolean(boolean) => visitor.visit_bool(boolean),
            ValueRef::Typed(typed) if typed.kind() == ValueKind::Structure => {
                let mut json = Vec::new();
                typed
                    .write_json(&mut json)
                    .map_err(|error| DeserializeError(error.to_string()))?;
                let value: serde_json::Value = serde_json::from_slice(&json)
                    .map_err(|error| DeserializeError(error.to_string()))?;
                value
                    .deserialize_any(visitor)
                    .map_err(|error| DeserializeError(error.to_string()))
            }
            ValueRef::Typed(typed) => visitor.visit_string(print(&typed)?),
            _ => Err(DeserializeError(
                "a value of a kind that is not known here".to_owned(),
            )),
        }
    }

    numbers! {
        deserialize_i8 visit_i8 i8;
        deserialize_i16 visit_i16 i16;
        deserialize_i32 visit_i32 i32;
        deserialize_i64 visit_i64 i64;
        deserialize_i128 visit_i128 i128;
        deserialize_u8 visit_u8 u8;
        deserialize_u16 visit_u16 u16;
        deserialize_u32 visit_u32 u32;
        deserialize_u64 visit_u64 u64;
        deserialize_u128 visit_u128 u128;
        deserialize_f32 visit_f32 f32;
        deserialize_f64 visit_f64 f64;
    }

    /// SQLite keeps truth as 1 and 0.
    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        match self.0 {
            ValueRef::Integer(truth @ (0 | 1)) => visitor.visit_bool(truth == 1),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        match self.0 {
            ValueRef::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    newtype_method!();

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        match self.0 {
            ValueRef::Blob(bytes) => visitor.visit_seq(SeqDeserializer::new(bytes.iter().copied())),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DeserializeError> {
        match self.0 {
            ValueRef::Text(text) => visitor.visit_enum(text.into_deserializer()),
            ValueRef::Typed(typed) => visitor.visit_enum(print(&typed)?.into_deserializer()),
            _ => Err(DeserializeError("a variant is named by text".to_owned())),
        }
    }

    forward_to_deserialize_any! {
        char str string bytes byte_buf unit unit_struct tuple tuple_struct map struct identifier ignored_any
    }
}

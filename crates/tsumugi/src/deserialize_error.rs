//! The error of a value that does not fit a type, as serde reports it; and what deserializers of several values have alike: those
//! of captures and those of rows. Rule: a type of one value gets the one value, and its name is never guessed.

use std::fmt;

use serde::{de, ser};

/// Why a value does not fit.
#[derive(Debug)]
pub(crate) struct DeserializeError(pub(crate) String);

impl fmt::Display for DeserializeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for DeserializeError {}

impl de::Error for DeserializeError {
    fn custom<T: fmt::Display>(message: T) -> DeserializeError {
        DeserializeError(message.to_string())
    }
}

impl ser::Error for DeserializeError {
    fn custom<T: fmt::Display>(message: T) -> DeserializeError {
        DeserializeError(message.to_string())
    }
}

/// Methods of a `Deserializer` that delegate to the single value of `$one`.
macro_rules! delegate_to {
    ($one:ident: $($method:ident)*) => {
        $(fn $method<V: serde::de::Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
            self.$one()?.$method(visitor)
        })*
    };
}

/// A newtype is its content.
macro_rules! newtype_method {
    () => {
        fn deserialize_newtype_struct<V: serde::de::Visitor<'de>>(
            self,
            _: &'static str,
            visitor: V,
        ) -> Result<V::Value, DeserializeError> {
            visitor.visit_newtype_struct(self)
        }
    };
}

/// Deserializers that are what they are made from.
macro_rules! into_itself {
    ($($type:ty),*) => {
        $(impl<'de> serde::de::IntoDeserializer<'de, DeserializeError> for $type {
            type Deserializer = Self;

            fn into_deserializer(self) -> Self {
                self
            }
        })*
    };
}

/// The methods that all sequences of values have alike: a tuple has as many as are expected, unit is accepted, a struct is a map, a newtype is its content.
macro_rules! sequence_methods {
    ($one:ident, $all:ident) => {
        fn deserialize_seq<V: serde::de::Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
            visitor.visit_seq(serde::de::value::SeqDeserializer::new(self.$all()))
        }

        fn deserialize_tuple<V: serde::de::Visitor<'de>>(
            self,
            length: usize,
            visitor: V,
        ) -> Result<V::Value, DeserializeError> {
            self.expect(length)?;
            self.deserialize_seq(visitor)
        }

        crate::deserialize_error::delegate_to! {
            $one: deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128 deserialize_u8
            deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128 deserialize_f32 deserialize_f64 deserialize_char
            deserialize_str deserialize_string deserialize_bytes deserialize_byte_buf deserialize_option deserialize_identifier
        }

        fn deserialize_unit<V: serde::de::Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
            visitor.visit_unit()
        }

        fn deserialize_ignored_any<V: serde::de::Visitor<'de>>(
            self,
            visitor: V,
        ) -> Result<V::Value, DeserializeError> {
            visitor.visit_unit()
        }

        fn deserialize_unit_struct<V: serde::de::Visitor<'de>>(
            self,
            _: &'static str,
            visitor: V,
        ) -> Result<V::Value, DeserializeError> {
            visitor.visit_unit()
        }

        crate::deserialize_error::newtype_method!();

        fn deserialize_enum<V: serde::de::Visitor<'de>>(
            self,
            name: &'static str,
            variants: &'static [&'static str],
            visitor: V,
        ) -> Result<V::Value, DeserializeError> {
            self.$one()?.deserialize_enum(name, variants, visitor)
        }

        fn deserialize_tuple_struct<V: serde::de::Visitor<'de>>(
            self,
            _: &'static str,
            length: usize,
            visitor: V,
        ) -> Result<V::Value, DeserializeError> {
            self.deserialize_tuple(length, visitor)
        }

        fn deserialize_struct<V: serde::de::Visitor<'de>>(
            self,
            _: &'static str,
            _: &'static [&'static str],
            visitor: V,
        ) -> Result<V::Value, DeserializeError> {
            self.deserialize_map(visitor)
        }
    };
}

pub(crate) use {delegate_to, into_itself, newtype_method, sequence_methods};

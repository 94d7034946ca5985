//! Values of the author's types as a tree, through serde: what a row is made of. Knows no column.
//! Rule: bytes stay bytes, and a number that neither a column nor JSON can hold is refused with the name of its field.

use std::any::type_name;
use std::collections::BTreeMap;

use serde::ser::{
    Error as _, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant,
    SerializeTuple, SerializeTupleStruct, SerializeTupleVariant, Serializer,
};
use serde_json::Value as Json;
use tsumugi_sql::Value;

use crate::deserialize_error::DeserializeError;

/// A value of any type.
pub(super) enum Node {
    Null,
    Boolean(bool),
    /// A number that is one of a sequence of bytes, if its neighbours are.
    Byte(u8),
    Integer(i64),
    /// Beyond what [`Node::Integer`] holds.
    Large(u64),
    /// Finite.
    Real(f64),
    Text(String),
    Bytes(Vec<u8>),
    List(Vec<Node>),
    Structure(BTreeMap<String, Node>),
}

/// The tree of a value.
pub(super) fn node<T: Serialize + ?Sized>(value: &T) -> Result<Node, DeserializeError> {
    Ok(match value.serialize(NodeSerializer)? {
        // Without elements only the name of the type says of what there are none; with another name it is a list as any other.
        Node::List(list) if list.is_empty() && is_of_bytes(type_name::<T>()) => {
            Node::Bytes(Vec::new())
        }
        node => node,
    })
}

fn is_of_bytes(name: &str) -> bool {
    name.ends_with("Vec<u8>") || name.ends_with("[u8]") || name.ends_with("Box<[u8]>")
}

impl Node {
    /// The value that is bound to a statement.
    pub(super) fn into_value(self) -> Result<Value, DeserializeError> {
        Ok(match self {
            Node::Null => Value::Null,
            Node::Boolean(boolean) => Value::Boolean(boolean),
            Node::Byte(byte) => Value::Integer(byte.into()),
            Node::Integer(integer) => Value::Integer(integer),
            Node::Large(number) => {
                let reason = format!("{number} does not fit 64 bits with a sign");
                return Err(DeserializeError(reason));
            }
            Node::Real(real) => Value::Real(real),
            Node::Text(text) => Value::Text(text),
            Node::Bytes(bytes) => Value::Blob(bytes),
            Node::List(list) => {
                let bound = list.into_iter().map(Node::into_value);
                Value::List(bound.collect::<Result<_, _>>()?)
            }
            Node::Structure(_) => Value::Json(self.into_json().to_string()),
        })
    }

    /// The tree as JSON.
    fn into_json(self) -> Json {
        match self {
            Node::Null => Json::Null,
            Node::Boolean(boolean) => boolean.into(),
            Node::Byte(byte) => byte.into(),
            Node::Integer(integer) => integer.into(),
            Node::Large(number) => number.into(),
            Node::Real(real) => real.into(),
            Node::Text(text) => text.into(),
            Node::Bytes(bytes) => bytes.into(),
            Node::List(list) => list.into_iter().map(Node::into_json).collect(),
            Node::Structure(fields) => {
                let fields = fields
                    .into_iter()
                    .map(|(name, node)| (name, node.into_json()));
                Json::Object(fields.collect())
            }
        }
    }

    /// The name of a field.
    fn into_key(self) -> Result<String, DeserializeError> {
        match self {
            Node::Text(text) => Ok(text),
            Node::Boolean(boolean) => Ok(boolean.to_string()),
            Node::Byte(byte) => Ok(byte.to_string()),
            Node::Integer(integer) => Ok(integer.to_string()),
            Node::Large(number) => Ok(number.to_string()),
            _ => Err(DeserializeError(
                "a map has a key that is no name".to_owned(),
            )),
        }
    }

    fn real(real: f64) -> Result<Node, DeserializeError> {
        match real.is_finite() {
            true => Ok(Node::Real(real)),
            false => Err(DeserializeError(format!("{real} is no finite number"))),
        }
    }

    fn integer(number: impl TryInto<i64> + TryInto<u64> + Copy) -> Result<Node, DeserializeError> {
        let large = || number.try_into().map(Node::Large);
        let fits = number.try_into().map(Node::Integer);
        fits.or_else(|_| large())
            .map_err(|_| DeserializeError("a number does not fit 64 bits".to_owned()))
    }

    fn variant(name: &str, node: Node) -> Node {
        Node::Structure(BTreeMap::from([(name.to_owned(), node)]))
    }
}

/// Serializes a value as a tree.
struct NodeSerializer;

macro_rules! integers {
    ($($method:ident $type:ty),*) => {
        $(fn $method(self, number: $type) -> Result<Node, DeserializeError> {
            Node::integer(number)
        })*
    };
}

impl Serializer for NodeSerializer {
    type Ok = Node;
    type Error = DeserializeError;
    type SerializeSeq = Sequence;
    type SerializeTuple = Sequence;
    type SerializeTupleStruct = Sequence;
    type SerializeTupleVariant = Sequence;
    type SerializeMap = Fields;
    type SerializeStruct = Fields;
    type SerializeStructVariant = Fields;

    integers! {
        serialize_i8 i8, serialize_i16 i16, serialize_i32 i32, serialize_i64 i64, serialize_i128 i128,
        serialize_u16 u16, serialize_u32 u32, serialize_u64 u64, serialize_u128 u128
    }

    fn serialize_u8(self, byte: u8) -> Result<Node, DeserializeError> {
        Ok(Node::Byte(byte))
    }

    fn serialize_bool(self, boolean: bool) -> Result<Node, DeserializeError> {
        Ok(Node::Boolean(boolean))
    }

    fn serialize_f32(self, real: f32) -> Result<Node, DeserializeError> {
        Node::real(real.into())
    }

    fn serialize_f64(self, real: f64) -> Result<Node, DeserializeError> {
        Node::real(real)
    }

    fn serialize_char(self, char: char) -> Result<Node, DeserializeError> {
        Ok(Node::Text(char.to_string()))
    }

    fn serialize_str(self, text: &str) -> Result<Node, DeserializeError> {
        Ok(Node::Text(text.to_owned()))
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result<Node, DeserializeError> {
        Ok(Node::Bytes(bytes.to_owned()))
    }

    fn serialize_none(self) -> Result<Node, DeserializeError> {
        Ok(Node::Null)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Node, DeserializeError> {
        node(value)
    }

    fn serialize_unit(self) -> Result<Node, DeserializeError> {
        Ok(Node::Null)
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<Node, DeserializeError> {
        Ok(Node::Null)
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<Node, DeserializeError> {
        Ok(Node::Text(variant.to_owned()))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<Node, DeserializeError> {
        node(value)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<Node, DeserializeError> {
        Ok(Node::variant(variant, node(value)?))
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Sequence, DeserializeError> {
        Ok(Sequence::default())
    }

    fn serialize_tuple(self, _: usize) -> Result<Sequence, DeserializeError> {
        Ok(Sequence::default())
    }

    fn serialize_tuple_struct(
        self,
        _: &'static str,
        _: usize,
    ) -> Result<Sequence, DeserializeError> {
        Ok(Sequence::default())
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Sequence, DeserializeError> {
        Ok(Sequence {
            variant: Some(variant),
            ..Sequence::default()
        })
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Fields, DeserializeError> {
        Ok(Fields::default())
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Fields, DeserializeError> {
        Ok(Fields::default())
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Fields, DeserializeError> {
        Ok(Fields {
            variant: Some(variant),
            ..Fields::default()
        })
    }
}

/// A list in the making. While all elements are bytes they stay bytes, so that a picture does not become a tree.
#[derive(Default)]
struct Sequence {
    bytes: Vec<u8>,
    nodes: Vec<Node>,
    variant: Option<&'static str>,
}

impl Sequence {
    fn push<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), DeserializeError> {
        match node(value)? {
            Node::Byte(byte) if self.nodes.is_empty() => self.bytes.push(byte),
            node => {
                self.nodes.extend(self.bytes.drain(..).map(Node::Byte));
                self.nodes.push(node);
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<Node, DeserializeError> {
        let node = match self.bytes.is_empty() {
            true => Node::List(self.nodes),
            false => Node::Bytes(self.bytes),
        };
        Ok(match self.variant {
            Some(variant) => Node::variant(variant, node),
            None => node,
        })
    }
}

/// The fields of a structure in the making.
#[derive(Default)]
struct Fields {
    fields: BTreeMap<String, Node>,
    key: Option<String>,
    variant: Option<&'static str>,
}

impl Fields {
    fn push<T: Serialize + ?Sized>(
        &mut self,
        name: String,
        value: &T,
    ) -> Result<(), DeserializeError> {
        let node = node(value).map_err(|error| DeserializeError(format!("{name}: {}", error.0)))?;
        self.fields.insert(name, node);
        Ok(())
    }

    fn finish(self) -> Result<Node, DeserializeError> {
        let node = Node::Structure(self.fields);
        Ok(match self.variant {
            Some(variant) => Node::variant(variant, node),
            None => node,
        })
    }
}

macro_rules! sequences {
    ($($trait:ident $method:ident)*) => {
        $(impl $trait for Sequence {
            type Ok = Node;
            type Error = DeserializeError;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), DeserializeError> {
                self.push(value)
            }

            fn end(self) -> Result<Node, DeserializeError> {
                self.finish()
            }
        })*
    };
}

sequences! {
    SerializeSeq serialize_element
    SerializeTuple serialize_element
    SerializeTupleStruct serialize_field
    SerializeTupleVariant serialize_field
}

macro_rules! structs {
    ($($trait:ident)*) => {
        $(impl $trait for Fields {
            type Ok = Node;
            type Error = DeserializeError;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                name: &'static str,
                value: &T,
            ) -> Result<(), DeserializeError> {
                self.push(name.to_owned(), value)
            }

            fn end(self) -> Result<Node, DeserializeError> {
                self.finish()
            }
        })*
    };
}

structs!(SerializeStruct SerializeStructVariant);

impl SerializeMap for Fields {
    type Ok = Node;
    type Error = DeserializeError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), DeserializeError> {
        self.key = Some(node(key)?.into_key()?);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(
        &mut self,
        value: &T,
    ) -> Result<(), DeserializeError> {
        let key = self.key.take();
        let key = key.ok_or_else(|| DeserializeError::custom("a map has a value without a key"))?;
        self.push(key, value)
    }

    fn end(self) -> Result<Node, DeserializeError> {
        self.finish()
    }
}

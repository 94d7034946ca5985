//! Texts of a request (captures, query parameters, fields of forms) as values of the author's types, through serde. Pure.
//! Rule: a text becomes what the type asks for or is refused; nothing is guessed from its looks.

use std::borrow::Cow;
use std::fmt::Display;

use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{self, DeserializeOwned, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;

use crate::deserialize_error::{
    DeserializeError, delegate_to, into_itself, newtype_method, sequence_methods,
};

/// Pairs as a struct or map: the values of a name that repeats are a sequence, and the last of them a single value.
pub(super) fn from_pairs<'p, T: DeserializeOwned>(
    pairs: impl IntoIterator<Item = (Cow<'p, str>, Cow<'p, str>)>,
) -> Result<T, DeserializeError> {
    let mut grouped: Vec<(Cow<'p, str>, Texts<'p>)> = Vec::new();
    for (name, value) in pairs {
        match grouped.iter_mut().find(|(known, _)| *known == name) {
            Some((_, texts)) => texts.0.push(Text(value)),
            None => grouped.push((name, Texts(vec![Text(value)]))),
        }
    }
    T::deserialize(MapDeserializer::new(grouped.into_iter()))
}

/// Captures as one value, a tuple, a sequence, or a struct by their names.
pub(super) struct CapturedTexts<'c>(pub &'c [(std::rc::Rc<str>, Box<str>)]);

impl<'c> CapturedTexts<'c> {
    fn texts(&self) -> impl Iterator<Item = Text<'c>> + use<'c> {
        self.0.iter().map(|(_, text)| Text(Cow::Borrowed(&**text)))
    }

    fn only(&self) -> Result<Text<'c>, DeserializeError> {
        let mut texts = self.texts();
        match (texts.next(), texts.next()) {
            (Some(text), None) => Ok(text),
            _ => Err(self.unlike("one")),
        }
    }

    fn expect(&self, length: usize) -> Result<(), DeserializeError> {
        match self.0.len() == length {
            true => Ok(()),
            false => Err(self.unlike(length)),
        }
    }

    fn unlike(&self, wanted: impl Display) -> DeserializeError {
        DeserializeError(format!(
            "the route captures {} values and the handler wants {wanted}",
            self.0.len()
        ))
    }
}

impl<'de> de::Deserializer<'de> for CapturedTexts<'_> {
    type Error = DeserializeError;

    sequence_methods!(only, texts);

    delegate_to!(only: deserialize_any);

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        let pairs = self.0.iter();
        let pairs = pairs.map(|(name, text)| (&**name, Text(Cow::Borrowed(&**text))));
        visitor.visit_map(MapDeserializer::new(pairs))
    }
}

#[derive(Clone, Debug)]
struct Text<'w>(Cow<'w, str>);

/// The texts of one name; never none.
#[derive(Clone, Debug)]
struct Texts<'w>(Vec<Text<'w>>);

into_itself!(Text<'_>, Texts<'_>);

macro_rules! parsed {
    ($($method:ident $visit:ident $type:ty, $expected:literal;)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
            match self.0.parse::<$type>() {
                Ok(value) => visitor.$visit(value),
                Err(_) => Err(DeserializeError(format!("{:?} is not {}", self.0, $expected))),
            }
        })*
    };
}

impl<'de> de::Deserializer<'de> for Text<'_> {
    type Error = DeserializeError;

    parsed! {
        deserialize_bool visit_bool bool, "true or false";
        deserialize_i8 visit_i8 i8, "an integer of 8 bits";
        deserialize_i16 visit_i16 i16, "an integer of 16 bits";
        deserialize_i32 visit_i32 i32, "an integer of 32 bits";
        deserialize_i64 visit_i64 i64, "an integer of 64 bits";
        deserialize_i128 visit_i128 i128, "an integer of 128 bits";
        deserialize_u8 visit_u8 u8, "a natural number of 8 bits";
        deserialize_u16 visit_u16 u16, "a natural number of 16 bits";
        deserialize_u32 visit_u32 u32, "a natural number of 32 bits";
        deserialize_u64 visit_u64 u64, "a natural number of 64 bits";
        deserialize_u128 visit_u128 u128, "a natural number of 128 bits";
        deserialize_f32 visit_f32 f32, "a number";
        deserialize_f64 visit_f64 f64, "a number";
        deserialize_char visit_char char, "one character";
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        visitor.visit_string(self.0.into_owned())
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        visitor.visit_some(self)
    }

    newtype_method!();

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DeserializeError> {
        visitor.visit_enum(self.0.into_owned().into_deserializer())
    }

    forward_to_deserialize_any! {
        str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

impl<'w> Texts<'w> {
    fn last(mut self) -> Result<Text<'w>, DeserializeError> {
        let none = || DeserializeError("it has no value".to_owned());
        self.0.pop().ok_or_else(none)
    }
}

impl<'de> de::Deserializer<'de> for Texts<'_> {
    type Error = DeserializeError;

    delegate_to! {
        last: deserialize_any deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128 deserialize_f32 deserialize_f64
        deserialize_char deserialize_str deserialize_string deserialize_bytes deserialize_byte_buf deserialize_unit
        deserialize_map deserialize_identifier deserialize_ignored_any
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        visitor.visit_some(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        visitor.visit_seq(SeqDeserializer::new(self.0.into_iter()))
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, DeserializeError> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, DeserializeError> {
        self.deserialize_seq(visitor)
    }

    newtype_method!();

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, DeserializeError> {
        self.last()?.deserialize_unit_struct(name, visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DeserializeError> {
        self.last()?.deserialize_struct(name, fields, visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DeserializeError> {
        self.last()?.deserialize_enum(name, variants, visitor)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::rc::Rc;

    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(rename_all = "lowercase")]
    enum Order {
        Asc,
        Desc,
    }

    #[derive(Debug, Deserialize, PartialEq)]
    struct Search {
        q: String,
        page: Option<u32>,
        #[serde(default)]
        tag: Vec<String>,
        order: Option<Order>,
    }

    fn search(query: &str) -> Result<Search, DeserializeError> {
        let pairs = tsumugi_http::query::pairs(query, 100).unwrap();
        from_pairs(pairs)
    }

    #[test]
    fn struct_takes_its_fields_by_name() {
        let expected = Search {
            q: "rust".to_owned(),
            page: Some(3),
            tag: vec!["a".to_owned(), "b".to_owned()],
            order: Some(Order::Desc),
        };
        let found = search("tag=a&q=x&page=3&tag=b&order=desc&q=rust&other=1").unwrap();
        assert_eq!(found, expected);
    }

    #[test]
    fn text_of_another_form_is_named() {
        for (query, expected) in [
            ("page=1", "missing field `q`"),
            ("q=x&page=one", "\"one\" is not a natural number of 32 bits"),
            ("q=x&order=up", "unknown variant `up`"),
        ] {
            let error = search(query).unwrap_err().to_string();
            assert!(error.contains(expected), "{query}: {error}");
        }
    }

    #[test]
    fn captures_fit_a_value_a_tuple_and_a_struct() {
        let captures: [(Rc<str>, Box<str>); 2] =
            [("id".into(), "7".into()), ("name".into(), "x y".into())];
        let pair = <(i64, String)>::deserialize(CapturedTexts(&captures)).unwrap();
        assert_eq!(pair, (7, "x y".to_owned()));
        let map = HashMap::<String, String>::deserialize(CapturedTexts(&captures)).unwrap();
        assert_eq!(map["name"], "x y");
        assert_eq!(i64::deserialize(CapturedTexts(&captures[..1])).unwrap(), 7);
        let error = i64::deserialize(CapturedTexts(&captures)).unwrap_err();
        assert!(error.to_string().contains("captures 2 values"), "{error}");
    }
}

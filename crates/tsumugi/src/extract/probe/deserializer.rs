//! A deserializer that has no text to read: it notes what a type asks for, and gives it a value of that kind.
//! Rule: every value is the smallest that a type may take, and nothing is given below a limit of depth or beyond one of places.

use std::collections::{HashMap, HashSet};
use std::fmt;

use serde::Deserializer;
use serde::de::{
    self, DeserializeSeed, EnumAccess, IntoDeserializer, MapAccess, SeqAccess, VariantAccess,
    Visitor,
};
use tsumugi_shapes::SchemaNode;

use crate::limits::{PROBE_DEPTH_MAX, PROBE_FIELDS_MAX};

/// Where a value stands in another: the indices of fields and elements.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Place(Vec<usize>);

impl Place {
    pub fn below(&self, index: usize) -> Place {
        let mut place = self.clone();
        place.0.push(index);
        place
    }

    fn is_deep(&self) -> bool {
        self.0.len() >= PROBE_DEPTH_MAX
    }
}

/// What stands at a place.
#[derive(Clone, Debug)]
enum Shape {
    Value(SchemaNode),
    List,
    Tuple(usize),
    Object(&'static [&'static str]),
    Choice(&'static [&'static str]),
}

/// Texts that types take which are written as one: any, a number, an address, a UUID, a date, a moment, a URL, a character.
const TEXTS: [&str; 8] = [
    "",
    "1",
    "127.0.0.1",
    "00000000-0000-0000-0000-000000000000",
    "2000-01-01",
    "2000-01-01T00:00:00Z",
    "https://example.org/",
    "a",
];

/// What has been found of a type.
#[derive(Default)]
pub(super) struct TypeOutline {
    shapes: HashMap<Place, Shape>,
    optional: HashSet<Place>,
    /// Where another text than the first one is given.
    texts: HashMap<Place, usize>,
}

impl TypeOutline {
    fn note(&mut self, place: &Place, shape: Shape) {
        if self.shapes.len() < PROBE_FIELDS_MAX {
            self.shapes.entry(place.clone()).or_insert(shape);
        }
    }

    /// Gives another text to a place that takes a text, if there is one more.
    pub fn change_text(&mut self, place: &Place) -> bool {
        let string = SchemaNode::of_type("string");
        match self.shapes.get(place) {
            Some(Shape::Value(schema)) if *schema == string => {}
            _ => return false,
        }
        let text = self.texts.entry(place.clone()).or_default();
        let is_last = *text + 1 >= TEXTS.len();
        if !is_last {
            *text += 1;
        }
        !is_last
    }

    fn text(&self, place: &Place) -> &'static str {
        let text = self.texts.get(place).copied().unwrap_or_default();
        TEXTS.get(text).copied().unwrap_or_default()
    }

    fn is_full(&self) -> bool {
        self.shapes.len() >= PROBE_FIELDS_MAX
    }

    pub fn set_optional(&mut self, place: &Place) {
        self.optional.insert(place.clone());
    }

    pub fn tuple_length(&self, place: &Place) -> Option<usize> {
        match self.shapes.get(place) {
            Some(Shape::Tuple(length)) => Some(*length),
            _ => None,
        }
    }

    pub fn is_object(&self, place: &Place) -> bool {
        matches!(self.shapes.get(place), Some(Shape::Object(_)))
    }

    /// The enums, with how many variants each has.
    pub fn enums(&self) -> Vec<(Place, usize)> {
        let found = self.shapes.iter().filter_map(|(place, shape)| match shape {
            Shape::Choice(variants) => Some((place.clone(), variants.len())),
            _ => None,
        });
        found.collect()
    }

    /// The fields that are not known to be optional, with their names.
    pub fn required_fields(&self) -> Vec<(Place, &'static str)> {
        let objects = self.shapes.iter().filter_map(|(place, shape)| match shape {
            Shape::Object(names) => Some((place, *names)),
            _ => None,
        });
        let fields = objects.flat_map(|(place, names)| {
            let fields = names.iter().enumerate();
            fields.map(|(index, name)| (place.below(index), *name))
        });
        fields
            .filter(|(place, _)| !self.optional.contains(place))
            .collect()
    }

    /// The name of the field at a place.
    pub fn name(&self, place: &Place) -> Option<&'static str> {
        let (index, outer) = place.0.split_last()?;
        match self.shapes.get(&Place(outer.to_vec())) {
            Some(Shape::Object(names)) => names.get(*index).copied(),
            _ => None,
        }
    }

    pub fn schema(&self, place: &Place) -> SchemaNode {
        match self.shapes.get(place) {
            None => SchemaNode::new(),
            Some(Shape::Value(schema)) => schema.clone(),
            Some(Shape::List) => SchemaNode::list_of(self.schema(&place.below(0))),
            Some(Shape::Tuple(_)) => SchemaNode::of_type("array"),
            Some(Shape::Choice(variants)) => {
                let variants = variants.iter().map(|name| SchemaNode::from(*name));
                SchemaNode::of_type("string").with("enum", SchemaNode::List(variants.collect()))
            }
            Some(Shape::Object(names)) => {
                let fields = names.iter().enumerate().map(|(index, name)| {
                    let place = place.below(index);
                    let is_required = !self.optional.contains(&place);
                    ((*name).to_owned(), self.schema(&place), is_required)
                });
                SchemaNode::object_of(fields.collect())
            }
        }
    }
}

/// Why a type was not made.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ProbeError {
    /// It wants a field of this name.
    Missing(&'static str),
    /// It takes another value.
    Value,
}

impl fmt::Display for ProbeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProbeError::Missing(name) => write!(f, "missing field {name}"),
            ProbeError::Value => f.write_str("another value is wanted"),
        }
    }
}

impl std::error::Error for ProbeError {}

impl de::Error for ProbeError {
    fn custom<T: fmt::Display>(_: T) -> ProbeError {
        ProbeError::Value
    }

    fn missing_field(name: &'static str) -> ProbeError {
        ProbeError::Missing(name)
    }
}

/// One try at making a type.
pub(super) struct Probing<'p> {
    found: &'p mut TypeOutline,
    passed_over: &'p [Place],
    /// The variant that is given at a place; the first everywhere else.
    pub variant: Option<(Place, usize)>,
    /// Where the last value was given: the one that was not taken, when the type was not made.
    pub stopped_at: Option<Place>,
}

impl<'p> Probing<'p> {
    pub fn new(found: &'p mut TypeOutline, passed_over: &'p [Place]) -> Probing<'p> {
        Probing {
            found,
            passed_over,
            variant: None,
            stopped_at: None,
        }
    }
}

/// The deserializer of one place.
pub(super) struct Probe<'a, 'p> {
    probing: &'a mut Probing<'p>,
    place: Place,
    /// How many options and newtypes are around the value at this place.
    wrapped: usize,
}

impl<'a, 'p> Probe<'a, 'p> {
    pub fn root(probing: &'a mut Probing<'p>) -> Probe<'a, 'p> {
        Probe {
            probing,
            place: Place::default(),
            wrapped: 0,
        }
    }

    /// The same place, one option or newtype further in.
    fn unwrapped(self) -> Probe<'a, 'p> {
        Probe {
            wrapped: self.wrapped + 1,
            ..self
        }
    }

    fn note(&mut self, shape: Shape) {
        self.probing.found.note(&self.place, shape);
        self.probing.stopped_at = Some(self.place.clone());
    }

    /// Whether nothing more may be given below.
    fn is_end(&self) -> bool {
        self.place.is_deep() || self.probing.found.is_full()
    }

    fn elements(self, length: usize) -> Elements<'a, 'p> {
        Elements {
            probing: self.probing,
            place: self.place,
            next: 0,
            length,
        }
    }
}

macro_rules! values {
    ($($method:ident $visit:ident($($value:expr)?), $schema:expr;)*) => {
        $(fn $method<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, ProbeError> {
            self.note(Shape::Value($schema));
            visitor.$visit($($value)?)
        })*
    };
}

fn natural() -> SchemaNode {
    SchemaNode::of_type("integer").with("minimum", 0_i64)
}

impl<'de> Deserializer<'de> for Probe<'_, '_> {
    type Error = ProbeError;

    values! {
        deserialize_bool visit_bool(false), SchemaNode::of_type("boolean");
        deserialize_i8 visit_i8(1), SchemaNode::of_type("integer");
        deserialize_i16 visit_i16(1), SchemaNode::of_type("integer");
        deserialize_i32 visit_i32(1), SchemaNode::of_type("integer");
        deserialize_i64 visit_i64(1), SchemaNode::of_type("integer");
        deserialize_i128 visit_i128(1), SchemaNode::of_type("integer");
        deserialize_u8 visit_u8(1), natural();
        deserialize_u16 visit_u16(1), natural();
        deserialize_u32 visit_u32(1), natural();
        deserialize_u64 visit_u64(1), natural();
        deserialize_u128 visit_u128(1), natural();
        deserialize_f32 visit_f32(1.0), SchemaNode::of_type("number");
        deserialize_f64 visit_f64(1.0), SchemaNode::of_type("number");
        deserialize_char visit_char('a'), SchemaNode::of_type("string").with("minLength", 1_i64).with("maxLength", 1_i64);
        deserialize_bytes visit_bytes(b""), SchemaNode::of_type("string");
        deserialize_byte_buf visit_bytes(b""), SchemaNode::of_type("string");
        deserialize_unit visit_unit(), SchemaNode::of_type("null");
        deserialize_any visit_unit(), SchemaNode::new();
        deserialize_identifier visit_str(""), SchemaNode::new();
        deserialize_ignored_any visit_unit(), SchemaNode::new();
    }

    fn deserialize_str<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, ProbeError> {
        self.note(Shape::Value(SchemaNode::of_type("string")));
        visitor.visit_str(self.probing.found.text(&self.place))
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ProbeError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, ProbeError> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ProbeError> {
        self.probing.found.set_optional(&self.place);
        // One short of the limit, so that a newtype around an option of itself still has a value.
        match self.is_end() || self.wrapped + 1 >= PROBE_DEPTH_MAX {
            true => visitor.visit_none(),
            false => visitor.visit_some(self.unwrapped()),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, ProbeError> {
        if self.wrapped >= PROBE_DEPTH_MAX {
            self.probing.stopped_at = Some(self.place);
            return Err(ProbeError::Value);
        }
        visitor.visit_newtype_struct(self.unwrapped())
    }

    fn deserialize_seq<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, ProbeError> {
        self.note(Shape::List);
        let length = usize::from(!self.is_end());
        visitor.visit_seq(self.elements(length))
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        mut self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, ProbeError> {
        self.note(Shape::Tuple(length));
        visitor.visit_seq(self.elements(length))
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, ProbeError> {
        self.deserialize_tuple(length, visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, ProbeError> {
        self.note(Shape::Value(SchemaNode::of_type("object")));
        visitor.visit_map(Fields {
            probing: self.probing,
            place: self.place,
            names: &[],
            next: 0,
        })
    }

    fn deserialize_struct<V: Visitor<'de>>(
        mut self,
        _: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ProbeError> {
        self.note(Shape::Object(names));
        if self.is_end() {
            return Err(ProbeError::Value);
        }
        visitor.visit_map(Fields {
            probing: self.probing,
            place: self.place,
            names,
            next: 0,
        })
    }

    fn deserialize_enum<V: Visitor<'de>>(
        mut self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ProbeError> {
        self.note(Shape::Choice(variants));
        let wanted = match &self.probing.variant {
            Some((place, variant)) if *place == self.place => *variant,
            _ => 0,
        };
        let name = variants.get(wanted).copied().unwrap_or_default();
        visitor.visit_enum(Variant { probe: self, name })
    }
}

/// The fields of a struct that are not passed over.
struct Fields<'a, 'p> {
    probing: &'a mut Probing<'p>,
    place: Place,
    names: &'static [&'static str],
    next: usize,
}

impl<'de> MapAccess<'de> for Fields<'_, '_> {
    type Error = ProbeError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, ProbeError> {
        while self
            .probing
            .passed_over
            .contains(&self.place.below(self.next))
        {
            self.next += 1;
        }
        let Some(name) = self.names.get(self.next) else {
            return Ok(None);
        };
        self.next += 1;
        let name: de::value::StrDeserializer<'_, ProbeError> = (*name).into_deserializer();
        seed.deserialize(name).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, ProbeError> {
        seed.deserialize(Probe {
            probing: &mut *self.probing,
            place: self.place.below(self.next.saturating_sub(1)),
            wrapped: 0,
        })
    }
}

/// The elements of a list or a tuple.
struct Elements<'a, 'p> {
    probing: &'a mut Probing<'p>,
    place: Place,
    next: usize,
    length: usize,
}

impl<'de> SeqAccess<'de> for Elements<'_, '_> {
    type Error = ProbeError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, ProbeError> {
        if self.next >= self.length {
            return Ok(None);
        }
        let place = self.place.below(self.next);
        // A list is whole without the element that cannot be made; a tuple is not.
        if self.probing.passed_over.contains(&place) {
            self.next = self.length;
            return Ok(None);
        }
        self.next += 1;
        let probe = Probe {
            probing: &mut *self.probing,
            place,
            wrapped: 0,
        };
        seed.deserialize(probe).map(Some)
    }
}

/// A variant of an enum.
struct Variant<'a, 'p> {
    probe: Probe<'a, 'p>,
    name: &'static str,
}

impl<'de, 'a, 'p> EnumAccess<'de> for Variant<'a, 'p> {
    type Error = ProbeError;
    type Variant = Probe<'a, 'p>;

    fn variant_seed<V: DeserializeSeed<'de>>(
        self,
        seed: V,
    ) -> Result<(V::Value, Probe<'a, 'p>), ProbeError> {
        let name: de::value::StrDeserializer<'_, ProbeError> = self.name.into_deserializer();
        Ok((seed.deserialize(name)?, self.probe))
    }
}

impl Probe<'_, '_> {
    /// A variant carries values: the enum is no text.
    fn refuse<T>(self) -> Result<T, ProbeError> {
        let Probe { probing, place, .. } = self;
        let known = probing.found.shapes.get_mut(&place);
        known
            .into_iter()
            .for_each(|shape| *shape = Shape::Value(SchemaNode::new()));
        probing.stopped_at = Some(place);
        Err(ProbeError::Value)
    }
}

impl<'de> VariantAccess<'de> for Probe<'_, '_> {
    type Error = ProbeError;

    fn unit_variant(self) -> Result<(), ProbeError> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, _: T) -> Result<T::Value, ProbeError> {
        self.refuse()
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, ProbeError> {
        self.refuse()
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, ProbeError> {
        self.refuse()
    }
}

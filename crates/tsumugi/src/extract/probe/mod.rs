//! Which fields a type has that is made by serde, and of which kind each is, found by making it of nothing. Reads no request.
//! Rule: a type is made a bounded number of times, of values that a client could have sent; what does not come to light is anything.

mod deserializer;

use serde::de::DeserializeOwned;
use tsumugi_shapes::SchemaNode;

use crate::limits::{PROBE_FIELDS_MAX, PROBE_TRIES_MAX};
use deserializer::{Place, Probe, ProbeError, Probing, TypeOutline};

/// What a type is made of.
pub(super) enum TypeParts {
    /// One value.
    Value(SchemaNode),
    /// Values in their order.
    Tuple(Vec<SchemaNode>),
    /// Fields.
    Object(SchemaNode),
}

impl TypeParts {
    /// The schema of a body that is such a value.
    pub fn into_schema(self) -> SchemaNode {
        match self {
            TypeParts::Value(schema) | TypeParts::Object(schema) => schema,
            TypeParts::Tuple(_) => SchemaNode::of_type("array"),
        }
    }
}

/// What `T` is made of.
pub(super) fn probe<T: DeserializeOwned>() -> TypeParts {
    let mut found = TypeOutline::default();
    let mut passed_over: Vec<Place> = Vec::new();
    for _ in 0..PROBE_TRIES_MAX {
        let mut probing = Probing::new(&mut found, &passed_over);
        let made = T::deserialize(Probe::root(&mut probing));
        let (Err(ProbeError::Value), Some(place)) = (made, probing.stopped_at) else {
            break;
        };
        // A text that is an address or a date, say, takes another one. What cannot be made of any value of ours is passed over the next time.
        if !found.change_text(&place) {
            if passed_over.contains(&place) {
                break;
            }
            passed_over.push(place);
        }
    }
    find_units::<T>(&mut found, &passed_over);
    find_defaults::<T>(&mut found, &passed_over);
    let root = Place::default();
    match found.tuple_length(&root) {
        Some(length) => {
            let places = (0..length).map(|index| root.below(index));
            TypeParts::Tuple(places.map(|place| found.schema(&place)).collect())
        }
        None if found.is_object(&root) => TypeParts::Object(found.schema(&root)),
        None => TypeParts::Value(found.schema(&root)),
    }
}

/// Looks at each variant of each enum: one that carries values is no text.
fn find_units<T: DeserializeOwned>(found: &mut TypeOutline, passed_over: &[Place]) {
    for (place, count) in found.enums() {
        for variant in 1..count.min(PROBE_TRIES_MAX) {
            let mut probing = Probing::new(found, passed_over);
            probing.variant = Some((place.clone(), variant));
            // What it says of other places is known.
            drop(T::deserialize(Probe::root(&mut probing)));
        }
    }
}

/// Leaves out each field once: one that is not missed may be missing.
fn find_defaults<T: DeserializeOwned>(found: &mut TypeOutline, passed_over: &[Place]) {
    for (place, name) in found.required_fields().into_iter().take(PROBE_FIELDS_MAX) {
        let mut without = passed_over.to_vec();
        without.push(place.clone());
        let mut probing = Probing::new(found, &without);
        let made = T::deserialize(Probe::root(&mut probing));
        let is_missed = match made {
            Ok(_) => false,
            // When one that was passed over is missed first, that says nothing of this one.
            Err(ProbeError::Missing(missed)) => {
                let mut others = passed_over.iter();
                missed == name || others.any(|other| found.name(other) == Some(missed))
            }
            Err(ProbeError::Value) => true,
        };
        if !is_missed {
            found.set_optional(&place);
        }
    }
}

/// The name of a type, without its path; none of one that is made of others.
pub(super) fn type_name<T>() -> Option<String> {
    let path = std::any::type_name::<T>();
    let is_plain = |sign: char| sign.is_ascii_alphanumeric() || sign == '_' || sign == ':';
    let name = path.rsplit("::").next().unwrap_or(path);
    path.chars().all(is_plain).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::net::IpAddr;

    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Color {
        Red,
        Green,
    }

    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only its names are looked at")]
    enum Freight {
        Empty,
        Full(i64),
    }

    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only its fields are looked at")]
    struct Address {
        city: String,
        zip: Option<String>,
    }

    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only its fields are looked at")]
    struct Order {
        id: i64,
        count: u32,
        price: f64,
        paid: bool,
        note: Option<String>,
        #[serde(default)]
        tags: Vec<String>,
        from: IpAddr,
        color: Color,
        mixed: Option<Freight>,
        #[serde(rename = "shipTo")]
        ship_to: Address,
        more: HashMap<String, i64>,
        any: serde_json::Value,
    }

    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only its fields are looked at")]
    struct Tree {
        left: Option<Box<Tree>>,
        children: Vec<Tree>,
    }

    /// Nothing of these lies deeper than the outermost value.
    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only its kind is looked at")]
    struct Chain(Option<Box<Chain>>);

    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only its kind is looked at")]
    struct Endless(Box<Endless>);

    #[derive(Deserialize)]
    #[serde(transparent)]
    #[expect(dead_code, reason = "only its kind is looked at")]
    struct Transparent {
        inner: Option<Box<Transparent>>,
    }

    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only its fields are looked at")]
    struct SelfReferences {
        chain: Chain,
        endless: Endless,
        transparent: Transparent,
        wrapped: Option<Identifier>,
        count: u32,
    }

    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only its kind is looked at")]
    struct Identifier(i64);

    fn fields<T: DeserializeOwned>() -> Vec<(String, String, bool)> {
        let TypeParts::Object(schema) = probe::<T>() else {
            panic!("no object");
        };
        let fields = schema.object_fields().into_iter();
        fields
            .map(|(name, schema, is_required)| {
                let kind = schema.field("type").and_then(SchemaNode::as_text);
                (
                    name.to_owned(),
                    kind.unwrap_or_default().to_owned(),
                    is_required,
                )
            })
            .collect()
    }

    #[test]
    fn struct_has_its_fields_with_kinds() {
        let expected = [
            ("id", "integer", true),
            ("count", "integer", true),
            ("price", "number", true),
            ("paid", "boolean", true),
            ("note", "string", false),
            ("tags", "array", false),
            ("from", "string", true),
            ("color", "string", true),
            ("mixed", "", false),
            ("shipTo", "object", true),
            ("more", "object", true),
            ("any", "", true),
        ];
        let expected = expected.map(|(name, kind, is)| (name.to_owned(), kind.to_owned(), is));
        assert_eq!(fields::<Order>(), expected);
    }

    #[test]
    fn nested_struct_and_choices_are_found() {
        let TypeParts::Object(schema) = probe::<Order>() else {
            panic!("no object");
        };
        let property = |name: &str| {
            schema
                .field("properties")
                .unwrap()
                .field(name)
                .unwrap()
                .clone()
        };
        let address = property("shipTo");
        let inner = address.object_fields();
        let inner: Vec<(&str, bool)> = inner.iter().map(|(name, _, is)| (*name, *is)).collect();
        assert_eq!(inner, [("city", true), ("zip", false)]);
        let choices = SchemaNode::List(vec!["red".into(), "green".into()]);
        assert_eq!(property("color").field("enum"), Some(&choices));
        let items = property("tags").field("items").cloned();
        assert_eq!(items, Some(SchemaNode::of_type("string")));
    }

    #[test]
    fn single_values_and_tuples_are_no_objects() {
        assert!(
            matches!(probe::<i64>(), TypeParts::Value(schema) if schema == SchemaNode::of_type("integer"))
        );
        let TypeParts::Tuple(parts) = probe::<(i64, String)>() else {
            panic!("no tuple");
        };
        let expected = ["integer", "string"].map(SchemaNode::of_type);
        assert_eq!(parts, expected);
    }

    #[test]
    fn type_of_itself_ends_at_the_limit() {
        let names: Vec<String> = fields::<Tree>()
            .into_iter()
            .map(|(name, ..)| name)
            .collect();
        assert_eq!(names, ["left", "children"]);
    }

    #[test]
    fn newtypes_and_options_of_themselves_end_at_the_limit() {
        let schema = |parts: TypeParts| parts.into_schema();
        assert_eq!(schema(probe::<Chain>()), SchemaNode::new());
        assert_eq!(schema(probe::<Endless>()), SchemaNode::new());
        assert_eq!(schema(probe::<Transparent>()), SchemaNode::new());
        let expected = [
            ("chain", "", false),
            ("endless", "", true),
            ("transparent", "", false),
            ("wrapped", "integer", false),
            ("count", "integer", true),
        ];
        let expected = expected.map(|(name, kind, is)| (name.to_owned(), kind.to_owned(), is));
        assert_eq!(fields::<SelfReferences>(), expected);
    }

    #[test]
    fn name_of_a_type_made_of_others_is_none() {
        assert_eq!(type_name::<Order>().as_deref(), Some("Order"));
        assert_eq!(type_name::<Vec<Order>>(), None);
    }
}

//! Shapes as JSON Schema (draft 2020-12), as a tree of plain values. Not JSON text, and not the document that the schemas stand in.
//! Rule: what a schema refuses the shape refuses, but for texts in place of other values, as forms send them: of a number, of a truth, an empty one of what
//! may be missing; and a time with a space. A condition that no keyword of a schema says, as a pattern or a rule on several fields, is left out.

use crate::format::Format;
use crate::limits::SHAPE_ITEMS_MAX;
use crate::literal::Literal;
use crate::shape::{FieldPresence, InputShape, Kind, Rule};

/// The type of `null`.
const NULL: &str = "null";

/// A value of JSON; the fields of an object in their order.
#[derive(Clone, Debug, PartialEq)]
pub enum SchemaNode {
    /// `null`.
    Null,
    /// A truth.
    Boolean(bool),
    /// A whole number.
    Integer(i64),
    /// A finite number.
    Number(f64),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<SchemaNode>),
    /// An object.
    Object(Vec<(String, SchemaNode)>),
}

impl SchemaNode {
    /// An object without fields: as a schema, anything.
    pub fn new() -> SchemaNode {
        SchemaNode::Object(Vec::new())
    }

    /// The schema of values of a type: `string`, `integer`, `number`, `boolean`, `array`, `object`.
    pub fn of_type(name: &str) -> SchemaNode {
        SchemaNode::new().with("type", name)
    }

    /// The schema of lists of such values.
    pub fn list_of(items: SchemaNode) -> SchemaNode {
        SchemaNode::of_type("array").with("items", items)
    }

    /// The schema of a file in a form.
    pub fn file() -> SchemaNode {
        SchemaNode::of_type("string").with("contentMediaType", "application/octet-stream")
    }

    /// The schema of objects with these fields, of which those with `true` have to be there.
    pub fn object_of(fields: Vec<(String, SchemaNode, bool)>) -> SchemaNode {
        let required: Vec<SchemaNode> = fields
            .iter()
            .filter(|(_, _, is_required)| *is_required)
            .map(|(name, ..)| SchemaNode::Text(name.clone()))
            .collect();
        let fields = fields.into_iter().map(|(name, schema, _)| (name, schema));
        let schema =
            SchemaNode::of_type("object").with("properties", SchemaNode::Object(fields.collect()));
        match required.is_empty() {
            true => schema,
            false => schema.with("required", SchemaNode::List(required)),
        }
    }

    /// The same object with one field more. Of what is no object nothing is changed.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<SchemaNode>) -> SchemaNode {
        if let SchemaNode::Object(fields) = &mut self {
            fields.push((name.to_owned(), value.into()));
        }
        self
    }

    /// The schema that takes `null` too.
    #[must_use]
    fn or_null(mut self) -> SchemaNode {
        if let Some(kind) = self.field_mut("type") {
            *kind = SchemaNode::List(vec![std::mem::take(kind), NULL.into()]);
        }
        if let Some(SchemaNode::List(choices)) = self.field_mut("enum") {
            choices.push(SchemaNode::Null);
        }
        self
    }

    /// The schema of the same values where there is no `null`, as in a query; those of a list's items too.
    #[must_use]
    pub fn without_null(mut self) -> SchemaNode {
        if let Some(kind) = self.field_mut("type")
            && let SchemaNode::List(kinds) = kind
        {
            kinds.retain(|kind| kind.as_text() != Some(NULL));
            if let [one] = kinds.as_mut_slice() {
                *kind = std::mem::take(one);
            }
        }
        if let Some(SchemaNode::List(choices)) = self.field_mut("enum") {
            choices.retain(|choice| *choice != SchemaNode::Null);
        }
        if let Some(items) = self.field_mut("items") {
            *items = std::mem::take(items).without_null();
        }
        self
    }

    fn field_mut(&mut self, name: &str) -> Option<&mut SchemaNode> {
        match self {
            SchemaNode::Object(fields) => {
                let found = fields.iter_mut().find(|(known, _)| known == name);
                found.map(|(_, value)| value)
            }
            _ => None,
        }
    }

    /// A field of an object.
    pub fn field(&self, name: &str) -> Option<&SchemaNode> {
        match self {
            SchemaNode::Object(fields) => {
                let found = fields.iter().find(|(known, _)| known == name);
                found.map(|(_, value)| value)
            }
            _ => None,
        }
    }

    /// The text, if it is one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            SchemaNode::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Of the schema of an object, its fields: name, schema, whether it has to be there.
    pub fn object_fields(&self) -> Vec<(&str, &SchemaNode, bool)> {
        let Some(SchemaNode::Object(fields)) = self.field("properties") else {
            return Vec::new();
        };
        let is_required = |name: &str| match self.field("required") {
            Some(SchemaNode::List(names)) => {
                names.iter().any(|known| known.as_text() == Some(name))
            }
            _ => false,
        };
        let fields = fields.iter();
        fields
            .map(|(name, schema)| (name.as_str(), schema, is_required(name)))
            .collect()
    }
}

impl Default for SchemaNode {
    fn default() -> SchemaNode {
        SchemaNode::new()
    }
}

impl From<&str> for SchemaNode {
    fn from(text: &str) -> SchemaNode {
        SchemaNode::Text(text.to_owned())
    }
}

impl From<String> for SchemaNode {
    fn from(text: String) -> SchemaNode {
        SchemaNode::Text(text)
    }
}

impl From<bool> for SchemaNode {
    fn from(truth: bool) -> SchemaNode {
        SchemaNode::Boolean(truth)
    }
}

impl From<i64> for SchemaNode {
    fn from(integer: i64) -> SchemaNode {
        SchemaNode::Integer(integer)
    }
}

impl From<usize> for SchemaNode {
    fn from(count: usize) -> SchemaNode {
        SchemaNode::Integer(count.try_into().unwrap_or(i64::MAX))
    }
}

impl From<&Literal> for SchemaNode {
    fn from(literal: &Literal) -> SchemaNode {
        match literal {
            Literal::Boolean(truth) => SchemaNode::Boolean(*truth),
            Literal::Integer(integer) => SchemaNode::Integer(*integer),
            Literal::Number(number) => SchemaNode::Number(*number),
            Literal::Text(text) => SchemaNode::Text(text.to_string()),
            Literal::EmptyList => SchemaNode::List(Vec::new()),
        }
    }
}

impl InputShape {
    /// The shape as JSON Schema. To be asked of one that [`InputShape::examine`] finds sound, which is nested no deeper than a limit.
    pub fn json_schema(&self) -> SchemaNode {
        let fields = self.fields().iter().map(|field| {
            let is_required = matches!(field.rule.presence, FieldPresence::Required);
            (
                field.name.to_string(),
                field.rule.json_schema(),
                is_required,
            )
        });
        SchemaNode::object_of(fields.collect())
    }

    /// Whether a field of it, or of one of its objects, is a file.
    pub fn has_file(&self) -> bool {
        self.fields().iter().any(|field| field.rule.has_file())
    }
}

impl Rule {
    /// Of one that a sound shape has; see [`InputShape::json_schema`].
    pub fn json_schema(&self) -> SchemaNode {
        let schema = match &self.kind {
            Kind::Text => self.sized(SchemaNode::of_type("string"), "minLength", "maxLength"),
            Kind::Integer => SchemaNode::of_type("integer"),
            Kind::Number => SchemaNode::of_type("number"),
            Kind::Boolean => SchemaNode::of_type("boolean"),
            Kind::File => SchemaNode::file(),
            Kind::Object(shape) => shape.json_schema(),
            Kind::List(items) => {
                let list = SchemaNode::list_of(items.json_schema());
                self.sized(list, "minItems", "maxItems")
            }
            Kind::Any => SchemaNode::new(),
        };
        let optional = [
            ("minimum", self.min.as_ref().map(SchemaNode::from)),
            ("maximum", self.max.as_ref().map(SchemaNode::from)),
            (
                "format",
                self.format.map(|format| format.json_schema_name().into()),
            ),
            (
                "enum",
                self.choices
                    .as_ref()
                    .map(|choices| SchemaNode::List(choices.iter().map(Into::into).collect())),
            ),
            (
                "default",
                match &self.presence {
                    FieldPresence::Default(value) => Some(value.into()),
                    _ => None,
                },
            ),
        ];
        let given = optional.into_iter();
        let schema = given
            .filter_map(|(name, value)| Some((name, value?)))
            .fold(schema, |schema, (name, value)| schema.with(name, value));
        match self.takes_null() {
            true => schema.or_null(),
            false => schema,
        }
    }

    /// Whether `null` is as good as nothing. In a form with files there is none.
    fn takes_null(&self) -> bool {
        !matches!(self.presence, FieldPresence::Required) && !matches!(self.kind, Kind::File)
    }

    /// With how many characters or items it has. An empty text is missing where its length does not begin at 0.
    fn sized(&self, schema: SchemaNode, least: &str, most: &str) -> SchemaNode {
        let is_required = matches!(self.presence, FieldPresence::Required);
        let is_text = matches!(self.kind, Kind::Text);
        let (min, max) = match (self.length, is_text) {
            (Some(length), _) => (length.min, length.max),
            (None, true) => (usize::from(is_required), usize::MAX),
            (None, false) => (0, SHAPE_ITEMS_MAX),
        };
        let schema = match min {
            0 => schema,
            min => schema.with(least, min),
        };
        match max {
            usize::MAX => schema,
            max => schema.with(most, max),
        }
    }

    fn has_file(&self) -> bool {
        match &self.kind {
            Kind::File => true,
            Kind::Object(shape) => shape.has_file(),
            Kind::List(items) => items.has_file(),
            _ => false,
        }
    }
}

impl Format {
    /// Its name in JSON Schema.
    fn json_schema_name(self) -> &'static str {
        match self {
            Format::Email => "email",
            Format::Url => "uri",
            Format::Uuid => "uuid",
            Format::Date => "date",
            Format::Time => "date-time",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::{any, boolean, file, integer, list, number, object, text};

    /// One line, fields as `name: value`.
    fn shown(node: &SchemaNode) -> String {
        let joined = |parts: Vec<String>| parts.join(", ");
        match node {
            SchemaNode::Null => "null".to_owned(),
            SchemaNode::Boolean(truth) => truth.to_string(),
            SchemaNode::Integer(integer) => integer.to_string(),
            SchemaNode::Number(number) => number.to_string(),
            SchemaNode::Text(text) => text.clone(),
            SchemaNode::List(items) => format!("[{}]", joined(items.iter().map(shown).collect())),
            SchemaNode::Object(fields) => {
                let fields = fields.iter();
                let fields = fields.map(|(name, value)| format!("{name}: {}", shown(value)));
                format!("{{{}}}", joined(fields.collect()))
            }
        }
    }

    fn check(rule: Rule, expected: &str) {
        assert_eq!(shown(&rule.json_schema()), expected);
    }

    #[test]
    fn rules_become_keywords() {
        check(text(), "{type: string, minLength: 1}");
        check(text().optional(), "{type: [string, null]}");
        check(text().length(0..), "{type: string}");
        check(
            text().length(2..=9).format(Format::Email),
            "{type: string, minLength: 2, maxLength: 9, format: email}",
        );
        check(
            integer().min(1).max(9).default(3),
            "{type: [integer, null], minimum: 1, maximum: 9, default: 3}",
        );
        check(number().min(0.5), "{type: number, minimum: 0.5}");
        check(
            text().one_of(["a", "b"]).optional(),
            "{type: [string, null], enum: [a, b, null]}",
        );
        check(
            boolean().default(false),
            "{type: [boolean, null], default: false}",
        );
        check(any(), "{}");
        check(any().optional(), "{}");
        check(
            file(),
            "{type: string, contentMediaType: application/octet-stream}",
        );
        check(
            list(integer()).default_empty(),
            "{type: [array, null], items: {type: integer}, maxItems: 1000, default: []}",
        );
        check(
            list(text()).length(1..=3),
            "{type: array, items: {type: string, minLength: 1}, minItems: 1, maxItems: 3}",
        );
    }

    #[test]
    fn object_names_what_has_to_be_there() {
        let city = InputShape::new()
            .field("city", text().length(..=50).optional())
            .field("photo", file());
        assert!(city.has_file());
        check(
            object(city),
            "{type: object, properties: {city: {type: [string, null], maxLength: 50}, \
             photo: {type: string, contentMediaType: application/octet-stream}}, required: [photo]}",
        );
        let none = InputShape::new().json_schema();
        assert_eq!(shown(&none), "{type: object, properties: {}}");
        assert!(!InputShape::new().field("a", integer()).has_file());
    }

    #[test]
    fn schema_without_null_is_that_of_what_has_to_be_there() {
        let one = text().one_of(["a"]).length(1..);
        let required = list(one.clone()).length(1..=2);
        let items = list(one.optional()).length(1..=2);
        let plain = required.json_schema();
        assert_ne!(items.clone().optional().json_schema(), plain);
        assert_eq!(items.optional().json_schema().without_null(), plain);
        assert_eq!(plain.clone().without_null(), plain);
        let photo = file().optional().json_schema();
        assert_eq!(photo, SchemaNode::file());
    }

    #[test]
    fn fields_of_a_schema_are_found_again() {
        let shape = InputShape::new()
            .field("a", integer())
            .field("b", text().optional());
        let schema = shape.json_schema();
        let fields: Vec<(&str, bool)> = schema
            .object_fields()
            .into_iter()
            .map(|(name, _, is_required)| (name, is_required))
            .collect();
        assert_eq!(fields, [("a", true), ("b", false)]);
    }
}

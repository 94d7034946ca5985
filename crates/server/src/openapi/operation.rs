//! What one route asks for and answers, as far as its application says it: parameters, a body, statuses. Not the document.
//! Rule: what says more about the same thing goes before what says less, and nothing is kept beyond a limit.

use std::collections::BTreeSet;

use http::{Method, StatusCode};
use tsumugi_http::CaptureKind;
use tsumugi_shapes::SchemaNode;

use crate::limits::{OPENAPI_FIELDS_MAX, OPENAPI_PARAMETERS_MAX};

/// Where a parameter stands in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterPlace {
    /// In the query string.
    Query,
    /// A header field.
    Header,
    /// A cookie.
    Cookie,
}

/// A parameter beside the path.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its name; of a header field in lower case.
    pub name: String,
    /// Where it stands.
    pub place: ParameterPlace,
    /// Whether a request without it is refused.
    pub is_required: bool,
    /// What it has to be.
    pub schema: SchemaNode,
}

/// How a body may be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MediaType {
    /// `application/json`
    Json,
    /// `application/x-www-form-urlencoded`
    Urlencoded,
    /// `multipart/form-data`
    Multipart,
}

impl MediaType {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            MediaType::Json => "application/json",
            MediaType::Urlencoded => "application/x-www-form-urlencoded",
            MediaType::Multipart => "multipart/form-data",
        }
    }
}

/// The body of a request.
#[derive(Clone, Debug, PartialEq)]
pub struct BodyShape {
    /// How it may be written.
    pub media_types: Vec<MediaType>,
    /// The name of its schema, if it has one; others may have the same.
    pub name: Option<String>,
    /// What it has to be.
    pub schema: SchemaNode,
    /// Whether a request without it is refused.
    pub is_required: bool,
}

/// What a capture of the path has to be, as a handler says it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CaptureSchema {
    /// Its name, or else its place in the pattern.
    pub name: Option<String>,
    pub index: usize,
    pub schema: SchemaNode,
}

/// What a route asks for and answers. Begins with nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OperationShape {
    pub(super) parameters: Vec<Parameter>,
    pub(super) captures: Vec<CaptureSchema>,
    pub(super) body: Option<BodyShape>,
    pub(super) statuses: BTreeSet<u16>,
}

/// Header fields that OpenAPI describes elsewhere.
const OWN_HEADERS: [&str; 3] = ["accept", "content-type", "authorization"];

impl OperationShape {
    /// Adds a parameter. Of several of one name and place the first that has to be there, and the first with more than a text, counts.
    pub fn parameter(&mut self, parameter: Parameter) {
        let Parameter {
            name,
            place,
            is_required,
            schema,
        } = parameter;
        let name = match place {
            ParameterPlace::Header => name.to_ascii_lowercase().replace('_', "-"),
            _ => name,
        };
        if place == ParameterPlace::Header && OWN_HEADERS.contains(&&*name) {
            return;
        }
        let same = |known: &&mut Parameter| known.place == place && known.name == name;
        if let Some(known) = self.parameters.iter_mut().find(same) {
            known.is_required |= is_required;
            if known.schema == SchemaNode::of_type("string") {
                known.schema = schema;
            }
            return;
        }
        if self.parameters.len() < OPENAPI_PARAMETERS_MAX {
            self.parameters.push(Parameter {
                name,
                place,
                is_required,
                schema,
            });
        }
    }

    /// Adds a parameter that is a text and may be missing.
    pub fn text_parameter(&mut self, place: ParameterPlace, name: &str) {
        self.parameter(Parameter {
            name: name.to_owned(),
            place,
            is_required: false,
            schema: SchemaNode::of_type("string"),
        });
    }

    /// Adds the fields of an object as parameters of the query; those of an object in it as `address.city`. A list of objects, which has no such
    /// name, is left out.
    pub fn query_object(&mut self, schema: &SchemaNode) {
        self.query_below("", schema, true);
    }

    fn query_below(&mut self, path: &str, schema: &SchemaNode, is_outer_required: bool) {
        for (name, schema, is_required) in schema.object_fields() {
            let name = format!("{path}{name}");
            let is_required = is_required && is_outer_required;
            let schema = schema.clone().without_null();
            let type_of = |schema: &SchemaNode| {
                let name = schema.field("type").and_then(SchemaNode::as_text);
                name.unwrap_or_default().to_owned()
            };
            match (type_of(&schema).as_str(), schema.field("items")) {
                ("object", _) => self.query_below(&format!("{name}."), &schema, is_required),
                ("array", Some(items)) if type_of(items) == "object" => {}
                _ => self.parameter(Parameter {
                    name,
                    place: ParameterPlace::Query,
                    is_required,
                    schema,
                }),
            }
        }
    }

    /// Says what a capture has to be, by its name or else by its place among the pattern's captures.
    pub fn capture(&mut self, name: Option<&str>, index: usize, schema: SchemaNode) {
        if self.captures.len() < OPENAPI_PARAMETERS_MAX {
            self.captures.push(CaptureSchema {
                name: name.map(str::to_owned),
                index,
                schema,
            });
        }
    }

    /// Adds a body. Of several the fields of all count, unless one has a name: then it is that one.
    pub fn body(&mut self, body: BodyShape) {
        let known = match self.body.take() {
            None => {
                self.body = Some(body);
                return;
            }
            Some(known) => known,
        };
        self.body = Some(match (&known.name, &body.name) {
            (Some(_), _) => known,
            (None, Some(_)) => body,
            (None, None) => merged(known, body),
        });
    }

    /// Adds a status that it may answer; what is none is left out.
    pub fn status(&mut self, status: i64) {
        let status = u16::try_from(status).ok().and_then(|status| {
            let status = StatusCode::from_u16(status).ok()?;
            (status.as_u16() < 600).then_some(status.as_u16())
        });
        self.statuses.extend(status);
    }

    /// Adds all that another one has.
    pub fn extend(&mut self, other: OperationShape) {
        let OperationShape {
            parameters,
            captures,
            body,
            statuses,
        } = other;
        parameters.into_iter().for_each(|each| self.parameter(each));
        for capture in captures {
            self.capture(capture.name.as_deref(), capture.index, capture.schema);
        }
        body.into_iter().for_each(|body| self.body(body));
        self.statuses.extend(statuses);
    }
}

/// The fields of both, each once. A file makes it a form with parts.
fn merged(first: BodyShape, second: BodyShape) -> BodyShape {
    let mut fields: Vec<(String, SchemaNode, bool)> = Vec::new();
    for schema in [&first.schema, &second.schema] {
        for (name, schema, is_required) in schema.object_fields() {
            let known = fields.iter().position(|(known, ..)| known == name);
            match known.and_then(|known| fields.get_mut(known)) {
                Some((_, known, known_required)) => {
                    *known_required |= is_required;
                    if *known == SchemaNode::new() {
                        *known = schema.clone();
                    }
                }
                None => {
                    if fields.len() < OPENAPI_FIELDS_MAX {
                        fields.push((name.to_owned(), schema.clone(), is_required));
                    }
                }
            }
        }
    }
    let multipart = [MediaType::Multipart];
    let is_multipart = |body: &BodyShape| body.media_types == multipart;
    let media_types = match (is_multipart(&first), is_multipart(&second)) {
        (false, true) => second.media_types,
        _ => first.media_types,
    };
    BodyShape {
        media_types,
        name: None,
        schema: match fields.is_empty() {
            true => first.schema,
            false => SchemaNode::object_of(fields),
        },
        is_required: first.is_required || second.is_required,
    }
}

/// A route with what it asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct RouteOperation {
    /// Its method.
    pub method: Method,
    /// Its pattern as the router has it: `/users/:id`, `/files/*path`.
    pub pattern: String,
    /// The types of its captures that have one, by name.
    pub types: Vec<(String, CaptureKind)>,
    /// `file:line` of its declaration.
    pub location: String,
    /// What it asks for and answers.
    pub shape: OperationShape,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(name: &str, is_required: bool) -> BodyShape {
        let fields = vec![(name.to_owned(), SchemaNode::of_type("integer"), is_required)];
        BodyShape {
            media_types: vec![MediaType::Json, MediaType::Urlencoded],
            name: None,
            schema: SchemaNode::object_of(fields),
            is_required,
        }
    }

    #[test]
    fn parameter_named_twice_is_the_one_that_says_more() {
        let mut shape = OperationShape::default();
        shape.text_parameter(ParameterPlace::Query, "page");
        shape.parameter(Parameter {
            name: "page".to_owned(),
            place: ParameterPlace::Query,
            is_required: false,
            schema: SchemaNode::of_type("integer"),
        });
        shape.text_parameter(ParameterPlace::Query, "page");
        shape.text_parameter(ParameterPlace::Cookie, "page");
        let [query, cookie] = shape.parameters.as_slice() else {
            panic!("{shape:?}");
        };
        assert_eq!(query.schema, SchemaNode::of_type("integer"));
        assert_eq!(cookie.place, ParameterPlace::Cookie);
    }

    #[test]
    fn header_that_openapi_describes_elsewhere_is_left_out() {
        let mut shape = OperationShape::default();
        for name in ["Authorization", "content_type", "X_Request_ID"] {
            shape.text_parameter(ParameterPlace::Header, name);
        }
        let names: Vec<&str> = shape.parameters.iter().map(|each| &*each.name).collect();
        assert_eq!(names, ["x-request-id"]);
    }

    #[test]
    fn bodies_of_one_route_have_the_fields_of_both() {
        let mut shape = OperationShape::default();
        shape.body(field("a", true));
        shape.body(field("b", false));
        let body = shape.body.unwrap();
        let fields = body.schema.object_fields();
        let fields: Vec<(&str, bool)> = fields.iter().map(|(name, _, is)| (*name, *is)).collect();
        assert_eq!(fields, [("a", true), ("b", false)]);
        assert!(body.is_required);
    }

    #[test]
    fn nothing_is_kept_beyond_a_limit() {
        let mut shape = OperationShape::default();
        for i in 0..=OPENAPI_PARAMETERS_MAX {
            shape.text_parameter(ParameterPlace::Query, &i.to_string());
            shape.capture(None, i, SchemaNode::new());
        }
        assert_eq!(shape.parameters.len(), OPENAPI_PARAMETERS_MAX);
        assert_eq!(shape.captures.len(), OPENAPI_PARAMETERS_MAX);
        for i in 0..=OPENAPI_FIELDS_MAX {
            shape.body(field(&i.to_string(), false));
        }
        let fields = shape
            .body
            .as_ref()
            .map(|body| body.schema.object_fields().len());
        assert_eq!(fields, Some(OPENAPI_FIELDS_MAX));
    }

    #[test]
    fn number_that_is_no_status_is_left_out() {
        let mut shape = OperationShape::default();
        for status in [204, 404, 99, 600, 1_000, -1, i64::MAX] {
            shape.status(status);
        }
        assert_eq!(Vec::from_iter(shape.statuses), [204, 404]);
    }
}

//! The document of OpenAPI 3.1 that a list of routes becomes. Not what a route asks for, which is in `operation.rs` beside it.
//! Rule: every capture of a path is a parameter, every name stands once, and every reference has what it refers to, whatever the routes are.

use std::collections::{BTreeMap, HashMap, HashSet};

use http::{Method, StatusCode};
use tsumugi_http::CaptureKind;
use tsumugi_shapes::SchemaNode;

use super::json_text;
use super::operation::{BodyShape, OperationShape, Parameter, ParameterPlace, RouteOperation};

/// What a document says of the application as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentInfo {
    /// Its name.
    pub title: String,
    /// The version of what it offers.
    pub version: String,
}

/// A capture in a path.
struct PathCapture {
    name: String,
    is_rest: bool,
}

/// A path as OpenAPI writes it.
struct PathTemplate {
    text: String,
    captures: Vec<PathCapture>,
    /// The same for all paths that differ in the names of captures alone, which OpenAPI takes for one.
    key: String,
}

impl PathTemplate {
    /// Of a pattern as the router has it.
    fn of(pattern: &str) -> PathTemplate {
        let mut captures: Vec<PathCapture> = Vec::new();
        let (mut text, mut key) = (Vec::new(), Vec::new());
        for segment in pattern.split('/') {
            let name = match segment.strip_prefix([':', '*']) {
                Some("") => "rest",
                Some(name) => name,
                None => {
                    let literal = segment.replace('{', "%7B").replace('}', "%7D");
                    key.push(literal.clone());
                    text.push(literal);
                    continue;
                }
            };
            let taken = |name: &str| captures.iter().any(|known| known.name == name);
            let mut free = name.to_owned();
            for number in 2.. {
                if !taken(&free) {
                    break;
                }
                free = format!("{name}_{number}");
            }
            text.push(format!("{{{free}}}"));
            key.push("{}".to_owned());
            captures.push(PathCapture {
                name: free,
                is_rest: segment.starts_with('*'),
            });
        }
        PathTemplate {
            text: text.join("/"),
            key: key.join("/"),
            captures,
        }
    }
}

/// The document of these routes, as JSON text that ends with a line break.
pub fn document(info: &DocumentInfo, operations: &[RouteOperation]) -> String {
    let mut document = Document::default();
    for operation in operations {
        document.add(operation);
    }
    let info = SchemaNode::new()
        .with("title", info.title.as_str())
        .with("version", info.version.as_str());
    let paths = document.paths.into_iter();
    let paths = paths.map(|path| (path.template, SchemaNode::Object(path.operations)));
    let mut root = SchemaNode::new()
        .with("openapi", "3.1.0")
        .with("info", info)
        .with("paths", SchemaNode::Object(paths.collect()));
    if !document.schemas.is_empty() {
        let schemas = SchemaNode::Object(document.schemas.into_iter().collect());
        root = root.with("components", SchemaNode::new().with("schemas", schemas));
    }
    json_text::pretty(&root)
}

/// The operations of one path.
struct PathOperations {
    template: String,
    /// The names of its captures.
    names: Vec<String>,
    operations: Vec<(String, SchemaNode)>,
}

#[derive(Default)]
struct Document {
    paths: Vec<PathOperations>,
    /// Where the path of a key stands.
    places: HashMap<String, usize>,
    ids: HashSet<String>,
    schemas: BTreeMap<String, SchemaNode>,
}

impl Document {
    fn add(&mut self, operation: &RouteOperation) {
        let Some(method) = key_of(&operation.method) else {
            return;
        };
        let template = PathTemplate::of(&operation.pattern);
        let place = *self.places.entry(template.key.clone()).or_insert_with(|| {
            let names = template.captures.iter();
            self.paths.push(PathOperations {
                template: template.text.clone(),
                names: names.map(|capture| capture.name.clone()).collect(),
                operations: Vec::new(),
            });
            self.paths.len() - 1
        });
        let Some(path) = self.paths.get(place) else {
            return;
        };
        let same = path
            .operations
            .iter()
            .position(|(known, _)| known == method);
        if let Some(same) = same {
            // The router tells them apart by the types of their captures, which OpenAPI cannot.
            let also = format!(
                "{} {} {}",
                operation.method, operation.pattern, operation.location
            );
            let known = self.paths.get_mut(place);
            let known = known.and_then(|path| path.operations.get_mut(same));
            if let Some((_, SchemaNode::Object(fields))) = known {
                add_alternative(fields, also);
            }
            return;
        }
        let names = path.names.clone();
        let described = self.described(operation, method, &template, &names);
        if let Some(path) = self.paths.get_mut(place) {
            path.operations.push((method.to_owned(), described));
        }
    }

    /// An operation; `names` are those of the captures in its path.
    fn described(
        &mut self,
        operation: &RouteOperation,
        method: &str,
        template: &PathTemplate,
        names: &[String],
    ) -> SchemaNode {
        let shape = &operation.shape;
        let mut described = SchemaNode::new()
            .with("operationId", self.id_of(method, &template.text))
            .with("x-source", operation.location.as_str());
        let mut parameters: Vec<SchemaNode> = template
            .captures
            .iter()
            .zip(names)
            .enumerate()
            .map(|(index, (capture, name))| captured(operation, index, capture, name))
            .collect();
        parameters.extend(shape.parameters.iter().map(parameter));
        if !parameters.is_empty() {
            described = described.with("parameters", SchemaNode::List(parameters));
        }
        if let Some(body) = &shape.body {
            described = described.with("requestBody", self.body(body));
        }
        described.with("responses", responses(shape))
    }

    /// A name that no other operation has.
    fn id_of(&mut self, method: &str, path: &str) -> String {
        let words = path.split(|sign: char| !sign.is_ascii_alphanumeric());
        let mut words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        if words.is_empty() {
            words.push("root");
        }
        let base = [&[method][..], &words].concat().join("_");
        let mut id = base.clone();
        for number in 2.. {
            if self.ids.insert(id.clone()) {
                break;
            }
            id = format!("{base}_{number}");
        }
        id
    }

    fn body(&mut self, body: &BodyShape) -> SchemaNode {
        let schema = match &body.name {
            Some(name) => self.named(name, &body.schema),
            None => body.schema.clone(),
        };
        let content = body.media_types.iter().map(|media_type| {
            let content = SchemaNode::new().with("schema", schema.clone());
            (media_type.name().to_owned(), content)
        });
        let described = SchemaNode::new().with("content", SchemaNode::Object(content.collect()));
        match body.is_required {
            true => described.with("required", true),
            false => described,
        }
    }

    /// A reference to a schema, or the schema where another one has its name.
    fn named(&mut self, name: &str, schema: &SchemaNode) -> SchemaNode {
        let is_name = |sign: char| sign.is_ascii_alphanumeric() || ['.', '_', '-'].contains(&sign);
        if name.is_empty() || !name.chars().all(is_name) {
            return schema.clone();
        }
        let known = self.schemas.entry(name.to_owned());
        match known.or_insert_with(|| schema.clone()) == schema {
            true => SchemaNode::new().with("$ref", format!("#/components/schemas/{name}")),
            false => schema.clone(),
        }
    }
}

fn add_alternative(fields: &mut Vec<(String, SchemaNode)>, also: String) {
    const NAME: &str = "x-alternatives";
    let known = fields.iter_mut().find(|(name, _)| name == NAME);
    match known {
        Some((_, SchemaNode::List(list))) => list.push(also.into()),
        _ => fields.push((NAME.to_owned(), SchemaNode::List(vec![also.into()]))),
    }
}

/// The word of a method in a path's object.
fn key_of(method: &Method) -> Option<&'static str> {
    Some(match *method {
        Method::GET => "get",
        Method::POST => "post",
        Method::PUT => "put",
        Method::PATCH => "patch",
        Method::DELETE => "delete",
        Method::HEAD => "head",
        Method::OPTIONS => "options",
        Method::TRACE => "trace",
        _ => return None,
    })
}

fn captured(
    operation: &RouteOperation,
    index: usize,
    capture: &PathCapture,
    name: &str,
) -> SchemaNode {
    let typed = operation.types.iter();
    let typed = typed
        .filter(|(known, _)| *known == capture.name)
        .map(|(_, kind)| schema_of(*kind))
        .next();
    let asked = || {
        let mut captures = operation.shape.captures.iter();
        let found = captures.find(|known| match &known.name {
            Some(known) => *known == capture.name,
            None => known.index == index,
        });
        found.map(|known| known.schema.clone())
    };
    let schema = typed.or_else(asked);
    let schema = schema.unwrap_or_else(|| SchemaNode::of_type("string"));
    let mut described = SchemaNode::new().with("name", name).with("in", "path");
    if capture.is_rest {
        described = described.with("description", "the rest of the path, slashes included");
    }
    described.with("required", true).with("schema", schema)
}

fn schema_of(kind: CaptureKind) -> SchemaNode {
    match kind {
        CaptureKind::Integer => SchemaNode::of_type("integer"),
        CaptureKind::Float => SchemaNode::of_type("number"),
        CaptureKind::Uuid => SchemaNode::of_type("string").with("format", "uuid"),
        CaptureKind::String | CaptureKind::Path => SchemaNode::of_type("string"),
    }
}

fn parameter(parameter: &Parameter) -> SchemaNode {
    let place = match parameter.place {
        ParameterPlace::Query => "query",
        ParameterPlace::Header => "header",
        ParameterPlace::Cookie => "cookie",
    };
    let described = SchemaNode::new()
        .with("name", parameter.name.as_str())
        .with("in", place);
    let described = match parameter.is_required {
        true => described.with("required", true),
        false => described,
    };
    described.with("schema", parameter.schema.clone())
}

/// By status. One of success is among them: 200 when the application names none.
fn responses(shape: &OperationShape) -> SchemaNode {
    let mut statuses = shape.statuses.clone();
    if !statuses.iter().any(|status| *status < 400) {
        statuses.insert(200);
    }
    let responses = statuses.into_iter().map(|status| {
        let known = StatusCode::from_u16(status).ok();
        let reason = known.and_then(|status| status.canonical_reason());
        let described = SchemaNode::new().with("description", reason.unwrap_or("Response"));
        (status.to_string(), described)
    });
    SchemaNode::Object(responses.collect())
}

#[cfg(test)]
mod tests {
    use super::super::operation::MediaType;
    use super::*;

    fn operation(method: Method, pattern: &str, shape: OperationShape) -> RouteOperation {
        RouteOperation {
            method,
            pattern: pattern.to_owned(),
            types: Vec::new(),
            location: "app.rb:1".to_owned(),
            shape,
        }
    }

    fn parsed(operations: &[RouteOperation]) -> serde_json::Value {
        let info = DocumentInfo {
            title: "shop".to_owned(),
            version: "0".to_owned(),
        };
        serde_json::from_str(&document(&info, operations)).unwrap()
    }

    fn json_body(name: &str, schema: SchemaNode) -> OperationShape {
        let mut shape = OperationShape::default();
        shape.body(BodyShape {
            media_types: vec![MediaType::Json],
            name: Some(name.to_owned()),
            schema,
            is_required: true,
        });
        shape
    }

    #[test]
    fn document_without_routes_has_what_openapi_requires() {
        let expected = serde_json::json!({
            "openapi": "3.1.0",
            "info": {"title": "shop", "version": "0"},
            "paths": {},
        });
        assert_eq!(parsed(&[]), expected);
    }

    #[test]
    fn captures_become_parameters_of_their_types() {
        let mut show = operation(Method::GET, "/users/:id/*", OperationShape::default());
        show.types.push(("id".to_owned(), CaptureKind::Integer));
        let document = parsed(&[show]);
        let expected = serde_json::json!({
            "operationId": "get_users_id_rest",
            "x-source": "app.rb:1",
            "parameters": [
                {"name": "id", "in": "path", "required": true, "schema": {"type": "integer"}},
                {"name": "rest", "in": "path", "description": "the rest of the path, slashes included", "required": true,
                 "schema": {"type": "string"}},
            ],
            "responses": {"200": {"description": "OK"}},
        });
        assert_eq!(document["paths"]["/users/{id}/{rest}"]["get"], expected);
    }

    #[test]
    fn paths_that_differ_in_names_of_captures_are_one() {
        let shape = OperationShape::default;
        let document = parsed(&[
            operation(Method::GET, "/x/:id", shape()),
            operation(Method::GET, "/x/:name", shape()),
            operation(Method::PUT, "/x/:key", shape()),
        ]);
        assert_eq!(document["paths"].as_object().unwrap().len(), 1);
        let path = &document["paths"]["/x/{id}"];
        assert_eq!(path["put"]["parameters"][0]["name"], "id");
        assert_eq!(
            path["get"]["x-alternatives"],
            serde_json::json!(["GET /x/:name app.rb:1"])
        );
    }

    #[test]
    fn operation_has_a_name_of_its_own() {
        let shape = OperationShape::default;
        let document = parsed(&[
            operation(Method::GET, "/a/b", shape()),
            operation(Method::GET, "/a-b", shape()),
        ]);
        assert_eq!(document["paths"]["/a/b"]["get"]["operationId"], "get_a_b");
        assert_eq!(document["paths"]["/a-b"]["get"]["operationId"], "get_a_b_2");
    }

    #[test]
    fn schema_of_a_name_stands_once_and_another_one_in_its_place() {
        let object = || SchemaNode::of_type("object");
        let document = parsed(&[
            operation(Method::POST, "/a", json_body("Order", object())),
            operation(Method::POST, "/b", json_body("Order", object())),
            operation(Method::POST, "/c", json_body("Order", SchemaNode::new())),
            operation(Method::POST, "/d", json_body("no name", object())),
        ]);
        let schema = |path: &str| {
            document["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"]
                .clone()
        };
        let reference = serde_json::json!({"$ref": "#/components/schemas/Order"});
        assert_eq!(schema("/a"), reference);
        assert_eq!(schema("/b"), reference);
        assert_eq!(schema("/c"), serde_json::json!({}));
        assert_eq!(schema("/d"), serde_json::json!({"type": "object"}));
        let schemas = &document["components"]["schemas"];
        assert_eq!(*schemas, serde_json::json!({"Order": {"type": "object"}}));
    }

    #[test]
    fn error_alone_does_not_take_the_place_of_success() {
        let mut shape = OperationShape::default();
        shape.status(404);
        let statuses = |shape: &OperationShape| match responses(shape) {
            SchemaNode::Object(fields) => fields.into_iter().map(|(name, _)| name).collect(),
            _ => Vec::<String>::new(),
        };
        assert_eq!(statuses(&shape), ["200", "404"]);
        shape.status(303);
        assert_eq!(statuses(&shape), ["303", "404"]);
    }
}

//! What the words of a handler ask of its request, and which statuses they answer: `body.require`, `query.int`, `halt 404`. Not the reading of the
//! program, and no rule of its own: each word means here what it means when it is called.
//! Rule: a word whose arguments are not known says as much as it says without them.

use std::rc::Rc;

use tsumugi_server::openapi::{BodyShape, MediaType, OperationShape, Parameter, ParameterPlace};
use tsumugi_shapes::{InputShape, SchemaNode};

use super::abstract_value::{AbstractRange, AbstractValue, RequestPart};

/// A call in a handler.
pub(super) struct Call {
    pub name: Rc<str>,
    pub receiver: AbstractValue,
    /// None where they are not known, not even their count.
    pub arguments: Option<Vec<AbstractValue>>,
    pub keywords: Vec<(AbstractValue, AbstractValue)>,
    /// Whether a request may pass it over.
    pub is_conditional: bool,
}

impl Call {
    fn argument(&self, index: usize) -> AbstractValue {
        let arguments = self.arguments.as_deref().unwrap_or_default();
        arguments.get(index).cloned().unwrap_or_default()
    }

    fn keyword(&self, name: &str) -> Option<&AbstractValue> {
        let mut keywords = self.keywords.iter();
        let found = keywords.find(|(key, _)| key.name() == Some(name));
        found.map(|(_, value)| value)
    }

    fn is_plain(&self) -> bool {
        self.arguments.as_ref().is_some_and(Vec::is_empty) && self.keywords.is_empty()
    }
}

/// The shape that a value stands for.
pub(super) type Shapes<'m> = dyn Fn(&AbstractValue) -> Option<Rc<InputShape>> + 'm;

/// Gathers what calls ask for.
pub(super) struct Words<'m> {
    shapes: &'m Shapes<'m>,
    shape: OperationShape,
}

impl<'m> Words<'m> {
    pub fn new(shapes: &'m Shapes<'m>) -> Words<'m> {
        Words {
            shapes,
            shape: OperationShape::default(),
        }
    }

    pub fn into_shape(self) -> OperationShape {
        self.shape
    }

    /// What the call answers, as far as that is known.
    pub fn call(&mut self, call: &Call) -> AbstractValue {
        match call.receiver {
            AbstractValue::Context => return self.context(call),
            AbstractValue::Part(RequestPart::Request) => return request_part(call),
            AbstractValue::Part(RequestPart::Query) => self.query(call),
            AbstractValue::Part(RequestPart::Body) => self.body(call),
            AbstractValue::Part(RequestPart::Headers) => self.text(ParameterPlace::Header, call),
            AbstractValue::Part(RequestPart::Cookies) => match &*call.name {
                // `cookies.signed[:name]` reads a cookie as `cookies[:name]` does.
                "signed" => return AbstractValue::Part(RequestPart::Cookies),
                _ => self.text(ParameterPlace::Cookie, call),
            },
            _ => {}
        }
        AbstractValue::Nothing
    }

    /// A word without a receiver.
    fn context(&mut self, call: &Call) -> AbstractValue {
        match &*call.name {
            "request" if call.is_plain() => return AbstractValue::Part(RequestPart::Request),
            "query" if call.is_plain() => return AbstractValue::Part(RequestPart::Query),
            "halt" | "status" => self.status(&call.argument(0)),
            "json" | "text" | "html" => {
                if let Some(status) = call.keyword("status") {
                    self.status(&status.clone());
                }
            }
            "redirect" => {
                let status = call.keyword("status").cloned();
                self.status(&status.unwrap_or(AbstractValue::Integer(303)));
            }
            "invalid" => self.shape.status(422),
            "websocket" => self.shape.status(101),
            _ => return request_part(call),
        }
        AbstractValue::Nothing
    }

    fn status(&mut self, status: &AbstractValue) {
        if let AbstractValue::Integer(status) = status {
            self.shape.status(*status);
        }
    }

    fn text(&mut self, place: ParameterPlace, call: &Call) {
        if let ("[]" | "key?", Some(name)) = (&*call.name, call.argument(0).name()) {
            self.shape.text_parameter(place, name);
        }
    }

    fn query(&mut self, call: &Call) {
        if &*call.name == "check" {
            self.shape.status(422);
            if let Some(shape) = (self.shapes)(&call.argument(0)) {
                self.shape.query_object(&shape.json_schema());
            }
            return;
        }
        let argument = call.argument(0);
        let Some(name) = argument.name() else {
            return;
        };
        let schema = match &*call.name {
            "[]" | "key?" => SchemaNode::of_type("string"),
            "list" => SchemaNode::list_of(SchemaNode::of_type("string")),
            "int" => numeric("integer", call),
            "float" => numeric("number", call),
            "bool" => with_default(SchemaNode::of_type("boolean"), &call.argument(1)),
            _ => return,
        };
        if let "int" | "float" | "bool" = &*call.name {
            self.shape.status(400);
        }
        self.shape.parameter(Parameter {
            name: name.to_owned(),
            place: ParameterPlace::Query,
            is_required: false,
            schema,
        });
    }

    fn body(&mut self, call: &Call) {
        match &*call.name {
            "require" => self.fields(call, !call.is_conditional),
            "permit" => self.fields(call, false),
            "check" => {
                self.shape.status(422);
                let given = call.argument(0);
                if let Some(shape) = (self.shapes)(&given) {
                    self.shape.body(BodyShape {
                        media_types: media_types(shape.has_file()),
                        name: given.name().or(constant(&given)).map(schema_name),
                        schema: shape.json_schema(),
                        is_required: !call.is_conditional,
                    });
                }
            }
            "[]" | "list" => {
                let argument = call.argument(0);
                if let Some(name) = argument.name() {
                    let field = (name.to_owned(), SchemaNode::new(), false);
                    self.object(vec![field], media_types(false), false);
                }
            }
            "json" => self.shape.body(BodyShape {
                media_types: vec![MediaType::Json],
                name: None,
                schema: SchemaNode::new(),
                is_required: !call.is_conditional,
            }),
            "data" | "to_h" => self.shape.body(BodyShape {
                media_types: media_types(false),
                name: None,
                schema: SchemaNode::new(),
                is_required: false,
            }),
            _ => {}
        }
    }

    /// `body.require(name: String, photo: Upload)`, `body.permit(…)`.
    fn fields(&mut self, call: &Call, is_required: bool) {
        self.shape.status(422);
        let first = call.argument(0);
        let keywords = match &first {
            AbstractValue::Table(table) if call.keywords.is_empty() => &table.items,
            _ => &call.keywords,
        };
        let mut fields = Vec::new();
        let (mut has_file, mut is_json) = (false, false);
        for (name, kind) in keywords {
            let Some(name) = name.name() else {
                continue;
            };
            let kind = name_of_type(kind);
            has_file |= kind == "Upload";
            is_json |= matches!(kind, "Array" | "Hash");
            fields.push((name.to_owned(), schema_of(kind, is_required), is_required));
        }
        let media_types = match (has_file, is_json) {
            // What a form sends is a text or a file.
            (false, true) => vec![MediaType::Json],
            _ => media_types(has_file),
        };
        self.object(fields, media_types, is_required);
    }

    fn object(
        &mut self,
        fields: Vec<(String, SchemaNode, bool)>,
        media_types: Vec<MediaType>,
        is_required: bool,
    ) {
        self.shape.body(BodyShape {
            media_types,
            name: None,
            schema: SchemaNode::object_of(fields),
            is_required,
        });
    }
}

/// `body`, `request.headers` and the like.
fn request_part(call: &Call) -> AbstractValue {
    if !call.is_plain() {
        return AbstractValue::Nothing;
    }
    AbstractValue::Part(match &*call.name {
        "body" => RequestPart::Body,
        "headers" => RequestPart::Headers,
        "cookies" => RequestPart::Cookies,
        _ => return AbstractValue::Nothing,
    })
}

/// How a body may be written whose fields are read.
fn media_types(has_file: bool) -> Vec<MediaType> {
    match has_file {
        true => vec![MediaType::Multipart],
        false => vec![MediaType::Json, MediaType::Urlencoded],
    }
}

fn constant(value: &AbstractValue) -> Option<&str> {
    match value {
        AbstractValue::Constant(path) => path.rsplit("::").next(),
        _ => None,
    }
}

/// `line_item` and `LINE_ITEM` as `LineItem`, as a type in Rust is named.
fn schema_name(name: &str) -> String {
    let is_constant = !name.contains(|sign: char| sign.is_ascii_lowercase());
    let words = name.split('_').map(|word| {
        let (first, rest) = word.split_at_checked(1).unwrap_or((word, ""));
        let rest = match is_constant {
            true => rest.to_ascii_lowercase(),
            false => rest.to_owned(),
        };
        first.to_ascii_uppercase() + &rest
    });
    words.collect()
}

fn name_of_type(kind: &AbstractValue) -> &str {
    match kind {
        AbstractValue::Constant(name) | AbstractValue::Symbol(name) => name,
        _ => "",
    }
}

/// The schema of a type of `body.require`.
fn schema_of(kind: &str, is_required: bool) -> SchemaNode {
    match kind {
        // An empty text is missing.
        "String" if is_required => SchemaNode::of_type("string").with("minLength", 1_i64),
        "String" => SchemaNode::of_type("string"),
        "Integer" => SchemaNode::of_type("integer"),
        "Float" => SchemaNode::of_type("number"),
        "bool" => SchemaNode::of_type("boolean"),
        "Array" => SchemaNode::of_type("array"),
        "Hash" => SchemaNode::of_type("object"),
        "Upload" => SchemaNode::file(),
        _ => SchemaNode::new(),
    }
}

/// `query.int(:page, 1, in: 1..100)`.
fn numeric(kind: &str, call: &Call) -> SchemaNode {
    let schema = SchemaNode::of_type(kind);
    let schema = match call.keyword("in") {
        Some(AbstractValue::Range(range)) => ranged(schema, range),
        _ => schema,
    };
    with_default(schema, &call.argument(1))
}

fn ranged(schema: SchemaNode, range: &AbstractRange) -> SchemaNode {
    let least = number(&range.first).map(|first| ("minimum", first));
    let most = number(&range.last).map(|last| match range.is_exclusive {
        true => ("exclusiveMaximum", last),
        false => ("maximum", last),
    });
    let bounds = least.into_iter().chain(most);
    bounds.fold(schema, |schema, (name, bound)| schema.with(name, bound))
}

fn number(value: &AbstractValue) -> Option<SchemaNode> {
    match value {
        AbstractValue::Integer(integer) => Some(SchemaNode::Integer(*integer)),
        AbstractValue::Float(float) if float.is_finite() => Some(SchemaNode::Number(*float)),
        _ => None,
    }
}

fn with_default(schema: SchemaNode, default: &AbstractValue) -> SchemaNode {
    let default = match default {
        AbstractValue::Boolean(truth) => Some(SchemaNode::Boolean(*truth)),
        other => number(other),
    };
    match default {
        Some(default) => schema.with("default", default),
        None => schema,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_shapes_are_those_of_types() {
        for (name, expected) in [
            ("order", "Order"),
            ("line_item", "LineItem"),
            ("LINE_ITEM", "LineItem"),
            ("OrderShape", "OrderShape"),
            ("", ""),
        ] {
            assert_eq!(schema_name(name), expected, "{name:?}");
        }
    }

    #[test]
    fn bounds_that_are_no_numbers_are_left_out() {
        let call = |range: AbstractValue| Call {
            name: "int".into(),
            receiver: AbstractValue::Part(RequestPart::Query),
            arguments: Some(vec![
                AbstractValue::Symbol("page".into()),
                AbstractValue::Nothing,
            ]),
            keywords: vec![(AbstractValue::Symbol("in".into()), range)],
            is_conditional: false,
        };
        let schema = |range| numeric("integer", &call(range));
        let integer = SchemaNode::of_type("integer");
        let open = AbstractValue::range(AbstractRange {
            first: AbstractValue::Integer(1),
            last: AbstractValue::Nil,
            is_exclusive: false,
        });
        assert_eq!(schema(open), integer.clone().with("minimum", 1_i64));
        let below = AbstractValue::range(AbstractRange {
            first: AbstractValue::Nothing,
            last: AbstractValue::Integer(9),
            is_exclusive: true,
        });
        assert_eq!(
            schema(below),
            integer.clone().with("exclusiveMaximum", 9_i64)
        );
        assert_eq!(schema(AbstractValue::Nothing), integer);
    }
}

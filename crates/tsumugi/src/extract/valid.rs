//! Extractors of what has a shape: bodies and queries that are checked field by field, with a message for each that does not fit.
//! Not the rules and the words of messages, which are those of `tsumugi_shapes`, for applications in Ruby too.
//! Rule: a type sees only what its shape let through, converted; a field that no shape names is absent.

use std::any::TypeId;
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::convert::Infallible;
use std::marker::PhantomData;
use std::rc::Rc;

use http::StatusCode;
use http::header::ACCEPT_LANGUAGE;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use tsumugi_http::{BodyType, query};
use tsumugi_server::openapi::{BodyShape, MediaType, OperationShape};
use tsumugi_shapes::{
    Failures, FieldFailure, FormFields, FormNode, FormValues, IndexedItems, InputKind, InputShape,
    Language, Literal, MessageCatalog, Outcome, Values, check,
};

use super::probe::type_name;
use super::{Extract, bad};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::invalid::{Input, Invalid};

/// A type whose fields are checked before it is made.
pub trait Validate: DeserializeOwned + 'static {
    /// What has to be of each field. Every field that is no `Option` and has no default of serde's stands in it. Asked once on each thread.
    fn shape() -> InputShape;

    /// What has to be of several fields together; called when each of them fits. `failures.text("to", "must be after from")`.
    fn validate(&self, failures: &mut Failures) {
        let _ = failures;
    }
}

/// The body, JSON or a form, as a type with a shape. What does not fit is answered 422 with a message for each field; as `Result<Valid<T>>` the
/// handler gets [`Error::Invalid`], which has the messages and what was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Valid<T>(pub T);

/// The same of the query string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValidQuery<T>(pub T);

/// The words of messages in the language that the client wants, for what a handler finds out itself:
/// `Err(messages.invalid("name", FieldFailure::key("taken")))`.
#[derive(Clone, Debug)]
pub struct FieldMessages {
    catalog: Rc<MessageCatalog>,
    language: Language,
}

impl FieldMessages {
    fn of<S>(context: &Context<S>) -> FieldMessages {
        let catalog = context.worker().messages();
        let accept = context.headers().get(ACCEPT_LANGUAGE);
        let language = catalog.language(accept.and_then(|value| value.to_str().ok()));
        FieldMessages { catalog, language }
    }

    /// The language.
    pub fn language(&self) -> &str {
        &self.language
    }

    /// An answer as of a field that does not fit.
    pub fn invalid(&self, path: &str, failure: impl Into<FieldFailure>) -> Error {
        let mut failures = Failures::default();
        failures.add(path, failure.into());
        self.answer(&failures, "body", Input::Json(Json::Null))
    }

    fn answer(&self, failures: &Failures, root: &str, input: Input) -> Error {
        let messages = self.catalog.messages(&self.language, failures, root);
        Error::Invalid(Box::new(Invalid::new(messages, input)))
    }
}

impl<S> Extract<S> for FieldMessages {
    async fn extract(context: &mut Context<S>) -> Result<FieldMessages> {
        Ok(FieldMessages::of(context))
    }
}

impl<S, T: Validate> Extract<S> for Valid<T> {
    async fn extract(context: &mut Context<S>) -> Result<Valid<T>> {
        let input = match BodyType::of(context.headers()) {
            Some(BodyType::Json) => {
                let bytes = context.read_body().await?;
                Input::Json(serde_json::from_slice(&bytes).map_err(|error| bad("body", error))?)
            }
            Some(BodyType::Urlencoded) => {
                let bytes = context.read_body().await?;
                let parameters_max = context.worker().settings().http.parameters_max;
                Input::Form(form_of(query::form(&bytes, parameters_max)?))
            }
            _ => {
                let expected = "application/json or application/x-www-form-urlencoded";
                return Err(tsumugi_http::Error::ContentType(expected).into());
            }
        };
        make(context, input, "body").map(Valid)
    }

    fn describe(operation: &mut OperationShape) {
        // One that makes no sense is named when a request comes.
        if let Ok(shape) = shape_of::<T>() {
            operation.body(BodyShape {
                media_types: match shape.has_file() {
                    true => vec![MediaType::Multipart],
                    false => vec![MediaType::Json, MediaType::Urlencoded],
                },
                name: type_name::<T>(),
                schema: shape.json_schema(),
                is_required: true,
            });
        }
        operation.status(StatusCode::UNPROCESSABLE_ENTITY.as_u16().into());
    }
}

impl<S, T: Validate> Extract<S> for ValidQuery<T> {
    async fn extract(context: &mut Context<S>) -> Result<ValidQuery<T>> {
        let text = context.uri().query().unwrap_or_default();
        let pairs = query::pairs(text, context.worker().settings().http.parameters_max)?;
        let input = Input::Form(form_of(pairs));
        make(context, input, "query").map(ValidQuery)
    }

    fn describe(operation: &mut OperationShape) {
        if let Ok(shape) = shape_of::<T>() {
            operation.query_object(&shape.json_schema());
        }
        operation.status(StatusCode::UNPROCESSABLE_ENTITY.as_u16().into());
    }
}

fn form_of(pairs: Vec<query::QueryPair<'_>>) -> FormFields<Json> {
    let pairs = pairs.into_iter();
    FormFields::new(pairs.map(|(name, value)| {
        let value = Json::String(value.into_owned());
        (name.into_owned(), value)
    }))
}

/// A value of what was sent; what is about no field stands under `root`.
fn make<S, T: Validate>(context: &Context<S>, input: Input, root: &str) -> Result<T> {
    let shape = shape_of::<T>()?;
    let Ok(Outcome {
        value,
        mut failures,
    }) = match &input {
        Input::Json(json) => check(&shape, &JsonValues::default(), &json),
        Input::Form(fields) => {
            let single = fields.by_reference();
            let values = JsonValues::default();
            check(
                &shape,
                &FormValues::new(&single, &values),
                &FormNode::root(),
            )
        }
    };
    if failures.is_empty() {
        match serde_json::from_value::<T>(value) {
            Ok(made) => {
                made.validate(&mut failures);
                if failures.is_empty() {
                    return Ok(made);
                }
            }
            Err(error) => failures.text("", error.to_string()),
        }
    }
    Err(FieldMessages::of(context).answer(&failures, root, input))
}

thread_local! {
    /// The shapes of the types that this thread has met.
    static SHAPES: RefCell<HashMap<TypeId, Rc<InputShape>>> = RefCell::default();
}

fn shape_of<T: Validate>() -> Result<Rc<InputShape>> {
    let known = SHAPES.with_borrow(|shapes| shapes.get(&TypeId::of::<T>()).cloned());
    if let Some(shape) = known {
        return Ok(shape);
    }
    let shape = Rc::new(T::shape());
    shape.examine().map_err(|error| {
        let name = std::any::type_name::<T>();
        Error::Usage(format!("the shape of {name}: {error}").into())
    })?;
    SHAPES.with_borrow_mut(|shapes| shapes.insert(TypeId::of::<T>(), Rc::clone(&shape)));
    Ok(shape)
}

/// Parsed JSON.
#[derive(Default)]
struct JsonValues<'v>(PhantomData<&'v Json>);

impl<'v> Values for JsonValues<'v> {
    type Input = &'v Json;
    type Output = Json;
    type Error = Infallible;

    fn kind(&self, input: &&'v Json) -> Result<InputKind, Infallible> {
        Ok(match input {
            Json::Null => InputKind::Null,
            Json::Bool(truth) => InputKind::Boolean(*truth),
            Json::Number(number) => match (number.as_i64(), number.as_f64()) {
                (Some(integer), _) => InputKind::Integer(integer),
                (None, Some(float)) if number.is_f64() => InputKind::Number(float),
                _ => InputKind::Other,
            },
            Json::String(text) => InputKind::Text {
                is_empty: text.is_empty(),
            },
            Json::Array(_) => InputKind::List,
            Json::Object(_) => InputKind::Object,
        })
    }

    fn text<'a>(&'a self, input: &'a &'v Json) -> Result<Cow<'a, str>, Infallible> {
        Ok(input.as_str().unwrap_or_default().into())
    }

    fn field(&self, object: &&'v Json, name: &str) -> Result<Option<&'v Json>, Infallible> {
        Ok(object.get(name))
    }

    fn items(
        &self,
        input: &&'v Json,
        max: usize,
    ) -> Result<Option<IndexedItems<&'v Json>>, Infallible> {
        Ok(input.as_array().map(|items| {
            let items = items.iter().take(max.saturating_add(1));
            (0..).zip(items).collect()
        }))
    }

    fn keep(&self, input: &&'v Json) -> Result<Json, Infallible> {
        Ok(Json::clone(input))
    }

    fn literal(&self, literal: &Literal) -> Result<Json, Infallible> {
        Ok(match literal {
            Literal::Boolean(truth) => (*truth).into(),
            Literal::Integer(integer) => (*integer).into(),
            Literal::Number(number) => (*number).into(),
            Literal::Text(text) => (**text).into(),
            Literal::EmptyList => Json::Array(Vec::new()),
        })
    }

    fn list(&self, items: Vec<Json>) -> Result<Json, Infallible> {
        Ok(Json::Array(items))
    }

    fn object(&self, fields: Vec<(&str, Json)>) -> Result<Json, Infallible> {
        let fields = fields.into_iter();
        Ok(Json::Object(
            fields
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
        ))
    }

    fn nothing(&self) -> Json {
        Json::Null
    }
}

//! Extractors of the body: JSON, forms, uploads, bytes, text, a stream, the whole request. One of them per handler.
//! Rule: nothing of the body is read before the content type is looked at, and never more than a limit of HTTP.

use bytes::Bytes;
use http::{HeaderMap, StatusCode, header::CONTENT_TYPE};
use serde::de::DeserializeOwned;
use tsumugi_http::upload::{FormPart, PartContent, read_form};
use tsumugi_http::{BodyType, OnWorker, Request, RequestBody, query};
use tsumugi_server::openapi::{BodyShape, MediaType, OperationShape};
use tsumugi_shapes::SchemaNode;

use super::probe::{TypeParts, probe, type_name};
use super::texts::from_pairs;
use super::{Extract, bad};
use crate::context::{Context, unfit};
use crate::error::{Error, Result};
use crate::response::Json;

impl<S, T: DeserializeOwned> Extract<S> for Json<T> {
    async fn extract(context: &mut Context<S>) -> Result<Json<T>> {
        if BodyType::of(context.headers()) != Some(BodyType::Json) {
            return Err(tsumugi_http::Error::ContentType("application/json").into());
        }
        let bytes = context.read_body().await?;
        serde_json::from_slice(&bytes)
            .map(Json)
            .map_err(|error| match error.classify() {
                serde_json::error::Category::Data => {
                    unfit(StatusCode::UNPROCESSABLE_ENTITY, "body", error)
                }
                _ => bad("body", error),
            })
    }

    fn describe(operation: &mut OperationShape) {
        describe_body::<T>(operation, MediaType::Json);
    }
}

/// A body as a type that serde makes.
fn describe_body<T: DeserializeOwned>(operation: &mut OperationShape, media_type: MediaType) {
    let probed = probe::<T>();
    operation.body(BodyShape {
        media_types: vec![media_type],
        name: match probed {
            TypeParts::Object(_) => type_name::<T>(),
            _ => None,
        },
        schema: probed.into_schema(),
        is_required: true,
    });
    operation.status(StatusCode::UNPROCESSABLE_ENTITY.as_u16().into());
}

/// A body of type `application/x-www-form-urlencoded` as a struct. Another type is answered 415, one that does not fit 422.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form<T>(pub T);

impl<S, T: DeserializeOwned> Extract<S> for Form<T> {
    async fn extract(context: &mut Context<S>) -> Result<Form<T>> {
        if BodyType::of(context.headers()) != Some(BodyType::Urlencoded) {
            let expected = "application/x-www-form-urlencoded";
            return Err(tsumugi_http::Error::ContentType(expected).into());
        }
        let bytes = context.read_body().await?;
        let pairs = query::form(&bytes, context.worker().settings().http.parameters_max)?;
        from_pairs(pairs)
            .map(Form)
            .map_err(|reason| unfit(StatusCode::UNPROCESSABLE_ENTITY, "form", reason))
    }

    fn describe(operation: &mut OperationShape) {
        describe_body::<T>(operation, MediaType::Urlencoded);
    }
}

/// The parts of a body of type `multipart/form-data`, in order. Large files lie on disk until the parts are dropped.
#[derive(Debug)]
pub struct Multipart(pub Vec<Upload>);

/// A part: its `head` says name, file name and type; its `content` is in memory or on disk.
pub type Upload = FormPart<OnWorker>;

impl Multipart {
    /// The first part of this name.
    pub fn find(&self, name: &str) -> Option<&Upload> {
        self.0.iter().find(|part| part.head.name == name)
    }

    /// The text of the first part of this name that is no file.
    pub fn text(&self, name: &str) -> Option<&str> {
        match &self.find(name)?.content {
            PartContent::Memory(bytes) => std::str::from_utf8(bytes).ok(),
            PartContent::Disk(_) => None,
        }
    }
}

impl<S> Extract<S> for Multipart {
    async fn extract(context: &mut Context<S>) -> Result<Multipart> {
        let value = context.headers().get(CONTENT_TYPE);
        let content_type = value.and_then(|value| value.to_str().ok());
        let content_type = content_type.unwrap_or_default().to_owned();
        let mut body = context.take_body()?;
        let worker = context.worker();
        let (limits, on_worker) = (&worker.settings().http, OnWorker(worker.inner().clone()));
        let folder = std::env::temp_dir();
        let parts = read_form(&mut body, &content_type, limits, &folder, &on_worker);
        let parts = parts.await?;
        context.keep_trailers(&body);
        Ok(Multipart(parts))
    }

    fn describe(operation: &mut OperationShape) {
        operation.body(BodyShape {
            media_types: vec![MediaType::Multipart],
            name: None,
            schema: SchemaNode::of_type("object"),
            is_required: true,
        });
    }
}

/// The body as it comes, piece by piece.
#[derive(Debug)]
pub struct BodyStream(RequestBody);

impl BodyStream {
    /// The next piece; none at the end. Only the time is limited, the handler counts the bytes.
    pub async fn piece(&mut self) -> Result<Option<Bytes>> {
        Ok(self.0.piece().await?)
    }

    /// The bytes still to come, when the client has sent its length.
    pub fn length(&self) -> Option<u64> {
        self.0.length()
    }

    /// The fields behind the body; none before its end, or when its client has sent none.
    pub fn trailers(&self) -> Option<&HeaderMap> {
        self.0.trailers()
    }
}

/// The fields behind the body, which an argument before this one has read whole: `async fn put(body: Bytes, trailers: Trailers)`. Empty when the
/// client has sent none.
#[derive(Clone, Debug, Default)]
pub struct Trailers(pub HeaderMap);

impl Trailers {
    /// The first value of this name, if it is text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.to_str().ok()
    }
}

impl<S> Extract<S> for Trailers {
    async fn extract(context: &mut Context<S>) -> Result<Trailers> {
        let trailers = context.trailers().cloned().map(Trailers);
        trailers.ok_or_else(|| {
            let message = "Trailers stands behind an argument that reads the body whole: Json, Form, Valid, Multipart, Bytes or String; a BodyStream has its own";
            Error::Usage(message.into())
        })
    }
}

impl<S> Extract<S> for BodyStream {
    async fn extract(context: &mut Context<S>) -> Result<BodyStream> {
        context.take_body().map(BodyStream)
    }
}

impl<S> Extract<S> for Request {
    async fn extract(context: &mut Context<S>) -> Result<Request> {
        context.take_request()
    }
}

impl<S> Extract<S> for Bytes {
    async fn extract(context: &mut Context<S>) -> Result<Bytes> {
        context.read_body().await
    }
}

impl<S> Extract<S> for String {
    async fn extract(context: &mut Context<S>) -> Result<String> {
        let bytes = context.read_body().await?;
        String::from_utf8(bytes.into()).map_err(|_| Error::bad_request("the body is not UTF-8"))
    }
}

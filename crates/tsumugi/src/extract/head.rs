//! Extractors of what comes before the body: captures, query, header fields, cookies.
//! Rule: a path that does not fit its handler's type is not found; a query or a field that does not is a bad request.

use std::net::IpAddr;
use std::str::FromStr;

use http::{HeaderMap, StatusCode, header::COOKIE};
use serde::de::DeserializeOwned;
use tsumugi_http::{cookie, query};
use tsumugi_server::openapi::{OperationShape, Parameter, ParameterPlace};
use tsumugi_shapes::SchemaNode;

use super::probe::{TypeParts, probe};
use super::texts::{CapturedTexts, from_pairs};
use super::{Extract, bad};
use crate::context::Context;
use crate::error::{Error, Result};

/// What the pattern captured: one value, a tuple in the order of the pattern, or a struct by the names. A path that does not fit is
/// answered 404.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path<T>(pub T);

impl<S, T: DeserializeOwned> Extract<S> for Path<T> {
    async fn extract(context: &mut Context<S>) -> Result<Path<T>> {
        match T::deserialize(CapturedTexts(context.captures())) {
            Ok(value) => Ok(Path(value)),
            Err(reason) => {
                tracing::debug!("{}: {reason}", context.uri().path());
                Err(Error::not_found("not found"))
            }
        }
    }

    fn describe(operation: &mut OperationShape) {
        match probe::<T>() {
            TypeParts::Value(schema) => operation.capture(None, 0, schema),
            TypeParts::Tuple(schemas) => {
                for (index, schema) in schemas.into_iter().enumerate() {
                    operation.capture(None, index, schema);
                }
            }
            TypeParts::Object(schema) => {
                for (name, schema, _) in schema.object_fields() {
                    operation.capture(Some(name), 0, schema.clone());
                }
            }
        }
    }
}

/// The query string as a struct. One that does not fit is answered 400.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Query<T>(pub T);

impl<S, T: DeserializeOwned> Extract<S> for Query<T> {
    async fn extract(context: &mut Context<S>) -> Result<Query<T>> {
        let text = context.uri().query().unwrap_or_default();
        let pairs = query::pairs(text, context.worker().settings().http.parameters_max)?;
        from_pairs(pairs)
            .map(Query)
            .map_err(|reason| bad("query", reason))
    }

    fn describe(operation: &mut OperationShape) {
        operation.query_object(&probe::<T>().into_schema());
        operation.status(StatusCode::BAD_REQUEST.as_u16().into());
    }
}

/// All header fields.
#[derive(Clone, Debug)]
pub struct Headers(pub HeaderMap);

impl Headers {
    /// The first value of this name, if it is text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.to_str().ok()
    }
}

impl<S> Extract<S> for Headers {
    async fn extract(context: &mut Context<S>) -> Result<Headers> {
        Ok(Headers(context.headers().clone()))
    }
}

/// A type that is the value of a header field.
pub trait FromHeader: FromStr {
    /// The name of the field, in lower case.
    const NAME: &'static str;
}

/// A header field by its type. A missing one, and one that is not of the type, is answered 400.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header<T>(pub T);

impl<S, T: FromHeader> Extract<S> for Header<T> {
    async fn extract(context: &mut Context<S>) -> Result<Header<T>> {
        let value = context.headers().get(T::NAME);
        let text = value.ok_or_else(|| bad(T::NAME, "the header field is missing"))?;
        let text = text.to_str().ok().and_then(|text| text.parse().ok());
        text.map(Header)
            .ok_or_else(|| bad(T::NAME, "the header field has another form"))
    }

    fn describe(operation: &mut OperationShape) {
        operation.parameter(Parameter {
            name: T::NAME.to_owned(),
            place: ParameterPlace::Header,
            is_required: true,
            schema: SchemaNode::of_type("string"),
        });
        operation.status(StatusCode::BAD_REQUEST.as_u16().into());
    }
}

/// The number of the last event that a client has that comes back to a stream of events; nothing of one that is new. What is no number is one that
/// was never given, so that [`Events::follow`](crate::Events::follow) says that messages are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastEventId(pub Option<i64>);

impl<S> Extract<S> for LastEventId {
    async fn extract(context: &mut Context<S>) -> Result<LastEventId> {
        let id = context.headers().get("last-event-id");
        // What is no text is no number.
        let id = id.map(|id| id.to_str().unwrap_or_default());
        Ok(LastEventId(id.map(tsumugi_cluster::event_position)))
    }
}

/// The address of the client; none on a UNIX socket. Behind a proxy of `--trust-proxy` it is what the proxy says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientIp(pub Option<IpAddr>);

impl<S> Extract<S> for ClientIp {
    async fn extract(context: &mut Context<S>) -> Result<ClientIp> {
        Ok(ClientIp(context.request().peer.map(|peer| peer.ip())))
    }
}

/// Scheme and host as the client knows them, `https://example.org`, for links that leave the site. The host is what the client says. A request
/// without one is answered 400.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseUrl(pub String);

impl<S> Extract<S> for BaseUrl {
    async fn extract(context: &mut Context<S>) -> Result<BaseUrl> {
        let url = context.request().base_url().map(BaseUrl);
        url.ok_or_else(|| bad("host", "the request names none"))
    }
}

/// The cookies of the request, as they were sent.
#[derive(Clone, Debug, Default)]
pub struct Cookies(Vec<(String, String)>);

impl Cookies {
    /// The value of the first cookie of this name.
    pub fn find(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Name and value of each.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }
}

impl<S> Extract<S> for Cookies {
    async fn extract(context: &mut Context<S>) -> Result<Cookies> {
        let cookies_max = context.worker().settings().http.parameters_max;
        let mut cookies = Vec::new();
        for header in context.headers().get_all(COOKIE) {
            let pairs = cookie::pairs(header.as_bytes(), cookies_max)?;
            cookies.extend(
                pairs
                    .into_iter()
                    .map(|(name, value)| (name.to_owned(), value.to_owned())),
            );
        }
        Ok(Cookies(cookies))
    }
}

//! Calls to other servers: from what Ruby gave to a call, and from the reply (or the failure) back.

use std::time::Duration;

use bytes::Bytes;
use http::Method;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use tsumugi_client::{ClientRequest, ClientResponse, Error, Reach, TargetUrl, append_pair};
use tsumugi_http::append_field;
use tsumugi_mruby::{Kind, Raise, Result, Scope, Value};

use crate::answer::{Failure, attempt};
use crate::json;
use crate::limits::Limits;
use crate::natives::arguments::{bytes, float, text, whole, wrong_type};
use crate::natives::definitions::Natives;

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    // method, url, options: headers, query, json, form, body, timeout, redirects, max_bytes, public_only
    natives.waiting("http_call", |host, scope, call| {
        let client = host.web.client(&host.worker, &host.settings);
        let method = text(scope, call.argument(0), "the method")?;
        let method = Method::from_bytes(method.to_ascii_uppercase().as_bytes())
            .ok()
            .filter(|method| *method != Method::CONNECT)
            .ok_or_else(|| scope.error("ArgumentError", "the method is a word such as GET"))?;
        let url = text(scope, call.argument(1), "the URL")?;
        let options = call.argument(2);
        let query = pairs(scope, options, "query")?;
        let target = TargetUrl::parse(&url)
            .and_then(|target| target.with_query(&query))
            .map_err(|error| error.raise(scope))?;
        let mut headers = headers(scope, scope.keyword(options, "headers")?)?;
        let (body, content_type) = body(scope, options, &host.settings.limits)?;
        if let Some(content_type) = content_type {
            headers
                .entry(CONTENT_TYPE)
                .or_insert(HeaderValue::from_static(content_type));
        }
        let call = bounds(
            scope,
            options,
            client.limits(),
            ClientRequest {
                method,
                target,
                headers,
                body,
                timeout: Duration::ZERO,
                reach: Reach::Anywhere,
                redirects_max: 0,
                response_bytes_max: 0,
            },
        )?;
        Ok(attempt(async move { client.call(call).await }, reply_value))
    })
}

fn bounds<'c>(
    scope: &'c Scope<'c>,
    options: Value<'c>,
    limits: &tsumugi_client::CallLimits,
    call: ClientRequest,
) -> Result<'c, ClientRequest> {
    let timeout = scope.keyword(options, "timeout")?;
    let timeout = match timeout.kind() {
        Kind::Nil => Some(Duration::from_millis(limits.call_ms_max)),
        _ => float(timeout)
            .filter(|seconds| *seconds > 0.0)
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
    };
    let limit = |name: &str, default: usize| -> Result<'c, usize> {
        let value = scope.keyword(options, name)?;
        let wrong = || scope.error("ArgumentError", format!("{name}: is an Integer from 0"));
        match value.is_nil() {
            true => Ok(default),
            false => whole(value).ok_or_else(wrong),
        }
    };
    let public_only = scope.keyword(options, "public_only")?;
    Ok(ClientRequest {
        reach: match public_only.kind() {
            Kind::Nil | Kind::False => Reach::Anywhere,
            _ => Reach::PublicOnly,
        },
        timeout: timeout.ok_or_else(|| {
            scope.error("ArgumentError", "timeout: is a positive number of seconds")
        })?,
        redirects_max: limit("redirects", call.redirects_max)?,
        response_bytes_max: limit("max_bytes", limits.response_bytes_max)?,
        ..call
    })
}

fn headers<'c>(scope: &'c Scope<'c>, given: Value<'c>) -> Result<'c, HeaderMap> {
    let mut headers = HeaderMap::new();
    for (name, value) in scope.entries(given)? {
        let name = text(scope, name, "a header's name")?.replace('_', "-");
        let wrong = || {
            let message =
                format!("the header {name:?} has a name or a value that would break the request");
            scope.error("ArgumentError", message)
        };
        let header = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
        for value in elements(scope, value) {
            let value = plain(scope, value, "a header's value")?;
            let value = HeaderValue::from_bytes(&value).map_err(|_| wrong())?;
            append_field(&mut headers, header.clone(), value)
                .map_err(|full| scope.error("ArgumentError", full.to_string()))?;
        }
    }
    Ok(headers)
}

/// The body and its type.
fn body<'c>(
    scope: &'c Scope<'c>,
    options: Value<'c>,
    limits: &Limits,
) -> Result<'c, (Bytes, Option<&'static str>)> {
    let json = scope.keyword(options, "json")?;
    // The key decides: null is JSON, too.
    let is_json = scope
        .entries(options)?
        .iter()
        .any(|(name, _)| name.as_symbol() == Some(scope.intern("json")));
    let form = scope.keyword(options, "form")?;
    let body = scope.keyword(options, "body")?;
    if [is_json, !form.is_nil(), !body.is_nil()]
        .iter()
        .filter(|given| **given)
        .count()
        > 1
    {
        return Err(scope.error(
            "ArgumentError",
            "a request has one of json:, form: and body:",
        ));
    }
    if is_json {
        let mut out = Vec::new();
        json::write(scope, json, limits.json_depth_max, &mut out)?;
        return Ok((Bytes::from(out), Some("application/json")));
    }
    if !form.is_nil() {
        let form = pairs(scope, options, "form")?;
        return Ok((Bytes::from(form), Some("application/x-www-form-urlencoded")));
    }
    if body.is_nil() {
        return Ok((Bytes::new(), None));
    }
    Ok((Bytes::from(bytes(scope, body, "body:")?), None))
}

/// A Hash as an encoded form; an Array gives one pair for each element.
fn pairs<'c>(scope: &'c Scope<'c>, options: Value<'c>, option: &str) -> Result<'c, String> {
    let given = scope.keyword(options, option)?;
    if !matches!(given.kind(), Kind::Nil | Kind::Hash) {
        return Err(wrong_type(scope, given, &format!("{option}:"), "a Hash"));
    }
    let mut out = String::new();
    for (name, value) in scope.entries(given)? {
        let name = text(scope, name, "a parameter's name")?;
        for value in elements(scope, value) {
            append_pair(
                &mut out,
                name.as_bytes(),
                &plain(scope, value, "a parameter's value")?,
            );
        }
    }
    Ok(out)
}

fn elements<'c>(scope: &'c Scope<'c>, value: Value<'c>) -> Vec<Value<'c>> {
    match value.kind() {
        Kind::Array => scope.elements(value).collect(),
        _ => vec![value],
    }
}

fn plain<'c>(scope: &'c Scope<'c>, value: Value<'c>, what: &str) -> Result<'c, Vec<u8>> {
    match value.kind() {
        Kind::String => Ok(scope.bytes(value).unwrap_or_default()),
        Kind::Symbol | Kind::Integer | Kind::Float | Kind::True | Kind::False => {
            let shown = scope.call(value, "to_s", &[])?;
            Ok(scope.bytes(shown).unwrap_or_default())
        }
        _ => Err(wrong_type(scope, value, what, "a String or a number")),
    }
}

/// `[status, [[name, value], …], body, url]`
fn reply_value<'s>(scope: &'s Scope<'_>, reply: ClientResponse) -> Result<'s, Value<'s>> {
    scope.array_of(&[
        scope.integer(reply.status.as_u16().into()),
        header_pairs(scope, &reply.headers)?,
        scope.string(reply.body)?,
        scope.string(reply.url)?,
    ])
}

/// `[[name, value], …]`
pub(in crate::natives) fn header_pairs<'s>(
    scope: &'s Scope<'_>,
    headers: &HeaderMap,
) -> Result<'s, Value<'s>> {
    let pairs = headers.iter();
    scope.list(
        pairs.map(|(name, value)| scope.strings([name.as_str().as_bytes(), value.as_bytes()])),
    )
}

impl Failure for Error {
    fn raise<'s>(&self, scope: &'s Scope<'_>) -> Raise<'s> {
        let class = match self {
            Error::Timeout { .. } | Error::ConnectTimeout { .. } => "HTTP::Timeout",
            Error::Connect { .. } => "HTTP::ConnectionFailed",
            Error::TooLarge { .. } => "HTTP::TooLarge",
            Error::TooManyRedirects { .. } => "HTTP::TooManyRedirects",
            Error::InsecureRedirect { .. } => "HTTP::InsecureRedirect",
            Error::Protocol { .. } => "HTTP::ProtocolError",
            Error::Url(_) => "HTTP::InvalidURL",
            Error::NotPublic { .. } => "HTTP::NotPublic",
            Error::NotStubbed { .. } => "HTTP::NotStubbed",
            _ => "HTTP::Error",
        };
        scope.error(class, self.to_string())
    }
}

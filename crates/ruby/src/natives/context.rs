//! What a context reads of its request and writes into its response.

use std::borrow::Cow;
use std::rc::Rc;

use bytes::Bytes;
use http::header::{HeaderName, HeaderValue, LOCATION};
use http::{StatusCode, Version};
use tsumugi_db::Format;
use tsumugi_http::{Request, append_field, insert_field, location_value};
use tsumugi_mruby::{Kind, Raise, Result, Scope, Value};
use tsumugi_server::dispatch::SharedSender;

use super::standard::pages::TemplatePage;
use crate::answer::{operation, raise};
use crate::exchange::{Capture, Content, ContentBody, Exchange, SentFile, StreamPlan};
use crate::limits::AFTER_RESPONSE_MAX;
use crate::natives::arguments::{data, text, whole, with_name, wrong_type};
use crate::natives::definitions::{Natives, exchange};
use crate::{finish, json};

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    let scope = natives.scope();
    let context =
        scope.define_class(scope.constant("Tsumugi")?, "Context", scope.object_class())?;
    scope.carries_data(context);
    natives.data_class("Sender")?;
    response(natives)?;
    install_error_natives(natives)?;
    bodies(natives)?;
    request(natives)
}

fn response<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.of_request("status", |_, scope, exchange, call| {
        let code = call.argument(1);
        let status = code
            .as_integer()
            .and_then(|code| u16::try_from(code).ok())
            .filter(|code| (200..=599).contains(code));
        let Some(status) = status.and_then(|code| StatusCode::from_u16(code).ok()) else {
            let shown = scope.text_by(code, "inspect")?;
            return Err(scope.error(
                "TypeError",
                format!("a status is an Integer from 200 to 599, not {shown}"),
            ));
        };
        let mut draft = exchange.draft.borrow_mut();
        draft.status = Some(status);
        draft.touched |= !draft.filtering;
        Ok(Value::nil())
    })?;
    natives.of_request("header", |_, scope, exchange, call| {
        let name = text(scope, call.argument(1), "a header's name")?;
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| {
            scope.error("ArgumentError", format!("{name:?} is no name of a header"))
        })?;
        let value = header_value(scope, &name, call.argument(2))?;
        let mut draft = exchange.draft.borrow_mut();
        draft.touched |= !draft.filtering;
        let added = match call.argument(3).truthy() {
            true => append_field(&mut draft.headers, name, value),
            false => insert_field(&mut draft.headers, name, value),
        };
        added.map_err(|full| scope.error("ArgumentError", full.to_string()))?;
        Ok(Value::nil())
    })?;
    response_headers(natives)?;
    natives.of_request("handler_ends", |_, _, exchange, _| {
        exchange.draft.borrow_mut().filtering = true;
        Ok(Value::nil())
    })?;
    natives.of_request("after_response", |_, scope, exchange, call| {
        let mut later = exchange.later.borrow_mut();
        if later.len() >= AFTER_RESPONSE_MAX {
            let message = format!("a request has {AFTER_RESPONSE_MAX} blocks for after its response (AFTER_RESPONSE_MAX) already");
            return Err(scope.error("ArgumentError", message));
        }
        later.push(scope.root(call.argument(1))?);
        Ok(Value::nil())
    })?;
    natives.of_request("handler_begins", |_, _, exchange, _| {
        exchange.draft.borrow_mut().touched = false;
        Ok(Value::nil())
    })
}

fn install_error_natives<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    // An answer of 500 says that something is broken, however friendly its page: the log has to say what.
    natives.of_request("handled", |host, scope, exchange, call| {
        let status = exchange.draft.borrow().status;
        if status == Some(StatusCode::INTERNAL_SERVER_ERROR) {
            finish::log_exception(host, exchange, scope.report(Raise(call.argument(1))));
        }
        Ok(Value::nil())
    })?;
    natives.of_request("reset", |_, _, exchange, _| {
        let mut draft = exchange.draft.borrow_mut();
        draft.status = Some(StatusCode::INTERNAL_SERVER_ERROR);
        draft.body = None;
        draft.written = None;
        Ok(Value::nil())
    })
}

fn response_headers<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.of_request("response_header", |_, scope, exchange, call| {
        let name = text(scope, call.argument(1), "a header's name")?;
        let draft = exchange.draft.borrow();
        let value = draft.headers.get(name.as_str());
        scope.string_or_nil(value.map(HeaderValue::as_bytes))
    })?;
    natives.of_request("response_headers", |_, scope, exchange, _| {
        headers_hash(scope, &exchange.draft.borrow().headers)
    })?;
    natives.of_request("delete_response_header", |_, scope, exchange, call| {
        let name = text(scope, call.argument(1), "a header's name")?;
        let removed = exchange.draft.borrow_mut().headers.remove(name.as_str());
        scope.string_or_nil(removed.as_ref().map(HeaderValue::as_bytes))
    })
}

/// Names and values; several values of a name are joined.
pub(super) fn headers_hash<'c>(
    scope: &'c Scope<'c>,
    headers: &http::HeaderMap,
) -> Result<'c, Value<'c>> {
    let hash = scope.hash(headers.len())?;
    for name in headers.keys() {
        let values: Vec<&[u8]> = headers
            .get_all(name)
            .iter()
            .map(HeaderValue::as_bytes)
            .collect();
        scope.hash_set(
            hash,
            scope.string(name.as_str())?,
            scope.string(values.join(separator(name.as_str())))?,
        )?;
    }
    Ok(hash)
}

/// What stands between several values of a name. HTTP/2 may send each cookie by itself (RFC 9113 section 8.2.3).
fn separator(name: &str) -> &'static [u8] {
    match name.eq_ignore_ascii_case("cookie") {
        true => b"; ",
        false => b", ",
    }
}

/// The text of a field's value; `what` names it in an error.
pub(super) fn field_text<'c>(
    scope: &'c Scope<'c>,
    value: Value<'c>,
    what: &dyn Fn() -> String,
) -> Result<'c, String> {
    match value.kind() {
        Kind::String | Kind::Symbol => Ok(scope.text(value).unwrap_or_default()),
        Kind::Integer => Ok(value.as_integer().unwrap_or_default().to_string()),
        _ => Err(wrong_type(scope, value, &what(), "a String or Integer")),
    }
}

pub(super) fn header_value<'c>(
    scope: &'c Scope<'c>,
    name: &HeaderName,
    value: Value<'c>,
) -> Result<'c, HeaderValue> {
    let text = field_text(scope, value, &|| format!("the value of the header {name}"))?;
    let written = match *name == LOCATION {
        true => location_value(text.as_bytes()),
        false => HeaderValue::from_bytes(text.as_bytes()).ok(),
    };
    written.ok_or_else(|| {
        let message = format!(
            "the value of the header {name} has a control character, which would end the header"
        );
        scope.error("ArgumentError", message)
    })
}

fn bodies<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.of_request("json", |host, scope, exchange, call| {
        let mut out = Vec::with_capacity(128);
        json::write(
            scope,
            call.argument(1),
            host.settings.limits.json_depth_max,
            &mut out,
        )?;
        let media_type = Some(HeaderValue::from_static("application/json"));
        answer(exchange, media_type, ContentBody::Bytes(Bytes::from(out)))
    })?;
    natives.of_request("text", |_, scope, exchange, call| {
        let bytes = match scope.data::<TemplatePage>(call.argument(1)) {
            Some(page) => page.take(),
            None => scope.bytes(call.argument(1)).unwrap_or_default(),
        };
        let media_type = scope.text(call.argument(2)).map(HeaderValue::try_from);
        let media_type = media_type.transpose().map_err(|_| {
            let message = "the content type has a control character, which would end the header";
            scope.error("ArgumentError", message)
        })?;
        answer(exchange, media_type, ContentBody::Bytes(Bytes::from(bytes)))
    })?;
    natives.of_request("write", |_, scope, exchange, call| {
        let bytes = scope.bytes(call.argument(1)).unwrap_or_default();
        let mut draft = exchange.draft.borrow_mut();
        draft.written.get_or_insert_default().extend(bytes);
        Ok(Value::nil())
    })?;
    streams(natives)
}

/// Gives the response its body; a later one takes its place.
fn answer<'c>(
    exchange: &Exchange,
    media_type: Option<HeaderValue>,
    body: ContentBody,
) -> Result<'c, Value<'c>> {
    exchange.draft.borrow_mut().body = Some(Content { media_type, body });
    Ok(Value::nil())
}

fn streams<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.plain("attachment", |_, scope, call| {
        let name = text(scope, call.argument(0), "the name of a download")?;
        scope.string(attachment(&name))
    })?;
    natives.of_request("send_file", |_, scope, exchange, call| {
        let path = text(scope, call.argument(1), "the path of a file")?;
        let within = call.argument(2);
        let within = match within.truthy() {
            true => Some(text(scope, within, "the folder of within:")?.into()),
            false => None,
        };
        // Below a folder it may be a client's, and names no file there.
        if within.is_none() && path.contains('\0') {
            return Err(scope.error("ArgumentError", "the path of a file has a zero byte"));
        }
        let file = SentFile { path, within };
        answer(exchange, None, ContentBody::File(file))
    })?;
    natives.of_request("stream", |_, scope, exchange, call| {
        let media_type = text(scope, call.argument(1), "the content type")?;
        let plan = StreamPlan::Block(scope.root(call.argument(2))?);
        plan_stream(scope, exchange, &media_type, plan)
    })?;
    natives.of_request("stream_rows", |_, scope, exchange, call| {
        let format = match scope.text(call.argument(2)).as_deref() {
            Some("csv") => Format::Csv,
            Some("json") => Format::Json,
            Some("ndjson") => Format::NdJson,
            _ => {
                return Err(scope.error("ArgumentError", "stream takes as: :csv, :json or :ndjson"));
            }
        };
        let rows = super::rows::row_feed(scope, call.argument(1), format)?;
        let plan = StreamPlan::Rows(Box::new(rows));
        plan_stream(scope, exchange, format.content_type(), plan)
    })?;
    natives.waiting("send_piece", |_, scope, call| {
        let output = call.argument(0);
        let sender = data::<SharedSender>(scope, output, "the output", "an open output")?.clone();
        let bytes = scope.bytes(call.argument(1)).unwrap_or_default();
        let Some(mut taken) = sender.borrow_mut().take() else {
            return Err(scope.error(
                "IOError",
                "the body of this response is complete, or another fibre writes to it",
            ));
        };
        Ok(operation(async move {
            let sent = taken.send(Bytes::from(bytes)).await;
            *sender.borrow_mut() = Some(taken);
            match sent {
                Ok(()) => crate::answer::nil(),
                Err(_) => raise("Tsumugi::Cancelled", "the client has gone"),
            }
        }))
    })
}

/// A `content-disposition` that browsers save under this name: plain ASCII for old ones, the name itself for the others (RFC 6266).
fn attachment(name: &str) -> String {
    let plain = |c: char| match c {
        ' '..='~' if !"\"\\/%".contains(c) => c,
        _ => '_',
    };
    let mut value = String::from("attachment; filename=\"");
    value.extend(name.chars().map(plain));
    value.push_str("\"; filename*=UTF-8''");
    for byte in name.bytes() {
        match byte {
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'-' | b'.' | b'_' => {
                value.push(char::from(byte));
            }
            _ => value.push_str(&format!("%{byte:02X}")),
        }
    }
    value
}

fn plan_stream<'c>(
    scope: &'c Scope<'c>,
    exchange: &Exchange,
    media_type: &str,
    plan: StreamPlan,
) -> Result<'c, Value<'c>> {
    let media_type = HeaderValue::try_from(media_type).map_err(|_| {
        let message = format!("{media_type:?} is no content type");
        scope.error("ArgumentError", message)
    })?;
    answer(exchange, Some(media_type), ContentBody::Stream(plan))?;
    Ok(Value::symbol(scope.intern("tsumugi.responded")))
}

fn request<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    type Text = fn(&Request) -> Option<Cow<'_, str>>;
    let texts: [(&str, Text); 9] = [
        ("request_method", |request| {
            Some(request.method.as_str().into())
        }),
        ("request_path", |request| Some(request.uri.path().into())),
        ("request_query", |request| {
            Some(request.uri.query().unwrap_or_default().into())
        }),
        ("request_version", |request| match request.version {
            Version::HTTP_10 => Some("1.0".into()),
            Version::HTTP_11 => Some("1.1".into()),
            _ => Some("2".into()),
        }),
        ("request_id", |request| Some(request.id().into())),
        ("request_trace_id", |request| {
            Some(request.trace_id().to_string().into())
        }),
        ("request_ip", |request| {
            Some(request.peer?.ip().to_string().into())
        }),
        ("request_scheme", |request| {
            Some(request.scheme.name().into())
        }),
        ("request_base_url", |request| {
            Some(request.base_url()?.into())
        }),
    ];
    for (name, read) in texts {
        natives.of_request(name, move |_, scope, exchange, _| {
            scope.string_or_nil(read(&exchange.request).as_deref())
        })?;
    }
    request_headers(natives)
}

fn request_headers<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    let tsumugi = natives.scope().constant("Tsumugi")?;
    let object = natives.scope().object_class();
    let headers = natives.scope().define_class(tsumugi, "Headers", object)?;
    let context = natives.scope().intern("@context");
    natives.method(headers, "[]", 1..=1, move |_, scope, call| {
        let exchange = exchange(scope, scope.ivar(call.this, context))?;
        let headers = &exchange.request.headers;
        let (values, separator) = with_name(scope, call.argument(0), |name| {
            let name = String::from_utf8_lossy(name).replace('_', "-");
            let separator = separator(&name);
            (headers.get_all(name), separator)
        })?;
        let mut values = values.iter().map(HeaderValue::as_bytes);
        match (values.next(), values.next()) {
            (None, _) => Ok(Value::nil()),
            (Some(value), None) => scope.string(value),
            (Some(first), Some(second)) => {
                let all: Vec<&[u8]> = [first, second].into_iter().chain(values).collect();
                scope.string(all.join(separator))
            }
        }
    })?;
    natives.of_request("request_headers", |_, scope, exchange, _| {
        headers_hash(scope, &exchange.request.headers)
    })?;
    natives.of_request("request_port", |_, scope, exchange, _| {
        // 0 is one that a proxy does not say.
        let port = exchange.request.peer.map(|peer| peer.port());
        let port = port.filter(|port| *port > 0);
        Ok(port.map_or_else(Value::nil, |port| scope.count(port)))
    })?;
    natives.plain("here", |host, scope, _| {
        let subject = host.job.exchange();
        let exchange =
            subject.ok_or_else(|| scope.error("RuntimeError", "there is no request here"))?;
        scope.wrap_as("Tsumugi::Context", Rc::downgrade(&exchange))
    })?;
    natives.of_request("captures", |_, scope, exchange, _| {
        captures(scope, exchange)
    })?;
    // The first so many captures, for the parameters of the handler's block.
    natives.of_request("capture_values", |_, scope, exchange, call| {
        let takes = whole(call.argument(1)).unwrap_or(0);
        let values = exchange.captures.values.iter().take(takes);
        scope.list(values.map(|value| capture(scope, value)))
    })
}

/// The captures of the path as a Hash with Symbol keys. The names come from routes, so they are few.
fn captures<'c>(scope: &'c Scope<'c>, exchange: &Exchange) -> Result<'c, Value<'c>> {
    let captures = &exchange.captures;
    let hash = scope.hash(captures.values.len())?;
    let names = captures.names.iter().flat_map(|names| names.iter());
    for (name, value) in names.zip(&captures.values) {
        let name = Value::symbol(scope.intern(name));
        scope.hash_set(hash, name, capture(scope, value)?)?;
    }
    Ok(hash)
}

fn capture<'c>(scope: &'c Scope<'c>, value: &Capture) -> Result<'c, Value<'c>> {
    match value {
        Capture::Integer(integer) => Ok(scope.integer(*integer)),
        Capture::Float(float) => Ok(scope.float(*float)),
        Capture::Text(text) => scope.string(text),
    }
}

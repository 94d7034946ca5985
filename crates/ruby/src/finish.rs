//! From what a handler returned (or raised) to a response. Runs in the scope of the handler's last step.

use bytes::Bytes;
use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderValue, SET_COOKIE};
use tsumugi_http::{HttpBody, HttpResponse};
use tsumugi_mruby::{ExceptionReport, Kind, Raise, Result, Scope, Value};
use tsumugi_server::dispatch::RequestRefusal;
use tsumugi_server::{ErrorReport, Mode, report_error};

use crate::answer::Failure as _;
use crate::driver;
use crate::exchange::{Content, ContentBody, Exchange, SentFile, StreamPlan};
use crate::frames;
use crate::host::{Host, JobResult};
use crate::natives::rows;
use crate::{json, natives};

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");

/// A response, and the stream that is to be started for its body.
pub(crate) struct FinishedResponse {
    pub response: HttpResponse,
    pub stream: Option<StreamPlan>,
    /// The file of `send_file`.
    pub file: Option<SentFile>,
}

impl FinishedResponse {
    fn plain(response: HttpResponse) -> FinishedResponse {
        FinishedResponse {
            response,
            stream: None,
            file: None,
        }
    }
}

/// Makes the response of an exchange whose handler has ended.
pub(crate) fn finish(
    host: &Host,
    exchange: &Exchange,
    scope: &Scope<'_>,
    ended: JobResult<'_>,
) -> FinishedResponse {
    let mut finished = match ended.and_then(|value| body(host, exchange, scope, value)) {
        Ok(content) => assemble(exchange, content),
        Err(raised) => failed(host, exchange, scope, raised),
    };
    if let (Some(sessions), Some(recency)) = (host.web.sessions.get(), exchange.recency.get()) {
        for cookie in sessions.recency_cookies(recency) {
            finished.response.headers.append(SET_COOKIE, cookie);
        }
    }
    finished
}

/// What the result means as a body; `None` when there is none.
fn body<'s>(
    host: &Host,
    exchange: &Exchange,
    scope: &'s Scope<'_>,
    value: Value<'_>,
) -> Result<'s, Option<Content>> {
    let mut draft = exchange.draft.borrow_mut();
    if let Some(written) = draft.written.take() {
        return Ok(Some(content(TEXT, written)));
    }
    let result = match value.kind() {
        Kind::Nil => {
            if draft.body.is_none() && !draft.touched {
                let message = "the handler returned nil and set neither status nor header: return a value, or status 204";
                return Err(scope.error("RuntimeError", message));
            }
            draft.body.take()
        }
        Kind::Symbol if natives::is_responded(scope, value) => draft.body.take(),
        Kind::String => Some(content(TEXT, scope.bytes(value).unwrap_or_default())),
        _ => {
            if host.settings.mode == Mode::Development && draft.status.is_none() {
                remark_on_status(host, exchange, scope, value);
            }
            drop(draft);
            let mut out = Vec::with_capacity(256);
            match rows::packed(scope, value) {
                Some(rows) => rows
                    .write_json(&mut out)
                    .map_err(|error| error.raise(scope))?,
                None => json::write(scope, value, host.settings.limits.json_depth_max, &mut out)?,
            }
            return Ok(Some(content(JSON, out)));
        }
    };
    Ok(result)
}

/// Warns, once a handler, where the result looks like a status or like what a handler of Rack returns: it is JSON as anything else.
fn remark_on_status(host: &Host, exchange: &Exchange, scope: &Scope<'_>, value: Value<'_>) {
    let status = |value: Value<'_>| value.as_integer().filter(|n| (100..=599).contains(n));
    let is_triple = value.kind() == Kind::Array
        && scope.array_len(value) == 3
        && scope.array_at(value, 1).kind() == Kind::Hash;
    let (shape, status) = match (status(value), is_triple) {
        (Some(status), _) => ("a status alone", status),
        (None, true) => match status(scope.array_at(value, 0)) {
            Some(status) => ("status, headers and body as Rack has them", status),
            None => return,
        },
        (None, false) => return,
    };
    let line = exchange.line();
    // The block of `not_found` has a status.
    let Some(place) = &exchange.location else {
        return;
    };
    if host.resources.may_remark(place) {
        tracing::warn!(
            "{line}: the handler at {place} returned what looks like {shape}, which is sent as JSON with status 200: \
             write `status {status}` before the result, or `halt {status}`; headers are set by `header name, value`"
        );
    }
}

fn content(media_type: HeaderValue, bytes: Vec<u8>) -> Content {
    Content {
        media_type: Some(media_type),
        body: ContentBody::Bytes(Bytes::from(bytes)),
    }
}

fn assemble(exchange: &Exchange, content: Option<Content>) -> FinishedResponse {
    let mut draft = exchange.draft.borrow_mut();
    let mut response = HttpResponse::new(draft.status.unwrap_or(StatusCode::OK), Bytes::new());
    if !draft.headers.is_empty() {
        response.headers = std::mem::take(&mut draft.headers);
    }
    for (_, cookie) in draft.cookies.drain(..) {
        response.headers.append(SET_COOKIE, cookie);
    }
    let (mut stream, mut file) = (None, None);
    if let Some(content) = content {
        if let Some(media_type) = content.media_type {
            // A type that the handler set itself wins.
            response.headers.entry(CONTENT_TYPE).or_insert(media_type);
        }
        match content.body {
            ContentBody::Bytes(bytes) => response.body = HttpBody::from(bytes),
            ContentBody::Stream(plan) => {
                if let StreamPlan::WebSocket(granted) = &plan {
                    response.status = granted.response.status;
                    response.headers.extend(granted.response.headers.clone());
                }
                stream = Some(plan);
            }
            ContentBody::File(path) => file = Some(path),
        }
    }
    FinishedResponse {
        response,
        stream,
        file,
    }
}

fn failed(
    host: &Host,
    exchange: &Exchange,
    scope: &Scope<'_>,
    raised: Raise<'_>,
) -> FinishedResponse {
    let report = scope.report(raised);
    if driver::is_cancellation(&report) {
        // Nothing else than its deadline ends a handler whose client is still there.
        let limit_ms = host.settings.limits.request_ms_max;
        let refusal = RequestRefusal::Deadline { limit_ms };
        tracing::error!("{}: {refusal}", exchange.line());
        report_error(|| ErrorReport {
            place: exchange.location.as_ref().map(|route| route.to_string()),
            class: "request_ms_max".to_owned(),
            message: refusal.to_string(),
            subject: exchange.line().to_string(),
            ..ErrorReport::default()
        });
        return FinishedResponse::plain(refusal.response());
    }
    let report = log_exception(host, exchange, report);
    let request = &exchange.request.headers;
    let response = natives::error_response(host, scope, request, raised, &report);
    FinishedResponse::plain(response)
}

/// Logs what a handler raised, with the request and its route.
pub(crate) fn log_exception(
    host: &Host,
    exchange: &Exchange,
    mut report: ExceptionReport,
) -> ExceptionReport {
    if !frames::has_authors(&report) {
        let route = exchange.location.iter().map(|route| route.to_string());
        report.backtrace.splice(..0, route);
    }
    host.log_exception(&exchange.line().to_string(), &report);
    report
}

//! The dashboard on `--admin`: a page, and its data as JSON below `/dashboard/api/`. Opens no socket and knows no language of applications.
//!
//! Rule: workers leave figures where the admin thread reads them, by the clock or on rare events, so a request that does not wait pays for
//! counters and nothing else. What has to be asked of a worker is asked with a limit of time, and the admin thread itself never blocks.
//! Every request goes through `guard.rs` first, and every action is a line of the log.

mod answers;
mod api;
mod api_error;
mod ask;
mod databases;
mod description;
mod error_sink;
mod errors;
mod guard;
mod history;
mod kept_answer;
mod latency;
mod overview;
mod page_files;
mod parts;
mod question;
mod reloads;
mod requests;
mod routes;
mod server;
mod state;
mod statements;
mod stores;
mod text;
mod traces;
mod work;

use std::net::SocketAddr;

use http::header::{
    ALLOW, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION, REFERRER_POLICY, RETRY_AFTER,
    SET_COOKIE, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::{HeaderName, HeaderValue, Method, StatusCode};
use serde_json::{Value, json};
use tsumugi_http::admin::{AdminAnswer, AdminRequest};
use tsumugi_http::cookie::{SameSite, SetCookie};
use tsumugi_http::{HttpResponse, Request};
use tsumugi_worker::Handle;

use crate::front::{Front, MetricsRegistry};
use crate::limits::{DASHBOARD_BODY_BYTES_MAX, DASHBOARD_SESSION_SECONDS};
use crate::log::without_hidden_folder;
use api::{ApiEndpoint, ApiError, ApiQuery, cut, required};
use guard::{Access, AccessGuard, COOKIE_NAME};

pub(crate) use answers::answer;
pub use description::{DashboardSettings, LimitRow, ServerDescription};
pub use error_sink::{ErrorReport, report_error};
pub(crate) use error_sink::{ErrorSink, follow_errors};
pub(crate) use parts::AdminParts;
pub use question::{AdminQuestion, QuestionAnswer, QuestionError};
pub(crate) use question::{QuestionReceiver, QuestionSender, questions};
pub(crate) use routes::{RouteCounter, RouteCounts, RouteFigures};
pub(crate) use state::Dashboard;

/// What every endpoint is called, and what answers it.
const ENDPOINTS: &[(&str, ApiEndpoint)] = &[
    ("overview", ApiEndpoint::View(overview::view)),
    ("requests", ApiEndpoint::View(requests::view)),
    ("requests/cancel", ApiEndpoint::Action(requests::cancel)),
    ("errors", ApiEndpoint::View(errors::view)),
    ("reloads", ApiEndpoint::View(reloads::view)),
    ("server", ApiEndpoint::View(server::view)),
    ("statements", ApiEndpoint::View(statements::view)),
    (
        "statements/explain",
        ApiEndpoint::Action(statements::explain),
    ),
    ("statements/reset", ApiEndpoint::Action(statements::reset)),
    ("databases", ApiEndpoint::View(databases::view)),
    ("stores", ApiEndpoint::Question(stores::view)),
    ("records", ApiEndpoint::Question(stores::view_records)),
    ("work", ApiEndpoint::Question(work::view)),
    ("jobs/retry", ApiEndpoint::Action(work::retry)),
    ("jobs/drop", ApiEndpoint::Action(work::remove)),
    ("traces", ApiEndpoint::View(traces::view)),
    ("trace", ApiEndpoint::View(traces::trace)),
];

/// Nothing from elsewhere, nothing inline, and no page around it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
     form-action 'none'; frame-ancestors 'none'; base-uri 'none'";

/// The dashboard of a running server.
#[derive(Debug)]
pub(crate) struct DashboardPages {
    state: Dashboard,
    guard: AccessGuard,
}

impl DashboardPages {
    /// Of the server behind `handle`, whose services were given `front`.
    pub fn new(handle: Handle, registry: MetricsRegistry, front: &Front) -> DashboardPages {
        DashboardPages {
            state: Dashboard::new(handle, registry, front),
            guard: AccessGuard::new(front.dashboard.token.clone()),
        }
    }

    /// What it answers from.
    pub fn state(&self) -> &Dashboard {
        &self.state
    }

    /// The answer to a request for a path of the dashboard; none for other paths.
    pub fn answer(&self, asked: AdminRequest) -> Option<AdminAnswer<'_>> {
        let path = asked.request.uri.path();
        if path != "/" && path != "/dashboard" && !path.starts_with("/dashboard/") {
            return None;
        }
        Some(Box::pin(async move { armoured(self.respond(asked).await) }))
    }

    async fn respond(&self, asked: AdminRequest) -> HttpResponse {
        let AdminRequest { request, address } = asked;
        let path = request.uri.path();
        if let Some(name) = path.strip_prefix("/dashboard/api/") {
            let name = name.to_owned();
            return match self.ask(&name, request, address).await {
                Ok(answer) => answer,
                Err(error) => refusal(error),
            };
        }
        if let Err(error) = self.guard.check(&request.headers, address, Access::Page) {
            return HttpResponse::refusal(error.status, &error.text);
        }
        if request.method != Method::GET && request.method != Method::HEAD {
            let text = "method not allowed\n";
            return HttpResponse::text(StatusCode::METHOD_NOT_ALLOWED, text)
                .with(ALLOW, HeaderValue::from_static("GET, HEAD"));
        }
        if path == "/" || path == "/dashboard" {
            return HttpResponse::new(StatusCode::SEE_OTHER, "")
                .with(LOCATION, HeaderValue::from_static("/dashboard/"));
        }
        let found = page_files::page_file(path, &request.headers);
        found.unwrap_or_else(HttpResponse::not_found)
    }

    /// Answers one endpoint.
    async fn ask(
        &self,
        name: &str,
        mut request: Box<Request>,
        address: Option<SocketAddr>,
    ) -> Result<HttpResponse, ApiError> {
        let found = ENDPOINTS.iter().find(|(known, _)| *known == name);
        let access = match (name, found) {
            ("login", _) => Access::Login,
            (_, Some((_, ApiEndpoint::Action(_)))) => Access::Action,
            _ => Access::Data,
        };
        // What a request may see is looked at before whether it makes sense, so that nothing is learnt without permission.
        let posts = matches!(access, Access::Action | Access::Login);
        if posts && request.method != Method::POST {
            self.guard.check(&request.headers, address, Access::Data)?;
            return Err(method_not_allowed("POST"));
        }
        self.guard.check(&request.headers, address, access)?;
        if !posts && request.method != Method::GET {
            return Err(method_not_allowed("GET"));
        }
        let endpoint = match (access, found) {
            (Access::Login, _) => return self.login(&mut request).await,
            (_, Some((_, endpoint))) => endpoint,
            (_, None) => return Err(ApiError::not_found("the dashboard has no such data")),
        };
        let query = || ApiQuery::parse(request.uri.query().unwrap_or_default());
        self.state.call_workers();
        let answer = match endpoint {
            ApiEndpoint::View(view) => view(&self.state, &query()?).map(|value| self.shown(value)),
            ApiEndpoint::Question(ask) => {
                let answer = ask(&self.state, query()?).await;
                answer.map(|value| self.shown(value))
            }
            ApiEndpoint::Action(act) => {
                let body = body_of(&mut request).await?;
                let wanted = cut(&body.to_string());
                let outcome = act(&self.state, body).await;
                log_action(name, &wanted, &request, outcome.as_ref().err());
                outcome
            }
        };
        answer.map(|value| json_response(StatusCode::OK, &value))
    }

    /// Data with the workers that do not answer, where there are such.
    fn shown(&self, mut value: Value) -> Value {
        let silent = self.state.silent_workers();
        if let (false, Some(fields)) = (silent.is_empty(), value.as_object_mut()) {
            fields.insert("silent_workers".to_owned(), Value::Array(silent));
        }
        value
    }

    async fn login(&self, request: &mut Box<Request>) -> Result<HttpResponse, ApiError> {
        let body = body_of(request).await?;
        let session = self.guard.login(required(&body, "token")?);
        // The token itself is not for the log.
        log_action("login", "", request, session.as_ref().err());
        let response = json_response(StatusCode::OK, &json!({ "ok": true }));
        let Some(session) = session? else {
            return Ok(response);
        };
        let cookie = SetCookie::new(COOKIE_NAME, &session)
            .path("/dashboard/")
            .max_age(DASHBOARD_SESSION_SECONDS as i64)
            .http_only()
            .same_site(SameSite::Strict)
            .header();
        let cookie = cookie.map_err(|_| ApiError::unavailable("the cookie cannot be made"))?;
        Ok(response.with(SET_COOKIE, cookie))
    }
}

/// The JSON of an action's body.
async fn body_of(request: &mut Request) -> Result<Value, ApiError> {
    let limit = DASHBOARD_BODY_BYTES_MAX as u64;
    let read = request
        .body
        .read_all_within("dashboard_body_bytes_max", limit);
    let bytes = read.await;
    let bytes = bytes.map_err(|error| ApiError::new(error.status(), error.to_string()))?;
    if bytes.is_empty() {
        return Ok(json!({}));
    }
    let value = serde_json::from_slice(&bytes);
    value.map_err(|error| ApiError::bad_request(format!("the body is no JSON: {error}")))
}

/// Says in the log that somebody did something.
fn log_action(name: &str, wanted: &str, request: &Request, refused: Option<&ApiError>) {
    let peer = request.peer.map(|peer| peer.to_string());
    let from = peer.as_deref().unwrap_or("a UNIX socket");
    match refused {
        None => tracing::info!(from, "dashboard: {name} {wanted}"),
        Some(error) => tracing::info!(from, "dashboard: {name} {wanted} refused: {}", error.text),
    }
}

fn method_not_allowed(method: &str) -> ApiError {
    let text = format!("this is asked for with {method}");
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, text)
}

fn refusal(error: ApiError) -> HttpResponse {
    let status = error.status;
    let response = json_response(status, &error.into_value());
    match status {
        StatusCode::UNAUTHORIZED => {
            response.with(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))
        }
        StatusCode::TOO_MANY_REQUESTS => response.with(RETRY_AFTER, HeaderValue::from_static("60")),
        _ => response,
    }
}

fn json_response(status: StatusCode, value: &Value) -> HttpResponse {
    let text = value.to_string();
    HttpResponse::new(status, without_hidden_folder(&text).into_owned())
        .with(CONTENT_TYPE, HeaderValue::from_static("application/json"))
}

/// The header fields that keep other pages away.
fn armoured(response: HttpResponse) -> HttpResponse {
    const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");
    const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
    response
        .with(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY))
        .with(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"))
        .with(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"))
        .with(REFERRER_POLICY, HeaderValue::from_static("no-referrer"))
        .with(RESOURCE_POLICY, HeaderValue::from_static("same-origin"))
        .with(OPENER_POLICY, HeaderValue::from_static("same-origin"))
}

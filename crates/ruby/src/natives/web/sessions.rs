//! Sessions and the tokens of forms. What a session holds, and which store keeps it, is Ruby's business; here it is signed JSON or an id.

use http::header::HeaderMap;
use tsumugi_http::session::{self, Forms, SessionSettings, SessionStorage, Transport};
use tsumugi_mruby::{Result, Scope, Value};

use super::cookies::{same_site, signer};
use crate::exchange::{CookieKey, Exchange};
use crate::host::Host;
use crate::json;
use crate::natives::arguments::text;
use crate::natives::definitions::{Natives, exchange};

const UNDECLARED: &str = "this application has no sessions: write `sessions` near the top of its file, before the routes";

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.plain("sessions", |host, scope, call| {
        let options = call.argument(0);
        let option = |name: &str| {
            let value = scope.keyword(options, name)?;
            text(scope, value, name)
        };
        let domain = scope.keyword(options, "domain")?;
        let seconds = scope.keyword(options, "max_age")?.as_integer();
        let max_age_seconds = seconds
            .and_then(|seconds| u64::try_from(seconds).ok())
            .filter(|seconds| *seconds > 0)
            .ok_or_else(|| {
                scope.error("ArgumentError", "max_age: is a positive number of seconds")
            })?;
        let sessions = SessionSettings {
            name: option("name")?,
            path: option("path")?,
            domain: scope.text(domain),
            same_site: same_site(scope, scope.keyword(options, "same_site")?)?,
            max_age_seconds,
            transport: match scope.keyword(options, "secure")?.truthy() {
                true => Transport::TlsOnly,
                false => Transport::Any,
            },
            forms: match scope.keyword(options, "csrf")?.truthy() {
                true => Forms::Checked,
                false => Forms::Unchecked,
            },
            keeping: match scope.keyword(options, "stored")?.truthy() {
                true => SessionStorage::Store,
                false => SessionStorage::Cookie(signer(host, scope)?),
            },
        };
        let wrong = |error: session::WriteError| scope.error("ArgumentError", error.to_string());
        sessions.check().map_err(wrong)?;
        match host.web.sessions.set(sessions) {
            Ok(()) => Ok(Value::nil()),
            Err(_) => {
                Err(scope.error("RuntimeError", "sessions is written once in an application"))
            }
        }
    })?;
    contents(natives)?;
    ids(natives)?;
    tokens(natives)
}

fn contents<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.plain("session_read", |host, scope, call| {
        let exchange = exchange(scope, call.argument(0))?;
        let sessions = declared_sessions(host, scope)?;
        match sessions.read(&exchange.request.headers, host.settings.http.parameters_max) {
            Some(content) => scope.string(content),
            None => Ok(Value::nil()),
        }
    })?;
    natives.plain("session_write", |host, scope, call| {
        let exchange = exchange(scope, call.argument(0))?;
        let sessions = declared_sessions(host, scope)?;
        let mut content = Vec::new();
        json::write(
            scope,
            call.argument(1),
            host.settings.limits.json_depth_max,
            &mut content,
        )?;
        set_cookie(scope, &exchange, sessions, &content)
    })?;
    natives.plain("session_end", |host, scope, call| {
        let exchange = exchange(scope, call.argument(0))?;
        let sessions = declared_sessions(host, scope)?;
        let (headers, max): (&HeaderMap, _) =
            (&exchange.request.headers, host.settings.http.parameters_max);
        let mut draft = exchange.draft.borrow_mut();
        draft.cookies.retain(|(other, _)| *other != key(sessions));
        if sessions.is_sent(headers, max) {
            let header = sessions
                .end()
                .map_err(|error| scope.error("ArgumentError", error.to_string()))?;
            draft.set_cookie(key(sessions), header);
        }
        Ok(Value::nil())
    })
}

/// Puts the cookie with this content into the response.
fn set_cookie<'c>(
    scope: &'c Scope<'c>,
    exchange: &Exchange,
    sessions: &SessionSettings,
    content: &[u8],
) -> Result<'c, Value<'c>> {
    let header = sessions
        .write(content)
        .map_err(|error| scope.error("ArgumentError", error.to_string()))?;
    exchange
        .draft
        .borrow_mut()
        .set_cookie(key(sessions), header);
    Ok(Value::nil())
}

/// For sessions that a store keeps.
fn ids<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.plain("session_id", |host, scope, call| {
        let exchange = exchange(scope, call.argument(0))?;
        let sessions = declared_sessions(host, scope)?;
        let headers = &exchange.request.headers;
        match sessions.read_id(headers, host.settings.http.parameters_max) {
            Some(id) => scope.string(id),
            None => Ok(Value::nil()),
        }
    })?;
    natives.plain("session_id_new", |_, scope, _| match session::new_id() {
        Ok(id) => scope.string(id),
        Err(error) => Err(scope.error("RuntimeError", error.to_string())),
    })?;
    natives.plain("session_id_write", |host, scope, call| {
        let exchange = exchange(scope, call.argument(0))?;
        let sessions = declared_sessions(host, scope)?;
        let id = text(scope, call.argument(1), "the session's id")?;
        set_cookie(scope, &exchange, sessions, id.as_bytes())
    })?;
    // The client keeps the cookie that it has: another answer may have brought it a newer one.
    natives.plain("session_id_withdraw", |host, scope, call| {
        let exchange = exchange(scope, call.argument(0))?;
        let sessions = declared_sessions(host, scope)?;
        let mut draft = exchange.draft.borrow_mut();
        draft.cookies.retain(|(other, _)| *other != key(sessions));
        Ok(Value::nil())
    })?;
    natives.plain("session_key", |_, scope, call| {
        let id = text(scope, call.argument(0), "the session's id")?;
        scope.string(session::key_of(&id))
    })
}

fn tokens<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.plain("csrf_new", |_, scope, _| match session::new_token() {
        Ok(token) => scope.string(token),
        Err(error) => Err(scope.error("RuntimeError", error.to_string())),
    })?;
    natives.plain("csrf_mask", |_, scope, call| {
        let stored = scope.text(call.argument(0)).unwrap_or_default();
        match session::masked_token(&stored) {
            Ok(Some(token)) => scope.string(token),
            Ok(None) => Ok(Value::nil()),
            Err(error) => Err(scope.error("RuntimeError", error.to_string())),
        }
    })?;
    natives.plain("csrf_valid?", |_, scope, call| {
        let stored = scope.text(call.argument(0)).unwrap_or_default();
        let sent = scope.text(call.argument(1)).unwrap_or_default();
        Ok(Value::boolean(session::is_token(&stored, &sent)))
    })
}

fn declared_sessions<'h, 'c>(
    host: &'h Host,
    scope: &'c Scope<'c>,
) -> Result<'c, &'h SessionSettings> {
    let sessions = host.web.sessions.get();
    sessions.ok_or_else(|| scope.error("RuntimeError", UNDECLARED))
}

fn key(sessions: &SessionSettings) -> CookieKey {
    CookieKey {
        name: sessions.name.clone(),
        path: Some(sessions.path.clone()),
        domain: sessions.domain.clone(),
    }
}

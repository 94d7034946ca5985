//! Sessions and the tokens of forms, for prelude/web/sessions.rb: what an application declares, and the session of a request as JSON. How
//! one is read, changed and stored is `tsumugi_server::session`. Rule: a change parks the fibre only when the store takes time.

use std::rc::Rc;

use tsumugi_http::secret::SecretError;
use tsumugi_http::session::{self, Forms, SessionSettings, SessionStorage, Transport};
use tsumugi_mruby::{NativeCall, Raise, Result, Scope, Value};
use tsumugi_server::session::{
    RequestSession, SessionContent, SessionError, SessionSlot, SessionStore,
};

use super::cookies::{same_site, signer};
use crate::answer::{Failure, Operation, attempt};
use crate::exchange::{CookieKey, Exchange};
use crate::host::Host;
use crate::json;
use crate::natives::arguments::{text, whole};
use crate::natives::definitions::{Natives, exchange};
use crate::natives::kv::KvStore;
use crate::natives::parameters::halt;

const UNDECLARED: &str = "this application has no sessions: write `sessions` near the top of its file, before the routes";

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.plain("sessions", |host, scope, call| {
        let options = call.argument(0);
        let option = |name: &str| {
            let value = scope.keyword(options, name)?;
            text(scope, value, name)
        };
        let domain = scope.keyword(options, "domain")?;
        let max_age_seconds = whole(scope.keyword(options, "max_age")?)
            .filter(|seconds| *seconds > 0)
            .ok_or_else(|| {
                scope.error("ArgumentError", "max_age: is a positive number of seconds")
            })?;
        let kv = scope.keyword(options, "kv")?;
        let store = scope.data::<Rc<KvStore>>(kv);
        let store = store.map(|store| store.store.clone());
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
            keeping: match &store {
                Some(_) => SessionStorage::Store,
                None => SessionStorage::Cookie(signer(host, scope)?),
            },
        };
        let wrong = |error: session::WriteError| scope.error("ArgumentError", error.to_string());
        sessions.check().map_err(wrong)?;
        let cookies_max = host.settings.http.parameters_max;
        let weak = Rc::downgrade(host);
        let signer = move || {
            let host = weak.upgrade().ok_or(SecretError::Missing)?;
            host.web.signer(&host.settings)
        };
        let sessions = SessionStore::new(sessions, store, cookies_max);
        let sessions = sessions.map_err(|error| error.raise(scope))?;
        let sessions = Rc::new(sessions.signed_by(signer));
        match host.web.sessions.set(sessions) {
            Ok(()) => Ok(Value::nil()),
            Err(_) => {
                Err(scope.error("RuntimeError", "sessions is written once in an application"))
            }
        }
    })?;
    contents(natives)?;
    changes(natives)
}

fn contents<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.maybe_waiting("session_content", |host, scope, call| {
        let opened = opened(host, scope, call)?;
        Ok(attempt(opened, |scope, (_, session)| {
            scope.string(session.content().to_json())
        }))
    })?;
    natives.maybe_waiting("session_stored?", |host, scope, call| {
        let opened = opened(host, scope, call)?;
        Ok(attempt(opened, |_, (_, session)| {
            Ok(Value::boolean(session.is_stored()))
        }))
    })?;
    natives.plain("csrf_refusal", |_, scope, _| {
        scope.string(session::FORGERY_REFUSAL)
    })?;
    natives.maybe_waiting("csrf_valid?", |host, scope, call| {
        let opened = opened(host, scope, call)?;
        let sent = scope.text(call.argument(1)).unwrap_or_default();
        Ok(attempt(opened, move |_, (_, session)| {
            Ok(Value::boolean(session.is_token(&sent)))
        }))
    })
}

fn changes<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    // `context, values, name of what is removed`
    natives.maybe_waiting("session_change", |host, scope, call| {
        let opened = opened(host, scope, call)?;
        let depth_max = host.settings.limits.json_depth_max;
        let mut values = Vec::new();
        json::write(scope, call.argument(1), depth_max, &mut values)?;
        let values = SessionContent::parse(&values);
        let values = values.map_err(|error| SessionError::from(error).raise(scope))?;
        let removed = scope.text(call.argument(2));
        Ok(changed(opened, async move |session| {
            let change = |content: &mut SessionContent| {
                content.merge(&values);
                if let Some(name) = &removed {
                    content.remove(name);
                }
            };
            session.change(change).await.map(|()| None)
        }))
    })?;
    natives.maybe_waiting("session_clear", |host, scope, call| {
        let opened = opened(host, scope, call)?;
        Ok(changed(opened, async |session| {
            session.clear().await.map(|()| None)
        }))
    })?;
    natives.maybe_waiting("session_renew", |host, scope, call| {
        let opened = opened(host, scope, call)?;
        Ok(changed(opened, async |session| {
            session.renew().await.map(|()| None)
        }))
    })?;
    natives.maybe_waiting("csrf_token", |host, scope, call| {
        let opened = opened(host, scope, call)?;
        Ok(changed(opened, async |session| {
            session.csrf_token().await.map(Some)
        }))
    })
}

type Outcome<T> = std::result::Result<T, SessionError>;

/// A request and its session.
type SessionOfRequest = (Rc<Exchange>, Rc<RequestSession>);

/// Finds the session of a request, and reads it unless it was read.
fn opened<'c>(
    host: &Host,
    scope: &'c Scope<'c>,
    call: &NativeCall<'c>,
) -> Result<'c, impl Future<Output = Outcome<SessionOfRequest>> + use<>> {
    let exchange = exchange(scope, call.argument(0))?;
    let sessions = host.web.sessions.get();
    let sessions = sessions.ok_or_else(|| scope.error("RuntimeError", UNDECLARED))?;
    let sessions = Rc::clone(sessions);
    Ok(async move {
        let slot = exchange.session.get_or_init(|| SessionSlot::new(&sessions));
        let session = Rc::clone(slot.read(&exchange.request.headers).await?);
        Ok((exchange, session))
    })
}

/// Runs a change, puts the cookie that follows from it among those of the response, and answers what the change gives.
fn changed(
    opened: impl Future<Output = Outcome<SessionOfRequest>> + 'static,
    change: impl AsyncFnOnce(Rc<RequestSession>) -> Outcome<Option<String>> + 'static,
) -> Operation {
    let outcome = async move {
        let (exchange, session) = opened.await?;
        let outcome = change(session).await;
        if outcome.is_ok() {
            put_cookie(&exchange);
        }
        outcome
    };
    attempt(outcome, |scope, text| scope.string_or_nil(text))
}

fn put_cookie(exchange: &Exchange) {
    let Some(slot) = exchange.session.get() else {
        return;
    };
    let declared = slot.sessions().settings();
    let key = CookieKey {
        name: declared.name.clone(),
        path: Some(declared.path.clone()),
        domain: declared.domain.clone(),
    };
    let mut draft = exchange.draft.borrow_mut();
    match slot.cookie().header() {
        Some(header) => draft.set_cookie(key, header),
        None => draft.cookies.retain(|(other, _)| *other != key),
    }
}

impl Failure for SessionError {
    fn raise<'s>(&self, scope: &'s Scope<'_>) -> Raise<'s> {
        if let Some(status) = self.status() {
            return halt(scope, status.as_u16(), &self.to_string());
        }
        match self {
            SessionError::Store(error) => error.raise(scope),
            SessionError::Write(_) => scope.error("ArgumentError", self.to_string()),
            _ => scope.error("RuntimeError", self.to_string()),
        }
    }
}

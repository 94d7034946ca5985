//! Cookies: what the client sent, what it is to keep, and signed values. Values are percent-encoded where a cookie cannot hold them.

use std::rc::Rc;
use std::time::{Duration, UNIX_EPOCH};

use http::header::COOKIE;
use tsumugi_http::COOKIE_BYTES_MAX;
use tsumugi_http::cookie::{self, SameSite, SetCookie};
use tsumugi_http::percent::{Plus, decode};
use tsumugi_http::secret::{Purpose, Signer};
use tsumugi_http::session::now;
use tsumugi_mruby::{Result, Scope, Value};

use crate::exchange::CookieKey;
use crate::host::Host;
use crate::limits::COOKIES_SET_MAX;
use crate::natives::arguments::{bytes, text};
use crate::natives::definitions::Natives;

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.of_request("cookies", |host, scope, exchange, _| {
        let hash = scope.hash(4)?;
        for header in exchange.request.headers.get_all(COOKIE) {
            // Of more cookies than the limit none is read: the client is at fault, and no handler should fail by it.
            let pairs = cookie::pairs(header.as_bytes(), host.settings.http.parameters_max);
            for (name, value) in pairs.unwrap_or_default() {
                let name = scope.string(name)?;
                // The first of a name is of the longest path.
                if scope.hash_fetch(hash, name)?.is_nil() {
                    let value = decode(value, Plus::Plus).unwrap_or(value.into());
                    scope.hash_set(hash, name, scope.string(value.as_bytes())?)?;
                }
            }
        }
        Ok(hash)
    })?;
    natives.of_request("set_cookie", |_, scope, exchange, call| {
        let name = text(scope, call.argument(1), "a cookie's name")?;
        let value = encode(&bytes(scope, call.argument(2), "a cookie's value")?);
        let options = call.argument(3);
        let option = |name: &str| {
            let value = scope.keyword(options, name)?;
            match value.is_nil() {
                true => Ok(None),
                false => text(scope, value, name).map(Some),
            }
        };
        let key = CookieKey {
            name,
            path: option("path")?,
            domain: option("domain")?,
        };
        let cookie = build_cookie(scope, &key, &value, options)?;
        let header = cookie
            .header()
            .map_err(|error| scope.error("ArgumentError", error.to_string()))?;
        if header.len() > COOKIE_BYTES_MAX {
            let message = format!(
                "the cookie {} has {} bytes; cookie_bytes_max is {COOKIE_BYTES_MAX}, which is what browsers keep",
                key.name,
                header.len()
            );
            return Err(scope.error("ArgumentError", message));
        }
        let mut draft = exchange.draft.borrow_mut();
        draft.set_cookie(key, header);
        if draft.cookies.len() > COOKIES_SET_MAX {
            draft.cookies.pop();
            let message = format!(
                "a response sets at most {COOKIES_SET_MAX} cookies (cookies_set_max, built in)"
            );
            return Err(scope.error("ArgumentError", message));
        }
        Ok(Value::nil())
    })?;
    install_signed(natives)
}

fn install_signed<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.plain("sign_cookie", |host, scope, call| {
        let name = text(scope, call.argument(0), "a cookie's name")?;
        let value = text(scope, call.argument(1), "a signed cookie's value")?;
        let expires = match call.argument(2).as_integer() {
            Some(seconds) => u64::try_from(seconds).unwrap_or(0).max(1), // the past is long ago; 0 is no end
            None => 0,
        };
        let signer = signer(host, scope)?;
        scope.string(signer.sign(Purpose::Cookie, &name, value.as_bytes(), expires))
    })?;
    natives.plain("open_cookie", |host, scope, call| {
        let name = text(scope, call.argument(0), "a cookie's name")?;
        let signed = scope.text(call.argument(1)).unwrap_or_default();
        scope.string_or_nil(signer(host, scope)?.open(Purpose::Cookie, &name, &signed, now()))
    })
}

pub(super) fn signer<'c>(host: &Rc<Host>, scope: &'c Scope<'c>) -> Result<'c, Rc<Signer>> {
    host.web
        .signer(&host.settings)
        .map_err(|error| scope.error("RuntimeError", error.to_string()))
}

pub(super) fn same_site<'c>(scope: &'c Scope<'c>, value: Value<'c>) -> Result<'c, SameSite> {
    match scope.text(value).as_deref() {
        Some("lax") => Ok(SameSite::Lax),
        Some("strict") => Ok(SameSite::Strict),
        Some("none") => Ok(SameSite::None),
        _ => Err(scope.error("ArgumentError", "same_site: is :lax, :strict or :none")),
    }
}

fn build_cookie<'c, 'k>(
    scope: &'c Scope<'c>,
    key: &'k CookieKey,
    value: &'k str,
    options: Value<'c>,
) -> Result<'c, SetCookie<'k>> {
    let mut cookie = SetCookie::new(&key.name, value);
    if let Some(path) = &key.path {
        cookie = cookie.path(path);
    }
    if let Some(domain) = &key.domain {
        cookie = cookie.domain(domain);
    }
    if let Some(seconds) = scope.keyword(options, "max_age")?.as_integer() {
        cookie = cookie.max_age(seconds);
    }
    if let Some(seconds) = scope.keyword(options, "expires")?.as_integer() {
        let since = Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
        cookie = cookie.expires(UNIX_EPOCH + since);
    }
    if scope.keyword(options, "secure")?.truthy() {
        cookie = cookie.secure();
    }
    if scope.keyword(options, "http_only")?.truthy() {
        cookie = cookie.http_only();
    }
    let site = scope.keyword(options, "same_site")?;
    Ok(match site.is_nil() {
        true => cookie,
        false => cookie.same_site(same_site(scope, site)?),
    })
}

/// RFC 6265 section 4.1.1 says what a value may hold; the rest, and the escape itself, is percent-encoded.
fn encode(value: &[u8]) -> String {
    let mut out = String::with_capacity(value.len());
    for byte in value {
        if byte.is_ascii_graphic() && !b"%\",;\\".contains(byte) {
            out.push(char::from(*byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

//! Whether a request may see or change anything through the dashboard. Answers nothing itself.
//! Rule: no page of another site can read or drive it, whatever name it has made point here; from an address that others can reach, nothing
//! is shown without the token.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use http::header::{AUTHORIZATION, CONTENT_TYPE, COOKIE, HOST, ORIGIN};
use http::{HeaderMap, HeaderName, StatusCode};
use tsumugi_http::{AdminToken, cookie, host_without_port};

use super::api::ApiError;
use crate::limits::{DASHBOARD_LOGIN_FAILURES_MAX, DASHBOARD_SESSION_SECONDS};
use crate::unix_time::unix_ms;

/// The cookie of a browser that has shown the token.
pub(crate) const COOKIE_NAME: &str = "tsumugi_admin";

/// Pairs of a Cookie header that are looked at; other programs on this host may have set some.
const COOKIES_MAX: usize = 100;

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const ACTION: HeaderName = HeaderName::from_static("x-tsumugi-action");

/// What a request wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// The page and what it consists of, which say nothing of this server.
    Page,
    /// To read.
    Data,
    /// To change something.
    Action,
    /// To show the token.
    Login,
}

/// What the checks know of this server.
#[derive(Debug, Default)]
pub(crate) struct AccessGuard {
    token: Option<AdminToken>,
    /// What this machine calls itself.
    machine: Option<String>,
    failures: LoginFailures,
}

impl AccessGuard {
    pub fn new(token: Option<AdminToken>) -> AccessGuard {
        let machine = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
        AccessGuard {
            token,
            machine: machine.map(|name| name.trim().to_owned()),
            failures: LoginFailures::default(),
        }
    }

    /// Whether a request that came to `address` (none is a UNIX socket) may have what it wants.
    pub fn check(
        &self,
        headers: &HeaderMap,
        address: Option<SocketAddr>,
        access: Access,
    ) -> Result<(), ApiError> {
        if let Some(address) = address {
            self.check_address(address)?;
            self.check_host(headers, address)?;
        }
        check_origin(headers, access)?;
        if matches!(access, Access::Action | Access::Login) {
            check_action(headers)?;
        }
        match (access, address) {
            (Access::Data | Access::Action, Some(_)) => self.check_token(headers),
            _ => Ok(()),
        }
    }

    fn check_address(&self, address: SocketAddr) -> Result<(), ApiError> {
        if self.token.is_some() || address.ip().is_loopback() {
            return Ok(());
        }
        Err(forbidden(format!(
            "the dashboard is not shown on {address}, which others can reach: start with --admin-token-file FILE, or with --admin on \
             127.0.0.1, [::1] or a UNIX socket"
        )))
    }

    /// A name that another site has made point to this address is not one of ours.
    fn check_host(&self, headers: &HeaderMap, address: SocketAddr) -> Result<(), ApiError> {
        let host = headers.get(HOST).and_then(|host| host.to_str().ok());
        let name = host.and_then(host_without_port).unwrap_or_default();
        let is_own = match name.trim_matches(['[', ']']).parse::<IpAddr>() {
            Ok(ip) => ip.is_loopback() || ip == address.ip() || address.ip().is_unspecified(),
            Err(_) => {
                let is_machine = |machine: &String| name.eq_ignore_ascii_case(machine);
                name.eq_ignore_ascii_case("localhost")
                    || (!address.ip().is_loopback()
                        && self.machine.as_ref().is_some_and(is_machine))
            }
        };
        match is_own {
            true => Ok(()),
            false => Err(forbidden(format!(
                "the dashboard is not known as {name:?}: open it at its address, or at localhost"
            ))),
        }
    }

    fn check_token(&self, headers: &HeaderMap) -> Result<(), ApiError> {
        let Some(token) = &self.token else {
            return Ok(());
        };
        if sessions(headers).any(|session| token.accepts(session, now())) {
            return Ok(());
        }
        let given = headers.get(AUTHORIZATION).map(|value| value.to_str());
        let Some(Ok(given)) = given else {
            return Err(ApiError::new(
                StatusCode::UNAUTHORIZED,
                "the dashboard asks for the token of --admin-token-file",
            ));
        };
        let given = given.split_once(' ');
        let bearer = given.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        let candidate = bearer.map_or("", |(_, candidate)| candidate.trim());
        self.compare(token, candidate)
    }

    /// The value of the cookie for a browser that has shown the token; none where there is no token.
    pub fn login(&self, candidate: &str) -> Result<Option<String>, ApiError> {
        let Some(token) = &self.token else {
            return Ok(None);
        };
        self.compare(token, candidate)?;
        Ok(Some(token.session(now() + DASHBOARD_SESSION_SECONDS)))
    }

    fn compare(&self, token: &AdminToken, candidate: &str) -> Result<(), ApiError> {
        // The right one always: else anyone who reaches this address could keep its operators out. That many wrong ones only stop being counted.
        if token.matches(candidate) {
            return Ok(());
        }
        let at = Instant::now();
        if !self.failures.may_try(at) {
            return Err(ApiError::new(
                StatusCode::TOO_MANY_REQUESTS,
                format!(
                    "{DASHBOARD_LOGIN_FAILURES_MAX} wrong tokens within a minute (dashboard_login_failures_max): wait a minute"
                ),
            ));
        }
        self.failures.add(at);
        Err(ApiError::new(
            StatusCode::UNAUTHORIZED,
            "this is not the token of --admin-token-file",
        ))
    }
}

fn forbidden(text: impl Into<String>) -> ApiError {
    ApiError::new(StatusCode::FORBIDDEN, text)
}

/// A browser says where a request comes from; other clients say nothing.
fn check_origin(headers: &HeaderMap, access: Access) -> Result<(), ApiError> {
    let foreign = || forbidden("the dashboard takes nothing from pages of other sites");
    if let Some(site) = headers.get(FETCH_SITE)
        && access != Access::Page
        && !matches!(site.as_bytes(), b"same-origin" | b"none")
    {
        return Err(foreign());
    }
    let Some(origin) = headers.get(ORIGIN) else {
        return Ok(());
    };
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    let origin = origin.to_str().ok().and_then(|origin| {
        let plain = origin.strip_prefix("http://");
        plain.or_else(|| origin.strip_prefix("https://"))
    });
    match (origin, host) {
        (Some(origin), Some(host)) if origin.eq_ignore_ascii_case(host) => Ok(()),
        _ => Err(foreign()),
    }
}

/// A form of another page can send neither of these; a script of one would have to ask first, and nobody answers that.
fn check_action(headers: &HeaderMap) -> Result<(), ApiError> {
    if headers.get(ACTION).is_none_or(|value| value != "1") {
        return Err(forbidden("an action needs the header X-Tsumugi-Action: 1"));
    }
    let media_type = headers
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok());
    let essence = media_type.and_then(|kind| kind.split(';').next());
    match essence.is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json")) {
        true => Ok(()),
        false => Err(ApiError::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "an action has a body of the type application/json",
        )),
    }
}

fn sessions(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let fields = headers.get_all(COOKIE).iter();
    let pairs = fields.filter_map(|field| cookie::pairs(field.as_bytes(), COOKIES_MAX).ok());
    let own = pairs.flatten().filter(|(name, _)| *name == COOKIE_NAME);
    own.map(|(_, value)| value)
}

/// Seconds since 1970.
fn now() -> u64 {
    unix_ms(SystemTime::now()) / 1_000
}

/// Wrong tokens of the last minute, whoever sent them.
#[derive(Debug, Default)]
struct LoginFailures(Mutex<Vec<Instant>>);

const LOGIN_WINDOW: Duration = Duration::from_secs(60);

impl LoginFailures {
    fn may_try(&self, now: Instant) -> bool {
        let mut failures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        failures.retain(|at| now.duration_since(*at) < LOGIN_WINDOW);
        failures.len() < DASHBOARD_LOGIN_FAILURES_MAX
    }

    fn add(&self, now: Instant) {
        let mut failures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        failures.push(now);
    }
}

#[cfg(test)]
mod tests;

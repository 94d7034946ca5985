//! Cookies (RFC 6265): the pairs of a `Cookie` header, and the builder of a `Set-Cookie` header. Pure: no clock, no headers map.
//! What other applications of the same domain left behind is skipped, never an error; what this server sets is checked, so that no
//! value can add an attribute or a header.

use std::{fmt::Write as _, time::SystemTime};

use http::HeaderValue;

use crate::error::{Error, Result, check_limit};

/// The pairs of a `Cookie` header, in order, as they were sent (quotes around a value removed, nothing decoded). Pieces that are no
/// pair are skipped.
pub fn pairs(header: &[u8], parameters_max: usize) -> Result<Vec<(&str, &str)>> {
    let mut pairs = Vec::new();
    for piece in header.split(|byte| *byte == b';') {
        let Some((name, value)) = std::str::from_utf8(piece)
            .ok()
            .and_then(|piece| piece.split_once('='))
        else {
            continue;
        };
        let (name, value) = (name.trim(), value.trim());
        if !is_token(name) {
            continue;
        }
        check_limit("parameters_max", pairs.len() + 1, parameters_max as u64)?;
        pairs.push((
            name,
            value
                .strip_prefix('"')
                .and_then(|inner| inner.strip_suffix('"'))
                .unwrap_or(value),
        ));
    }
    Ok(pairs)
}

/// To which requests from other sites a browser attaches the cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SameSite {
    /// None.
    Strict,
    /// Only when the user follows a link.
    Lax,
    /// All; browsers demand `secure` with it.
    None,
}

/// A cookie to be set. Every text is checked by [`SetCookie::header`].
#[derive(Clone, Debug)]
pub struct SetCookie<'a> {
    name: &'a str,
    value: &'a str,
    path: Option<&'a str>,
    domain: Option<&'a str>,
    max_age: Option<i64>,
    expires: Option<SystemTime>,
    same_site: Option<SameSite>,
    flags: Flags,
}

#[derive(Clone, Copy, Debug, Default)]
struct Flags {
    secure: bool,
    http_only: bool,
}

impl<'a> SetCookie<'a> {
    /// A cookie for this host and path that ends with the browser's session.
    pub fn new(name: &'a str, value: &'a str) -> SetCookie<'a> {
        SetCookie {
            name,
            value,
            path: None,
            domain: None,
            max_age: None,
            expires: None,
            same_site: None,
            flags: Flags::default(),
        }
    }

    /// Only for paths below this one.
    pub fn path(mut self, path: &'a str) -> Self {
        self.path = Some(path);
        self
    }

    /// Also for the subdomains of this domain.
    pub fn domain(mut self, domain: &'a str) -> Self {
        self.domain = Some(domain);
        self
    }

    /// Ends after so many seconds; at once when that is zero or less.
    pub fn max_age(mut self, seconds: i64) -> Self {
        self.max_age = Some(seconds);
        self
    }

    /// Ends at this time, in whole seconds between the years 1970 and 9999.
    pub fn expires(mut self, time: SystemTime) -> Self {
        self.expires = Some(time);
        self
    }

    /// Only over TLS.
    pub fn secure(mut self) -> Self {
        self.flags.secure = true;
        self
    }

    /// Not for scripts in the page.
    pub fn http_only(mut self) -> Self {
        self.flags.http_only = true;
        self
    }

    /// To which requests from other sites it is attached.
    pub fn same_site(mut self, same_site: SameSite) -> Self {
        self.same_site = Some(same_site);
        self
    }

    /// The value of a `Set-Cookie` header, or what a browser would not accept.
    pub fn header(&self) -> Result<HeaderValue> {
        self.check()?;
        let mut text = format!("{}={}", self.name, self.value);
        // Writing into a String cannot fail.
        for (name, value) in [("Path", self.path), ("Domain", self.domain)] {
            if let Some(value) = value {
                let _ = write!(text, "; {name}={value}");
            }
        }
        if let Some(seconds) = self.max_age {
            let _ = write!(text, "; Max-Age={seconds}");
        }
        if let Some(time) = self.expires {
            let _ = write!(text, "; Expires={}", httpdate::HttpDate::from(time));
        }
        if self.flags.secure {
            text.push_str("; Secure");
        }
        if self.flags.http_only {
            text.push_str("; HttpOnly");
        }
        text.push_str(match self.same_site {
            Some(SameSite::Strict) => "; SameSite=Strict",
            Some(SameSite::Lax) => "; SameSite=Lax",
            Some(SameSite::None) => "; SameSite=None",
            None => "",
        });
        HeaderValue::try_from(text).map_err(|_| self.misuse("cannot be a header"))
    }

    fn check(&self) -> Result<()> {
        if !is_token(self.name) {
            return Err(self.misuse(
                "has a name with other characters than letters, digits and !#$%&'*+-.^_`|~",
            ));
        }
        if !self.value.bytes().all(is_value_byte) {
            return Err(self.misuse("has a value with a space, a quote, a comma, a semicolon, a backslash or a byte outside ASCII; encode it"));
        }
        if !self.path.unwrap_or("/").starts_with('/')
            || !self.path.unwrap_or("/").bytes().all(is_attribute_byte)
        {
            return Err(self.misuse("has a path that does not begin with a slash or holds a semicolon or a control character"));
        }
        if !self
            .domain
            .unwrap_or("x")
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b".-".contains(&byte))
        {
            return Err(self.misuse(
                "has a domain with other characters than letters, digits, dots and hyphens",
            ));
        }
        if self.expires.is_some_and(|time| !is_http_time(time)) {
            return Err(self.misuse("expires outside the years 1970 to 9999"));
        }
        if self.same_site == Some(SameSite::None) && !self.flags.secure {
            return Err(self.misuse("has SameSite=None and is not secure; browsers refuse it"));
        }
        if self.name.starts_with("__Secure-") && !self.flags.secure {
            return Err(self.misuse("is named __Secure- and is not secure; browsers refuse it"));
        }
        if self.name.starts_with("__Host-")
            && !(self.flags.secure && self.domain.is_none() && self.path == Some("/"))
        {
            return Err(self.misuse("is named __Host- and is not secure, has a domain or another path than /; browsers refuse it"));
        }
        Ok(())
    }

    fn misuse(&self, reason: &'static str) -> Error {
        Error::Cookie {
            name: self.name.to_owned(),
            reason,
        }
    }
}

fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

fn is_value_byte(byte: u8) -> bool {
    byte.is_ascii_graphic() && !b"\",;\\".contains(&byte)
}

fn is_attribute_byte(byte: u8) -> bool {
    (byte.is_ascii_graphic() || byte == b' ') && byte != b';'
}

fn is_http_time(time: SystemTime) -> bool {
    const YEAR_10000: u64 = 253_402_300_800;
    time.duration_since(SystemTime::UNIX_EPOCH)
        .is_ok_and(|since| since.as_secs() < YEAR_10000)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn check(header: &str, expected: &[(&str, &str)]) {
        assert_eq!(
            pairs(header.as_bytes(), 100).unwrap(),
            expected,
            "{header:?}"
        );
    }

    #[test]
    fn pairs_come_in_order() {
        check("b=2; a=1;c=x=y", &[("b", "2"), ("a", "1"), ("c", "x=y")]);
        check("a=\"quoted\"; b=\"", &[("a", "quoted"), ("b", "\"")]);
        check("", &[]);
    }

    #[test]
    fn pieces_that_are_no_pair_are_skipped() {
        check("lonely; =x; a b=c; ok=1;;", &[("ok", "1")]);
        assert_eq!(pairs(b"bad=\xff; ok=1", 9).unwrap(), [("ok", "1")]);
    }

    #[test]
    fn one_cookie_more_than_the_limit_is_an_error_that_names_it() {
        assert_eq!(pairs(b"a=1; b=2", 2).unwrap().len(), 2);
        assert!(
            pairs(b"a=1; b=2; c=3", 2)
                .unwrap_err()
                .to_string()
                .contains("parameters_max")
        );
    }

    #[test]
    fn every_attribute_is_written() {
        let cookie = SetCookie::new("id", "a3f")
            .path("/app")
            .domain("example.org")
            .max_age(60)
            .expires(SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777))
            .secure()
            .http_only()
            .same_site(SameSite::Lax);
        assert_eq!(
            cookie.header().unwrap(),
            "id=a3f; Path=/app; Domain=example.org; Max-Age=60; Expires=Sun, 06 Nov 1994 08:49:37 GMT; Secure; HttpOnly; SameSite=Lax"
        );
        assert_eq!(SetCookie::new("a", "").header().unwrap(), "a=");
    }

    #[test]
    fn nothing_can_be_injected() {
        let cookies = [
            SetCookie::new("a b", "x"),
            SetCookie::new("", "x"),
            SetCookie::new("a", "x; Domain=evil"),
            SetCookie::new("a", "x\r\nSet-Cookie: b=c"),
            SetCookie::new("a", "caf\u{e9}"),
            SetCookie::new("a", "x").path("relative"),
            SetCookie::new("a", "x").path("/; Secure"),
            SetCookie::new("a", "x").path("/\n"),
            SetCookie::new("a", "x").domain("a; b"),
            SetCookie::new("a", "x").expires(SystemTime::UNIX_EPOCH - Duration::from_secs(1)),
            SetCookie::new("a", "x")
                .expires(SystemTime::UNIX_EPOCH + Duration::from_secs(253_402_300_800)),
        ];
        for cookie in cookies {
            assert!(
                matches!(cookie.header(), Err(Error::Cookie { .. })),
                "{cookie:?}"
            );
        }
    }

    #[test]
    fn attribute_that_browsers_refuse_is_an_error() {
        assert!(
            SetCookie::new("a", "x")
                .same_site(SameSite::None)
                .header()
                .is_err()
        );
        assert!(
            SetCookie::new("a", "x")
                .same_site(SameSite::None)
                .secure()
                .header()
                .is_ok()
        );
        assert!(SetCookie::new("__Host-a", "x").secure().header().is_err());
        assert!(
            SetCookie::new("__Host-a", "x")
                .secure()
                .path("/")
                .header()
                .is_ok()
        );
        assert!(SetCookie::new("__Secure-a", "x").header().is_err());
    }
}

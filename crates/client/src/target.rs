//! Where a call goes: a URL taken apart, and what a redirect makes of it (RFC 3986 section 5). Pure. Shows itself without credentials.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::HeaderValue;
use http::uri::PathAndQuery;
use http::{Uri, uri};
use tsumugi_http::percent::{Plus, decode};

use crate::error::Error;
use crate::limits::HOST_BYTES_MAX;

/// http or https.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Scheme {
    Http,
    Https,
}

/// What shares connections.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct UrlOrigin {
    pub scheme: Scheme,
    /// Without the brackets of an IPv6 address; lower case.
    pub host: String,
    pub port: u16,
}

/// A URL that can be called.
#[derive(Clone, Debug)]
pub struct TargetUrl {
    pub(crate) scheme: Scheme,
    origin: UrlOrigin,
    path: PathAndQuery,
    credentials: Option<HeaderValue>,
}

impl TargetUrl {
    /// A target from the text of a URL.
    pub fn parse(url: &str) -> Result<TargetUrl, Error> {
        let wrong = || {
            Error::Url(
                "the URL must be http://host/path or https://host/path, with everything but ASCII percent-encoded".to_owned(),
            )
        };
        let uri = Uri::from_str(url).map_err(|_| wrong())?;
        TargetUrl::of(uri).ok_or_else(wrong)
    }

    fn of(uri: Uri) -> Option<TargetUrl> {
        let scheme = match uri.scheme_str()? {
            "http" => Scheme::Http,
            "https" => Scheme::Https,
            _ => return None,
        };
        let authority = uri.authority()?;
        let host = authority.host();
        let host = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'))
            .unwrap_or(host);
        if host.is_empty() || host.len() > HOST_BYTES_MAX {
            return None;
        }
        let after_user = authority.as_str().rsplit('@').next()?;
        let after_host = after_user.strip_prefix(authority.host())?;
        let port = match (authority.port(), scheme) {
            (Some(port), _) => Some(port.as_u16()).filter(|port| *port > 0)?,
            // Of a number that is no port there is none, either.
            (None, _) if !matches!(after_host, "" | ":") => return None,
            (None, Scheme::Http) => 80,
            (None, Scheme::Https) => 443,
        };
        let credentials = match authority.as_str().rsplit_once('@') {
            Some((userinfo, _)) => Some(basic(userinfo)?),
            None => None,
        };
        let path = match uri.path_and_query() {
            Some(path) if path.as_str().starts_with('/') => path.clone(),
            // Shown, a path has the slash that `http://x?y` lacks.
            Some(path) => PathAndQuery::try_from(path.to_string()).ok()?,
            None => PathAndQuery::from_static("/"),
        };
        Some(TargetUrl {
            scheme,
            origin: UrlOrigin {
                scheme,
                host: host.to_ascii_lowercase(),
                port,
            },
            path,
            credentials,
        })
    }

    /// The same with further parameters, already encoded.
    pub fn with_query(mut self, query: &str) -> Result<TargetUrl, Error> {
        if query.is_empty() {
            return Ok(self);
        }
        let separator = match self.path.query() {
            None => "?",
            Some("") => "",
            Some(_) => "&",
        };
        let path = format!("{}{separator}{query}", self.path);
        self.path = PathAndQuery::try_from(path)
            .map_err(|_| Error::Url("the query makes the URL too long".to_owned()))?;
        Ok(self)
    }

    /// Where a `Location` leads from here.
    pub(crate) fn join(&self, location: &HeaderValue) -> Result<TargetUrl, Error> {
        let wrong = || Error::Url(format!("{} redirects to what is no URL", self.place()));
        let location = location.to_str().map_err(|_| wrong())?;
        let location = location.split('#').next().unwrap_or_default();
        let scheme_ends = location.find(':');
        let is_absolute = scheme_ends.is_some_and(|at| {
            !location[..at].is_empty()
                && location[..at]
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
        });
        if is_absolute {
            return TargetUrl::parse(location);
        }
        if location.starts_with("//") {
            let scheme = self.scheme_name();
            return TargetUrl::parse(&format!("{scheme}:{location}"));
        }
        let (path, query) = match location.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (location, None),
        };
        let (path, query) = if path.is_empty() {
            (self.path.path().to_owned(), query.or(self.path.query()))
        } else if path.starts_with('/') {
            (without_dots(path), query)
        } else {
            let base = self.path.path();
            let folder = &base[..base.rfind('/').map_or(0, |at| at + 1)];
            (without_dots(&format!("{folder}{path}")), query)
        };
        let whole = match query {
            Some(query) => format!("{path}?{query}"),
            None => path,
        };
        Ok(TargetUrl {
            path: PathAndQuery::try_from(whole).map_err(|_| wrong())?,
            ..self.clone()
        })
    }

    pub(crate) fn origin(&self) -> &UrlOrigin {
        &self.origin
    }

    /// Host and port, for messages.
    pub(crate) fn place(&self) -> String {
        let UrlOrigin { host, port, .. } = &self.origin;
        if host.contains(':') {
            format!("[{host}]:{port}")
        } else {
            format!("{host}:{port}")
        }
    }

    /// The request's target.
    pub(crate) fn path_and_query(&self) -> Uri {
        let mut parts = uri::Parts::default();
        parts.path_and_query = Some(self.path.clone());
        Uri::from_parts(parts).unwrap_or_default()
    }

    pub(crate) fn host_header(&self) -> HeaderValue {
        let place = self.place();
        let usual = match self.scheme {
            Scheme::Http => ":80",
            Scheme::Https => ":443",
        };
        let text = place.strip_suffix(usual).unwrap_or(&place);
        // A host comes from a parsed URL, so it is made of header characters.
        HeaderValue::from_str(text).unwrap_or_else(|_| HeaderValue::from_static(""))
    }

    /// Basic authentication, when the URL holds a user.
    pub(crate) fn authorization(&self) -> Option<HeaderValue> {
        self.credentials.clone()
    }

    fn scheme_name(&self) -> &'static str {
        match self.scheme {
            Scheme::Http => "http",
            Scheme::Https => "https",
        }
    }
}

impl fmt::Display for TargetUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = self.host_header();
        let host = host.to_str().unwrap_or_default();
        write!(f, "{}://{host}{}", self.scheme_name(), self.path)
    }
}

fn basic(userinfo: &str) -> Option<HeaderValue> {
    let userinfo = decode(userinfo, Plus::Plus).ok()?;
    let encoded = STANDARD.encode(userinfo.as_bytes());
    let mut header = HeaderValue::from_str(&format!("Basic {encoded}")).ok()?;
    header.set_sensitive(true);
    Some(header)
}

fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = path.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        let last = segments.peek().is_none();
        match segment {
            "." | ".." => {
                if segment == ".." {
                    kept.pop();
                }
                if last {
                    kept.push("");
                }
            }
            other => kept.push(other),
        }
    }
    format!("/{}", kept.join("/"))
}

/// Appends `name=value` as in a form.
pub fn append_pair(out: &mut String, name: &[u8], value: &[u8]) {
    if !out.is_empty() {
        out.push('&');
    }
    append_encoded(out, name);
    out.push('=');
    append_encoded(out, value);
}

fn append_encoded(out: &mut String, text: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    for byte in text {
        match *byte {
            b' ' => out.push('+'),
            byte if byte.is_ascii_alphanumeric() || b"-_.*".contains(&byte) => {
                out.push(char::from(byte));
            }
            byte => {
                out.push('%');
                out.push(char::from(DIGITS[usize::from(byte >> 4)]));
                out.push(char::from(DIGITS[usize::from(byte & 15)]));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(base: &str, location: &str, expected: &str) {
        let joined = TargetUrl::parse(base)
            .unwrap()
            .join(&HeaderValue::from_str(location).unwrap());
        let shown = joined.map_or_else(|error| error.to_string(), |target| target.to_string());
        assert_eq!(shown, expected, "{base} -> {location}");
    }

    #[test]
    fn locations_are_resolved_against_where_they_came_from() {
        let base = "http://a.example/b/c?q";
        check(base, "https://x.example:444/y", "https://x.example:444/y");
        check(base, "//x.example/y", "http://x.example/y");
        check(base, "/y?z#f", "http://a.example/y?z");
        check(base, "d", "http://a.example/b/d");
        check(base, "../d/./e/..", "http://a.example/d/");
        check(base, "../../../d", "http://a.example/d");
        check(base, "?z", "http://a.example/b/c?z");
        check(base, "", "http://a.example/b/c?q");
        check(base, "x/a:b", "http://a.example/b/x/a:b");
        for wrong in ["ftp://x/", "http://", "javascript:alert(1)", "/a b"] {
            let joined = TargetUrl::parse(base)
                .unwrap()
                .join(&HeaderValue::from_str(wrong).unwrap());
            assert!(joined.is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_url_with_credentials_never_shows_them() {
        let target = TargetUrl::parse("https://user:p%40ss@Example.ORG/x").unwrap();
        let header = target.authorization().unwrap();
        assert_eq!(header, "Basic dXNlcjpwQHNz");
        assert!(header.is_sensitive());
        assert_eq!(target.to_string(), "https://example.org/x");
        assert_eq!(target.place(), "example.org:443");
    }

    #[test]
    fn malformed_url_is_refused() {
        for wrong in [
            "",
            "/x",
            "example.org",
            "ftp://x/",
            "http://",
            "http://x:0/",
            "http://x:65536/",
            "http://x:99999",
            "http://u:1@x:4294967376/",
            "http://[::1]:65616/",
            "http://日本/",
            "http://x/\r\n",
        ] {
            assert!(TargetUrl::parse(wrong).is_err(), "{wrong}");
        }
        for usual in [
            "http://x:/",
            "http://u:p@x",
            "http://x:65535/",
            "http://[::1]/",
        ] {
            assert!(TargetUrl::parse(usual).is_ok(), "{usual}");
        }
        let target = TargetUrl::parse("http://[::1]:8080?a").unwrap();
        assert_eq!(
            (target.origin().host.as_str(), target.origin().port),
            ("::1", 8080)
        );
        assert_eq!(target.to_string(), "http://[::1]:8080/?a");
    }

    #[test]
    fn a_query_is_added_to_the_one_that_is_there() {
        let mut query = String::new();
        append_pair(&mut query, b"q", "a b&c=日".as_bytes());
        assert_eq!(query, "q=a+b%26c%3D%E6%97%A5");
        let url = |base: &str| {
            TargetUrl::parse(base)
                .unwrap()
                .with_query("a=1")
                .unwrap()
                .to_string()
        };
        assert_eq!(url("http://x/"), "http://x/?a=1");
        assert_eq!(url("http://x/?b"), "http://x/?b&a=1");
        assert_eq!(url("http://x/?"), "http://x/?a=1");
    }
}

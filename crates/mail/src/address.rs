//! Where mail goes: `SMTP_URL`, `smtp://user:password@host:port?tls=none` or `smtps://…`. Opens nothing and shows no password.
//! Rule: without TLS mail goes to this machine only, unless the URL says `tls=none` itself; a password never goes to another machine without it.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use http::Uri;
use tsumugi_http::percent::{Plus, decode};

use crate::error::Error;

/// A mail server.
#[derive(Clone, PartialEq, Eq)]
pub struct SmtpUrl {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) encryption: Encryption,
    pub(crate) credentials: Option<(String, String)>,
}

/// How a connection is made private.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encryption {
    /// From the first byte.
    Tls,
    /// By STARTTLS, before anything else is said.
    StartTls,
    /// Not at all.
    None,
}

impl FromStr for SmtpUrl {
    type Err = Error;

    fn from_str(text: &str) -> Result<SmtpUrl, Error> {
        let wrong = || {
            Error::Url(
                "must be smtp://host or smtps://host, with user:password@ before the host and :port behind it as needed",
            )
        };
        let uri = Uri::from_str(text).map_err(|_| wrong())?;
        let authority = uri.authority().ok_or_else(wrong)?;
        let host = authority.host();
        let literal = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'));
        let host = literal.unwrap_or(host).to_ascii_lowercase();
        if host.is_empty() || !matches!(uri.path(), "" | "/") {
            return Err(wrong());
        }
        let is_here =
            host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
        let encryption = match (uri.scheme_str(), uri.query()) {
            (Some("smtps"), None) => Encryption::Tls,
            (Some("smtp"), None) if is_here => Encryption::None,
            (Some("smtp"), None | Some("tls=starttls")) => Encryption::StartTls,
            (Some("smtp"), Some("tls=none")) => Encryption::None,
            (Some("smtp" | "smtps"), _) => {
                return Err(Error::Url(
                    "takes one option, tls=starttls or tls=none, on smtp://",
                ));
            }
            _ => return Err(wrong()),
        };
        let usual = match encryption {
            Encryption::Tls => 465,
            Encryption::StartTls => 587,
            Encryption::None => 25,
        };
        let after_user = authority.as_str().rsplit('@').next().unwrap_or_default();
        let after_host = after_user
            .strip_prefix(authority.host())
            .unwrap_or_default();
        let port = match authority.port() {
            Some(port) => port.as_u16(),
            None if after_host.is_empty() => usual,
            None => return Err(wrong()),
        };
        if port == 0 {
            return Err(wrong());
        }
        let credentials = match authority.as_str().rsplit_once('@') {
            Some((pair, _)) => {
                let (user, password) = pair.split_once(':').ok_or_else(wrong)?;
                let decoded = |text: &str| -> Result<String, Error> {
                    let text = decode(text, Plus::Plus).map_err(|_| wrong())?;
                    Ok(text.into_owned())
                };
                Some((decoded(user)?, decoded(password)?))
            }
            None => None,
        };
        if credentials.is_some() && encryption == Encryption::None && !is_here {
            return Err(Error::Url(
                "would send its password without TLS to another machine: leave tls=none out, or user:password@",
            ));
        }
        Ok(SmtpUrl {
            host,
            port,
            encryption,
            credentials,
        })
    }
}

impl SmtpUrl {
    /// Host and port, for messages.
    pub fn place(&self) -> String {
        match self.host.contains(':') {
            true => format!("[{}]:{}", self.host, self.port),
            false => format!("{}:{}", self.host, self.port),
        }
    }
}

impl fmt::Debug for SmtpUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SmtpUrl({}, {:?})", self.place(), self.encryption)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(url: &str, expected: &str) {
        let found = match url.parse::<SmtpUrl>() {
            Ok(url) => format!("{} {:?} {:?}", url.place(), url.encryption, url.credentials),
            Err(error) => error.to_string(),
        };
        assert!(found.contains(expected), "{url}: {found}");
    }

    #[test]
    fn url_says_where_mail_goes_and_how() {
        check(
            "smtp://mail.example.org",
            "mail.example.org:587 StartTls None",
        );
        check(
            "smtp://mail.example.org:25?tls=none",
            "mail.example.org:25 None None",
        );
        check("smtps://Mail.example.org/", "mail.example.org:465 Tls None");
        check("smtp://localhost", "localhost:25 None None");
        check("smtp://127.0.0.1:1025", "127.0.0.1:1025 None None");
        check("smtp://[::1]:1025", "[::1]:1025 None None");
        check("smtp://localhost?tls=starttls", "localhost:587 StartTls");
        check(
            "smtps://a%40b.example:p%3Aw%40d@mail.example.org:2465",
            "mail.example.org:2465 Tls Some((\"a@b.example\", \"p:w@d\"))",
        );
    }

    #[test]
    fn url_that_cannot_be_used_is_refused_without_its_password() {
        for url in [
            "",
            "mail.example.org",
            "http://mail.example.org",
            "smtp://",
            "smtp://user@host",
            "smtp://user:secret@host:0",
            "smtp://user:secret@host:99999",
            "smtp://user:secret@host/path",
        ] {
            check(url, "must be smtp://host");
            let error = url.parse::<SmtpUrl>().unwrap_err().to_string();
            assert!(!error.contains("secret"), "{error}");
        }
        for url in [
            "smtp://user:secret@mail.example.org?tls=none",
            "smtp://user:secret@192.0.2.1:25?tls=none",
        ] {
            check(url, "would send its password without TLS");
            let error = url.parse::<SmtpUrl>().unwrap_err().to_string();
            assert!(!error.contains("secret"), "{error}");
        }
        check("smtp://user:secret@127.0.0.1:25?tls=none", "None Some");
        check("smtp://user:secret@localhost", "None Some");
        check("smtps://host?tls=none", "takes one option");
        check("smtp://host?tls=maybe", "takes one option");
        let url: SmtpUrl = "smtps://user:secret@host".parse().unwrap();
        assert!(!format!("{url:?}").contains("secret"));
    }
}

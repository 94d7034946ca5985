//! Where a server is, as the user writes it: `tkrzw://host:port`, `tkrzw+tls://host:port` or `tkrzw+unix:/path`. Opens nothing.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;

use crate::error::Error;

/// The port when none is written.
const PORT: u16 = 1978;

/// A server of the key-value store.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RpcTarget {
    /// Plain TCP.
    Tcp {
        /// A name or an IP address, the latter without brackets.
        host: String,
        /// The port.
        port: u16,
    },
    /// TLS over TCP.
    Tls {
        /// A name or an IP address that the server's certificate is for.
        host: String,
        /// The port.
        port: u16,
    },
    /// A UNIX socket.
    Unix(PathBuf),
}

impl RpcTarget {
    /// What calls name as their authority. A UNIX socket's path would be none.
    pub(crate) fn authority(&self) -> String {
        match self {
            RpcTarget::Tcp { host, port } | RpcTarget::Tls { host, port } if host.contains(':') => {
                format!("[{host}]:{port}")
            }
            RpcTarget::Tcp { host, port } | RpcTarget::Tls { host, port } => {
                format!("{host}:{port}")
            }
            RpcTarget::Unix(_) => "localhost".to_owned(),
        }
    }

    /// Where a server of this machine listens for clients of this target, as `tsumugi kv --listen` takes it. None where the target is on another
    /// machine, or needs a certificate besides.
    pub fn listen_address(&self) -> Option<String> {
        match self {
            RpcTarget::Unix(path) => path.to_str().map(|path| format!("unix:{path}")),
            RpcTarget::Tcp { host, .. } => is_loopback(host).then(|| self.authority()),
            RpcTarget::Tls { .. } => None,
        }
    }

    pub(crate) fn scheme(&self) -> &'static str {
        match self {
            RpcTarget::Tls { .. } => "https",
            RpcTarget::Tcp { .. } | RpcTarget::Unix(_) => "http",
        }
    }
}

impl fmt::Display for RpcTarget {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RpcTarget::Tcp { .. } => write!(formatter, "tkrzw://{}", self.authority()),
            RpcTarget::Tls { .. } => write!(formatter, "tkrzw+tls://{}", self.authority()),
            RpcTarget::Unix(path) => write!(formatter, "tkrzw+unix:{}", path.display()),
        }
    }
}

impl FromStr for RpcTarget {
    type Err = Error;

    fn from_str(text: &str) -> Result<RpcTarget, Error> {
        parse(text).map_err(|advice| Error::Target {
            text: text.to_owned(),
            advice,
        })
    }
}

/// Whether a host is this machine by its name or address alone; nothing is resolved.
fn is_loopback(host: &str) -> bool {
    let address = host.parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

const FORMS: &str = "write tkrzw://host:port, tkrzw+tls://host:port or tkrzw+unix:/path";

fn parse(text: &str) -> Result<RpcTarget, &'static str> {
    if let Some(path) = text.strip_prefix("tkrzw+unix:") {
        if path.is_empty() || path.contains('\0') {
            return Err("a path must follow, as in tkrzw+unix:/run/kv.sock");
        }
        return Ok(RpcTarget::Unix(path.into()));
    }
    if let Some(rest) = text.strip_prefix("tkrzw+tls://") {
        let (host, port) = host_and_port(rest)?;
        return Ok(RpcTarget::Tls { host, port });
    }
    let rest = text.strip_prefix("tkrzw://").ok_or(FORMS)?;
    let (host, port) = host_and_port(rest)?;
    Ok(RpcTarget::Tcp { host, port })
}

fn host_and_port(text: &str) -> Result<(String, u16), &'static str> {
    let text = text.strip_suffix('/').unwrap_or(text);
    let (host, port) = match text.strip_prefix('[').map(|rest| rest.split_once(']')) {
        Some(Some((host, ""))) => (host, None),
        Some(Some((host, port))) => (host, Some(port.strip_prefix(':').ok_or(FORMS)?)),
        Some(None) => return Err("the bracket of an IPv6 address is not closed"),
        None => match text.split_once(':') {
            Some((_, port)) if port.contains(':') => {
                return Err("put an IPv6 address in brackets, as in tkrzw://[::1]:1978");
            }
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    let is_host = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:%".contains(&byte);
    if host.is_empty() || !host.bytes().all(is_host) {
        return Err(FORMS);
    }
    let port = match port {
        Some(port) => port
            .parse()
            .map_err(|_| "the port is a number from 0 to 65535")?,
        None => PORT,
    };
    Ok((host.to_owned(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let outcome = match text.parse::<RpcTarget>() {
            Ok(target) => target.to_string(),
            Err(error) => error.to_string(),
        };
        assert!(outcome.contains(expected), "{text}: {outcome}");
    }

    #[test]
    fn targets_are_read_as_they_are_written() {
        check("tkrzw://localhost:1978", "tkrzw://localhost:1978");
        check("tkrzw://10.0.0.1", "tkrzw://10.0.0.1:1978");
        check(
            "tkrzw+tls://kv.example.org:443/",
            "tkrzw+tls://kv.example.org:443",
        );
        check("tkrzw://[::1]:5", "tkrzw://[::1]:5");
        check("tkrzw://[::1]", "tkrzw://[::1]:1978");
        check("tkrzw+unix:/run/kv.sock", "tkrzw+unix:/run/kv.sock");
    }

    #[test]
    fn server_listens_at_targets_of_this_machine_without_tls() {
        for (text, expected) in [
            ("tkrzw+unix:/run/kv.sock", Some("unix:/run/kv.sock")),
            ("tkrzw://127.0.0.1:5", Some("127.0.0.1:5")),
            ("tkrzw://[::1]", Some("[::1]:1978")),
            ("tkrzw://LocalHost:5", Some("LocalHost:5")),
            ("tkrzw+tls://127.0.0.1:5", None),
            ("tkrzw://kv.example.org:5", None),
            ("tkrzw://10.0.0.1:5", None),
        ] {
            let target: RpcTarget = text.parse().unwrap();
            assert_eq!(target.listen_address().as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn mistakes_are_answered_with_what_to_write() {
        check("localhost:1978", "write tkrzw://host:port");
        check("tkrzw://", "write tkrzw://host:port");
        check("tkrzw://::1:1978", "in brackets");
        check("tkrzw://[::1:1978", "not closed");
        check("tkrzw://a:b", "the port is a number");
        check("tkrzw://a b", "write tkrzw://host:port");
        check("tkrzw+unix:", "a path must follow");
    }
}

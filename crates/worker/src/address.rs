//! Listen addresses as the user writes them. Knows text, not sockets.
//! Only numeric addresses are taken: a name could mean several addresses, and looking it up blocks.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

use crate::Error;
use crate::limits::UNIX_PATH_BYTES_MAX;

/// Where to listen: `127.0.0.1:8080`, `[::1]:8080` or `unix:/path`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ListenAddress {
    /// An IP address and a port. Port 0 lets the kernel choose.
    Tcp(SocketAddr),
    /// Path of a UNIX socket.
    Unix(PathBuf),
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(formatter),
            Self::Unix(path) => write!(formatter, "unix:{}", path.display()),
        }
    }
}

impl From<SocketAddr> for ListenAddress {
    fn from(address: SocketAddr) -> Self {
        Self::Tcp(address)
    }
}

impl FromStr for ListenAddress {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        parse(text).map_err(|advice| Error::Address {
            text: text.to_owned(),
            advice,
        })
    }
}

fn parse(text: &str) -> Result<ListenAddress, String> {
    if let Some(path) = text.strip_prefix("unix:") {
        return match path.len() {
            0 => Err("a path must follow `unix:`, as in unix:/run/app.sock".to_owned()),
            1..=UNIX_PATH_BYTES_MAX if !path.contains('\0') => Ok(ListenAddress::Unix(path.into())),
            1..=UNIX_PATH_BYTES_MAX => Err("a path cannot hold a zero byte".to_owned()),
            length => Err(format!(
                "the path has {length} bytes and the system takes {UNIX_PATH_BYTES_MAX}; use a shorter one"
            )),
        };
    }
    text.parse()
        .map(ListenAddress::Tcp)
        .map_err(|_| advice(text))
}

fn advice(text: &str) -> String {
    if text.starts_with('/') {
        return format!("to listen on a UNIX socket write unix:{text}");
    }
    if text.parse::<u16>().is_ok() {
        return format!("write the address as well, as in 127.0.0.1:{text}");
    }
    match text.parse::<IpAddr>() {
        Ok(IpAddr::V4(address)) => return format!("write the port as well, as in {address}:8080"),
        Ok(IpAddr::V6(address)) => {
            return format!("write the port as well, as in [{address}]:8080");
        }
        Err(_) => {}
    }
    let Some((host, port)) = text.rsplit_once(':') else {
        return "write 127.0.0.1:8080, [::1]:8080 or unix:/path".to_owned();
    };
    if port.parse::<u16>().is_err() {
        return format!("`{port}` is not a port between 0 and 65535");
    }
    if host.parse::<std::net::Ipv6Addr>().is_ok() {
        return format!("put the address in brackets, as in [{host}]:{port}");
    }
    match host {
        "" | "*" => format!(
            "write 0.0.0.0:{port} for every IPv4 address, [::]:{port} for every IPv6 address"
        ),
        "localhost" => format!("it takes no names; write 127.0.0.1:{port} or [::1]:{port}"),
        _ => format!(
            "`{host}` is not a numeric address, and it takes no names; write one such as 127.0.0.1:{port}"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let outcome = match text.parse::<ListenAddress>() {
            Ok(address) => format!("{address}"),
            Err(error) => error.to_string(),
        };
        assert!(outcome.contains(expected), "{text}: {outcome}");
    }

    #[test]
    fn addresses_are_printed_as_they_are_written() {
        for text in [
            "127.0.0.1:8080",
            "[::1]:8080",
            "unix:/run/app.sock",
            "unix:app.sock",
            "0.0.0.0:0",
        ] {
            assert_eq!(text.parse::<ListenAddress>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn mistakes_are_answered_with_what_to_write() {
        check("8080", "write the address as well, as in 127.0.0.1:8080");
        check("127.0.0.1", "127.0.0.1:8080");
        check("::1", "[::1]:8080");
        check("::1:8080x", "`8080x` is not a port");
        check("fe80:1:2:3:4:5:6:7:80", "put the address in brackets");
        check(":8080", "0.0.0.0:8080");
        check("localhost:8080", "127.0.0.1:8080 or [::1]:8080");
        check("example.org:80", "takes no names");
        check("/run/app.sock", "unix:/run/app.sock");
        check("unix:", "a path must follow");
        check("127.0.0.1:65536", "not a port between 0 and 65535");
        check("", "write 127.0.0.1:8080");
    }

    #[test]
    fn a_unix_path_has_at_most_107_bytes() {
        check(
            &format!("unix:{}", "x".repeat(UNIX_PATH_BYTES_MAX)),
            "unix:x",
        );
        check(
            &format!("unix:{}", "x".repeat(UNIX_PATH_BYTES_MAX + 1)),
            "108 bytes",
        );
    }
}

//! Where to listen as a user writes it: an address, or a name and a port, which stands for all addresses of the name that are this machine's, or
//! the name of a socket that a supervisor has bound. Binds nothing. Rule: a name is looked up once, when the program starts; what is then listened on
//! is in the log.

use std::io::ErrorKind;
use std::net::{SocketAddr, ToSocketAddrs as _, UdpSocket};
use std::str::FromStr;

use tsumugi_worker::{Error, ListenAddress};

use crate::supervisor;

/// One `--listen`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listen(Vec<ListenAddress>);

impl Listen {
    /// All of its addresses, of which there is one at least.
    pub fn all(&self) -> &[ListenAddress] {
        &self.0
    }

    /// The addresses of all of them, each once.
    pub fn addresses(all: Vec<Listen>) -> Vec<ListenAddress> {
        let mut addresses: Vec<ListenAddress> = Vec::new();
        for address in all.into_iter().flat_map(|listen| listen.0) {
            // Port 0 is another one each time.
            let is_any = matches!(&address, ListenAddress::Tcp(tcp) if tcp.port() == 0);
            if is_any || !addresses.contains(&address) {
                addresses.push(address);
            }
        }
        addresses
    }
}

impl FromStr for Listen {
    type Err = Error;

    fn from_str(text: &str) -> Result<Listen, Error> {
        let error = match text.parse() {
            Ok(address) => return Ok(Listen(vec![address])),
            Err(error) => error,
        };
        let refused = |advice: String| Error::Address {
            text: text.to_owned(),
            advice,
        };
        if let Some(name) = text.strip_prefix("fd:") {
            let passed = supervisor::addresses_of(name).map_err(&refused)?;
            return match passed.is_empty() {
                true => Err(refused(format!(
                    "no socket of the name `{name}` was passed to this process (LISTEN_FDNAMES)"
                ))),
                false => Ok(Listen(passed)),
            };
        }
        let Some((host, port)) = name(text) else {
            return Err(error);
        };
        let found = (host, port).to_socket_addrs();
        let found = found.map_err(|error| refused(format!("`{host}` is not found: {error}")))?;
        let mut own: Vec<SocketAddr> = found.filter(is_own).collect();
        own.sort_by_key(|address| !address.is_ipv4());
        own.dedup();
        match own.is_empty() {
            true => Err(refused(format!("`{host}` is no address of this machine"))),
            false => Ok(Listen(own.into_iter().map(ListenAddress::Tcp).collect())),
        }
    }
}

/// A name and a port, if that is what it is.
fn name(text: &str) -> Option<(&str, u16)> {
    let (host, port) = text.rsplit_once(':')?;
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    let is_name = host.chars().all(is_letter) && host.contains(|c: char| c.is_ascii_alphabetic());
    port.parse()
        .ok()
        .filter(|_| is_name)
        .map(|port| (host, port))
}

/// Whether the system would listen on it. A list of names may hold an IPv6 address where IPv6 is switched off.
fn is_own(address: &SocketAddr) -> bool {
    let bound = UdpSocket::bind((address.ip(), 0));
    !bound.is_err_and(|error| {
        matches!(
            error.kind(),
            ErrorKind::AddrNotAvailable | ErrorKind::Unsupported | ErrorKind::InvalidInput
        ) || error.raw_os_error() == Some(EAFNOSUPPORT)
    })
}

/// The system has no such kind of addresses (Linux).
const EAFNOSUPPORT: i32 = 97;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stands_for_its_addresses_of_this_machine() {
        let Listen(addresses) = "localhost:1978".parse().unwrap();
        assert!(addresses.contains(&"127.0.0.1:1978".parse().unwrap()));
        for address in &addresses {
            assert!(matches!(address, ListenAddress::Tcp(tcp) if tcp.ip().is_loopback()));
        }
        let both = ["localhost:1978", "127.0.0.1:1978", "unix:a", "unix:a"];
        let both = both.map(|text| text.parse().unwrap()).to_vec();
        assert_eq!(Listen::addresses(both).len(), addresses.len() + 1);
        let any = ["127.0.0.1:0"; 2]
            .map(|text| text.parse().unwrap())
            .to_vec();
        assert_eq!(Listen::addresses(any).len(), 2);
    }

    #[test]
    fn text_that_is_no_name_is_refused_with_the_advice_of_addresses() {
        for (text, expected) in [
            ("8080", "write the address as well"),
            ("::1", "[::1]:8080"),
            ("localhost:x", "not a port"),
            ("no-such-host.invalid:80", "is not found"),
            ("/run/app.sock", "unix:/run/app.sock"),
            ("127.0.0.256:80", "not a numeric address"),
            ("fd:web", "no socket of the name `web` was passed"),
        ] {
            let error = text.parse::<Listen>().unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}

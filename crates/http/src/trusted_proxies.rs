//! Which peers are proxies of the operator's, and which header fields each of them writes itself. Reads no request.
//! Rule: a field is believed only from a trusted peer, and only when the operator says that this peer sets it: a proxy that passes a field of its
//! client on would lend its trust to everyone.

use std::net::IpAddr;
use std::str::FromStr;

/// The proxies that are trusted. None by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustedProxies(Box<[TrustedProxy]>);

/// Peers that are trusted, and what they say of their clients: `10.0.0.0/8`, `loopback`, `unix`, each with fields after commas
/// (`10.0.0.0/8,for,proto,host` or `unix,forwarded`). Without fields they are `for` and `proto`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustedProxy {
    peers: ProxyPeers,
    fields: Vec<ForwardingField>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ProxyPeers {
    Network { address: IpAddr, prefix: u32 },
    Loopback,
    Unix,
}

/// A header field in which a proxy says who its client is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForwardingField {
    /// `Forwarded` of RFC 7239: client, scheme and host.
    Forwarded,
    /// `X-Forwarded-For`: the client's address.
    For,
    /// `X-Forwarded-Proto`: http or https.
    Proto,
    /// `X-Forwarded-Host`: the host that the client asked for.
    Host,
    /// `X-Forwarded-Port`: the port that the client connected to.
    Port,
}

/// Why text names no trusted proxy. Change it.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TrustedProxyError {
    /// There is no such peer.
    #[error(
        "`{text}` is no network: write an address (192.0.2.1), a network (10.0.0.0/8, fd00::/8), loopback or unix"
    )]
    Peers {
        /// As it was written.
        text: String,
    },
    /// The address is one inside of the network.
    #[error(
        "`{text}` is an address with the prefix of its network; write {network} for the network"
    )]
    HostBits {
        /// As it was written.
        text: String,
        /// The network that holds it.
        network: String,
    },
    /// There is no such field.
    #[error(
        "`{text}` is no field of a proxy; there are for, proto, host and port (of X-Forwarded-), and forwarded, as in 10.0.0.0/8,for,proto,host"
    )]
    Field {
        /// As it was written.
        text: String,
    },
    /// Two opinions about one client.
    #[error("forwarded says all that for, proto, host and port do; write it alone")]
    Mixed,
}

impl TrustedProxies {
    /// These proxies.
    pub fn new(proxies: Vec<TrustedProxy>) -> TrustedProxies {
        TrustedProxies(proxies.into())
    }

    /// Whether nobody is trusted.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether this peer is one of them; none is a peer on a UNIX socket.
    pub fn contains(&self, peer: Option<IpAddr>) -> bool {
        self.fields(peer).is_some()
    }

    /// What this peer says of its clients, when it is trusted: of the first proxy in the list that it is.
    pub fn fields(&self, peer: Option<IpAddr>) -> Option<&[ForwardingField]> {
        let peer = peer.map(|address| address.to_canonical());
        let proxy = self.0.iter().find(|proxy| proxy.peers.contains(peer))?;
        Some(&proxy.fields)
    }
}

impl ProxyPeers {
    fn contains(self, peer: Option<IpAddr>) -> bool {
        match (self, peer) {
            (ProxyPeers::Unix, None) => true,
            (ProxyPeers::Loopback, Some(peer)) => peer.is_loopback(),
            (ProxyPeers::Network { address, prefix }, Some(peer)) => {
                network(peer, prefix) == Some(address)
            }
            _ => false,
        }
    }
}

/// The first address of the network of this address; none when it has not so many bits.
fn network(address: IpAddr, prefix: u32) -> Option<IpAddr> {
    Some(match address {
        IpAddr::V4(address) => {
            let host_bits = 32_u32.checked_sub(prefix)?;
            let mask = u32::MAX.checked_shl(host_bits).unwrap_or(0);
            IpAddr::V4((u32::from(address) & mask).into())
        }
        IpAddr::V6(address) => {
            let host_bits = 128_u32.checked_sub(prefix)?;
            let mask = u128::MAX.checked_shl(host_bits).unwrap_or(0);
            IpAddr::V6((u128::from(address) & mask).into())
        }
    })
}

impl FromStr for ProxyPeers {
    type Err = TrustedProxyError;

    fn from_str(text: &str) -> Result<ProxyPeers, TrustedProxyError> {
        match text {
            "loopback" => return Ok(ProxyPeers::Loopback),
            "unix" => return Ok(ProxyPeers::Unix),
            _ => {}
        }
        let wrong = || TrustedProxyError::Peers {
            text: text.to_owned(),
        };
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let whole = if address.is_ipv4() { 32 } else { 128 };
        let prefix = match prefix {
            Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                digits.parse().map_err(|_| wrong())?
            }
            Some(_) => return Err(wrong()),
            None => whole,
        };
        let network = network(address, prefix).ok_or_else(wrong)?;
        if network != address {
            return Err(TrustedProxyError::HostBits {
                text: text.to_owned(),
                network: format!("{network}/{prefix}"),
            });
        }
        Ok(ProxyPeers::Network { address, prefix })
    }
}

impl FromStr for ForwardingField {
    type Err = TrustedProxyError;

    fn from_str(text: &str) -> Result<ForwardingField, TrustedProxyError> {
        Ok(match text {
            "forwarded" => ForwardingField::Forwarded,
            "for" => ForwardingField::For,
            "proto" => ForwardingField::Proto,
            "host" => ForwardingField::Host,
            "port" => ForwardingField::Port,
            _ => {
                let text = text.to_owned();
                return Err(TrustedProxyError::Field { text });
            }
        })
    }
}

impl FromStr for TrustedProxy {
    type Err = TrustedProxyError;

    fn from_str(text: &str) -> Result<TrustedProxy, TrustedProxyError> {
        let mut parts = text.split(',');
        let peers = parts.next().unwrap_or_default().parse()?;
        let mut fields = parts
            .map(str::parse)
            .collect::<Result<Vec<ForwardingField>, _>>()?;
        if fields.contains(&ForwardingField::Forwarded) && fields.len() > 1 {
            return Err(TrustedProxyError::Mixed);
        }
        if fields.is_empty() {
            fields.extend([ForwardingField::For, ForwardingField::Proto]);
        }
        Ok(TrustedProxy { peers, fields })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxies(texts: &[&str]) -> TrustedProxies {
        TrustedProxies::new(texts.iter().map(|text| text.parse().unwrap()).collect())
    }

    #[track_caller]
    fn check(text: &str, inside: &[&str], outside: &[&str]) {
        let proxies = proxies(&[text]);
        let contains = |peer: &str| match peer {
            "unix" => proxies.contains(None),
            address => proxies.contains(Some(address.parse().unwrap())),
        };
        for peer in inside {
            assert!(contains(peer), "{text} holds {peer}");
        }
        for peer in outside {
            assert!(!contains(peer), "{text} does not hold {peer}");
        }
    }

    #[test]
    fn network_holds_its_addresses_and_no_others() {
        check(
            "10.0.0.0/8",
            &["10.0.0.0", "10.255.255.255", "::ffff:10.1.2.3"],
            &["11.0.0.0", "9.255.255.255", "::1", "unix", "a00::"],
        );
        check("192.0.2.1", &["192.0.2.1"], &["192.0.2.0", "192.0.2.2"]);
        check("0.0.0.0/0", &["1.2.3.4"], &["::1", "unix"]);
        check(
            "2001:db8::/33",
            &["2001:db8:7fff::1"],
            &["2001:db8:8000::1", "10.0.0.1"],
        );
        check("::/0", &["::1", "2001:db8::1"], &["10.0.0.1"]);
        check(
            "loopback",
            &["127.0.0.1", "127.9.9.9", "::1"],
            &["10.0.0.1", "unix"],
        );
        check("unix", &["unix"], &["127.0.0.1", "::1"]);
        assert!(!TrustedProxies::default().contains(None));
    }

    #[test]
    fn first_proxy_of_the_list_says_which_fields_count() {
        let proxies = proxies(&["10.0.0.1,forwarded", "10.0.0.0/8,host,for", "unix"]);
        let fields = |peer: Option<&str>| {
            let peer = peer.map(|peer| peer.parse().unwrap());
            proxies.fields(peer).map(<[_]>::to_vec)
        };
        use ForwardingField::{For, Forwarded, Host, Proto};
        assert_eq!(fields(Some("10.0.0.1")), Some(vec![Forwarded]));
        assert_eq!(fields(Some("10.0.0.2")), Some(vec![Host, For]));
        assert_eq!(fields(None), Some(vec![For, Proto]));
        assert_eq!(fields(Some("127.0.0.1")), None);
    }

    #[test]
    fn text_that_names_no_proxy_is_refused_with_what_to_write() {
        for (text, expected) in [
            ("", "is no network"),
            ("example.org", "is no network"),
            ("10.0.0.0/33", "is no network"),
            ("::/129", "is no network"),
            ("10.0.0.0/", "is no network"),
            ("10.0.0.0/+8", "is no network"),
            ("10.1.2.3/8", "write 10.0.0.0/8"),
            ("10.0.0.0/8,", "`` is no field"),
            ("unix,x-forwarded-for", "`x-forwarded-for` is no field"),
            ("unix,forwarded,for", "write it alone"),
        ] {
            let error = text.parse::<TrustedProxy>().unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}

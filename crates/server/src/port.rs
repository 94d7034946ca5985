//! `--listen` of a server of HTTP as a user writes it: an address, then options of its own after commas. Binds nothing, reads no certificate.
//! Rule: what an address without options speaks is settled once for all of them, so that it depends on no order.

use std::str::FromStr;

use tsumugi_http::{AlpnProtocol, HttpProtocol, TrustedProxies};
use tsumugi_worker::ListenAddress;

use crate::acme::OR_ACME;
use crate::listen::Listen;

/// One `--listen`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Port {
    listen: Listen,
    mode: PortMode,
    prologue: PortPrologue,
    /// As it was written.
    text: String,
}

/// What connections to one address speak.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PortMode {
    /// TLS when there is a certificate and the address is one of IP; else plain, and the first bytes say which HTTP it is.
    #[default]
    Certificate,
    /// No TLS.
    Plain(HttpProtocol),
    /// No TLS, and clients are sent to this port of https.
    Redirect(u16),
    /// TLS. The protocols are those that are agreed on, best first; none stands for HTTP/2 and HTTP/1.1.
    Tls(Vec<AlpnProtocol>),
}

/// What a balancer sends on an address before the first byte of its client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PortPrologue {
    /// Nothing.
    #[default]
    None,
    /// A header of the PROXY protocol.
    ProxyHeader,
}

/// Whether the options name where a certificate comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CertificatePresence {
    /// They do.
    Given,
    /// They do not.
    Missing,
}

/// Where to listen, and by the place of each address what is spoken there.
#[derive(Debug)]
pub(crate) struct SettledPorts {
    pub addresses: Vec<ListenAddress>,
    pub modes: Vec<PortMode>,
    pub prologues: Vec<PortPrologue>,
}

/// Why a `--listen` cannot be used. Change the option.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PortError {
    /// The address cannot be read.
    #[error("{0}")]
    Address(String),
    /// No option has this name.
    #[error(
        "`{option}` is no option of an address; there are tls, alpn=PROTOCOL, h2c, redirect and proxy, as in 127.0.0.1:8443,tls,alpn=http/1.1"
    )]
    Unknown {
        /// As it was written.
        option: String,
    },
    /// No protocol has this name, or it is none that TLS can agree on here.
    #[error(
        "`{name}` is no protocol of alpn; write alpn=h2 or alpn=http/1.1, or both as in alpn=h2,alpn=http/1.1"
    )]
    Protocol {
        /// As it was written.
        name: String,
    },
    /// An option has nothing to choose from.
    #[error("alpn is agreed on within TLS; write tls as well, as in {address},tls,alpn={name}")]
    AlpnWithoutTls {
        /// The address.
        address: String,
        /// The first protocol.
        name: &'static str,
    },
    /// The options exclude each other.
    #[error("h2c is HTTP/2 without TLS; for HTTP/2 within TLS write tls,alpn=h2 in place of h2c")]
    Cleartext,
    /// The options exclude each other.
    #[error(
        "redirect sends those who come without TLS to https; write it on an address of its own, without tls and h2c, as in 0.0.0.0:80,redirect"
    )]
    Redirect,
    /// No such port.
    #[error("redirect={text} is no port; write redirect for 443, or as in redirect=8443")]
    RedirectPort {
        /// As it was written.
        text: String,
    },
    /// UNIX sockets stay plain.
    #[error("a UNIX socket speaks no TLS; write it without tls, and its path without a comma")]
    Unix,
    /// A certificate is missing.
    #[error(
        "--listen {text} needs a certificate; give --tls-cert and --tls-key{OR_ACME}, or leave tls out"
    )]
    NoCertificate {
        /// As it was written.
        text: String,
    },
    /// Anyone could say that its client is somebody else.
    #[error(
        "--listen {text} believes whoever connects; say with --trust-proxy which addresses the balancer has, as in --trust-proxy 10.0.0.0/8"
    )]
    NobodyTrusted {
        /// As it was written.
        text: String,
    },
    /// An address is listed with two meanings.
    #[error("--listen has {address} twice with different options; keep one of them")]
    Contradiction {
        /// The address.
        address: ListenAddress,
    },
}

impl FromStr for Port {
    type Err = PortError;

    fn from_str(text: &str) -> Result<Port, PortError> {
        let mut parts = text.split(',');
        let address = parts.next().unwrap_or_default();
        let (mut has_tls, mut is_h2c, mut protocols) = (false, false, Vec::new());
        let (mut prologue, mut redirect) = (PortPrologue::None, None);
        for option in parts {
            match option.split_once('=') {
                None if option == "tls" => has_tls = true,
                None if option == "h2c" => is_h2c = true,
                None if option == "proxy" => prologue = PortPrologue::ProxyHeader,
                None if option == "redirect" => redirect = Some(443),
                Some(("redirect", text)) => redirect = Some(redirect_port(text)?),
                Some(("alpn", name)) => {
                    let protocol = AlpnProtocol::from_name(name);
                    let unknown = || PortError::Protocol {
                        name: name.to_owned(),
                    };
                    protocols.push(protocol.ok_or_else(unknown)?);
                }
                _ => {
                    let option = option.to_owned();
                    return Err(PortError::Unknown { option });
                }
            }
        }
        if redirect.is_some() && (has_tls || is_h2c || !protocols.is_empty()) {
            return Err(PortError::Redirect);
        }
        if is_h2c && (has_tls || !protocols.is_empty()) {
            return Err(PortError::Cleartext);
        }
        if let (false, Some(first)) = (has_tls, protocols.first()) {
            return Err(PortError::AlpnWithoutTls {
                address: address.to_owned(),
                name: first.name(),
            });
        }
        let listen: Listen = address
            .parse()
            .map_err(|error: tsumugi_worker::Error| PortError::Address(error.to_string()))?;
        let is_unix = |address: &ListenAddress| matches!(address, ListenAddress::Unix(_));
        if has_tls && listen.all().iter().any(is_unix) {
            return Err(PortError::Unix);
        }
        Ok(Port {
            listen,
            mode: match (has_tls, is_h2c, redirect) {
                (_, _, Some(port)) => PortMode::Redirect(port),
                (true, _, None) => PortMode::Tls(protocols),
                (false, true, None) => PortMode::Plain(HttpProtocol::Http2),
                (false, false, None) => PortMode::Certificate,
            },
            prologue,
            text: text.to_owned(),
        })
    }
}

fn redirect_port(text: &str) -> Result<u16, PortError> {
    let port = text.parse().ok().filter(|port| *port != 0);
    port.ok_or_else(|| PortError::RedirectPort {
        text: text.to_owned(),
    })
}

/// The addresses of all of them, each once, and what is spoken there. Addresses without options are plain once another one says `tls`.
pub(crate) fn settle(
    ports: Vec<Port>,
    certificate: CertificatePresence,
    proxies: &TrustedProxies,
) -> Result<SettledPorts, PortError> {
    let is_tls = |port: &&Port| matches!(port.mode, PortMode::Tls(_));
    let tls = ports.iter().find(is_tls);
    if let (Some(port), CertificatePresence::Missing) = (tls, certificate) {
        return Err(PortError::NoCertificate {
            text: port.text.clone(),
        });
    }
    let has_header = |port: &&Port| port.prologue == PortPrologue::ProxyHeader;
    if let (Some(port), true) = (ports.iter().find(has_header), proxies.is_empty()) {
        return Err(PortError::NobodyTrusted {
            text: port.text.clone(),
        });
    }
    let default = match tls {
        Some(_) => PortMode::Plain(HttpProtocol::Sniffed),
        None => PortMode::Certificate,
    };
    let mut settled = SettledPorts {
        addresses: Vec::new(),
        modes: Vec::new(),
        prologues: Vec::new(),
    };
    for port in ports {
        let prologue = port.prologue;
        let mode = match port.mode {
            PortMode::Certificate => default.clone(),
            own => own,
        };
        for address in Listen::addresses(vec![port.listen]) {
            // Port 0 is another one each time.
            let is_any = matches!(&address, ListenAddress::Tcp(tcp) if tcp.port() == 0);
            let before = settled.addresses.iter().position(|known| *known == address);
            match before.filter(|_| !is_any) {
                Some(place)
                    if settled.modes[place] != mode || settled.prologues[place] != prologue =>
                {
                    return Err(PortError::Contradiction { address });
                }
                Some(_) => {}
                None => {
                    settled.addresses.push(address);
                    settled.modes.push(mode.clone());
                    settled.prologues.push(prologue);
                }
            }
        }
    }
    Ok(settled)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is settled of these `--listen`, or the error.
    #[track_caller]
    fn check(texts: &[&str], has_certificate: bool, expected: &str) {
        let trusted = vec!["unix".parse().unwrap()];
        check_behind(
            TrustedProxies::new(trusted),
            texts,
            has_certificate,
            expected,
        );
    }

    #[track_caller]
    fn check_behind(
        proxies: TrustedProxies,
        texts: &[&str],
        has_certificate: bool,
        expected: &str,
    ) {
        let certificate = match has_certificate {
            true => CertificatePresence::Given,
            false => CertificatePresence::Missing,
        };
        let ports: Result<Vec<Port>, PortError> = texts.iter().map(|text| text.parse()).collect();
        let settled = ports.and_then(|ports| settle(ports, certificate, &proxies));
        let found = match settled {
            Ok(settled) => {
                let pairs = settled.addresses.iter().zip(&settled.modes);
                let words = pairs.zip(&settled.prologues);
                let words = words.map(|((address, mode), prologue)| match prologue {
                    PortPrologue::None => format!("{address} {}", word(mode)),
                    PortPrologue::ProxyHeader => format!("{address} proxy {}", word(mode)),
                });
                words.collect::<Vec<_>>().join("; ")
            }
            Err(error) => error.to_string(),
        };
        assert!(found.contains(expected), "{texts:?}: {found}");
    }

    fn word(mode: &PortMode) -> String {
        match mode {
            PortMode::Certificate => "certificate".to_owned(),
            PortMode::Plain(protocol) => format!("plain {protocol:?}"),
            PortMode::Redirect(port) => format!("redirect {port}"),
            PortMode::Tls(protocols) => format!("tls {protocols:?}"),
        }
    }

    #[test]
    fn address_without_options_is_plain_once_another_says_tls() {
        check(
            &["127.0.0.1:80", "unix:a"],
            true,
            "127.0.0.1:80 certificate; unix:a certificate",
        );
        check(
            &["127.0.0.1:80", "127.0.0.1:443,tls"],
            true,
            "127.0.0.1:80 plain Sniffed; 127.0.0.1:443 tls []",
        );
        check(
            &["127.0.0.1:80", "127.0.0.1:82,h2c"],
            true,
            "127.0.0.1:80 certificate; 127.0.0.1:82 plain Http2",
        );
        check(
            &["[::1]:1,tls,alpn=h2,alpn=http/1.1", "unix:a,h2c"],
            true,
            "[::1]:1 tls [Http2, Http1]; unix:a plain Http2",
        );
    }

    #[test]
    fn address_that_redirects_leaves_the_others_their_certificate() {
        check(
            &["127.0.0.1:80,redirect", "127.0.0.1:443"],
            true,
            "127.0.0.1:80 redirect 443; 127.0.0.1:443 certificate",
        );
        check(
            &["127.0.0.1:80,redirect=8443,proxy", "127.0.0.1:8443,tls"],
            true,
            "127.0.0.1:80 proxy redirect 8443; 127.0.0.1:8443 tls []",
        );
        check(
            &["127.0.0.1:80,redirect", "127.0.0.1:80"],
            true,
            "127.0.0.1:80 twice",
        );
    }

    #[test]
    fn address_listed_twice_is_one_or_a_contradiction() {
        check(
            &["127.0.0.1:443,tls", "127.0.0.1:443,tls"],
            true,
            "127.0.0.1:443 tls []",
        );
        check(
            &["127.0.0.1:443,tls", "127.0.0.1:443"],
            true,
            "127.0.0.1:443 twice",
        );
        check(
            &["127.0.0.1:0,h2c", "127.0.0.1:0"],
            false,
            "127.0.0.1:0 plain Http2; 127.0.0.1:0 certificate",
        );
    }

    #[test]
    fn address_with_a_proxy_header_needs_a_trusted_proxy() {
        check(
            &[
                "127.0.0.1:80,proxy",
                "127.0.0.1:443,tls,proxy",
                "unix:a,proxy,h2c",
                "unix:b",
            ],
            true,
            "127.0.0.1:80 proxy plain Sniffed; 127.0.0.1:443 proxy tls []; unix:a proxy plain Http2; unix:b plain Sniffed",
        );
        check(&["unix:a,proxy", "unix:a"], false, "unix:a twice");
        check_behind(
            TrustedProxies::default(),
            &["127.0.0.1:80", "127.0.0.1:81,proxy"],
            false,
            "--listen 127.0.0.1:81,proxy believes whoever connects",
        );
    }

    #[test]
    fn option_that_cannot_be_used_is_refused_with_what_to_write() {
        for (text, expected) in [
            ("127.0.0.1:80,ssl", "`ssl` is no option of an address"),
            ("127.0.0.1:80,", "`` is no option of an address"),
            ("127.0.0.1:80,tls=on", "`tls=on` is no option"),
            ("127.0.0.1:80,tls,alpn", "`alpn` is no option"),
            ("127.0.0.1:80,tls,alpn=h3", "`h3` is no protocol of alpn"),
            (
                "127.0.0.1:80,alpn=h2",
                "write tls as well, as in 127.0.0.1:80,tls,alpn=h2",
            ),
            ("127.0.0.1:80,tls,h2c", "h2c is HTTP/2 without TLS"),
            ("127.0.0.1:80,redirect,tls", "an address of its own"),
            ("127.0.0.1:80,h2c,redirect", "an address of its own"),
            ("127.0.0.1:80,redirect=0", "redirect=0 is no port"),
            ("127.0.0.1:80,redirect=x", "redirect=x is no port"),
            ("unix:/run/app.sock,tls", "UNIX socket speaks no TLS"),
            ("unix:/run/a,b.sock", "`b.sock` is no option"),
            ("8080,tls", "write the address as well"),
        ] {
            check(&[text], true, expected);
        }
        check(
            &["127.0.0.1:443,tls"],
            false,
            &format!(
                "--listen 127.0.0.1:443,tls needs a certificate; give --tls-cert and --tls-key{OR_ACME}, or leave"
            ),
        );
    }
}

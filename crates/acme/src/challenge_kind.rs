//! By which of its ways an authority looks whether a server has a name. Knows no answer.

use std::fmt;
use std::str::FromStr;

/// How an authority looks whether this server has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChallengeKind {
    /// By a request to port 80 (RFC 8555, 8.3).
    Http01,
    /// By a handshake on port 443 (RFC 8737).
    TlsAlpn01,
}

impl ChallengeKind {
    /// The registered name.
    pub fn name(self) -> &'static str {
        match self {
            ChallengeKind::Http01 => "http-01",
            ChallengeKind::TlsAlpn01 => "tls-alpn-01",
        }
    }

    /// Where the authority connects to.
    pub fn port(self) -> u16 {
        match self {
            ChallengeKind::Http01 => 80,
            ChallengeKind::TlsAlpn01 => 443,
        }
    }
}

impl fmt::Display for ChallengeKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for ChallengeKind {
    type Err = String;

    fn from_str(text: &str) -> Result<ChallengeKind, String> {
        [ChallengeKind::Http01, ChallengeKind::TlsAlpn01]
            .into_iter()
            .find(|kind| kind.name() == text)
            .ok_or_else(|| "expected http-01 or tls-alpn-01".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kind_is_read_by_its_registered_name() {
        assert_eq!("http-01".parse(), Ok(ChallengeKind::Http01));
        assert_eq!("tls-alpn-01".parse(), Ok(ChallengeKind::TlsAlpn01));
        assert!("dns-01".parse::<ChallengeKind>().is_err());
    }
}

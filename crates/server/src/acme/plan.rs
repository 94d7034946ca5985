//! What the options about ACME ask for, and by which challenges it can be had. Orders nothing.
//! Rule: a challenge that no address can answer is never tried.

use anyhow::{Context as _, Result};
use clap::error::ErrorKind;
use serde_json::{Value, json};
use tsumugi_acme::{AcmeSettings, CertificateKeeper, ChallengeKind};
use tsumugi_http::HttpProtocol;
use tsumugi_worker::ListenAddress;

use super::CertificateSupply;
use crate::failure::wrong_usage;
use crate::port::{PortMode, SettledPorts};

/// What the options ask for.
#[derive(Clone, Debug)]
pub(crate) struct AcmePlan {
    pub(super) settings: AcmeSettings,
    /// The only one that is wanted, if one is named.
    pub(super) challenge: Option<ChallengeKind>,
    /// Which are tried, in turn.
    challenges: Vec<ChallengeKind>,
}

impl AcmePlan {
    pub(super) fn new(settings: AcmeSettings, challenge: Option<ChallengeKind>) -> AcmePlan {
        AcmePlan {
            settings,
            challenge,
            challenges: Vec::new(),
        }
    }

    /// Settles which challenges are tried, where these can be answered.
    pub(crate) fn settle(mut self, ports: &SettledPorts) -> Result<AcmePlan> {
        self.challenges = self.choose(&possible(ports))?;
        Ok(self)
    }

    fn choose(&self, possible: &[ChallengeKind]) -> Result<Vec<ChallengeKind>> {
        let wanted = |kind: &ChallengeKind| self.challenge.is_none_or(|only| only == *kind);
        let challenges: Vec<ChallengeKind> = possible.iter().copied().filter(wanted).collect();
        match (challenges.is_empty(), self.challenge) {
            (false, _) => Ok(challenges),
            (true, Some(ChallengeKind::Http01)) => Err(wrong_usage(
                ErrorKind::MissingRequiredArgument,
                "--acme-challenge http-01 needs an address without TLS, which the authority reaches on port 80, as --listen 0.0.0.0:80,redirect",
            )),
            (true, _) => Err(wrong_usage(
                ErrorKind::MissingRequiredArgument,
                "--acme needs an address of TLS, which the authority reaches on port 443, as --listen 0.0.0.0:443",
            )),
        }
    }

    /// Reads what is kept of an earlier time.
    pub(crate) fn open(&self) -> Result<CertificateSupply> {
        let keeper = CertificateKeeper::open(self.settings.clone()).context("--acme")?;
        Ok(CertificateSupply::new(keeper, self.challenges.clone()))
    }

    /// What the dashboard shows.
    pub(crate) fn describe(&self) -> Vec<(&'static str, Value)> {
        vec![
            ("acme", json!(self.settings.names_text())),
            (
                "acme_cache",
                json!(self.settings.cache.display().to_string()),
            ),
            ("acme_directory", json!(self.settings.directory.to_string())),
        ]
    }
}

/// By which challenges an authority can find this server where there is a certificate. None where no address speaks TLS.
fn possible(ports: &SettledPorts) -> Vec<ChallengeKind> {
    let is_tcp = |address: &ListenAddress| matches!(address, ListenAddress::Tcp(_));
    let pairs = || ports.addresses.iter().zip(&ports.modes);
    let has_tls = pairs().any(|(address, mode)| match mode {
        PortMode::Certificate => is_tcp(address),
        PortMode::Tls(_) => true,
        PortMode::Plain(_) | PortMode::Redirect(_) => false,
    });
    if !has_tls {
        return Vec::new();
    }
    let has_plain = pairs().any(|(address, mode)| match mode {
        PortMode::Plain(protocol) => *protocol != HttpProtocol::Http2 && is_tcp(address),
        PortMode::Redirect(_) => is_tcp(address),
        PortMode::Certificate | PortMode::Tls(_) => false,
    });
    let has_unix = !ports.addresses.iter().all(is_tcp);
    match (has_plain, has_unix) {
        (true, _) => vec![ChallengeKind::Http01, ChallengeKind::TlsAlpn01],
        // A proxy may ask a UNIX socket for port 80.
        (false, true) => vec![ChallengeKind::TlsAlpn01, ChallengeKind::Http01],
        (false, false) => vec![ChallengeKind::TlsAlpn01],
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use ChallengeKind::{Http01, TlsAlpn01};
    use tsumugi_http::TrustedProxies;

    use super::*;
    use crate::port::{CertificatePresence, settle};

    #[test]
    fn challenges_are_those_that_an_address_can_answer() {
        let of = |texts: &[&str]| {
            let ports = texts.iter().map(|text| text.parse().unwrap()).collect();
            let settled = settle(
                ports,
                CertificatePresence::Given,
                &TrustedProxies::default(),
            );
            possible(&settled.unwrap())
        };
        let http_first = vec![Http01, TlsAlpn01];
        let tls_first = vec![TlsAlpn01, Http01];
        assert_eq!(of(&["127.0.0.1:80,redirect", "127.0.0.1:443"]), http_first);
        assert_eq!(of(&["127.0.0.1:80", "127.0.0.1:443,tls"]), http_first);
        assert_eq!(of(&["127.0.0.1:443"]), vec![TlsAlpn01]);
        assert_eq!(of(&["unix:a", "127.0.0.1:443,tls"]), tls_first);
        assert_eq!(of(&["127.0.0.1:80,redirect", "unix:a"]), vec![]);
    }

    #[test]
    fn challenges_are_those_that_can_be_answered() {
        let of = |challenge, possible: &[ChallengeKind]| {
            let names = ["a.example".parse().unwrap()];
            let settings = AcmeSettings::new(&names, PathBuf::from("c")).unwrap();
            let plan = AcmePlan::new(settings, challenge);
            plan.choose(possible).map_err(|error| error.to_string())
        };
        assert_eq!(of(None, &[Http01, TlsAlpn01]), Ok(vec![Http01, TlsAlpn01]));
        assert_eq!(
            of(Some(TlsAlpn01), &[Http01, TlsAlpn01]),
            Ok(vec![TlsAlpn01])
        );
        assert!(
            of(Some(Http01), &[TlsAlpn01])
                .unwrap_err()
                .contains("0.0.0.0:80,redirect")
        );
        assert!(of(None, &[]).unwrap_err().contains("0.0.0.0:443"));
    }
}

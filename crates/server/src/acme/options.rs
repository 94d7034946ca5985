//! The options about certificates by ACME, from the command line and from the environment. Orders nothing.
//! Rule: an option stands before its variable, and a variable that is empty is not there.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::error::ErrorKind;
use tsumugi_acme::{AcmeSettings, ChallengeKind, DirectoryUrl, DomainName};

use super::AcmePlan;
use crate::failure::wrong_usage;

/// Options about certificates by ACME.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct AcmeOptions {
    /// Get the certificate for these names from an authority that speaks ACME, Let's Encrypt unless --acme-directory names another, and renew
    /// it while the server runs. The names must lead here by DNS, and the authority must reach this server: on port 80 through a plain
    /// address (`--listen 0.0.0.0:80,redirect`), or on port 443 through one of TLS. By this option its terms of service are agreed to.
    /// Also TSUMUGI_ACME
    #[arg(
        long = "acme",
        value_name = "NAME[,NAME]",
        value_delimiter = ',',
        conflicts_with = "tls_cert"
    )]
    names: Vec<DomainName>,
    /// Where --acme keeps its account and certificates (keys too: the folder is for this user alone), so that a start asks nobody. Processes
    /// that share it order once. Also TSUMUGI_ACME_CACHE
    #[arg(long = "acme-cache", value_name = "DIR")]
    cache: Option<PathBuf>,
    /// The directory of the authority; https://acme-staging-v02.api.letsencrypt.org/directory to try things out. Also TSUMUGI_ACME_DIRECTORY
    #[arg(long = "acme-directory", value_name = "URL")]
    directory: Option<DirectoryUrl>,
    /// Where the authority may write to about the account. Also TSUMUGI_ACME_EMAIL
    #[arg(long = "acme-email", value_name = "ADDRESS")]
    email: Option<String>,
    /// Whose certificate the directory shows, in PEM, where the system does not know it. Also TSUMUGI_ACME_CA
    #[arg(long = "acme-ca", value_name = "FILE")]
    authority: Option<PathBuf>,
    /// How the authority looks for this server: http-01 (port 80) or tls-alpn-01 (port 443). By default http-01 where a plain address is
    /// listened on, and the other one when that has failed and can be answered here. Also TSUMUGI_ACME_CHALLENGE
    #[arg(long = "acme-challenge", value_name = "KIND")]
    challenge: Option<ChallengeKind>,
}

impl AcmeOptions {
    /// What is asked for, if anything is. `variable` reads the environment.
    pub(crate) fn plan(
        &self,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Option<AcmePlan>> {
        let variable = |name: &str| variable(name).filter(|text| !text.is_empty());
        let names = match (self.names.is_empty(), variable("TSUMUGI_ACME")) {
            (true, Some(text)) => text
                .split(',')
                .map(|name| name.trim().parse())
                .collect::<Result<_, _>>()
                .context("TSUMUGI_ACME")?,
            _ => self.names.clone(),
        };
        let cache = self.cache.clone();
        let cache = cache.or_else(|| variable("TSUMUGI_ACME_CACHE").map(PathBuf::from));
        if names.is_empty() {
            let has_option = self.cache.is_some()
                || self.directory.is_some()
                || self.email.is_some()
                || self.authority.is_some()
                || self.challenge.is_some();
            if has_option {
                return Err(wrong_usage(
                    ErrorKind::MissingRequiredArgument,
                    "the options of ACME need --acme with the names of the certificate, as in --acme example.org",
                ));
            }
            return Ok(None);
        }
        let Some(cache) = cache else {
            return Err(wrong_usage(
                ErrorKind::MissingRequiredArgument,
                "--acme needs --acme-cache with a folder for its account and certificates, as in --acme-cache /var/lib/app/acme",
            ));
        };
        let mut settings = AcmeSettings::new(&names, cache)?;
        if let Some(directory) = &self.directory {
            settings.directory = directory.clone();
        } else if let Some(text) = variable("TSUMUGI_ACME_DIRECTORY") {
            settings.directory = text.parse().context("TSUMUGI_ACME_DIRECTORY")?;
        }
        settings.email = self
            .email
            .clone()
            .or_else(|| variable("TSUMUGI_ACME_EMAIL"));
        let authority = variable("TSUMUGI_ACME_CA").map(PathBuf::from);
        settings.authority = self.authority.clone().or(authority);
        let challenge = match (self.challenge, variable("TSUMUGI_ACME_CHALLENGE")) {
            (None, Some(text)) => {
                let read = text.parse().map_err(anyhow::Error::msg);
                Some(read.context("TSUMUGI_ACME_CHALLENGE")?)
            }
            (option, _) => option,
        };
        Ok(Some(AcmePlan::new(settings, challenge)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser as _;

    #[derive(clap::Parser)]
    struct Line {
        #[arg(long)]
        tls_cert: Option<PathBuf>,
        #[command(flatten)]
        acme: AcmeOptions,
    }

    /// What is asked for, in a line, or the error.
    fn plan(options: &str, variables: &[(&str, &str)]) -> String {
        let words = std::iter::once("serve").chain(options.split_whitespace());
        let line = match Line::try_parse_from(words) {
            Ok(line) => line,
            Err(error) => return error.to_string(),
        };
        assert_eq!(line.tls_cert, None);
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, text)| (*text).to_owned())
        };
        match line.acme.plan(&variable) {
            Ok(None) => "none".to_owned(),
            Ok(Some(plan)) => {
                let (settings, challenge) = (plan.settings, plan.challenge);
                format!(
                    "{} in {} of {} by {challenge:?} for {:?}",
                    settings.names_text(),
                    settings.cache.display(),
                    settings.directory,
                    settings.email,
                )
            }
            Err(error) => format!("{error:#}"),
        }
    }

    #[test]
    fn option_stands_before_its_variable() {
        assert_eq!(plan("", &[]), "none");
        assert_eq!(
            plan("", &[("TSUMUGI_ACME", ""), ("TSUMUGI_ACME_CACHE", "c")]),
            "none"
        );
        let of_options = "--acme b.example,a.example --acme-cache c --acme-challenge tls-alpn-01";
        let lets_encrypt = tsumugi_acme::LETS_ENCRYPT;
        assert_eq!(
            plan(
                of_options,
                &[
                    ("TSUMUGI_ACME", "x.example"),
                    ("TSUMUGI_ACME_CHALLENGE", "http-01")
                ]
            ),
            format!("b.example, a.example in c of {lets_encrypt} by Some(TlsAlpn01) for None")
        );
        let variables = [
            ("TSUMUGI_ACME", "a.example, b.example"),
            ("TSUMUGI_ACME_CACHE", "d"),
            ("TSUMUGI_ACME_DIRECTORY", "https://acme.example/dir"),
            ("TSUMUGI_ACME_EMAIL", "ops@a.example"),
            ("TSUMUGI_ACME_CHALLENGE", "http-01"),
        ];
        assert_eq!(
            plan("", &variables),
            r#"a.example, b.example in d of https://acme.example/dir by Some(Http01) for Some("ops@a.example")"#
        );
    }

    #[test]
    fn option_that_cannot_be_used_is_refused_with_what_to_write() {
        for (options, variables, expected) in [
            ("--acme a.example", &[][..], "--acme needs --acme-cache"),
            ("--acme-cache c", &[], "need --acme with the names"),
            ("--acme *.example --acme-cache c", &[], "list each name"),
            ("--acme a.example --tls-cert x", &[], "cannot be used with"),
            (
                "--acme a.example --acme-challenge dns-01",
                &[],
                "expected http-01 or tls-alpn-01",
            ),
            (
                "--acme a.example --acme-directory http://x",
                &[],
                "begin it with https://",
            ),
            (
                "--acme-cache c",
                &[("TSUMUGI_ACME", "a_b")],
                "TSUMUGI_ACME: no certificate by ACME for `a_b`",
            ),
        ] {
            let found = plan(options, variables);
            assert!(found.contains(expected), "{options}: {found}");
        }
    }

    #[test]
    fn option_without_one_that_it_needs_is_wrong_usage() {
        for words in [&["--acme", "a.example"][..], &["--acme-email", "a@b"]] {
            let line = Line::try_parse_from(["serve"].iter().chain(words)).unwrap();
            let error = line.acme.plan(&|_| None).unwrap_err();
            let usage = error.downcast_ref::<clap::Error>();
            assert_eq!(usage.map(clap::Error::exit_code), Some(2), "{words:?}");
        }
    }
}

//! Stands in for `acme/` where the feature `acme` is off: there is no option, so no plan and no certificate. Knows no authority.
//! Rule: an option or a variable that asks for one is refused by the name of the feature, not as an unknown one.

use std::convert::Infallible;

use anyhow::Result;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use serde_json::Value;
use tsumugi_http::exposition::Exposition;
use tsumugi_http::{HttpResponse, Request, ServerTls};
use tsumugi_worker::WorkerHandle;

use crate::failure::wrong_usage;
use crate::port::SettledPorts;

pub(crate) const OR_ACME: &str = "";

const NOT_BUILT_IN: &str = "ACME is not in this program: it was built without the feature `acme`";

/// What is said in place of wrong usage, if that is an option of a program with ACME.
#[must_use]
pub fn absent_option(usage: &clap::Error) -> Option<&'static str> {
    let Some(ContextValue::String(option)) = usage.get(ContextKind::InvalidArg) else {
        return None;
    };
    let is_of_acme = usage.kind() == ErrorKind::UnknownArgument
        && (option == "--acme" || option.starts_with("--acme-"));
    is_of_acme.then_some(NOT_BUILT_IN)
}

/// No option.
#[derive(clap::Args)]
pub struct AcmeOptions {}

pub(crate) struct AcmePlan(Infallible);

/// What supplies a certificate, which there is none of.
#[derive(Clone, Debug)]
pub struct CertificateSupply(Infallible);

impl AcmeOptions {
    pub(crate) fn plan(
        &self,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Option<AcmePlan>> {
        match variable("TSUMUGI_ACME").is_some_and(|text| !text.is_empty()) {
            true => Err(wrong_usage(
                ErrorKind::UnknownArgument,
                &format!(
                    "TSUMUGI_ACME: {NOT_BUILT_IN}; clear the variable to serve without a certificate of ACME"
                ),
            )),
            false => Ok(None),
        }
    }
}

impl AcmePlan {
    pub(crate) fn settle(self, _: &SettledPorts) -> Result<AcmePlan> {
        match self.0 {}
    }

    pub(crate) fn open(&self) -> Result<CertificateSupply> {
        match self.0 {}
    }

    pub(crate) fn describe(&self) -> Vec<(&'static str, Value)> {
        match self.0 {}
    }
}

impl CertificateSupply {
    pub(crate) fn tls(&self) -> Result<ServerTls> {
        match self.0 {}
    }

    pub(crate) async fn answer(&self, _: &Request, _: &WorkerHandle) -> Option<HttpResponse> {
        match self.0 {}
    }

    pub(crate) fn write_figures(&self, _: &mut Exposition) {
        match self.0 {}
    }

    pub(crate) fn start(&self) {
        match self.0 {}
    }

    pub(crate) fn close(&self) {
        match self.0 {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn option_of_acme_is_refused_by_name_and_others_are_unknown() {
        let said = |words: &str| {
            let command = clap::Command::new("shop");
            let usage = command.try_get_matches_from(words.split(' ')).unwrap_err();
            absent_option(&usage).map_or_else(|| usage.to_string(), str::to_owned)
        };
        for option in ["--acme", "--acme-cache"] {
            for words in [format!("shop {option} a"), format!("shop {option}=a")] {
                assert_eq!(said(&words), NOT_BUILT_IN);
            }
        }
        for other in ["shop --acmes a", "shop --other a"] {
            assert!(said(other).contains("unexpected argument"), "{other}");
        }
    }

    #[test]
    fn variable_that_asks_for_a_certificate_is_refused_with_the_feature_to_build() {
        let none = AcmeOptions {};
        assert!(none.plan(&|_| Some(String::new())).unwrap().is_none());
        let asked = none.plan(&|name| (name == "TSUMUGI_ACME").then(|| "a.example".to_owned()));
        let error = asked.err().expect("it is refused");
        let text = error.to_string();
        assert!(text.contains("TSUMUGI_ACME: ACME is not"), "{text}");
        assert!(text.contains("the feature `acme`; clear"), "{text}");
    }
}

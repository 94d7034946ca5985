//! Stands in for `acme/` where the feature `acme` is off: there is no option, so no plan and no certificate. Knows no authority.
//! Rule: a variable that asks for one is refused, and not passed over.

use std::convert::Infallible;

use anyhow::Result;
use clap::error::ErrorKind;
use serde_json::Value;
use tsumugi_http::exposition::Exposition;
use tsumugi_http::{HttpResponse, Request, ServerTls};
use tsumugi_worker::WorkerHandle;

use crate::failure::wrong_usage;
use crate::port::SettledPorts;

pub(crate) const OR_ACME: &str = "";

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
                "ACME is not in this program: it was built without the feature `acme`",
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
    fn variable_that_asks_for_a_certificate_is_refused_with_the_feature_to_build() {
        let none = AcmeOptions {};
        assert!(none.plan(&|_| Some(String::new())).unwrap().is_none());
        let asked = none.plan(&|name| (name == "TSUMUGI_ACME").then(|| "a.example".to_owned()));
        let error = asked.err().expect("it is refused");
        assert!(error.to_string().contains("the feature `acme`"), "{error}");
    }
}

//! One order from its begin to the chain of certificates (RFC 8555, 7.4). Decides nothing about when.
//! Rule: what proves a name is shown only while the order lasts, however it ends; the key is made anew for each order and leaves this process to the
//! cache alone.

use instant_acme::{
    Account, AuthorizationStatus, ChallengeType, Identifier, NewOrder, Order, OrderStatus,
    RetryPolicy,
};
use rcgen::{CertificateParams, DistinguishedName, KeyPair};

use crate::account;
use crate::cache::AcmeCache;
use crate::challenge::alpn_certificate;
use crate::challenge_kind::ChallengeKind;
use crate::error::{Error, hint, kind_of, text_of};
use crate::limits::{ORDER_MAX, POLL_MAX};
use crate::settings::{AcmeSettings, DomainName};
use crate::source::AcmeSource;
use crate::transport::AcmeTransport;

/// What is ordered, and what is used for it.
pub(crate) struct OrderPlan<'a> {
    pub settings: &'a AcmeSettings,
    pub cache: &'a AcmeCache,
    pub transport: &'a AcmeTransport,
    pub source: &'a AcmeSource,
    pub challenge: ChallengeKind,
}

/// What is shown to the authority. It is no longer shown once this is dropped.
struct Proofs<'a> {
    plan: &'a OrderPlan<'a>,
    tokens: Vec<String>,
    names: Vec<String>,
}

impl OrderPlan<'_> {
    /// Orders. Answers the private key and the chain, in PEM.
    pub async fn run(&self) -> Result<String, Error> {
        match tokio::time::timeout(ORDER_MAX, self.order()).await {
            Ok(pem) => pem,
            Err(_) => Err(Error::Timeout {
                what: "completed the order",
                limit_s: ORDER_MAX.as_secs(),
            }),
        }
    }

    async fn order(&self) -> Result<String, Error> {
        let mut order = self.begin().await?;
        let mut proofs = Proofs {
            plan: self,
            tokens: Vec::new(),
            names: Vec::new(),
        };
        self.prove(&mut order, &mut proofs).await?;
        match order.poll_ready(&patience()).await {
            Ok(OrderStatus::Ready | OrderStatus::Valid) => {}
            Ok(_) => return Err(self.reason(&mut order, None).await),
            Err(instant_acme::Error::Api(problem)) => {
                let error = Error::refused(&problem);
                return Err(self.reason(&mut order, Some(error)).await);
            }
            Err(error) => return Err(self.failure(error)),
        }
        drop(proofs);
        let failed = |error: rcgen::Error| Error::Key(error.to_string());
        let names = self.settings.names().iter();
        let names: Vec<String> = names.map(DomainName::to_string).collect();
        let mut params = CertificateParams::new(names).map_err(failed)?;
        params.distinguished_name = DistinguishedName::new();
        let key = KeyPair::generate().map_err(failed)?;
        let request = params.serialize_request(&key).map_err(failed)?;
        let finalized = order.finalize_csr(request.der()).await;
        finalized.map_err(|error| self.failure(error))?;
        let chain = order.poll_certificate(&patience()).await;
        let chain = chain.map_err(|error| self.failure(error))?;
        Ok(format!("{}{chain}", key.serialize_pem()))
    }

    /// Places the order; with a new account where the authority no longer knows the one of the cache.
    async fn begin(&self) -> Result<Order, Error> {
        let (settings, cache) = (self.settings, self.cache);
        let account = account::open(settings, cache, self.transport).await?;
        match self.place(&account).await {
            Err(Error::Refused { kind, .. }) if kind == "accountDoesNotExist" => {
                tracing::warn!(
                    "{} does not know the account of the cache",
                    settings.directory
                );
                let account = account::create(settings, cache, self.transport).await?;
                self.place(&account).await
            }
            placed => placed,
        }
    }

    async fn place(&self, account: &Account) -> Result<Order, Error> {
        let names = self.settings.names().iter();
        let names: Vec<Identifier> = names
            .map(|name| Identifier::Dns(name.to_string()))
            .collect();
        let placed = account.new_order(&NewOrder::new(&names)).await;
        placed.map_err(|error| self.failure(error))
    }

    /// Shows what proves each name that the authority has not looked at lately, and has it look.
    async fn prove(&self, order: &mut Order, proofs: &mut Proofs<'_>) -> Result<(), Error> {
        let kind = match self.challenge {
            ChallengeKind::Http01 => ChallengeType::Http01,
            ChallengeKind::TlsAlpn01 => ChallengeType::TlsAlpn01,
        };
        let mut authorizations = order.authorizations();
        while let Some(authorization) = authorizations.next().await {
            let mut authorization = authorization.map_err(|error| self.failure(error))?;
            if authorization.status == AuthorizationStatus::Valid {
                continue;
            }
            let name = authorization.identifier().to_string();
            let Some(mut challenge) = authorization.challenge(kind.clone()) else {
                return Err(Error::NoChallenge {
                    name,
                    challenge: self.challenge,
                });
            };
            let answer = challenge.key_authorization();
            match self.challenge {
                ChallengeKind::Http01 => {
                    self.cache
                        .put_challenge(&challenge.token, answer.as_str())?;
                    proofs.tokens.push(challenge.token.clone());
                }
                ChallengeKind::TlsAlpn01 => {
                    let certificate = alpn_certificate(&name, answer.digest().as_ref())?;
                    self.source.put_challenge(&name, certificate);
                    proofs.names.push(name);
                }
            }
            let looked = challenge.set_ready().await;
            looked.map_err(|error| self.failure(error))?;
        }
        Ok(())
    }

    /// Why an order has failed: what the authority says of one of its names, else `otherwise`.
    async fn reason(&self, order: &mut Order, otherwise: Option<Error>) -> Error {
        let mut authorizations = order.authorizations();
        while let Some(Ok(mut authorization)) = authorizations.next().await {
            if authorization.refresh().await.is_err() {
                break;
            }
            let mut challenges = authorization.challenges.iter();
            if let Some(problem) = challenges.find_map(|challenge| challenge.error.as_ref()) {
                return Error::Unproven {
                    name: authorization.identifier().to_string(),
                    challenge: self.challenge,
                    text: text_of(problem),
                    hint: hint(&kind_of(problem)),
                };
            }
        }
        otherwise.unwrap_or(Error::Abandoned)
    }

    fn failure(&self, error: instant_acme::Error) -> Error {
        Error::of_library(error, &self.settings.directory.to_string())
    }
}

/// How the authority is asked again and again.
fn patience() -> RetryPolicy {
    RetryPolicy::new().timeout(POLL_MAX)
}

impl Drop for Proofs<'_> {
    fn drop(&mut self) {
        for token in &self.tokens {
            self.plan.cache.remove_challenge(token);
        }
        for name in &self.names {
            self.plan.source.remove_challenge(name);
        }
    }
}

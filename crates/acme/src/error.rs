//! Why there is no certificate, and what to do about it. Texts name files, names and the directory, never a key.

use std::io;
use std::path::PathBuf;

use instant_acme::Problem;

use crate::back_off::TryCost;
use crate::challenge_kind::ChallengeKind;
use crate::limits::{ACME_NAMES_MAX, POLL_MAX};

/// Why there is no certificate.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Give fewer names, or one at least.
    #[error("a certificate has from 1 to {ACME_NAMES_MAX} names, not {count}")]
    Names {
        /// How many were given.
        count: usize,
    },
    /// Fix the name.
    #[error("no certificate by ACME for `{name}`: {reason}")]
    Name {
        /// As it was given.
        name: String,
        /// What to write.
        reason: &'static str,
    },
    /// Fix the URL.
    #[error("`{url}` is no directory of ACME: {reason}")]
    Directory {
        /// As it was given.
        url: String,
        /// What to write.
        reason: &'static str,
    },
    /// A file or folder of the cache cannot be used. Mend it or its rights.
    #[error("cannot use {}: {source}", path.display())]
    Cache {
        /// Which one.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The authorities by which the directory is checked cannot be read. Install the system's, or name a file of them.
    #[error("the directory cannot be checked: {0}")]
    Authorities(String),
    /// Nothing was ordered, or it is not known what became of it. Another try can help.
    #[error(
        "the directory {directory} cannot be reached: {reason}; see that this machine may connect to it"
    )]
    Unreachable {
        /// Its URL.
        directory: String,
        /// What failed.
        reason: String,
    },
    /// The directory answers, but not what the protocol says. Another try can help.
    #[error("the directory {directory} did not answer as ACME says: {reason}")]
    Protocol {
        /// Its URL.
        directory: String,
        /// What failed.
        reason: String,
    },
    /// The authority refuses.
    #[error("the authority refuses: {text}{}", advice(*hint))]
    Refused {
        /// The type of the problem, without what all have in common.
        kind: String,
        /// What the authority says.
        text: String,
        /// What to do.
        hint: Option<&'static str>,
    },
    /// The authority has looked for what proves that this server has the name, and has not found it.
    #[error("the authority does not find this server by {challenge} at {name}: {text}{}", advice(*hint))]
    Unproven {
        /// The name.
        name: String,
        /// By which challenge it has looked.
        challenge: ChallengeKind,
        /// What the authority says.
        text: String,
        /// What to do.
        hint: Option<&'static str>,
    },
    /// The authority offers no challenge that this server can meet on its addresses.
    #[error("the authority offers no challenge {challenge} for {name}; it must be able to reach this server over port {}", challenge.port())]
    NoChallenge {
        /// The name.
        name: String,
        /// The challenge that was wanted.
        challenge: ChallengeKind,
    },
    /// What was issued cannot be used. Another try can help; where it does not, report it to the authority.
    #[error("the authority has issued what cannot be used: {0}")]
    Unusable(String),
    /// It took too long. Another try can help.
    #[error("the authority has not {what} within {limit_s} s")]
    Timeout {
        /// What was waited for, as a participle.
        what: &'static str,
        /// The limit, in seconds.
        limit_s: u64,
    },
    /// The authority has made the order invalid, and nothing in it says why. Another try can help.
    #[error("the authority has given up the order and says no reason")]
    Abandoned,
    /// No key can be made, or the authority takes it for none. Another try makes another one.
    #[error("no key can be made: {0}")]
    Key(String),
}

fn advice(hint: Option<&'static str>) -> String {
    hint.map(|hint| format!(" ({hint})")).unwrap_or_default()
}

impl Error {
    /// What the try cost.
    pub(crate) fn cost(&self) -> TryCost {
        match self {
            Error::Names { .. }
            | Error::Name { .. }
            | Error::Directory { .. }
            | Error::Cache { .. }
            | Error::Authorities(_)
            | Error::Unreachable { .. }
            | Error::Protocol { .. }
            | Error::Key(_) => TryCost::Nothing,
            Error::Refused { kind, .. } if matches!(&**kind, "badNonce" | "serverInternal") => {
                TryCost::Nothing
            }
            Error::Refused { .. }
            | Error::Unproven { .. }
            | Error::NoChallenge { .. }
            | Error::Unusable(_)
            | Error::Timeout { .. }
            | Error::Abandoned => TryCost::Counted,
        }
    }

    /// What a refusal means.
    pub(crate) fn refused(problem: &Problem) -> Error {
        let kind = kind_of(problem);
        Error::Refused {
            hint: hint(&kind),
            kind,
            text: text_of(problem),
        }
    }

    /// What an answer of the library means.
    pub(crate) fn of_library(error: instant_acme::Error, directory: &str) -> Error {
        use instant_acme::Error as Failure;
        match error {
            Failure::Api(problem) => Error::refused(&problem),
            Failure::Timeout(_) => Error::Timeout {
                what: "become ready",
                limit_s: POLL_MAX.as_secs(),
            },
            Failure::Crypto | Failure::KeyRejected => Error::Key("the key is refused".to_owned()),
            Failure::Other(source) => Error::Unreachable {
                directory: directory.to_owned(),
                reason: source.to_string(),
            },
            other => Error::Protocol {
                directory: directory.to_owned(),
                reason: other.to_string(),
            },
        }
    }
}

/// The last word of a problem's type.
pub(crate) fn kind_of(problem: &Problem) -> String {
    let kind = problem.r#type.as_deref().unwrap_or_default();
    kind.rsplit(':').next().unwrap_or_default().to_owned()
}

/// What a problem says, with those of its names.
pub(crate) fn text_of(problem: &Problem) -> String {
    let mut text = problem.detail.clone().unwrap_or_default();
    for part in &problem.subproblems {
        let detail = part.detail.as_deref().unwrap_or_default();
        if !text.contains(detail) {
            text.push_str("; ");
            text.push_str(detail);
        }
    }
    match text.is_empty() {
        true => kind_of(problem),
        false => text,
    }
}

/// What helps against a problem of this kind (RFC 8555, 6.7).
pub(crate) fn hint(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "rateLimited" => {
            "it counts orders and failures: leave this server alone until then, and try things out with the authority's staging directory in --acme-directory"
        }
        "dns" => "see that the name has an A or AAAA record that leads to this machine",
        "connection" | "tls" => {
            "see that the name leads to this machine, and that port 80 for http-01 or 443 for tls-alpn-01 is open and leads to a --listen of this server"
        }
        "unauthorized" | "incorrectResponse" => {
            "another server answers at this name: see where its A and AAAA records lead, and that no proxy stands in between"
        }
        "caa" => "the CAA records of the domain name another authority",
        "rejectedIdentifier" | "unsupportedIdentifier" => {
            "this authority issues nothing for such a name: take it out of --acme"
        }
        "invalidContact" | "unsupportedContact" => "give another address to --acme-email",
        "externalAccountRequired" => {
            "this authority wants an account of its own beforehand, which is not here: choose another --acme-directory"
        }
        "userActionRequired" => "the authority's terms have changed: follow the link in its words",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(json: &str) -> Problem {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn refusal_says_the_words_of_the_authority_and_what_to_do() {
        let limited = problem(
            r#"{"type":"urn:ietf:params:acme:error:rateLimited","detail":"too many certificates"}"#,
        );
        let error = Error::refused(&limited);
        let text = error.to_string();
        assert!(
            text.contains("too many certificates (it counts orders"),
            "{text}"
        );
        assert_eq!(error.cost(), TryCost::Counted);
        let nonce = problem(r#"{"type":"urn:ietf:params:acme:error:badNonce"}"#);
        let error = Error::refused(&nonce);
        assert_eq!(error.to_string(), "the authority refuses: badNonce");
        assert_eq!(error.cost(), TryCost::Nothing);
        let parts = problem(
            r#"{"type":"urn:ietf:params:acme:error:compound","detail":"some","subproblems":[{"detail":"first"},{"detail":"some"}]}"#,
        );
        assert_eq!(text_of(&parts), "some; first");
    }

    #[test]
    fn order_that_takes_too_long_is_told_from_one_that_is_given_up() {
        let late = Error::of_library(instant_acme::Error::Timeout(None), "https://a.example");
        assert_eq!(
            late.to_string(),
            "the authority has not become ready within 120 s"
        );
        assert!(matches!(late, Error::Timeout { limit_s: 120, .. }));
        let given_up = Error::Abandoned.to_string();
        assert_eq!(
            given_up,
            "the authority has given up the order and says no reason"
        );
        let cost = |error: Error| error.cost();
        assert_eq!(cost(late), TryCost::Counted);
        assert_eq!(cost(Error::Abandoned), TryCost::Counted);
        assert_eq!(cost(Error::Key(String::new())), TryCost::Nothing);
        assert_eq!(cost(Error::Authorities(String::new())), TryCost::Nothing);
    }
}

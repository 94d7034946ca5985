//! Why something failed and what the caller can do about it: one enum for the whole driver.
//! Rule: no text has a password or a value of the user's; the cause is in `source()`.

use std::time::Duration;

use thiserror::Error as Failure;

use crate::connect::{Cause, Phase};

/// What went wrong.
#[non_exhaustive]
#[derive(Debug, Failure)]
pub enum Error {
    /// Fix the connection string, the environment or the file that it names. Retrying cannot help.
    #[error("{key}: {reason}")]
    Config {
        /// The key, or `url`.
        key: String,
        /// What is wrong with it.
        reason: String,
    },
    /// There is no connection to this host. No statement was sent.
    #[error("cannot connect to {host} ({phase}): {cause}{}", cause.advice())]
    Connect {
        /// The host, as it was configured.
        host: String,
        /// What was being done.
        phase: Phase,
        /// Why it failed.
        #[source]
        cause: Cause,
    },
    /// The host did not answer in time. No statement was sent.
    #[error("cannot connect to {host} ({phase}): no answer within connect_timeout ({} s)", limit.as_secs_f64())]
    Timeout {
        /// The host, as it was configured.
        host: String,
        /// What was being waited for.
        phase: Phase,
        /// The time that was given.
        limit: Duration,
    },
    /// None of the hosts will do; each says why.
    #[error("none of the hosts will do: {}", joined(.0))]
    Hosts(Vec<Error>),
}

impl Error {
    pub(crate) fn config(key: &str, reason: impl Into<String>) -> Error {
        Error::Config {
            key: key.to_owned(),
            reason: reason.into(),
        }
    }

    /// Whether another host may do better. As with libpq, a server that refuses the user is the end of it: the next one would
    /// refuse, too, and the error that matters would be lost among others.
    pub(crate) fn is_about_one_host(&self) -> bool {
        match self {
            Error::Connect { cause, .. } => cause.is_about_one_host(),
            Error::Timeout { .. } | Error::Hosts(_) => true,
            _ => false,
        }
    }
}

fn joined(errors: &[Error]) -> String {
    let texts: Vec<String> = errors.iter().map(Error::to_string).collect();
    texts.join("; ")
}

//! What a status of etcd's means to a call: whether it may have taken place, whether another server may know better. Pure.
//! Rule: what is not known to have been refused before it was proposed may have taken place.

use tsumugi_rpc::GrpcCode;

use crate::error::{CallFate, Error};

use super::table::ENGINE;

/// What follows from a status.
#[derive(Debug)]
pub(super) enum StatusVerdict {
    /// Nothing took place; this server cannot now, another one may, or this one soon.
    Elsewhere,
    /// Nothing took place; a new token is needed.
    Authenticate,
    /// It may have taken place: a read is asked for again, elsewhere.
    Unknown,
    /// Nothing took place, and trying again does not help.
    Final(Error),
}

/// Texts of etcd's that are the same in every version; the codes alone do not tell them apart.
const NO_LEADER: &str = "etcdserver: no leader";
const TOO_MANY: &str = "etcdserver: too many requests";
const NO_SPACE: &str = "database space exceeded";
const LEASE_MISSING: &str = "requested lease not found";
const TOKEN_INVALID: &str = "invalid auth token";
const TOKEN_MISSING: &str = "user name is empty";
const TOKEN_OLD: &str = "revision of auth store is old";
/// Of a prefix that a user may not read; some versions say it of a token that has ended.
pub(super) const DENIED: &str = "permission denied";
const NOT_ENABLED: &str = "authentication is not enabled";

impl StatusVerdict {
    pub(super) fn of(code: GrpcCode, message: &str) -> StatusVerdict {
        let has = |text: &str| message.contains(text);
        if has(TOKEN_INVALID) || has(TOKEN_MISSING) || has(TOKEN_OLD) {
            return StatusVerdict::Authenticate;
        }
        let message = message.to_owned();
        match code {
            GrpcCode::Unavailable if message.contains(NO_LEADER) => StatusVerdict::Elsewhere,
            GrpcCode::ResourceExhausted if message.contains(TOO_MANY) => StatusVerdict::Elsewhere,
            GrpcCode::ResourceExhausted if message.contains(NO_SPACE) => {
                StatusVerdict::Final(Error::Full {
                    engine: ENGINE,
                    message,
                })
            }
            GrpcCode::PermissionDenied | GrpcCode::Unauthenticated => {
                StatusVerdict::Final(Error::Refused {
                    engine: ENGINE,
                    message,
                })
            }
            // Of a wrong password it says that an argument is invalid.
            GrpcCode::InvalidArgument if message.contains("authentication failed") => {
                StatusVerdict::Final(Error::Refused {
                    engine: ENGINE,
                    message,
                })
            }
            GrpcCode::InvalidArgument
            | GrpcCode::OutOfRange
            | GrpcCode::NotFound
            | GrpcCode::FailedPrecondition
            | GrpcCode::ResourceExhausted
            | GrpcCode::Unimplemented
            | GrpcCode::AlreadyExists => StatusVerdict::Final(Error::Server {
                engine: ENGINE,
                message,
                fate: CallFate::NotApplied,
            }),
            _ => StatusVerdict::Unknown,
        }
    }
}

/// Whether a watch may be refused because the token has ended, so that a new one helps.
pub(super) fn may_be_of_token(reason: &str) -> bool {
    let texts = [TOKEN_INVALID, TOKEN_MISSING, TOKEN_OLD, DENIED];
    texts.iter().any(|text| reason.contains(text))
}

/// Whether a write was refused because its lease is gone.
pub(super) fn is_lease_missing(error: &Error) -> bool {
    matches!(error, Error::Server { message, .. } if message.contains(LEASE_MISSING))
}

/// Whether a server has no use for a password, because it asks for none.
pub(super) fn needs_no_password(error: &Error) -> bool {
    matches!(error, Error::Server { message, .. } if message.contains(NOT_ENABLED))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(code: GrpcCode, message: &str, expected: &str) {
        let verdict = match StatusVerdict::of(code, message) {
            StatusVerdict::Final(error) => format!("{error}"),
            verdict => format!("{verdict:?}"),
        };
        assert!(verdict.contains(expected), "{message}: {verdict}");
    }

    #[test]
    fn status_says_whether_a_call_may_have_taken_place() {
        check(GrpcCode::Unavailable, "etcdserver: no leader", "Elsewhere");
        check(
            GrpcCode::Unavailable,
            "etcdserver: request timed out",
            "Unknown",
        );
        check(
            GrpcCode::Unavailable,
            "etcdserver: leader changed",
            "Unknown",
        );
        check(
            GrpcCode::Unavailable,
            "etcdserver: server stopped",
            "Unknown",
        );
        check(GrpcCode::Unknown, "raft proposal dropped", "Unknown");
        check(GrpcCode::Internal, "", "Unknown");
        check(
            GrpcCode::ResourceExhausted,
            "etcdserver: too many requests",
            "Elsewhere",
        );
        check(
            GrpcCode::ResourceExhausted,
            "etcdserver: mvcc: database space exceeded",
            "a store in etcd is full",
        );
        check(
            GrpcCode::InvalidArgument,
            "etcdserver: request is too large",
            "nothing was written",
        );
        check(
            GrpcCode::NotFound,
            "etcdserver: requested lease not found",
            "nothing was written",
        );
    }

    #[test]
    fn token_that_is_too_old_is_renewed_and_a_wrong_password_is_refused() {
        check(
            GrpcCode::Unauthenticated,
            "etcdserver: invalid auth token",
            "Authenticate",
        );
        check(
            GrpcCode::InvalidArgument,
            "etcdserver: user name is empty",
            "Authenticate",
        );
        check(
            GrpcCode::InvalidArgument,
            "etcdserver: revision of auth store is old",
            "Authenticate",
        );
        check(
            GrpcCode::InvalidArgument,
            "etcdserver: authentication failed, invalid user ID or password",
            "a store in etcd refused the call",
        );
        check(
            GrpcCode::PermissionDenied,
            "etcdserver: permission denied",
            "a store in etcd refused the call",
        );
    }
}

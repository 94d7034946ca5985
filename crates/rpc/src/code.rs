//! The codes of a call's status, which are gRPC's, and of a database's status, by name. Numbers are the wire contract.

use std::fmt;

/// The status code of a call, as gRPC numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum GrpcCode {
    /// The call succeeded.
    Ok = 0,
    /// The call was cancelled.
    Cancelled = 1,
    /// An error without a code of its own.
    Unknown = 2,
    /// The request is invalid, whatever the server's state.
    InvalidArgument = 3,
    /// The deadline passed first. The call may have taken place.
    DeadlineExceeded = 4,
    /// What the request names does not exist.
    NotFound = 5,
    /// What the request would create exists.
    AlreadyExists = 6,
    /// The caller may not do this.
    PermissionDenied = 7,
    /// A limit or a resource is used up.
    ResourceExhausted = 8,
    /// The server's state does not allow the call.
    FailedPrecondition = 9,
    /// Aborted by a conflict with another call.
    Aborted = 10,
    /// The request is beyond the valid range.
    OutOfRange = 11,
    /// The server does not have this call.
    Unimplemented = 12,
    /// An internal error of the server.
    Internal = 13,
    /// The server is unavailable. Retry later.
    Unavailable = 14,
    /// Data is lost or damaged.
    DataLoss = 15,
    /// The caller is not authenticated.
    Unauthenticated = 16,
}

const CODES: [GrpcCode; 17] = [
    GrpcCode::Ok,
    GrpcCode::Cancelled,
    GrpcCode::Unknown,
    GrpcCode::InvalidArgument,
    GrpcCode::DeadlineExceeded,
    GrpcCode::NotFound,
    GrpcCode::AlreadyExists,
    GrpcCode::PermissionDenied,
    GrpcCode::ResourceExhausted,
    GrpcCode::FailedPrecondition,
    GrpcCode::Aborted,
    GrpcCode::OutOfRange,
    GrpcCode::Unimplemented,
    GrpcCode::Internal,
    GrpcCode::Unavailable,
    GrpcCode::DataLoss,
    GrpcCode::Unauthenticated,
];

impl GrpcCode {
    /// The code with this number in decimal, as `grpc-status` has it; [`GrpcCode::Unknown`] for what means nothing here.
    pub(crate) fn of_bytes(digits: &[u8]) -> GrpcCode {
        let number = match digits {
            [one @ b'0'..=b'9'] => usize::from(one - b'0'),
            [b'1', one @ b'0'..=b'9'] => 10 + usize::from(one - b'0'),
            _ => return GrpcCode::Unknown,
        };
        CODES.get(number).copied().unwrap_or(GrpcCode::Unknown)
    }
}

/// How a database answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum TkrzwCode {
    /// Done.
    Success = 0,
    /// The status is unknown.
    Unknown = 1,
    /// The operating system failed.
    System = 2,
    /// There is no such operation.
    NotImplemented = 3,
    /// Not in this state.
    Precondition = 4,
    /// An argument that no database takes.
    InvalidArgument = 5,
    /// Called off.
    Canceled = 6,
    /// There is no record.
    NotFound = 7,
    /// Not allowed.
    Permission = 8,
    /// The comparison failed.
    Infeasible = 9,
    /// There is a record already.
    Duplication = 10,
    /// What is stored is damaged.
    BrokenData = 11,
    /// The network failed.
    Network = 12,
    /// The application failed.
    Application = 13,
}

const NAMES: [(TkrzwCode, &str); 14] = [
    (TkrzwCode::Success, "SUCCESS"),
    (TkrzwCode::Unknown, "UNKNOWN"),
    (TkrzwCode::System, "SYSTEM"),
    (TkrzwCode::NotImplemented, "NOT_IMPLEMENTED"),
    (TkrzwCode::Precondition, "PRECONDITION"),
    (TkrzwCode::InvalidArgument, "INVALID_ARGUMENT"),
    (TkrzwCode::Canceled, "CANCELED"),
    (TkrzwCode::NotFound, "NOT_FOUND"),
    (TkrzwCode::Permission, "PERMISSION"),
    (TkrzwCode::Infeasible, "INFEASIBLE"),
    (TkrzwCode::Duplication, "DUPLICATION"),
    (TkrzwCode::BrokenData, "BROKEN_DATA"),
    (TkrzwCode::Network, "NETWORK"),
    (TkrzwCode::Application, "APPLICATION"),
];

impl TkrzwCode {
    /// The code with this number on the wire; [`TkrzwCode::Unknown`] for numbers that mean nothing here.
    pub fn of(number: i32) -> TkrzwCode {
        NAMES
            .iter()
            .map(|(code, _)| *code)
            .find(|code| *code as i32 == number)
            .unwrap_or(TkrzwCode::Unknown)
    }
}

impl fmt::Display for TkrzwCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = NAMES.iter().find(|(code, _)| code == self);
        formatter.write_str(name.map_or("UNKNOWN", |(_, name)| name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_calls_are_those_of_the_wire() {
        for (number, code) in CODES.into_iter().enumerate() {
            assert_eq!(code as usize, number);
            assert_eq!(GrpcCode::of_bytes(number.to_string().as_bytes()), code);
        }
        for digits in ["", "x", "00", "01", "17", "20", "100", "-1"] {
            assert_eq!(
                GrpcCode::of_bytes(digits.as_bytes()),
                GrpcCode::Unknown,
                "{digits}"
            );
        }
    }

    #[test]
    fn codes_of_databases_are_those_of_the_wire() {
        for (number, (code, _)) in NAMES.iter().enumerate() {
            assert_eq!(*code as i32, number as i32);
            assert_eq!(TkrzwCode::of(number as i32), *code);
        }
        assert_eq!(TkrzwCode::of(-1), TkrzwCode::Unknown);
        assert_eq!(TkrzwCode::of(14), TkrzwCode::Unknown);
    }
}

//! The codes of a database's status, by name. Numbers are the wire contract.

use std::fmt;

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
    fn codes_are_those_of_the_wire() {
        for (number, (code, _)) in NAMES.iter().enumerate() {
            assert_eq!(*code as i32, number as i32);
            assert_eq!(TkrzwCode::of(number as i32), *code);
        }
        assert_eq!(TkrzwCode::of(-1), TkrzwCode::Unknown);
        assert_eq!(TkrzwCode::of(14), TkrzwCode::Unknown);
    }
}

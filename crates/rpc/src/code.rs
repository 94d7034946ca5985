//! The codes of a database's status, by name. Numbers are the wire contract.

use std::fmt;

/// How a database answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum Code {
    /// Done.
    Success = 0,
    /// Nobody knows.
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

const NAMES: [(Code, &str); 14] = [
    (Code::Success, "SUCCESS"),
    (Code::Unknown, "UNKNOWN"),
    (Code::System, "SYSTEM"),
    (Code::NotImplemented, "NOT_IMPLEMENTED"),
    (Code::Precondition, "PRECONDITION"),
    (Code::InvalidArgument, "INVALID_ARGUMENT"),
    (Code::Canceled, "CANCELED"),
    (Code::NotFound, "NOT_FOUND"),
    (Code::Permission, "PERMISSION"),
    (Code::Infeasible, "INFEASIBLE"),
    (Code::Duplication, "DUPLICATION"),
    (Code::BrokenData, "BROKEN_DATA"),
    (Code::Network, "NETWORK"),
    (Code::Application, "APPLICATION"),
];

impl Code {
    /// The code with this number on the wire; [`Code::Unknown`] for numbers that mean nothing here.
    pub fn of(number: i32) -> Code {
        NAMES
            .iter()
            .map(|(code, _)| *code)
            .find(|code| *code as i32 == number)
            .unwrap_or(Code::Unknown)
    }
}

impl fmt::Display for Code {
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
            assert_eq!(Code::of(number as i32), *code);
        }
        assert_eq!(Code::of(-1), Code::Unknown);
        assert_eq!(Code::of(14), Code::Unknown);
    }
}

//! What is known of a statement whose answer did not come, and how it is said. Decides nothing.
//! Rule: it is never said that a statement did not run unless that is certain.

use std::fmt;

/// What is known of a statement whose answer did not come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatementOutcome {
    /// It was not sent.
    NotSent,
    /// It was undone, together with the transaction that it belongs to.
    RolledBack,
    /// It may have run, or not; a script or a procedure may have run in part.
    Unknown,
}

impl fmt::Display for StatementOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            StatementOutcome::NotSent => "the statement was not sent",
            StatementOutcome::RolledBack => "its transaction was rolled back",
            StatementOutcome::Unknown => "the statement may or may not have run",
        })
    }
}

impl StatementOutcome {
    /// What the error of a statement that was given up adds.
    pub(crate) fn addition(self) -> &'static str {
        match self {
            StatementOutcome::Unknown => " and may or may not have run",
            StatementOutcome::NotSent | StatementOutcome::RolledBack => "",
        }
    }

    /// The same behind another's words.
    pub(crate) fn clause(self) -> &'static str {
        match self {
            StatementOutcome::Unknown => "; the statement may or may not have run",
            StatementOutcome::NotSent | StatementOutcome::RolledBack => "",
        }
    }
}

//! What a transaction does next, before it is SQL: with a statement, and with a savepoint. Knows no transaction.
//! Rule: a name is enough to make each command of a savepoint.

/// What becomes of a statement.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum NextStep {
    /// It runs.
    Run,
    /// It is left out, as if it had found nothing: only Firebird leaves any out.
    #[cfg(feature = "firebird")]
    Skip,
}

/// What is done with a savepoint.
#[derive(Clone, Copy)]
pub(crate) enum SavepointCommand {
    /// It is made.
    Set,
    /// It ends, and what was done since stays a part of the transaction.
    Release,
    /// It ends, and what was done since is undone.
    RollBack,
}

/// What a savepoint can be called on the server: by its number or by its depth, as the backend chooses.
#[derive(Clone, Copy)]
pub(crate) struct SavepointName {
    /// No other savepoint of the transaction has it, also none that has ended.
    pub(crate) number: u32,
    /// How many savepoints there are around it, counting it. A later one may have the same.
    pub(crate) depth: usize,
}

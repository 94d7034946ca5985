//! What a transaction does next, before it is SQL: with a statement, and with a savepoint. Knows no transaction.
//! Rule: a name is enough to make each command of a savepoint.

/// What becomes of a statement.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum NextStep {
    Run,
    /// It is left out, as if it had found nothing.
    Skip,
}

#[derive(Clone, Copy)]
pub(crate) enum SavepointCommand {
    Set,
    Release,
    RollBack,
}

/// What a savepoint can be called on the server.
#[derive(Clone, Copy)]
pub(crate) struct SavepointName {
    /// No other one of the transaction has it.
    pub(crate) number: u32,
    /// How many there are around it, counting it: a later one may have the same.
    pub(crate) depth: usize,
}

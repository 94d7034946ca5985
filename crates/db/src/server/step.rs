//! What a transaction does next, before it is SQL: with a statement, and with a savepoint. Knows no transaction.
//! Rule: a name is enough to make each command of a savepoint.

/// What becomes of a statement.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum NextStep {
    Run,
    /// It is left out, as if it had found nothing.
    #[cfg(feature = "firebird")]
    Skip,
}

#[derive(Clone, Copy)]
pub(crate) enum SavepointCommand {
    Set,
    Release,
    RollBack,
}

/// What a savepoint can be called on the server: see [`Transactional::savepoint_sql`](super::Transactional::savepoint_sql).
#[derive(Clone, Copy)]
pub(crate) struct SavepointName {
    pub(crate) number: u32,
    pub(crate) depth: usize,
}

//! What a statement changed, on whatever database.

/// What a statement changed.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExecuteResult {
    /// Rows inserted, updated or deleted by the statement itself, not by its triggers or foreign key actions.
    pub affected: u64,
    /// The rowid of the last row that the statement inserted. None if it inserted none or the table has no rowid.
    pub last_insert_id: Option<i64>,
}

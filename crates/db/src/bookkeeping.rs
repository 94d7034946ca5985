//! What a statement is for: the author's code, or the product's questions about the catalog and its own tables. Knows no driver.
//! Rule: it says how loudly a statement is logged, and nothing else.

tokio::task_local! {
    /// There while a future of [`bookkeeping`] is polled.
    static BOOKKEEPING: ();
}

/// What a statement is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StatementPurpose {
    /// For the code of the application's author.
    Application,
    /// For the product itself.
    Bookkeeping,
}

impl StatementPurpose {
    /// That of the statements that are asked for here.
    pub(crate) fn current() -> StatementPurpose {
        match BOOKKEEPING.try_with(|()| ()) {
            Ok(()) => StatementPurpose::Bookkeeping,
            Err(_) => StatementPurpose::Application,
        }
    }
}

/// Runs statements that no author has written: questions about the catalog, notes of migrations, the tables of jobs. They are logged at level trace
/// instead of debug.
pub fn bookkeeping<T>(statements: impl Future<Output = T>) -> impl Future<Output = T> {
    BOOKKEEPING.scope((), statements)
}

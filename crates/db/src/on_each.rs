//! One call on whichever database it is. Knows no type: the enums of databases, transactions, savepoints and streams all have these variants.
//! Rule: a driver that is added is added here. The compiler then names each of these enums that lacks it, and once they have it each match of one in this
//! crate, because none has an arm for all others: what PostgreSQL alone has goes by `as_postgres` of `Database` and `Transaction`. What the compiler
//! cannot name is listed in `CONTRIBUTING.md`.

/// Calls the same on whichever it is; with `$of => $to`, what comes of it becomes the same variant of the enum `$to`. A call that Firebird has in place of
/// the common one stands at the end.
macro_rules! on_database {
    ($of:ident, $it:expr, $inner:ident => $call:expr) => {
        on_database!($of, $it, $inner => $call; Firebird => $call)
    };
    ($of:ident, $it:expr, $inner:ident => $call:expr; Firebird => $firebird:expr) => {
        match $it {
            $of::Sqlite($inner) => $call,
            $of::Postgres($inner) => $call,
            #[cfg(feature = "firebird")]
            $of::Firebird($inner) => $firebird,
        }
    };
    ($of:ident => $to:ident, $it:expr, $inner:ident => $call:expr) => {
        match $it {
            $of::Sqlite($inner) => $call.map($to::Sqlite),
            $of::Postgres($inner) => $call.map($to::Postgres),
            #[cfg(feature = "firebird")]
            $of::Firebird($inner) => $call.map($to::Firebird),
        }
    };
}
pub(crate) use on_database;

/// Calls the same on whichever server it is; what is done with SQLite in its place stands first.
macro_rules! on_server {
    ($of:ident, $it:expr, Sqlite($own:pat) => $sqlite:expr, $inner:ident => $call:expr) => {
        match $it {
            $of::Sqlite($own) => $sqlite,
            $of::Postgres($inner) => $call,
            #[cfg(feature = "firebird")]
            $of::Firebird($inner) => $call,
        }
    };
}
pub(crate) use on_server;

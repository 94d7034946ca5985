//! One call on whichever database it is. Knows no type: the enums of databases, transactions, savepoints and streams all have these variants.
//! Rule: a driver that is added is added here, and the compiler names each enum that lacks it.

/// Calls the same on whichever it is; with `=>`, what comes of it becomes a variant too. Where Firebird's call is another one it stands at the end.
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

/// Calls the same on whichever server it is; SQLite's call is another one, which stands before.
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

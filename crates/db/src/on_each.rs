//! One call on whichever database it is. Knows no type: the enums of databases, transactions, savepoints and streams all have these variants.
//! Rule: a driver that is added is added here, and the compiler names each enum that lacks it.

/// Calls the same on whichever it is; with `=>`, what comes of it becomes a variant too.
macro_rules! on_database {
    ($of:ident, $it:expr, $inner:ident => $call:expr) => {
        match $it {
            $of::Sqlite($inner) => $call,
            $of::Postgres($inner) => $call,
            $of::Firebird($inner) => $call,
        }
    };
    ($of:ident => $to:ident, $it:expr, $inner:ident => $call:expr) => {
        match $it {
            $of::Sqlite($inner) => $call.map($to::Sqlite),
            $of::Postgres($inner) => $call.map($to::Postgres),
            $of::Firebird($inner) => $call.map($to::Firebird),
        }
    };
}
pub(crate) use on_database;

//! Handles: the numbers by which the server knows what it has open for a connection. No state of what is open.
//! Rule: a handle of one kind cannot be passed for another.

/// What stands for the object that the connection created last, where the protocol allows that.
const LAST: u32 = 0xffff;

macro_rules! handles {
    ($($(#[$about:meta])* $name:ident;)*) => {
        $(
            $(#[$about])*
            #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
            pub struct $name(pub u32);
        )*
    };
}

handles! {
    /// An attached database.
    Database;
    /// An open transaction.
    Transaction;
    /// An allocated statement. The server gives the lowest number that is free, from 1, to whatever is created.
    Statement;
    /// An open blob. Not its id, which names what is stored.
    Blob;
}

impl Statement {
    /// The one that was allocated last, for preparing and describing in one write with it. Executing it by this number would end the connection.
    pub const LAST: Self = Self(LAST);
}

impl Transaction {
    /// The one that was begun last, for a statement executed in one write with it. Where none is begun, the object created before is the
    /// last: if that may be a transaction, allocate a statement in between.
    pub const LAST: Self = Self(LAST);
}

impl Blob {
    /// The one that was opened last, for reading and closing in one write with it. Where none is opened, the object created before is the
    /// last: if that may be a blob, allocate a statement in between.
    pub const LAST: Self = Self(LAST);
}

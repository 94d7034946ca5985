//! A transaction that is open on its connection, and with which parameters. Rule: the locks that were taken for it end after it, and
//! before the pool gets the connection.

use std::cell::RefCell;

use tsumugi_firebird::{
    Access as ServerAccess, Isolation as ServerIsolation, Transaction,
    TransactionOptions as Parameters,
};

use super::link::Link;
use super::settings;
use crate::options::{Access, Isolation, Options, TransactionOptions};
use crate::server::connections::Exclusive;

/// An open transaction on its connection. What it consists of is dropped in this order, also what is left when the transaction was taken out to
/// be ended.
pub(crate) struct OpenTransaction {
    pub(super) transaction: Transaction,
    pub(super) locks: Locks,
    pub(super) connection: Exclusive<Link>,
}

/// Other transactions on the same connection, each of which holds a row of the table of locks.
pub(super) type Locks = RefCell<Vec<Transaction>>;

impl OpenTransaction {
    pub(super) fn new(transaction: Transaction, connection: Exclusive<Link>) -> OpenTransaction {
        OpenTransaction {
            transaction,
            locks: Locks::default(),
            connection,
        }
    }
}

/// The parameters that begin a transaction.
pub(super) fn parameters(options: &Options, transaction: &TransactionOptions) -> Parameters {
    let isolation = match transaction.isolation {
        Isolation::Default | Isolation::ReadCommitted => ServerIsolation::ReadCommitted,
        // The server's own serializable ones reserve whole tables, and never get one that a shared connection of any process has
        // used. Ours take turns.
        Isolation::RepeatableRead | Isolation::Serializable => ServerIsolation::Snapshot,
    };
    Parameters {
        isolation,
        access: match transaction.access {
            Access::ReadWrite => ServerAccess::ReadWrite,
            Access::ReadOnly => ServerAccess::ReadOnly,
        },
        wait: settings::wait(options),
        ..Parameters::default()
    }
}

//! What the driver keeps for one connection, and how groups of requests are written on it. Knows no socket and no SQL.
//! Rule: a group of requests goes into the send buffer whole or not at all, and the server answers in the order of that buffer.

use std::cell::RefCell;

use bytes::BytesMut;
use tsumugi_firebird_proto::connection::{Connection as Queue, Expect};
use tsumugi_firebird_proto::handle::{Blob, Database, Statement, Transaction};
use tsumugi_firebird_proto::limits::PIPELINE_MAX;
use tsumugi_firebird_proto::request::Free;
use tsumugi_firebird_proto::{Misuse, Requests, Version};
use tsumugi_wire::{FlushMode, Loss, Pipeline, Ticket};

use super::answer::{Effect, Orphan, Token};
use super::ends::{EndedTransactions, TransactionEpoch};
use crate::automatic::Automatic;
use crate::cache::Cache;
use crate::connect::Connector;
use crate::error::Result;
use crate::limits;
use crate::listening::Listening;
use crate::spares::SpareTransactions;

/// Of requests whose answers no caller takes.
const NO_CALLER: Ticket = Ticket::MAX;

const UNCLEAN: &str = "it could not be made clean and was closed";

/// What the driver keeps for one connection.
pub(crate) struct FirebirdDriver {
    pub(crate) database: Database,
    pub(crate) version: Version,
    pub(crate) connector: Connector,
    pub(super) queue: RefCell<Queue<Token>>,
    /// What a group of requests that is being written expects.
    expected: RefCell<Vec<Expectation>>,
    pub(crate) listening: Listening,
    pub(crate) cache: RefCell<Cache>,
    /// Statements that were allocated and have no text.
    unused: RefCell<Vec<Statement>>,
    ends: RefCell<EndedTransactions>,
    pub(crate) automatic: Automatic,
    pub(crate) spares: SpareTransactions,
}

/// Where a reply goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReplyTarget {
    Caller,
    None,
}

/// What one request of a group expects.
pub(super) struct Expectation {
    target: ReplyTarget,
    effect: Effect,
    answer: Expect,
}

/// What a function of [`Requests`] gives: nothing where what it writes cannot be wrong.
pub(crate) trait Fallible {
    fn checked(self) -> Result<(), Misuse>;
}

impl Fallible for () {
    fn checked(self) -> Result<(), Misuse> {
        Ok(())
    }
}

impl Fallible for Result<(), Misuse> {
    fn checked(self) -> Result<(), Misuse> {
        self
    }
}

/// Writes one group of requests.
pub(crate) struct Writer<'a> {
    out: &'a mut BytesMut,
    expected: &'a mut Vec<Expectation>,
    database: Database,
    version: Version,
}

impl Writer<'_> {
    /// The attached database.
    pub(crate) fn database(&self) -> Database {
        self.database
    }

    /// One request whose answer the caller wants.
    pub(crate) fn ask<W: Fallible>(
        &mut self,
        expect: Expect,
        write: impl FnOnce(&mut Requests<'_>) -> W,
    ) -> Result<()> {
        self.put(ReplyTarget::Caller, Effect::Nothing, expect, write)
    }

    /// The same of one whose effect has to be undone if the caller leaves before its answer.
    pub(crate) fn ask_to<W: Fallible>(
        &mut self,
        effect: Effect,
        expect: Expect,
        write: impl FnOnce(&mut Requests<'_>) -> W,
    ) -> Result<()> {
        self.put(ReplyTarget::Caller, effect, expect, write)
    }

    /// One request whose answer no caller takes.
    pub(crate) fn ask_unawaited<W: Fallible>(
        &mut self,
        expect: Expect,
        write: impl FnOnce(&mut Requests<'_>) -> W,
    ) -> Result<()> {
        self.put(ReplyTarget::None, Effect::Nothing, expect, write)
    }

    /// Commits a transaction. If the server refuses that, it is rolled back.
    pub(crate) fn register_commit(&mut self, transaction: Transaction) -> Result<()> {
        let effect = Effect::Commits(transaction);
        self.put(ReplyTarget::None, effect, Expect::Response, |requests| {
            requests.commit(transaction)
        })
    }

    /// Begins a transaction for the next statement that needs one of its own.
    pub(crate) fn begin_spare<W: Fallible>(
        &mut self,
        write: impl FnOnce(&mut Requests<'_>) -> W,
    ) -> Result<()> {
        let effect = Effect::BeginsSpare;
        self.put(ReplyTarget::None, effect, Expect::Response, write)
    }

    /// Makes the last object a statement that no caller has. Where the next request creates nothing, this still is the last object, and a request that
    /// names that as a blob or a transaction is refused: it is never another caller's. The next text is prepared in it.
    pub(crate) fn guard_last(&mut self) -> Result<()> {
        let database = self.database;
        let effect = Effect::Guards;
        self.put(ReplyTarget::None, effect, Expect::Deferred, |requests| {
            requests.allocate_statement(database)
        })
    }

    fn put<W: Fallible>(
        &mut self,
        target: ReplyTarget,
        effect: Effect,
        answer: Expect,
        write: impl FnOnce(&mut Requests<'_>) -> W,
    ) -> Result<()> {
        write(&mut Requests::new(self.out, self.version)).checked()?;
        self.expected.push(Expectation {
            target,
            effect,
            answer,
        });
        Ok(())
    }
}

impl FirebirdDriver {
    pub(super) fn new(
        connector: &Connector,
        database: Database,
        version: Version,
    ) -> FirebirdDriver {
        FirebirdDriver {
            database,
            version,
            connector: connector.clone(),
            queue: RefCell::new(Queue::new()),
            expected: RefCell::default(),
            listening: Listening::default(),
            cache: RefCell::new(Cache::new(connector.config().statement_cache)),
            unused: RefCell::default(),
            ends: RefCell::default(),
            automatic: Automatic::default(),
            spares: SpareTransactions::default(),
        }
    }

    /// Writes a group of requests for `ticket`: all of it or nothing.
    pub(super) fn write(
        wire: &Pipeline<FirebirdDriver>,
        ticket: Ticket,
        write: impl FnOnce(&mut Writer<'_>) -> Result<()>,
    ) -> Result<()> {
        let driver = &wire.driver;
        wire.request(1, FlushMode::Now, |out| {
            let mut expected = driver.expected.borrow_mut();
            expected.clear();
            let mut writer = Writer {
                out,
                expected: &mut expected,
                database: driver.database,
                version: driver.version,
            };
            write(&mut writer)?;
            FirebirdDriver::expect(wire, ticket, &mut expected)
        })
    }

    fn expect(
        wire: &Pipeline<FirebirdDriver>,
        ticket: Ticket,
        expected: &mut Vec<Expectation>,
    ) -> Result<()> {
        let mut queue = wire.driver.queue.borrow_mut();
        if queue.awaited() + expected.len() > PIPELINE_MAX {
            return Err(Misuse::PipelineFull.into());
        }
        let mut wanted = 0;
        for Expectation {
            target,
            effect,
            answer,
        } in expected.drain(..)
        {
            let ticket = match target {
                ReplyTarget::Caller => {
                    wanted += 1;
                    ticket
                }
                ReplyTarget::None => NO_CALLER,
            };
            queue.expect(Token { ticket, effect }, answer)?;
            if let Effect::Commits(ended) | Effect::RollsBack(ended) = effect {
                wire.driver.ends.borrow_mut().end(ended);
            }
        }
        wire.expect(ticket, wanted);
        Ok(())
    }

    /// Writes requests whose answers no caller takes. If nothing can be sent now, the connection ends instead.
    pub(super) fn send_unawaited(
        wire: &Pipeline<FirebirdDriver>,
        write: impl FnOnce(&mut Writer<'_>) -> Result<()>,
    ) {
        if FirebirdDriver::write(wire, NO_CALLER, write).is_err() {
            wire.lose(Loss::aborted(UNCLEAN));
        }
    }

    /// Rolls a transaction back that no longer has an owner. A request to cancel may hit the rollback: then it is sent again.
    pub(super) fn roll_back(wire: &Pipeline<FirebirdDriver>, transaction: Transaction) {
        let ticket = wire.open_abandoned();
        let written = FirebirdDriver::write(wire, ticket, |writer| {
            let effect = Effect::RollsBack(transaction);
            writer.ask_to(effect, Expect::Response, |requests| {
                requests.rollback(transaction)
            })
        });
        if written.is_err() {
            wire.close(ticket);
            wire.lose(Loss::aborted(UNCLEAN));
        }
    }

    /// Undoes what was done for a caller who has gone.
    pub(super) fn undo(wire: &Pipeline<FirebirdDriver>, orphan: Orphan) {
        match orphan {
            Orphan::Spare(begun) => wire.driver.spares.register_begun(begun.map(Transaction)),
            Orphan::Transaction(handle) => FirebirdDriver::roll_back(wire, Transaction(handle)),
            Orphan::Statement(handle) => FirebirdDriver::send_unawaited(wire, |writer| {
                writer.ask_unawaited(Expect::Deferred, |requests| {
                    requests.free_statement(Statement(handle), Free::Drop)
                })
            }),
            Orphan::Guard(handle) => FirebirdDriver::keep_unused(wire, Statement(handle)),
            // The end of its transaction closes it, and its number may be another's when a request of ours arrives.
            Orphan::Blob(_, epoch) if !wire.driver.is_open(epoch) => {}
            Orphan::Blob(handle, _) => FirebirdDriver::send_unawaited(wire, |writer| {
                writer.ask_unawaited(Expect::Response, |requests| {
                    requests.cancel_blob(Blob(handle))
                })
            }),
        }
    }

    /// A transaction as it is now.
    pub(crate) fn epoch(&self, transaction: Transaction) -> TransactionEpoch {
        self.ends.borrow().epoch(transaction)
    }

    /// Whether nothing that ends it has been written since.
    pub(crate) fn is_open(&self, epoch: TransactionEpoch) -> bool {
        self.ends.borrow().is_open(epoch)
    }

    /// A statement that was allocated and has no text, if there is one.
    pub(crate) fn take_unused(&self) -> Option<Statement> {
        self.unused.borrow_mut().pop()
    }

    /// Keeps one for the next statement that is prepared. Many are freed at once, which is one write.
    fn keep_unused(wire: &Pipeline<FirebirdDriver>, statement: Statement) {
        let mut unused = wire.driver.unused.borrow_mut();
        unused.push(statement);
        if unused.len() < limits::UNUSED_STATEMENTS_MAX {
            return;
        }
        let gone = std::mem::take(&mut *unused);
        drop(unused);
        FirebirdDriver::send_unawaited(wire, |writer| {
            for statement in gone {
                writer.ask_unawaited(Expect::Deferred, |requests| {
                    requests.free_statement(statement, Free::Drop)
                })?;
            }
            Ok(())
        });
    }
}

//! One connection: requests are written into one buffer, one task sends them and reads the answers. Knows no SQL.
//! Rule: a group of requests goes into the buffer whole or not at all, and the server answers in the order of the buffer.

mod asked;
mod cancel;
mod ends;
mod lost;
mod open;
mod outbox;
mod pump;
mod slots;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::task::{Poll, Waker};
use std::time::Duration;

use bytes::BytesMut;
use tokio::time::Instant;
use tsumugi_firebird_proto::connection::{Connection as Protocol, Expect};
use tsumugi_firebird_proto::handle::{Blob, Database, Statement, Transaction};
use tsumugi_firebird_proto::request::Free;
use tsumugi_firebird_proto::{Misuse, Requests, Version};

use self::ends::Ends;
use self::outbox::Outbox;
use self::slots::{NOBODY, Orphan, Slots, Ticket, Token};
use crate::automatic::Automatic;
use crate::cache::Cache;
use crate::connect::Connector;
use crate::error::{Error, Result, StatementFate};
use crate::events::Listening;
use crate::limits;
use crate::single::Singles;

pub(crate) use self::asked::Asked;
pub(crate) use self::ends::Within;
pub(crate) use self::lost::Lost;
pub(crate) use self::slots::{Answer, Effect};

/// A connection. Clones are the same connection; it ends when the last one has gone and nobody waits for an answer.
#[derive(Clone)]
pub struct Connection(pub(crate) Rc<Shared>);

pub(crate) struct Shared {
    pub(crate) database: Database,
    pub(crate) version: Version,
    pub(crate) connector: Connector,
    protocol: RefCell<Protocol<Token>>,
    out: RefCell<Outbox>,
    slots: RefCell<Slots>,
    /// What a group of requests that is being written expects.
    expected: RefCell<Vec<Expected>>,
    /// Bytes that went in either direction, since the beginning.
    moved: Cell<u64>,
    /// When somebody last asked for how long the server is silent: bytes in both directions, and since when it was so many.
    progress: Cell<(u64, Instant)>,
    pump: Cell<Option<Waker>>,
    /// The pump is to look again; it need not be woken a second time.
    rung: Cell<bool>,
    /// Callers waiting until the buffer has room.
    room: RefCell<Vec<Waker>>,
    /// Nothing but a request to cancel is written.
    held: Cell<bool>,
    /// A request to cancel is to be written.
    cancelling: Cell<bool>,
    /// A task looks after answers that nobody waits for.
    watching_abandoned: Cell<bool>,
    /// The handles are gone.
    closing: Cell<bool>,
    lost: RefCell<Option<Lost>>,
    pub(crate) listening: Listening,
    pub(crate) cache: RefCell<Cache>,
    /// Statements that were allocated and have no text.
    unused: RefCell<Vec<Statement>>,
    ends: RefCell<Ends>,
    pub(crate) automatic: Automatic,
    pub(crate) single: Singles,
}

/// Who wants an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whose {
    Caller,
    Nobody,
}

/// What one request of a group expects.
struct Expected {
    whose: Whose,
    effect: Effect,
    answer: Expect,
}

/// Writes one group of requests.
pub(crate) struct Writer<'a> {
    out: &'a mut BytesMut,
    expected: &'a mut Vec<Expected>,
    database: Database,
    version: Version,
}

impl Writer<'_> {
    /// The attached database.
    pub(crate) fn database(&self) -> Database {
        self.database
    }

    /// One request whose answer the caller wants.
    pub(crate) fn ask(
        &mut self,
        expect: Expect,
        write: impl FnOnce(&mut Requests<'_>) -> Result<(), Misuse>,
    ) -> Result<()> {
        self.put(Whose::Caller, Effect::Nothing, expect, write)
    }

    /// The same of one whose effect has to be undone if the caller leaves before its answer.
    pub(crate) fn ask_to(
        &mut self,
        effect: Effect,
        expect: Expect,
        write: impl FnOnce(&mut Requests<'_>) -> Result<(), Misuse>,
    ) -> Result<()> {
        self.put(Whose::Caller, effect, expect, write)
    }

    /// One request whose answer nobody wants.
    pub(crate) fn tell(
        &mut self,
        expect: Expect,
        write: impl FnOnce(&mut Requests<'_>) -> Result<(), Misuse>,
    ) -> Result<()> {
        self.put(Whose::Nobody, Effect::Nothing, expect, write)
    }

    /// Commits a transaction. If the server refuses that, it is rolled back.
    pub(crate) fn tell_commit(&mut self, transaction: Transaction) -> Result<()> {
        let effect = Effect::Commits(transaction);
        self.put(Whose::Nobody, effect, Expect::Response, |requests| {
            requests.commit(transaction);
            Ok(())
        })
    }

    /// Begins a transaction for the next statement that needs one of its own.
    pub(crate) fn begin_spare(
        &mut self,
        write: impl FnOnce(&mut Requests<'_>) -> Result<(), Misuse>,
    ) -> Result<()> {
        let effect = Effect::BeginsSpare;
        self.put(Whose::Nobody, effect, Expect::Response, write)
    }

    /// Makes the last object a statement that nobody has. Where the next request creates nothing, this still is the last object, and whoever
    /// names that as a blob or a transaction is refused: it is never somebody else's. The next text is prepared in it.
    pub(crate) fn guard_last(&mut self) -> Result<()> {
        let database = self.database;
        let effect = Effect::Guards;
        self.put(Whose::Nobody, effect, Expect::Deferred, |requests| {
            requests.allocate_statement(database);
            Ok(())
        })
    }

    fn put(
        &mut self,
        whose: Whose,
        effect: Effect,
        answer: Expect,
        write: impl FnOnce(&mut Requests<'_>) -> Result<(), Misuse>,
    ) -> Result<()> {
        write(&mut Requests::new(self.out, self.version))?;
        self.expected.push(Expected {
            whose,
            effect,
            answer,
        });
        Ok(())
    }
}

impl Connection {
    /// Whether statements can be sent.
    pub fn is_open(&self) -> bool {
        self.is_alive() && !self.0.held.get()
    }

    pub(crate) fn is_alive(&self) -> bool {
        self.0.lost.borrow().is_none()
    }

    /// How many answers are awaited, those included that the server keeps until it answers something else.
    pub fn awaited(&self) -> usize {
        self.0.protocol.borrow().awaited()
    }

    /// Since when the oldest request has been waiting for its answer.
    pub fn unanswered_since(&self) -> Option<Instant> {
        let protocol = self.0.protocol.borrow();
        let oldest = protocol.next().filter(|_| protocol.will_answer())?;
        self.0.slots.borrow().asked_at(oldest.ticket)
    }

    /// Since when the server has owed an answer without a byte going in either direction. It owes none while it waits for its
    /// client, as for somebody who reads rows slowly. As exact as this is called often.
    pub fn silent_since(&self) -> Option<Instant> {
        let protocol = self.0.protocol.borrow();
        let owes = protocol.will_answer()
            && protocol
                .next()
                .is_some_and(|oldest| !self.0.slots.borrow().has_news(oldest.ticket));
        let bytes = self.0.moved.get();
        let (before, since) = self.0.progress.get();
        if owes && bytes == before {
            return Some(since);
        }
        let now = Instant::now();
        self.0.progress.set((bytes, now));
        owes.then_some(now)
    }

    /// Waits until the answers to everything sent so far have come. Afterwards the connection is clean, or it has ended.
    pub async fn reset(&self) {
        let settled = tokio::time::timeout(limits::RESET_TIMEOUT, self.0.settled()).await;
        if settled.is_err() {
            self.abort("it could not be made clean in time and was closed");
        }
    }

    /// Ends the connection; whoever waits for an answer gets an error with this reason.
    pub fn abort(&self, reason: &'static str) {
        self.0.lose(Lost::aborted(reason));
    }

    /// Waits for an answer that means nothing but that the server is there.
    ///
    /// # Errors
    /// [`Error::Lost`].
    pub async fn ping(&self) -> Result<()> {
        let mut asked = self.ask(|writer| {
            writer.ask(Expect::Response, |requests| {
                requests.ping();
                Ok(())
            })
        })?;
        asked.response().await.map(drop)
    }

    /// Writes one group of requests.
    ///
    /// # Errors
    /// [`Error::Lost`], [`Error::Usage`]; nothing was written.
    pub(crate) fn ask(&self, write: impl FnOnce(&mut Writer<'_>) -> Result<()>) -> Result<Asked> {
        let offset = self.0.out.borrow().end();
        let ticket = self.0.slots.borrow_mut().open(offset);
        // Dropped on failure, it gives the place back.
        let asked = Asked::new(Rc::clone(&self.0), ticket);
        self.0.write(ticket, write)?;
        Ok(asked)
    }

    /// Writes a group of requests whose answers nobody wants. If nothing can be sent now, the connection ends instead.
    pub(crate) fn tell(&self, write: impl FnOnce(&mut Writer<'_>) -> Result<()>) {
        self.0.told(write);
    }

    /// Waits until the buffer for what is to be sent has room, so that it stays bounded when the server does not read.
    pub(crate) async fn room(&self) {
        std::future::poll_fn(|cx| {
            if self.0.out.borrow().bytes.len() < limits::OUT_BYTES_MAX || !self.is_alive() {
                return Poll::Ready(());
            }
            self.0.room.borrow_mut().push(cx.waker().clone());
            Poll::Pending
        })
        .await;
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.0.let_go(2);
    }
}

impl Shared {
    /// Writes a group of requests for `ticket`: all of it or nothing.
    fn write(
        &self,
        ticket: Ticket,
        write: impl FnOnce(&mut Writer<'_>) -> Result<()>,
    ) -> Result<()> {
        if let Some(lost) = &*self.lost.borrow() {
            return Err(Error::lost(lost, StatementFate::No));
        }
        let mut out = self.out.borrow_mut();
        let mut expected = self.expected.borrow_mut();
        expected.clear();
        let start = out.bytes.len();
        let mut writer = Writer {
            out: &mut out.bytes,
            expected: &mut expected,
            database: self.database,
            version: self.version,
        };
        let written = write(&mut writer).and_then(|()| self.expect(ticket, &mut expected));
        if let Err(error) = written {
            out.bytes.truncate(start);
            return Err(error);
        }
        let count = out.bytes.len() - start;
        out.appended(count);
        drop(out);
        self.ring();
        Ok(())
    }

    fn expect(&self, ticket: Ticket, expected: &mut Vec<Expected>) -> Result<()> {
        let mut protocol = self.protocol.borrow_mut();
        if protocol.awaited() + expected.len() > tsumugi_firebird_proto::limits::PIPELINE_MAX {
            return Err(Misuse::PipelineFull.into());
        }
        let mut wanted = 0;
        for Expected {
            whose,
            effect,
            answer,
        } in expected.drain(..)
        {
            let ticket = match whose {
                Whose::Caller => {
                    wanted += 1;
                    ticket
                }
                Whose::Nobody => NOBODY,
            };
            protocol.expect(Token { ticket, effect }, answer)?;
            if let Effect::Commits(ended) | Effect::RollsBack(ended) = effect {
                self.ends.borrow_mut().end(ended);
            }
        }
        self.slots.borrow_mut().expect(ticket, wanted);
        Ok(())
    }

    /// Writes requests whose answers nobody wants. If nothing can be sent now, the connection ends instead.
    fn told(&self, write: impl FnOnce(&mut Writer<'_>) -> Result<()>) {
        if self.write(NOBODY, write).is_err() {
            self.lose(Lost::aborted("it could not be made clean and was closed"));
        }
    }

    /// Rolls a transaction back that nobody owns any more. A request to cancel may hit the rollback: then it is asked again.
    pub(crate) fn roll_back(&self, transaction: Transaction) {
        let offset = self.out.borrow().end();
        let ticket = self.slots.borrow_mut().open_abandoned(offset);
        let written = self.write(ticket, |writer| {
            let effect = Effect::RollsBack(transaction);
            writer.ask_to(effect, Expect::Response, |requests| {
                requests.rollback(transaction);
                Ok(())
            })
        });
        if written.is_err() {
            self.slots.borrow_mut().leave(ticket);
            self.lose(Lost::aborted("it could not be made clean and was closed"));
        }
    }

    /// Undoes what was done for a caller who has gone.
    fn undo(&self, orphan: Orphan) {
        match orphan {
            Orphan::Spare(begun) => self.single.came(begun.map(Transaction)),
            Orphan::Transaction(handle) => self.roll_back(Transaction(handle)),
            Orphan::Statement(handle) => self.told(|writer| {
                writer.tell(Expect::Deferred, |requests| {
                    requests.free_statement(Statement(handle), Free::Drop);
                    Ok(())
                })
            }),
            Orphan::Guard(handle) => self.keep_unused(Statement(handle)),
            // The end of its transaction closes it, and its number may be another's when a request of ours arrives.
            Orphan::Blob(_, within) if !self.is_open(within) => {}
            Orphan::Blob(handle, _) => self.told(|writer| {
                writer.tell(Expect::Response, |requests| {
                    requests.cancel_blob(Blob(handle));
                    Ok(())
                })
            }),
        }
    }

    /// A transaction as it is now.
    pub(crate) fn within(&self, transaction: Transaction) -> Within {
        self.ends.borrow().within(transaction)
    }

    /// Whether nothing that ends it has been written since.
    pub(crate) fn is_open(&self, within: Within) -> bool {
        self.ends.borrow().is_open(within)
    }

    /// A statement that was allocated and has no text, if there is one.
    pub(crate) fn take_unused(&self) -> Option<Statement> {
        self.unused.borrow_mut().pop()
    }

    /// Keeps one for whoever prepares next. Many are freed at once, which is one write.
    fn keep_unused(&self, statement: Statement) {
        let mut unused = self.unused.borrow_mut();
        unused.push(statement);
        if unused.len() < limits::UNUSED_STATEMENTS_MAX {
            return;
        }
        let gone = std::mem::take(&mut *unused);
        drop(unused);
        self.told(|writer| {
            for statement in gone {
                writer.tell(Expect::Deferred, |requests| {
                    requests.free_statement(statement, Free::Drop);
                    Ok(())
                })?;
            }
            Ok(())
        });
    }

    /// One of those who hold the connection goes. If besides it there is only the task, that may end. `holders` counts both.
    fn let_go(self: &Rc<Self>, holders: usize) {
        if Rc::strong_count(self) <= holders {
            self.closing.set(true);
            self.ring();
        }
    }

    /// Wakes the pump.
    fn ring(&self) {
        if !self.rung.replace(true)
            && let Some(pump) = self.pump.take()
        {
            pump.wake();
        }
    }

    fn moved(&self, bytes: usize) {
        self.moved.set(self.moved.get() + bytes as u64);
    }

    /// Tells everybody who waits that the connection has ended.
    pub(crate) fn lose(&self, lost: Lost) {
        if self.lost.borrow().is_some() {
            return;
        }
        self.protocol.borrow_mut().abandon().for_each(drop);
        let sent = self.out.borrow().sent();
        *self.lost.borrow_mut() = Some(lost.clone());
        self.slots.borrow_mut().lose(&lost, sent);
        self.single.lose();
        for waker in self.room.take() {
            waker.wake();
        }
        self.ring();
    }

    /// Resolves when no answer is awaited that will come, and no request to cancel is on its way, or the connection has ended.
    async fn settled(&self) {
        std::future::poll_fn(|cx| {
            let settled = !self.protocol.borrow().will_answer() && !self.held.get();
            if settled || self.lost.borrow().is_some() {
                return Poll::Ready(());
            }
            self.slots.borrow_mut().watch(cx.waker());
            Poll::Pending
        })
        .await;
    }

    /// Resolves when another answer has come or the connection has ended.
    async fn changed(&self) {
        let mut first = true;
        std::future::poll_fn(|cx| {
            if !std::mem::take(&mut first) || self.lost.borrow().is_some() {
                return Poll::Ready(());
            }
            self.slots.borrow_mut().watch(cx.waker());
            Poll::Pending
        })
        .await;
    }
}

/// How long the server gets to finish an abandoned statement by itself before it is asked to stop.
pub(crate) const CANCEL_AFTER: Duration = Duration::from_millis(10);

/// How long it gets then to begin the last that it was asked for: a request to cancel that comes before is looked at too late.
pub(crate) const BEGIN_AFTER: Duration = Duration::from_millis(40);

/// When it is asked again.
pub(crate) const CANCEL_AGAIN_AFTER: Duration = Duration::from_millis(250);

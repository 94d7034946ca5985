//! What an engine thread does: takes a job, runs it on its connection, answers, and puts the connection right before
//! the next. Knows callers only as replies.
//! Rule: the next user of the connection finds no open transaction, whatever became of the one before.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread;
use std::time::Instant;

use tsumugi_sql::SQLITE;

use crate::batch::BatchSize;
use crate::bookkeeping::StatementPurpose;
use crate::error::{Error, FailedStatement, Result};
use crate::limits::TIMEOUT_MAX;
use crate::log::{Line, milliseconds, statement_event};
use crate::metrics::Counters;
use crate::options::{Access, Options, StatementLog, TransactionMode, TransactionOptions};
use crate::outcome::EndReason;
use crate::rows::packed::PackedRows;
use crate::statement_table::{self, EndedStatement};

use super::connection::{Connection, Opening};
use super::failure::{self, Fault};
use super::job::{Call, Command, Job, Output, OwnCommand, Reply, Request, Statement, Work};
use super::policy::Policy;
use super::queue::{Lane, Queues};
use super::session::End;
use super::watch;

/// One thread of the engine: its connection and the queues that its jobs come from.
pub(super) struct EngineThread {
    /// None after it could not be replaced; then the next job tries again.
    pub(super) connection: Option<Connection>,
    pub(super) opening: Arc<Opening>,
    pub(super) lane: Lane,
    pub(super) queues: Arc<Queues>,
    pub(super) counters: Arc<Counters>,
    /// What it is called where statements are counted.
    pub(super) database: Arc<str>,
}

/// What a connection needs to serve one job.
struct Service<'a> {
    connection: &'a mut Connection,
    options: &'a Options,
    counters: &'a Counters,
    database: &'a Arc<str>,
    /// That of what is asked now.
    purpose: StatementPurpose,
}

impl EngineThread {
    /// Serves jobs until the queues are closed.
    pub(super) fn work(mut self) {
        while let Some(job) = self.queues.take(self.lane) {
            self.counters.acquired(job.enqueued.elapsed());
            let counters = self.counters.clone();
            let busy = match self.lane {
                Lane::Readers => &counters.readers_busy,
                Lane::Writer => &counters.writer_busy,
            };
            busy.fetch_add(1, Relaxed);
            // A panic is a bug of ours or of SQLite's. It costs its caller an answer and the connection its life.
            let served = catch_unwind(AssertUnwindSafe(|| match job.statement.activity.clone() {
                // Its lines of the log are those of its caller.
                Some(activity) => activity.enter(|| self.serve(job)),
                None => self.serve(job),
            }));
            if served.is_err() {
                drop(watch::disarm());
            }
            self.put_right(served);
            busy.fetch_sub(1, Relaxed);
        }
    }

    fn serve(&mut self, job: Job) {
        let connection = match self.connection.as_mut() {
            Some(connection) => connection,
            None => match self.reopen() {
                Ok(connection) => self.connection.insert(connection),
                Err(error) => {
                    let _ = job.reply.send(Err(error));
                    return;
                }
            },
        };
        let mut service = Service {
            connection,
            options: &job.options,
            counters: &self.counters,
            database: &self.database,
            purpose: job.statement.purpose,
        };
        match job.work {
            Work::Statement(call) => {
                let handed_over = service.statement(call, job.statement, Some(job.reply));
                if let Some((statement, reply)) = handed_over {
                    let (work, options) = (Work::Statement(call), job.options);
                    let job = Job {
                        work,
                        statement,
                        reply,
                        options,
                        enqueued: Instant::now(),
                    };
                    self.queues.push(Lane::Writer, job);
                }
            }
            Work::Stream(demands, by) => {
                service.stream(job.statement, job.reply, &demands, by, None);
            }
            Work::Transaction {
                options,
                commands,
                end,
            } => {
                service.transaction(options, job.reply, commands, &end);
            }
        }
    }

    /// Rolls back what is still open. A connection that cannot be trusted is replaced; one in memory is the database
    /// itself, so it stays.
    fn put_right(&mut self, served: thread::Result<()>) {
        let Some(connection) = &mut self.connection else {
            return;
        };
        connection.unrestrict();
        let mut is_clean = connection.is_clean();
        if !is_clean || connection.forgot_references() {
            watch::arm(None, TIMEOUT_MAX, Policy::Internal);
            if !is_clean {
                let _ = connection.own("ROLLBACK");
            }
            is_clean = connection.is_clean() && connection.remember_references().is_ok();
            watch::disarm();
        }
        if !(is_clean && served.is_ok()) && self.opening.path.is_some() {
            self.connection = None;
        }
    }

    fn reopen(&self) -> Result<Connection> {
        let opened = match self.lane {
            Lane::Readers => self.opening.reader(),
            Lane::Writer => self.opening.writer(),
        };
        opened.map_err(|cause| super::engine::open_error(self.opening.path.as_deref(), cause))
    }
}

impl Service<'_> {
    /// Runs one statement and answers. Gives it back unanswered if it belongs on the writer and this is a reader.
    fn statement(
        &mut self,
        call: Call,
        statement: Statement,
        reply: Option<Reply>,
    ) -> Option<(Statement, Reply)> {
        let policy = self.connection.policy(call, &statement.sql);
        let is_alone = self.connection.is_clean();
        let is_reader_job = policy == Policy::Reader && is_alone;
        let started = Instant::now();
        watch::arm(reply, self.options.statement_timeout, policy);
        let mut result = self
            .connection
            .run(call, &statement, self.options.rows_max_bytes);
        if policy == Policy::Script {
            result = self.end_script(result);
        }
        let mut seen = watch::disarm();
        let reply = seen.caller.take();
        if let Err(fault) = &result
            && is_reader_job
            && fault.needs_writer(&seen)
        {
            return reply.map(|reply| (statement, reply));
        }
        self.log(&statement, started, &result);
        let outcome = result.map_err(|fault| failure::error(fault, &seen, statement, self.options));
        let outcome = outcome.map_err(|error| match error.constraint() {
            Some(name) if self.connection.limits_length(name) => failure::too_long(error),
            _ => error,
        });
        let outcome = outcome.map_err(|error| match call {
            // What came before the statement that was stopped stays, or is committed with the transaction.
            Call::Script => error.of_parts(),
            Call::Query | Call::Execute => error,
        });
        let commits = is_alone && policy != Policy::Reader;
        let outcome = outcome.map_err(|error| match commits {
            true => failure::of_commit(error),
            false => error,
        });
        self.counters.ran(&outcome);
        answer(reply, outcome);
        None
    }

    /// A script may have begun a transaction or changed a setting that it did not put back.
    fn end_script(&mut self, result: Result<Output, Fault>) -> Result<Output, Fault> {
        let is_clean = self.connection.is_clean();
        let seen = watch::disarm();
        watch::arm(seen.caller, TIMEOUT_MAX, Policy::Internal);
        let restored = match is_clean {
            true => self.connection.restore_settings(),
            false => self
                .connection
                .own("ROLLBACK")
                .and_then(|()| self.connection.restore_settings()),
        };
        watch::resume(seen.stop, seen.refusal);
        match (result, is_clean, restored) {
            (Err(fault), ..) => Err(fault),
            (Ok(_), false, _) => Err(Fault::Usage(
                "the script left a transaction open, which was rolled back: end it with COMMIT"
                    .into(),
            )),
            (Ok(_), true, Err(cause)) => Err(Fault::Run(cause)),
            (Ok(output), true, Ok(())) => Ok(output),
        }
    }

    /// Reads rows in batches, each when it is asked for, until its transaction ends, if it has one. The first comes with the reply.
    fn stream(
        &mut self,
        statement: Statement,
        reply: Reply,
        demands: &Receiver<Reply>,
        by: BatchSize,
        end: Option<&Arc<End>>,
    ) {
        let policy = self.connection.policy(Call::Query, &statement.sql);
        let started = Instant::now();
        watch::arm(Some(reply), self.options.statement_timeout, policy);
        watch::stop_with(end);
        let result = self.batches(&statement, demands, by, policy, end);
        let mut seen = watch::disarm();
        let Err(fault) = result else { return };
        if end.is_some_and(|end| end.is_set()) {
            // The reader asks `end` why.
            return;
        }
        let fault = match fault.needs_writer(&seen) {
            true => Fault::Usage("stream takes a statement that only reads: use query".into()),
            false => fault,
        };
        self.note(&statement, started, None, Some(&fault));
        let reply = seen.caller.take();
        let outcome = Err(failure::error(fault, &seen, statement, self.options));
        self.counters.ran(&outcome);
        answer(reply, outcome);
    }

    /// Answers the caller whom the watch holds with the first batch and each later demand with the next.
    fn batches(
        &mut self,
        statement: &Statement,
        demands: &Receiver<Reply>,
        by: BatchSize,
        policy: Policy,
        end: Option<&Arc<End>>,
    ) -> Result<(), Fault> {
        let mut started = Instant::now();
        let (options, database) = (self.options, self.database);
        let send = |rows: PackedRows, is_last, started| {
            let reply = watch::disarm().caller;
            note(
                options,
                database,
                statement,
                started,
                Some(rows.len()),
                None,
            );
            self.counters.statements.fetch_add(1, Relaxed);
            answer(reply, Ok(Output::Batch { rows, is_last }));
        };
        let mut cursor = self.connection.cursor(statement)?;
        {
            let mut batches = cursor.batches(by);
            while let (Some(rows), is_last) = batches.next(self.options.rows_max_bytes)? {
                send(rows, is_last, started);
                if is_last {
                    return Ok(());
                }
                let Ok(demand) = demands.recv_timeout(self.options.idle_timeout) else {
                    return Ok(());
                };
                started = Instant::now();
                watch::arm(Some(demand), self.options.statement_timeout, policy);
                watch::stop_with(end);
            }
        }
        send(cursor.no_rows(), true, started);
        Ok(())
    }

    /// Serves one transaction to its end. The connection is rolled back afterwards if it is still in it.
    fn transaction(
        &mut self,
        options: TransactionOptions,
        reply: Reply,
        commands: Receiver<Command>,
        end: &Arc<End>,
    ) {
        self.connection.restrict(options.access);
        let begin = match (options.access, options.mode) {
            // Reading something at once makes the snapshot that of the beginning.
            (Access::ReadOnly, _) => "BEGIN; SELECT 1 FROM sqlite_schema LIMIT 1",
            (Access::ReadWrite, TransactionMode::Deferred) => "BEGIN DEFERRED",
            (Access::ReadWrite, TransactionMode::Immediate | TransactionMode::Schema) => {
                "BEGIN IMMEDIATE"
            }
            (Access::ReadWrite, TransactionMode::Exclusive) => "BEGIN EXCLUSIVE",
            // Within a transaction the setting could not be changed any more.
            (Access::ReadWrite, TransactionMode::Rebuild | TransactionMode::Trial) => {
                self.connection.forget_references();
                "PRAGMA foreign_keys = OFF; BEGIN IMMEDIATE"
            }
        };
        let (reply, began) = self.own(begin, Some(reply));
        let has_begun = began.is_ok();
        if has_begun && self.connection.forgot_references() {
            watch::arm(None, TIMEOUT_MAX, Policy::Internal);
            self.connection.note_orphans();
            watch::disarm();
        }
        answer(reply, began);
        if has_begun {
            self.counters.transactions.fetch_add(1, Relaxed);
            self.commands(&commands, end);
        }
        // Only now may the owner learn that it is over: it may ask `end` why.
        drop(commands);
    }

    fn commands(&mut self, commands: &Receiver<Command>, end: &Arc<End>) {
        loop {
            let command = match commands.recv_timeout(self.options.idle_timeout) {
                Ok(command) => command,
                Err(RecvTimeoutError::Disconnected) => return end.set(EndReason::RolledBack),
                Err(RecvTimeoutError::Timeout) => return end.set(EndReason::Idle),
            };
            if command.reply.as_ref().is_some_and(Reply::is_closed) {
                end.set(EndReason::AbandonedCall);
            }
            if end.is_set() {
                return;
            }
            self.command(command, end);
            if self.connection.is_clean() {
                return end.set(EndReason::Stopped);
            }
            if end.is_set() {
                return;
            }
        }
    }

    fn command(&mut self, Command { request, reply }: Command, end: &Arc<End>) {
        match request {
            Request::Statement(call, statement) => {
                self.statement(call, statement, reply);
            }
            Request::Stream(statement, demands, by) => {
                if let Some(reply) = reply {
                    self.stream(statement, reply, &demands, by, Some(end));
                }
            }
            Request::Own(command, purpose) => {
                self.purpose = purpose;
                self.own_command(command, reply, end);
            }
        }
    }

    fn own_command(&mut self, command: OwnCommand, reply: Option<Reply>, end: &Arc<End>) {
        match command {
            OwnCommand::Savepoint(number) => {
                self.own_and_answer(&format!("SAVEPOINT s{number}"), reply)
            }
            OwnCommand::Release(number) => {
                self.own_and_answer(&format!("RELEASE s{number}"), reply)
            }
            OwnCommand::RollBackTo(number) => {
                let is_dropped = reply.is_none();
                let (reply, undone) =
                    self.own(&format!("ROLLBACK TO s{number}; RELEASE s{number}"), reply);
                // Nobody would learn that its changes are still there: they go with all others.
                if is_dropped && undone.is_err() {
                    end.set(EndReason::SavepointLost);
                }
                answer(reply, undone);
            }
            OwnCommand::Commit => self.finish("COMMIT", EndReason::Committed, reply, end),
            OwnCommand::RollBack => self.finish("ROLLBACK", EndReason::RolledBack, reply, end),
        }
    }

    /// Ends the transaction. Not stopped when the caller goes away: it has asked, and half an end does not exist.
    fn finish(&mut self, sql: &str, ended: EndReason, reply: Option<Reply>, end: &End) {
        if let Some(refusal) = self.refuse_commit(ended) {
            return answer(reply, Err(refusal));
        }
        let (_, outcome) = self.own(sql, None);
        let outcome = match ended {
            EndReason::Committed => outcome.map_err(failure::of_commit),
            _ => outcome,
        };
        match &outcome {
            Ok(_) => end.set(ended),
            Err(Error::CommitUnknown { .. }) => {
                self.counters.commits_unknown.fetch_add(1, Relaxed);
                end.set(EndReason::Uncommitted);
            }
            Err(_) => {}
        }
        answer(reply, outcome);
    }

    /// What keeps a transaction from being committed in which no foreign key was looked at.
    fn refuse_commit(&mut self, ended: EndReason) -> Option<Error> {
        if ended != EndReason::Committed || !self.connection.forgot_references() {
            return None;
        }
        watch::arm(None, TIMEOUT_MAX, Policy::Internal);
        let broken = self.connection.broken_reference();
        let seen = watch::disarm();
        match broken {
            Ok(None) => None,
            Ok(Some(constraint)) => Some(Error::ForeignKeyViolation {
                constraint: Some(constraint),
                statement: FailedStatement::none(),
            }),
            Err(cause) => Some(failure::own(cause, &seen, "COMMIT", self.options)),
        }
    }

    fn own_and_answer(&mut self, sql: &str, reply: Option<Reply>) {
        let (reply, outcome) = self.own(sql, reply);
        answer(reply, outcome);
    }

    fn own(&mut self, sql: &str, reply: Option<Reply>) -> (Option<Reply>, Result<Output>) {
        watch::arm(reply, self.options.statement_timeout, Policy::Internal);
        let started = Instant::now();
        let result = self.connection.own(sql);
        let mut seen = watch::disarm();
        if self.options.log == StatementLog::Statements {
            let ms = milliseconds(started.elapsed());
            statement_event!(self.purpose, sql, ms, ok = result.is_ok());
        }
        let outcome = match result {
            Ok(()) => Ok(Output::Done),
            Err(cause) => {
                self.counters.turned_away();
                Err(failure::own(cause, &seen, sql, self.options))
            }
        };
        (seen.caller.take(), outcome)
    }

    fn log(&self, statement: &Statement, started: Instant, result: &Result<Output, Fault>) {
        let rows = match result {
            Ok(Output::Rows(rows)) => Some(rows.len()),
            Ok(Output::Executed(executed)) => usize::try_from(executed.affected).ok(),
            _ => None,
        };
        self.note(statement, started, rows, result.as_ref().err());
    }

    fn note(
        &self,
        statement: &Statement,
        started: Instant,
        rows: Option<usize>,
        fault: Option<&Fault>,
    ) {
        note(self.options, self.database, statement, started, rows, fault);
    }
}

/// Counts a statement by its form and writes its log line, if these are wanted.
fn note(
    options: &Options,
    database: &Arc<str>,
    statement: &Statement,
    started: Instant,
    rows: Option<usize>,
    fault: Option<&Fault>,
) {
    if statement_table::are_kept() {
        statement_table::count(&EndedStatement {
            database,
            lexicon: SQLITE.lexicon,
            sql: &statement.sql,
            rows,
            took: started.elapsed(),
            is_failed: fault.is_some(),
            place: statement.place.clone(),
        });
    }
    if options.log == StatementLog::Statements {
        let line = Line {
            sql: &statement.sql,
            values: &statement.values,
            rows,
            took: started.elapsed(),
            fault: fault.map(|fault| fault as &dyn std::fmt::Debug),
            purpose: statement.purpose,
        };
        line.write();
    }
}

/// The caller may have gone away: then nobody wants the answer, and what was done for it is undone elsewhere.
fn answer(reply: Option<Reply>, outcome: Result<Output, Error>) {
    if let Some(reply) = reply {
        let _ = reply.send(outcome);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::MissingFile;
    use std::path::PathBuf;
    use std::time::Duration;

    fn opening(path: Option<PathBuf>) -> Opening {
        let (missing, busy_timeout) = (MissingFile::Create, Duration::from_millis(1));
        Opening {
            path,
            missing,
            busy_timeout,
            statement_cache: 1,
        }
    }

    fn engine_thread(opening: Opening, connection: Option<Connection>) -> EngineThread {
        let (queues, counters) = Default::default();
        EngineThread {
            connection,
            opening: Arc::new(opening),
            lane: Lane::Writer,
            queues,
            counters,
            database: "test.db".into(),
        }
    }

    fn open_engine_thread(path: Option<PathBuf>) -> EngineThread {
        let opening = opening(path);
        let connection = opening.writer().unwrap();
        engine_thread(opening, Some(connection))
    }

    #[test]
    fn an_open_transaction_is_rolled_back_and_the_connection_kept() {
        let mut engine_thread = open_engine_thread(None);
        engine_thread
            .connection
            .as_ref()
            .unwrap()
            .own("create table t(a); begin; insert into t values (1)")
            .unwrap();
        engine_thread.put_right(Ok(()));
        let connection = engine_thread.connection.as_mut().unwrap();
        assert!(connection.is_clean());
        let output = connection.run(Call::Query, &Statement::new("select a from t", []), 1_000);
        assert!(matches!(output, Ok(Output::Rows(rows)) if rows.is_empty()));
    }

    #[test]
    fn after_a_panic_a_file_is_opened_again_and_memory_is_kept() {
        let directory = tempfile::tempdir().unwrap();
        let mut file_thread = open_engine_thread(Some(directory.path().join("a.db")));
        file_thread.put_right(Err(Box::new("a bug")));
        assert!(file_thread.connection.is_none());
        assert!(file_thread.reopen().unwrap().is_clean());
        let mut memory_thread = open_engine_thread(None);
        memory_thread.put_right(Err(Box::new("a bug")));
        assert!(memory_thread.connection.is_some());
    }

    #[test]
    fn a_file_that_is_gone_is_an_error_until_it_is_back() {
        let directory = tempfile::tempdir().unwrap();
        let engine_thread = engine_thread(opening(Some(directory.path().join("below/a.db"))), None);
        assert!(matches!(engine_thread.reopen(), Err(Error::Open { .. })));
        std::fs::create_dir(directory.path().join("below")).unwrap();
        assert!(engine_thread.reopen().is_ok());
    }
}

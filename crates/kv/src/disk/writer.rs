//! The thread that writes to one database on disk: groups what waits into commits, sweeps, reclaims, opens again after a failure.
//! Decides nothing about a record. Rule: a caller is answered after the commit that holds its write, never before.

use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::time::{Duration, Instant};

use bytes::Bytes;
use crossbeam_channel::{Receiver, RecvTimeoutError};
use tokio::sync::oneshot;

use super::Inner;
use super::layout::{META_KEY, Meta, expiry, expiry_key, garbage};
use super::lowest::LowestKeys;
use super::overlay::{CommitEntry, Outcome, Overlay};
use super::store::{CommitError, Store, broken, probe};
use crate::error::{Error, Result};
use crate::limits::{GROUP_BYTES_MAX, GROUP_WRITES_MAX};
use crate::write::{Write, WriteResult};

/// How often the thread looks for work of its own.
const TICK: Duration = Duration::from_millis(500);
/// How long after a failure, and after a vain attempt, the database is opened again at the earliest.
const REOPEN_AFTER: Duration = Duration::from_millis(250);
/// How often the thread looks whether the folder that it is to let go of is still read by a backup.
const RELEASE_LOOK: Duration = Duration::from_millis(20);
/// Records that one commit sweeps or reclaims.
const MAINTENANCE_RECORDS_MAX: usize = 1_000;

/// What the thread is asked.
pub(super) enum Job {
    Write {
        write: Write,
        bytes: usize,
        caller: Caller,
    },
    Synchronize(oneshot::Sender<Result<WriteResult>>),
    Sweep(oneshot::Sender<Result<WriteResult>>),
    /// Let go of the folder, and answer whatever comes later with the reason.
    Release {
        why: Error,
        answer: oneshot::Sender<Result<WriteResult>>,
    },
}

pub(super) struct Writer {
    inner: Arc<Inner>,
    jobs: Receiver<Job>,
    /// Of the last commit.
    meta: Meta,
    lowest: LowestKeys,
    /// Whether records of earlier epochs may be left.
    garbage: bool,
    /// Whether the failure of sweeping was reported.
    neglected: bool,
    failed: Option<WriterFailure>,
    /// Who waits for the folder to be free.
    release: Option<oneshot::Sender<Result<WriteResult>>>,
}

/// Why nothing is written, and when the folder is opened again, if it is.
struct WriterFailure {
    why: Error,
    again: Option<Instant>,
}

impl WriterFailure {
    fn now(why: Error) -> Self {
        let again = Some(Instant::now() + REOPEN_AFTER);
        Self { why, again }
    }

    fn for_ever(why: Error) -> Self {
        Self { why, again: None }
    }
}

/// Who waits for a write: since when, and where its answer goes.
pub(super) struct Caller {
    pub(super) submitted_at: Instant,
    pub(super) answer: oneshot::Sender<Result<WriteResult>>,
}

type Submission = (Write, Caller);

/// A batch whose writes are decided one after the other, in one group or in several.
struct RunningBatch {
    writes: std::vec::IntoIter<Write>,
    each: Vec<Result<WriteResult>>,
    /// How many of them earlier groups have committed.
    committed: usize,
    caller: Caller,
}

/// Callers of one group with what to answer them.
struct Waiting {
    caller: Caller,
    outcome: Result<WriteResult>,
    /// Writes that it stands for.
    writes: u64,
    /// How many of a batch's writes earlier groups have committed, whatever becomes of this one.
    committed: usize,
}

impl Writer {
    pub(super) fn new(inner: Arc<Inner>, jobs: Receiver<Job>, meta: Meta) -> Self {
        Self {
            inner,
            jobs,
            meta,
            lowest: LowestKeys::default(),
            garbage: true,
            neglected: false,
            failed: None,
            release: None,
        }
    }

    /// Serves until the last user is gone and everything it left is written.
    pub(super) fn run(mut self) {
        let mut wait = Duration::ZERO;
        loop {
            match self.jobs.recv_timeout(wait) {
                Ok(job) => self.serve(job),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            self.reopen_if_due();
            self.let_go_if_unused();
            wait = if self.failed.is_none() && self.run_maintenance() {
                Duration::ZERO
            } else if self.release.is_some() {
                RELEASE_LOOK
            } else {
                TICK
            };
        }
        // Last of all, so that the folder can be opened again once it is closed.
        let store = self.inner.take_store();
        drop(store);
    }

    /// Takes what else waits and answers it all.
    fn serve(&mut self, first: Job) {
        let mut writes = Vec::new();
        let mut after = Vec::new();
        let mut bytes = 0;
        let mut next = Some(first);
        while let Some(job) = next {
            match job {
                Job::Write {
                    write,
                    bytes: taken,
                    caller,
                } => {
                    bytes += taken;
                    writes.push((write, caller));
                }
                other => after.push(other),
            }
            let is_full = bytes >= GROUP_BYTES_MAX || writes.len() >= GROUP_WRITES_MAX;
            next = if is_full || !after.is_empty() {
                None
            } else {
                self.jobs.try_recv().ok()
            };
        }
        if !writes.is_empty() {
            let mut writes = writes.into_iter();
            let mut batch = None;
            while writes.len() > 0 || batch.is_some() {
                self.commit_group(&mut writes, &mut batch);
            }
            self.inner.queued_bytes.fetch_sub(bytes, SeqCst);
        }
        for job in after {
            match job {
                Job::Synchronize(answer) => {
                    let done = self.synchronize();
                    drop(answer.send(done));
                }
                Job::Sweep(answer) => {
                    while self.is_writable() && self.failed.is_none() && self.sweep() {}
                    drop(answer.send(Ok(WriteResult::Done)));
                }
                Job::Release { why, answer } => {
                    self.inner.healthy.store(false, SeqCst);
                    self.failed = Some(WriterFailure::for_ever(why));
                    self.release = Some(answer);
                }
                Job::Write { .. } => {}
            }
        }
    }

    /// Commits the first of these writes, as many as change records of [`GROUP_BYTES_MAX`] together, and one at least. Where they cannot be
    /// committed, none of them is. A batch may begin in one group and go on in the next: its writes are on their own.
    fn commit_group(
        &mut self,
        writes: &mut std::vec::IntoIter<Submission>,
        batch: &mut Option<RunningBatch>,
    ) {
        self.reopen_if_due();
        let inner = self.inner.clone();
        let events = inner.shared.watches.any().then(Vec::new);
        let mut waiting = Vec::with_capacity(writes.len());
        let mut failure = self.failed.as_ref().map(|failed| failed.why.clone());
        if failure.is_none() {
            let decided = inner.with_store(|store| {
                let context = inner.shared.decision_context();
                let mut overlay = Overlay::new(store, self.meta, context, &mut self.lowest, events);
                decide_group(&mut overlay, writes, batch, &mut waiting);
                Ok(overlay.finish())
            });
            failure = match decided {
                Ok(Some(outcome)) => self.commit(outcome, waiting.len()).err(),
                Ok(None) => None,
                Err(error) => Some(error),
            };
            if failure.is_some() {
                self.lowest = LowestKeys::default();
            }
        }
        match &failure {
            None => {
                if let Some(batch) = batch {
                    batch.committed = batch.each.len();
                }
            }
            Some(error) => {
                waiting.extend(batch.take().map(|batch| batch.fail(error)));
                let left = writes.map(|(_, caller)| Waiting::one(caller, Ok(WriteResult::Done)));
                waiting.extend(left);
            }
        }
        for one in waiting {
            self.answer(one, failure.as_ref());
        }
    }

    fn answer(&self, waiting: Waiting, failure: Option<&Error>) {
        let answer = match (failure, waiting.outcome) {
            (None, outcome) => outcome,
            (Some(error), Ok(WriteResult::Each(mut each))) if waiting.committed > 0 => {
                let lost = each.iter_mut().skip(waiting.committed);
                lost.for_each(|written| *written = Err(error.clone()));
                Ok(WriteResult::Each(each))
            }
            (Some(error), _) => Err(error.clone()),
        };
        let counters = &self.inner.shared.counters;
        let failed = match &answer {
            Err(_) => waiting.writes,
            Ok(WriteResult::Each(each)) => each.iter().filter(|one| one.is_err()).count() as u64,
            Ok(_) => 0,
        };
        counters.writes.fetch_add(waiting.writes - failed, Relaxed);
        counters.write_errors.fetch_add(failed, Relaxed);
        let Caller {
            submitted_at,
            answer: sender,
        } = waiting.caller;
        counters.write_latency.add(submitted_at.elapsed());
        // Who does not want to know any more has dropped its end.
        drop(sender.send(answer));
    }

    /// Writes what a group, a sweep or a reclaim came to, and shows it to readers.
    fn commit(&mut self, mut outcome: Outcome, writes: usize) -> Result<()> {
        // The engine may have stopped on its own some time ago: perhaps it works when opened again.
        let is_stopped = self.inner.read().as_ref().map_or(true, Store::is_stopped);
        if is_stopped {
            self.fail(None);
            self.reopen()?;
        }
        if let Err(error) = self.try_commit(&mut outcome) {
            return Err(self.fail(match error {
                CommitError::Failed(error) => Some(error),
                CommitError::Stopped => None,
            }));
        }
        self.meta = outcome.meta;
        self.garbage |= outcome.cleared;
        let counters = &self.inner.shared.counters;
        counters.bytes_written.fetch_add(outcome.bytes, Relaxed);
        counters.commits.fetch_add(1, Relaxed);
        counters.committed.fetch_add(writes as u64, Relaxed);
        for changed in &outcome.events {
            self.inner.shared.watches.tell(changed);
        }
        Ok(())
    }

    fn try_commit(&self, outcome: &mut Outcome) -> Result<(), CommitError> {
        let inner = &self.inner;
        let guard = inner.read();
        let Ok(store) = guard.as_ref() else {
            return Err(CommitError::Stopped);
        };
        let durability = inner.shared.spec.durability;
        inner.sequence.begin();
        if outcome.cleared {
            inner.clears.begin();
        }
        let committed = store.commit(std::mem::take(&mut outcome.stored), durability);
        if committed.is_ok() {
            inner.epoch.store(outcome.meta.epoch, SeqCst);
            inner.count.store(outcome.meta.count, SeqCst);
            if outcome.cleared {
                inner.next_expiry_ms.store(u64::MAX, SeqCst);
            }
            if let Some(next) = outcome.next_expiry_ms {
                inner.next_expiry_ms.fetch_min(next, SeqCst);
            }
            if durability == crate::spec::Durability::Disk {
                inner.shared.counters.syncs.fetch_add(1, Relaxed);
            }
        }
        if outcome.cleared {
            inner.clears.end();
        }
        inner.sequence.end();
        committed
    }

    fn synchronize(&mut self) -> Result<WriteResult> {
        if let Some(failed) = &self.failed {
            return Err(failed.why.clone());
        }
        self.inner.shared.counters.syncs.fetch_add(1, Relaxed);
        let done = match self.inner.read().as_ref() {
            Ok(store) => store.synchronize(),
            Err(_) => Err(CommitError::Stopped),
        };
        match done {
            Ok(()) => Ok(WriteResult::Done),
            Err(CommitError::Failed(error)) => Err(self.fail(Some(error))),
            Err(CommitError::Stopped) => {
                self.fail(None);
                // What the engine wrote is confirmed when it is opened.
                self.reopen().map(|()| WriteResult::Done)
            }
        }
    }

    /// Notes that nothing can be written; returns what to tell the callers.
    fn fail(&mut self, why: Option<Error>) -> Error {
        let path = &self.inner.shared.spec.path;
        let why = why.unwrap_or_else(|| match probe(path) {
            Err(error) => error,
            Ok(()) => broken(path, "the engine stopped"),
        });
        tracing::error!(path = %path.display(), error = %why, "a database cannot be written");
        self.inner.healthy.store(false, SeqCst);
        self.failed = Some(WriterFailure::now(why.clone()));
        why
    }

    fn reopen_if_due(&mut self) {
        let is_due = self
            .failed
            .as_ref()
            .and_then(|failed| failed.again)
            .is_some_and(|again| again <= Instant::now());
        if is_due && let Err(why) = self.reopen() {
            self.failed = Some(WriterFailure::now(why));
        }
    }

    /// Lets go of the folder, if that was asked for, unless a backup or a rebuild has parts of the engine still.
    fn let_go_if_unused(&mut self) {
        let (Some(failed), Some(_)) = (&self.failed, &self.release) else {
            return;
        };
        let mut store = self.inner.write();
        // Looked at while none can begin.
        if self.inner.borrowers.load(SeqCst) > 0 {
            return;
        }
        let unused = std::mem::replace(&mut *store, Err(failed.why.clone()));
        drop(store);
        // The engine waits for its threads; the lock goes last.
        drop(unused);
        // No count is known any more.
        self.inner.next_expiry_ms.store(0, SeqCst);
        if let Some(answer) = self.release.take() {
            drop(answer.send(Ok(WriteResult::Done)));
        }
    }

    /// Opens the folder again, without what was not acknowledged. Readers go on meanwhile.
    fn reopen(&mut self) -> Result<()> {
        let spec = &self.inner.shared.spec;
        if let Err(why) = probe(&spec.path) {
            if let Some(failed) = &mut self.failed {
                failed.why = why.clone();
            }
            return Err(why);
        }
        let meta = self.inner.reopen(self.meta.commit)?;
        if meta.commit != self.meta.commit {
            let reason = format!("commit {} is lost", self.meta.commit);
            return Err(broken(&spec.path, reason));
        }
        tracing::info!(path = %spec.path.display(), "a database can be written again");
        self.failed = None;
        self.inner.healthy.store(true, SeqCst);
        Ok(())
    }

    /// Whether the folder may be written. In a database that is only read, what has expired is not returned, and stays where it is.
    fn is_writable(&self) -> bool {
        !self.inner.shared.spec.read_only
    }

    /// Does a piece of the background work; says whether there is more.
    fn run_maintenance(&mut self) -> bool {
        if !self.is_writable() {
            return false;
        }
        let is_due = self.inner.next_expiry_ms.load(SeqCst) <= self.inner.shared.clock.now_ms();
        (is_due && self.sweep()) || (self.garbage && self.reclaim())
    }

    /// Tells once that what has expired or is garbage stays.
    fn neglect(&mut self, error: &Error) {
        if !std::mem::replace(&mut self.neglected, true) {
            let path = self.inner.shared.spec.path.display();
            tracing::error!(%path, %error, "what has expired cannot be removed from a database");
        }
    }

    /// Removes some of what has expired; says whether there is more.
    fn sweep(&mut self) -> bool {
        let inner = self.inner.clone();
        let swept = inner.with_store(|store| {
            let context = inner.shared.decision_context();
            let events = inner.shared.watches.any().then(Vec::new);
            let mut overlay = Overlay::new(store, self.meta, context, &mut self.lowest, events);
            let from = expiry_key(self.meta.epoch, 0, b"");
            let to = match self.meta.epoch.checked_add(1) {
                Some(next) => expiry_key(next, 0, b""),
                None => expiry_key(u32::MAX, u64::MAX, b""),
            };
            let mut expired = 0;
            for pair in store.newest_range(&from, &to) {
                let at = |reason| broken(store.path(), reason);
                let (expires_ms, key) = expiry(&pair?.0).map_err(at)?;
                if expires_ms > context.now_ms || expired == MAINTENANCE_RECORDS_MAX {
                    return Ok((overlay.finish(), expired, expires_ms));
                }
                if !overlay.expire(&key, expires_ms)? {
                    return Err(at("the index of expiry names a record that is not there"));
                }
                expired += 1;
            }
            Ok((overlay.finish(), expired, u64::MAX))
        });
        let (outcome, expired, next) = match swept {
            Ok(swept) => {
                self.neglected = false;
                swept
            }
            Err(error) => {
                self.neglect(&error);
                return false;
            }
        };
        if let Some(outcome) = outcome
            && self.commit(outcome, 0).is_err()
        {
            return false;
        }
        // Only this thread writes records, so none with an earlier time came in between.
        inner.next_expiry_ms.store(next, SeqCst);
        let counters = &inner.shared.counters;
        counters.expired.fetch_add(expired as u64, Relaxed);
        expired == MAINTENANCE_RECORDS_MAX
    }

    /// Removes some of what earlier epochs left; says whether there is more.
    fn reclaim(&mut self) -> bool {
        let inner = self.inner.clone();
        let found = inner.with_store(|store| {
            let mut stored: Vec<CommitEntry> = Vec::new();
            for (from, to) in garbage(self.meta.epoch) {
                for pair in store.newest_range(&from, &to) {
                    if stored.len() == MAINTENANCE_RECORDS_MAX {
                        break;
                    }
                    stored.push((Bytes::copy_from_slice(&pair?.0), None));
                }
            }
            Ok(stored)
        });
        let mut stored = match found {
            Ok(stored) => stored,
            Err(error) => {
                self.neglect(&error);
                return false;
            }
        };
        if stored.is_empty() {
            self.garbage = false;
            return false;
        }
        let meta = Meta {
            commit: self.meta.commit + 1,
            ..self.meta
        };
        stored.push((Bytes::from_static(&META_KEY), Some(meta.encode())));
        let outcome = Outcome {
            stored,
            meta,
            cleared: false,
            next_expiry_ms: None,
            events: Vec::new(),
            bytes: 0,
        };
        self.commit(outcome, 0).is_ok()
    }
}

/// Decides as many writes as one commit holds.
fn decide_group(
    overlay: &mut Overlay<'_>,
    writes: &mut std::vec::IntoIter<Submission>,
    batch: &mut Option<RunningBatch>,
    waiting: &mut Vec<Waiting>,
) {
    loop {
        if let Some(running) = batch {
            while let Some(write) = running.writes.next() {
                running.each.push(overlay.apply_part(write));
                if overlay.held() >= GROUP_BYTES_MAX && running.writes.len() > 0 {
                    return;
                }
            }
            waiting.extend(batch.take().map(RunningBatch::end));
        } else {
            match writes.next() {
                Some((Write::Batch(writes), caller)) => {
                    *batch = Some(RunningBatch {
                        each: Vec::with_capacity(writes.len()),
                        writes: writes.into_iter(),
                        committed: 0,
                        caller,
                    });
                    continue;
                }
                Some((write, caller)) => waiting.push(Waiting::one(caller, overlay.apply(write))),
                None => return,
            }
        }
        if overlay.held() >= GROUP_BYTES_MAX {
            return;
        }
    }
}

impl Waiting {
    /// For a write that is no batch.
    fn one(caller: Caller, outcome: Result<WriteResult>) -> Self {
        Self {
            caller,
            outcome,
            writes: 1,
            committed: 0,
        }
    }
}

impl RunningBatch {
    fn end(self) -> Waiting {
        Waiting {
            caller: self.caller,
            writes: self.each.len() as u64,
            outcome: Ok(WriteResult::Each(self.each)),
            committed: self.committed,
        }
    }

    /// What was not decided yet fails, too.
    fn fail(mut self, error: &Error) -> Waiting {
        let left = self.writes.len();
        self.each.extend((0..left).map(|_| Err(error.clone())));
        self.end()
    }
}

//! The queues in which jobs wait for a connection: one for readers, one for the writer, first come first served.
//! Runs nothing. Rule: a job leaves a queue exactly once, taken by an engine thread or answered with an error, and
//! what has left by expiry or refusal has not run.
//!
//! Both queues are behind one lock, which is held for a push, a pop or a sweep and never while anything waits.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::error::Error;
use crate::limits;

use super::job::Job;

/// Which connections a job waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lane {
    Readers,
    Writer,
}

#[derive(Debug, Default)]
struct Line {
    jobs: VecDeque<Job>,
    /// Threads that sleep until there is a job.
    idle: usize,
}

#[derive(Debug, Default)]
struct State {
    readers: Line,
    writer: Line,
    is_closed: bool,
    /// When the sweeper wakes up by itself. None: when it is notified.
    next_sweep: Option<Instant>,
}

impl State {
    fn line(&mut self, lane: Lane) -> &mut Line {
        match lane {
            Lane::Readers => &mut self.readers,
            Lane::Writer => &mut self.writer,
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Queues {
    state: Mutex<State>,
    reader_job: Condvar,
    writer_job: Condvar,
    sweep: Condvar,
}

impl Queues {
    /// No code that can panic runs under the lock, so a poisoned one is still consistent.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wakes(&self, lane: Lane) -> &Condvar {
        match lane {
            Lane::Readers => &self.reader_job,
            Lane::Writer => &self.writer_job,
        }
    }

    /// Queues a job, or answers it with an error when too many wait. Returns whether it was queued.
    pub(super) fn push(&self, lane: Lane, job: Job) -> PushOutcome {
        let mut state = self.lock();
        if state.is_closed {
            drop(state);
            job.refuse(|_| Error::closed("database", "it was closed"));
            return PushOutcome::Refused;
        }
        let expires = job.expires();
        let line = state.line(lane);
        if line.jobs.len() >= limits::QUEUE_MAX {
            line.jobs.retain(|job| !job.is_abandoned());
        }
        if line.jobs.len() >= limits::QUEUE_MAX {
            drop(state);
            job.refuse(|statement| Error::queue_full("queue_max", limits::QUEUE_MAX, statement));
            return PushOutcome::Refused;
        }
        line.jobs.push_back(job);
        let (has_idle, must_wait) = (line.idle > 0, line.jobs.len() > line.idle);
        // Only a job that really waits may have to be swept, so a server that keeps up never wakes the sweeper.
        let must_sweep = must_wait && state.next_sweep.is_none_or(|next| expires < next);
        if must_sweep {
            state.next_sweep = Some(expires);
        }
        drop(state);
        if has_idle {
            self.wakes(lane).notify_one();
        }
        if must_sweep {
            self.sweep.notify_one();
        }
        PushOutcome::Queued
    }

    /// The next job whose caller still waits. Sleeps until there is one; None when the queues are closed.
    pub(super) fn take(&self, lane: Lane) -> Option<Job> {
        let mut state = self.lock();
        loop {
            while let Some(job) = state.line(lane).jobs.pop_front() {
                if !job.is_abandoned() {
                    return Some(job);
                }
            }
            if state.is_closed {
                return None;
            }
            state.line(lane).idle += 1;
            state = self
                .wakes(lane)
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
            state.line(lane).idle -= 1;
        }
    }

    /// Answers jobs that have waited too long, as soon as they have. Returns when the queues are closed.
    pub(super) fn sweep_until_closed(&self, expire: impl Fn(Lane, Job)) {
        let mut state = self.lock();
        while !state.is_closed {
            let now = Instant::now();
            match state.next_sweep {
                None => {
                    state = self
                        .sweep
                        .wait(state)
                        .unwrap_or_else(PoisonError::into_inner)
                }
                Some(next) if next > now => {
                    let waited = self.sweep.wait_timeout(state, next - now);
                    state = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
                Some(_) => {
                    let mut expired = Vec::new();
                    state.next_sweep = None;
                    for lane in [Lane::Readers, Lane::Writer] {
                        let next = sweep(&mut state.line(lane).jobs, now, |job| {
                            expired.push((lane, job))
                        });
                        state.next_sweep = [state.next_sweep, next].into_iter().flatten().min();
                    }
                    drop(state);
                    expired
                        .into_iter()
                        .for_each(|(lane, job)| expire(lane, job));
                    state = self.lock();
                }
            }
        }
    }

    /// Lets every thread finish what it does and leave. What still waits has no caller any more.
    pub(super) fn close(&self) {
        self.lock().is_closed = true;
        self.reader_job.notify_all();
        self.writer_job.notify_all();
        self.sweep.notify_all();
    }

    /// How many jobs wait.
    pub(super) fn len(&self, lane: Lane) -> usize {
        self.lock().line(lane).jobs.len()
    }
}

/// What became of a push.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PushOutcome {
    Queued,
    Refused,
}

/// Moves what has expired by `now` out of `jobs`; says when the next of the others expires. Callers may have
/// different timeouts, so the first in line need not be the first to expire.
fn sweep(jobs: &mut VecDeque<Job>, now: Instant, mut expired: impl FnMut(Job)) -> Option<Instant> {
    let mut next: Option<Instant> = None;
    for _ in 0..jobs.len() {
        let Some(job) = jobs.pop_front() else { break };
        let expires = job.expires();
        if expires <= now {
            expired(job);
        } else {
            next = Some(next.map_or(expires, |next| next.min(expires)));
            jobs.push_back(job);
        }
    }
    next
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Options;
    use crate::sqlite::job::{Call, Output, Statement, Work};
    use std::sync::Arc;
    use std::time::Duration;
    use tokio::sync::oneshot;

    type Answer = oneshot::Receiver<crate::Result<Output>>;

    fn job(sql: &str, acquire_ms: u64) -> (Job, Answer) {
        let options = Options {
            acquire_timeout: Duration::from_millis(acquire_ms),
            ..Options::default()
        };
        let (reply, answer) = oneshot::channel();
        let job = Job {
            work: Work::Statement(Call::Query),
            statement: Statement::new(sql, []),
            reply,
            options: Arc::new(options),
            enqueued: Instant::now(),
        };
        (job, answer)
    }

    #[test]
    fn first_come_first_served_and_the_abandoned_are_skipped() {
        let queues = Queues::default();
        let mut answers = Vec::new();
        for sql in ["a", "b", "c", "d"] {
            let (job, answer) = job(sql, 60_000);
            assert_eq!(queues.push(Lane::Readers, job), PushOutcome::Queued);
            answers.push(answer);
        }
        drop(answers.remove(1));
        let taken: Vec<Job> = (0..3)
            .map(|_| queues.take(Lane::Readers).unwrap())
            .collect();
        let sql: Vec<&str> = taken.iter().map(|job| &*job.statement.sql).collect();
        assert_eq!(sql, ["a", "c", "d"]);
    }

    #[test]
    fn one_job_past_queue_max_is_refused_and_the_abandoned_make_room() {
        let queues = Queues::default();
        let mut answers: Vec<Answer> = Vec::new();
        for _ in 0..limits::QUEUE_MAX {
            let (job, answer) = job("select 1", 60_000);
            assert_eq!(queues.push(Lane::Writer, job), PushOutcome::Queued);
            answers.push(answer);
        }
        let (one_more, mut answer) = job("select 2", 60_000);
        assert_eq!(queues.push(Lane::Writer, one_more), PushOutcome::Refused);
        let error = answer.try_recv().unwrap().unwrap_err();
        assert!(matches!(
            error,
            Error::QueueFull {
                max: limits::QUEUE_MAX,
                ..
            }
        ));
        assert_eq!(error.sql(), Some("select 2"));
        answers.pop();
        let (another, _answer) = job("select 3", 60_000);
        assert_eq!(queues.push(Lane::Writer, another), PushOutcome::Queued);
    }

    #[test]
    fn each_job_expires_at_its_own_time_and_the_rest_keep_their_order() {
        let mut jobs = VecDeque::new();
        let mut answers = Vec::new();
        for (sql, acquire_ms) in [("a", 5_000), ("b", 1), ("c", 3_000), ("d", 2)] {
            let (job, answer) = job(sql, acquire_ms);
            jobs.push_back(job);
            answers.push(answer);
        }
        let (first, third) = (jobs[0].enqueued, jobs[2].expires());
        let mut expired = Vec::new();
        let next = sweep(&mut jobs, first + Duration::from_secs(1), |job| {
            expired.push(job.statement.sql.to_string())
        });
        assert_eq!(expired, ["b", "d"]);
        assert_eq!(next, Some(third));
        let rest: Vec<&str> = jobs.iter().map(|job| &*job.statement.sql).collect();
        assert_eq!(rest, ["a", "c"]);
    }
}

//! When a worker asks for jobs the next time, and what it takes from an answer. Asks no database and begins no job.
//! Rule: how long a job's claim holds counts from before it was asked for, less what the machine has slept meanwhile.

use std::time::Duration;

use futures_util::future::LocalBoxFuture;
use tokio::time::Instant;

use crate::boot_clock::{earlier, slept, slept_between};
use crate::claims::{ClaimAnswer, ClaimedJob};
use crate::error::Result;
use crate::failure_pause::FailurePause;
use crate::look_pace::LookPace;
use crate::queue::JobQueue;

/// Asks for jobs once.
pub(crate) type ClaimFuture = LocalBoxFuture<'static, Result<ClaimAnswer>>;

/// When the worker asks for jobs the next time.
pub(crate) struct ClaimSchedule {
    /// What is asked at the moment.
    pub claim: Option<ClaimFuture>,
    /// When it was begun, and for how long the machine had slept by then.
    begun: (Instant, Duration),
    /// When to ask again.
    pub at: Instant,
    pace: LookPace,
    failures: FailurePause,
}

impl ClaimSchedule {
    pub fn new() -> ClaimSchedule {
        let now = Instant::now();
        ClaimSchedule {
            claim: None,
            begun: (now, Duration::ZERO),
            at: now,
            pace: LookPace::new(),
            failures: FailurePause::new(),
        }
    }

    /// When to ask, where a job that has failed here is due again at this time.
    pub fn next(&self, retry_at: Option<Instant>) -> Instant {
        let next = retry_at.map_or(self.at, |at| at.min(self.at));
        self.pace.next(next)
    }

    /// Whatever the last look took.
    pub fn ask_at_once(&mut self) {
        self.at = Instant::now();
        self.pace.reset();
    }

    /// Asks this when it is first polled.
    pub fn ask(&mut self, claim: ClaimFuture) {
        self.begun = (Instant::now(), slept());
        self.claim = Some(claim);
    }

    /// The jobs of the answer; sets when to ask again.
    pub fn read(
        &mut self,
        queue: &JobQueue,
        answer: Result<ClaimAnswer>,
        poll: Duration,
    ) -> Vec<ClaimedJob> {
        self.claim = None;
        let now = Instant::now();
        let (begun, slept_before) = self.begun;
        match answer {
            Ok(mut claimed) => {
                self.failures.reset();
                self.at = match claimed.has_more {
                    true => now,
                    false => now + claimed.next.map_or(poll, |next| next.min(poll)),
                };
                if claimed.jobs.is_empty() && !claimed.has_more {
                    self.pace.note(now.duration_since(begun));
                }
                let slept = slept_between(slept_before, slept());
                for job in &mut claimed.jobs {
                    job.asked_at = earlier(job.asked_at, slept);
                }
                claimed.jobs
            }
            Err(error) => {
                if self.failures.is_worth_a_line(queue, &error) {
                    tracing::warn!("jobs cannot be claimed: {error}");
                }
                self.at = now + self.failures.take();
                Vec::new()
            }
        }
    }
}

//! How many jobs wait, run and are dead, for the admin pages. Runs none and changes none.
//! Rule: one worker of a process asks the database, only after somebody has looked, and at most once in [`JOB_FIGURES_EVERY`].

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use tsumugi_http::exposition::Exposition;
use tsumugi_jobs::limits::JOB_FIGURES_EVERY;
use tsumugi_jobs::{JobFigures, JobQueue};

/// What one worker knows of jobs.
#[derive(Debug, Default)]
pub(crate) struct JobSamples {
    exists: AtomicBool,
    /// Somebody has looked since they were counted.
    is_wanted: AtomicBool,
    counted: Mutex<CountedJobs>,
}

#[derive(Debug, Default)]
struct CountedJobs {
    begun: Option<Instant>,
    figures: Option<JobFigures>,
}

impl JobSamples {
    /// Whether the application keeps jobs.
    pub fn exist(&self) -> bool {
        self.exists.load(Relaxed)
    }

    /// Notes where jobs are kept, and whether they are to be counted now.
    pub fn are_due(&self, queue: Option<&JobQueue>) -> bool {
        self.exists.store(queue.is_some(), Relaxed);
        if queue.is_none() || !self.is_wanted.load(Relaxed) {
            return false;
        }
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = counted
            .begun
            .is_none_or(|begun| begun.elapsed() >= JOB_FIGURES_EVERY);
        if is_due {
            self.is_wanted.store(false, Relaxed);
            counted.begun = Some(Instant::now());
        }
        is_due
    }

    /// Counts them.
    pub async fn count(&self, queue: &JobQueue) {
        let figures = queue.figures().await;
        if let Err(error) = &figures {
            tracing::debug!("jobs cannot be counted: {error}");
        }
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        counted.figures = figures.ok();
    }
}

/// Writes what was counted last, and has it counted anew.
pub(crate) fn write<'a>(workers: impl Iterator<Item = &'a JobSamples>, text: &mut Exposition) {
    let name = "tsumugi_jobs";
    for samples in workers.filter(|samples| samples.exist()) {
        samples.is_wanted.store(true, Relaxed);
        let counted = samples.counted.lock();
        let figures = counted
            .unwrap_or_else(PoisonError::into_inner)
            .figures
            .clone();
        let Some(JobFigures { figures, .. }) = figures else {
            continue;
        };
        text.family(
            name,
            "Jobs by their queue and state, up to ten thousand of each state.",
        );
        let mut figures = figures.as_slice();
        while let Some(first) = figures.first() {
            let of_queue = figures.partition_point(|figure| figure.queue <= first.queue);
            let (queue, rest) = figures.split_at(of_queue);
            for state in tsumugi_jobs::JobState::ALL {
                let of_state = queue.iter().filter(|figure| figure.state == state);
                let sum: u64 = of_state.map(|figure| figure.count).sum();
                text.sample(
                    name,
                    &[("queue", &first.queue), ("state", state.name())],
                    sum,
                );
            }
            figures = rest;
        }
        return;
    }
}

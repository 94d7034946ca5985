//! How many jobs there are of each queue, kind and state, for operators. Changes none.
//! Rule: what is asked costs the database the same however many jobs wait: beyond [`JOBS_COUNTED_MAX`] of a state it counts no further.

use futures_util::future::{FutureExt as _, LocalBoxFuture};

use crate::error::Result;
use crate::limits::JOBS_COUNTED_MAX;
use crate::queue::{JobQueue, JobState, integer, text};
use crate::statements;

/// How many jobs there are of one queue, kind and state.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobFigure {
    /// The queue.
    pub queue: String,
    /// The name of the kind.
    pub kind: String,
    /// The state.
    pub state: JobState,
    /// So many, of those that were counted.
    pub count: u64,
}

/// What was counted.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobFigures {
    /// In the order of queues, kinds and states.
    pub figures: Vec<JobFigure>,
    /// Whether there are more jobs of a state than are counted.
    pub is_cut: bool,
}

impl JobQueue {
    /// How many jobs there are of each queue, kind and state, among the first [`JOBS_COUNTED_MAX`] of each state in the order of their times.
    ///
    /// # Errors
    /// Of the database.
    pub fn figures(&self) -> LocalBoxFuture<'_, Result<JobFigures>> {
        async move {
            // One statement, so one moment: a job that changes its state meanwhile is counted once.
            let sql = statements::figures(self.family(), JOBS_COUNTED_MAX + 1);
            let rows = self.ask(sql).await?;
            let figures = rows.iter().filter_map(|row| {
                Some(JobFigure {
                    state: JobState::of(integer(row, 0))?,
                    queue: text(row, 1)?,
                    kind: text(row, 2)?,
                    count: u64::try_from(integer(row, 3)).unwrap_or_default(),
                })
            });
            let mut counted = JobFigures {
                figures: figures.collect(),
                is_cut: false,
            };
            counted.is_cut = JobState::ALL.into_iter().any(|state| {
                let of_state = counted.figures.iter().filter(|it| it.state == state);
                let sum: u64 = of_state.map(|figure| figure.count).sum();
                sum > JOBS_COUNTED_MAX as u64
            });
            let order = |figure: &JobFigure| {
                (
                    figure.queue.clone(),
                    figure.kind.clone(),
                    figure.state.number(),
                )
            };
            counted.figures.sort_by_key(order);
            Ok(counted)
        }
        .boxed_local()
    }
}

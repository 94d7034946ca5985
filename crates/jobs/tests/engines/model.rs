//! Calls by chance against a model of a few lines: what is in the table, what is run and in which order, on each database alike.
//! `TSUMUGI_JOB_SEED` says which calls.

use std::rc::Rc;

use tsumugi_jobs::{JobKind, JobPush, JobQueue, JobState, JobWorker, WorkerOptions};
use tsumugi_testkit::Dice;

use crate::{Diary, calm, kind, push, with_each};

/// A job as the model has it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ModelJob {
    id: i64,
    name: &'static str,
    state: JobState,
    priority: i32,
    attempts: i64,
    failures: i64,
    unique: Option<String>,
    fails: bool,
}

#[derive(Default)]
struct Model {
    jobs: Vec<ModelJob>,
    /// What was run, in order.
    begun: Vec<String>,
}

impl Model {
    fn of(&mut self, id: i64) -> Option<&mut ModelJob> {
        self.jobs.iter_mut().find(|job| job.id == id)
    }

    fn has_key(&self, name: &str, key: &Option<String>) -> bool {
        let is_same = |job: &ModelJob| job.name == name && job.unique == *key;
        key.is_some() && self.jobs.iter().any(is_same)
    }

    fn retry(&mut self, id: i64) -> bool {
        let waits = |job: &&mut ModelJob| matches!(job.state, JobState::Scheduled | JobState::Dead);
        let Some(job) = self.of(id).filter(waits) else {
            return false;
        };
        (job.state, job.failures) = (JobState::Ready, 0);
        true
    }

    /// One at a time, by priority and then by id.
    fn run_ready(&mut self) -> usize {
        let ready = |job: &&ModelJob| job.state == JobState::Ready;
        let mut all: Vec<_> = self.jobs.iter().filter(ready).cloned().collect();
        all.sort_by_key(|job| (-job.priority, job.id));
        for job in &all {
            self.begun.push(format!("{} {}", job.id, job.attempts + 1));
            match job.fails {
                false => self.jobs.retain(|kept| kept.id != job.id),
                true => {
                    if let Some(failed) = self.of(job.id) {
                        failed.state = JobState::Dead;
                        failed.attempts += 1;
                        failed.failures += 1;
                        failed.unique = None;
                    }
                }
            }
        }
        all.len()
    }
}

fn kinds() -> [JobKind; 2] {
    ["a", "b"].map(|name| {
        let mut kind = kind(name);
        kind.retries = 0;
        kind
    })
}

fn worker(queue: &JobQueue, diary: &Diary) -> JobWorker {
    let options = WorkerOptions {
        running: 1,
        ..calm()
    };
    let own = diary.clone();
    let perform = move |job: tsumugi_jobs::ClaimedJob| -> tsumugi_jobs::JobFuture {
        own.add(format!("{} {}", job.id, job.attempt));
        let fails = job.arguments == "bad";
        Box::pin(async move {
            match fails {
                true => Err("as it was told".to_owned()),
                false => Ok(()),
            }
        })
    };
    JobWorker::new(queue, kinds().to_vec(), options, Rc::new(perform)).unwrap()
}

/// One call by chance, on the database and on the model; says what it was.
async fn step(dice: &Dice, queue: &JobQueue, model: &mut Model, diary: &Diary) -> String {
    let last = model.jobs.last().map_or(1, |job| job.id);
    let id = last.saturating_sub(i64::try_from(dice.below(6)).unwrap());
    match dice.below(9) {
        0..4 => {
            let place = dice.place(2);
            let name = ["a", "b"][place];
            let mut new = JobPush::new(kinds()[place].clone(), "good");
            let fails = dice.below(2) == 0;
            if fails {
                new.arguments = "bad".to_owned();
            }
            let priority = i32::try_from(dice.below(3)).unwrap() - 1;
            new.priority = Some(priority);
            new.unique = (dice.below(2) == 0).then(|| dice.below(3).to_string());
            let is_later = dice.below(3) == 0;
            new.after = is_later.then_some(std::time::Duration::from_secs(86_400));
            let pushed = push(queue, &new).await;
            assert_eq!(pushed.is_none(), model.has_key(name, &new.unique));
            if let Some(id) = pushed {
                let state = if is_later {
                    JobState::Scheduled
                } else {
                    JobState::Ready
                };
                model.jobs.push(ModelJob {
                    id,
                    name,
                    state,
                    priority,
                    attempts: 0,
                    failures: 0,
                    unique: new.unique,
                    fails,
                });
            }
            format!("push {name} {pushed:?}")
        }
        4 | 5 => {
            let count = worker(queue, diary).run_ready().await.unwrap();
            assert_eq!(count, model.run_ready());
            format!("run {count}")
        }
        6 => {
            assert_eq!(queue.retry(id).await.unwrap(), model.retry(id));
            format!("retry {id}")
        }
        7 => {
            let before = model.jobs.len();
            model.jobs.retain(|job| job.id != id);
            assert_eq!(queue.drop(id).await.unwrap(), model.jobs.len() < before);
            format!("drop {id}")
        }
        _ => {
            let is_dead = |job: &&ModelJob| job.name == "a" && job.state == JobState::Dead;
            let dead: Vec<i64> = model
                .jobs
                .iter()
                .filter(is_dead)
                .map(|job| job.id)
                .collect();
            let retried = dead.iter().filter(|id| model.retry(**id)).count();
            let count = queue.retry_dead("a").await.unwrap();
            assert_eq!(usize::try_from(count).unwrap(), retried);
            format!("retry all {count}")
        }
    }
}

/// What the table has of a job that the model has too.
async fn rows(queue: &JobQueue) -> Vec<(i64, String, JobState, i64, i64, i64)> {
    let jobs = queue.list(None, 0, 1_000).await.unwrap();
    let row = |job: tsumugi_jobs::JobRow| {
        (
            job.id,
            job.name,
            job.state,
            job.priority,
            job.attempts,
            job.failures,
        )
    };
    jobs.into_iter().map(row).collect()
}

#[test]
fn calls_by_chance_leave_what_a_model_of_them_has() {
    let seed = std::env::var("TSUMUGI_JOB_SEED").ok();
    let seed = seed.and_then(|seed| seed.parse().ok()).unwrap_or(23);
    with_each(async |place| {
        let (queue, diary, dice) = (place.queue().await, Diary::default(), Dice::new(seed));
        let mut model = Model::default();
        let mut calls = Vec::new();
        for _ in 0..120 {
            calls.push(step(&dice, &queue, &mut model, &diary).await);
            let expected: Vec<_> = model
                .jobs
                .iter()
                .map(|job| {
                    let priority = i64::from(job.priority);
                    (
                        job.id,
                        job.name.to_owned(),
                        job.state,
                        priority,
                        job.attempts,
                        job.failures,
                    )
                })
                .collect();
            assert_eq!(rows(&queue).await, expected, "seed {seed}: {calls:?}");
            assert_eq!(diary.lines(), model.begun, "seed {seed}: {calls:?}");
        }
        assert!(!model.begun.is_empty() && !model.jobs.is_empty());
    });
}

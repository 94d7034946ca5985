//! `tsumugi jobs`: what waits, runs and has failed in a database, tried again or dropped. Loads no application and runs no job.
//! Rule: it makes nothing and changes no table: a database without jobs is said to have none, and one of an older version is not read.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::{Subcommand, ValueEnum};
use time::OffsetDateTime;
use tsumugi_db::{Database, Options};
use tsumugi_jobs::limits::JOBS_LISTED_MAX;
use tsumugi_jobs::{JobQueue, JobRow, JobState};
use tsumugi_server::commands;
use tsumugi_worker::WorkerLimits;

use crate::console::interrupted;

pub const HELP: &str = "\
Examples:
  tsumugi jobs list                    how many jobs there are, and those that wait, run or are dead
  tsumugi jobs list --state dead
  tsumugi jobs retry 17 23             begin them again, with all of their retries
  tsumugi jobs retry --all             all that are dead
  tsumugi jobs drop 17
  tsumugi jobs drop --all              all that are dead
  DATABASE_URL=postgres://… tsumugi jobs list

Jobs that run are neither retried nor dropped.";

/// Options of `jobs`.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    word: Word,
}

#[derive(Subcommand)]
enum Word {
    /// Show jobs, in the order in which they were pushed
    List(List),
    /// Begin jobs again that are dead or wait for their time
    Retry(JobSelection),
    /// Drop jobs that do not run
    Drop(JobSelection),
}

#[derive(clap::Args)]
struct List {
    #[command(flatten)]
    place: JobPlace,
    /// Those of one state only
    #[arg(long, value_enum)]
    state: Option<State>,
    /// Those behind this id
    #[arg(long, value_name = "ID", default_value_t = 0)]
    after: i64,
    /// How many at most
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: usize,
}

#[derive(clap::Args)]
#[command(group = clap::ArgGroup::new("jobs").args(["ids", "all"]).required(true))]
struct JobSelection {
    #[command(flatten)]
    place: JobPlace,
    /// Their ids
    ids: Vec<i64>,
    /// All that are dead
    #[arg(long)]
    all: bool,
}

#[derive(clap::Args)]
struct JobPlace {
    /// The database's URL; by default that of DATABASE_URL, else sqlite:DIR/app.db
    #[arg(long, value_name = "URL")]
    database: Option<String>,
    /// Where the embedded databases of the application live
    #[arg(long = "data", value_name = "DIR", default_value = "data")]
    data: PathBuf,
}

#[derive(Clone, Copy, ValueEnum)]
enum State {
    Scheduled,
    Ready,
    Running,
    Dead,
}

impl State {
    fn of_jobs(self) -> JobState {
        match self {
            State::Scheduled => JobState::Scheduled,
            State::Ready => JobState::Ready,
            State::Running => JobState::Running,
            State::Dead => JobState::Dead,
        }
    }
}

/// The URL, of a file of SQLite only if that is there: nothing is made here.
fn of_existing_file(url: String) -> String {
    let is_file = url.starts_with("sqlite:") && !url.starts_with("sqlite::memory:");
    match (is_file && !url.contains("mode="), url.contains('?')) {
        (false, _) => url,
        (true, true) => format!("{url}&mode=rw"),
        (true, false) => format!("{url}?mode=rw"),
    }
}

impl JobPlace {
    fn url(&self) -> Result<String> {
        if let Some(url) = self.database.clone().or_else(commands::database_url) {
            return Ok(of_existing_file(url));
        }
        let file = self.data.join("app.db");
        if !file.exists() {
            bail!(
                "there is no database {}: --database or DATABASE_URL names another",
                file.display()
            );
        }
        Ok(format!("sqlite:{}", file.display()))
    }

    /// Runs this on the jobs of the database, until it is interrupted.
    fn perform(&self, work: impl AsyncFnOnce(&JobQueue) -> Result<String>) -> Result<ExitCode> {
        let url = self.url()?;
        let text = tsumugi_worker::alone(WorkerLimits::default(), async |_| {
            let work = async {
                let database = Database::connect(&url, Options::default()).await?;
                let Some(queue) = JobQueue::over_existing(&database).await? else {
                    bail!(
                        "there are no jobs in this database: an application with `jobs db` makes their table"
                    );
                };
                work(&queue).await
            };
            tokio::select! {
                text = work => text,
                () = interrupted() => bail!("interrupted"),
            }
        })??;
        commands::print(text)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Shows or changes jobs.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    match &arguments.word {
        Word::List(list) => list.place.perform(async |queue| {
            let counts = queue.counts().await?;
            let state = list.state.map(State::of_jobs);
            let limit = list.limit.min(JOBS_LISTED_MAX);
            let jobs = queue.list(state, list.after, limit).await?;
            let mut text = String::new();
            jobs.iter().for_each(|job| line(&mut text, job));
            let tsumugi_jobs::JobCounts { scheduled, ready, running, failed, dead, .. } = counts;
            writeln!(text, "{scheduled} scheduled ({failed} after a failure), {ready} ready, {running} running, {dead} dead")?;
            Ok(text)
        }),
        Word::Retry(chosen) => chosen.place.perform(async |queue| {
            chosen.each(queue, "retried", async |id| queue.retry(id).await).await
        }),
        Word::Drop(chosen) => chosen.place.perform(async |queue| {
            chosen.each(queue, "dropped", async |id| queue.drop(id).await).await
        }),
    }
}

impl JobSelection {
    async fn each(
        &self,
        queue: &JobQueue,
        done: &str,
        change: impl AsyncFn(i64) -> tsumugi_jobs::Result<bool>,
    ) -> Result<String> {
        let mut changed = 0;
        if self.all {
            let (mut after, mut is_full) = (0, true);
            // Once each: what is begun again may be dead again before the end.
            while is_full {
                let state = Some(JobState::Dead);
                let dead = queue.list_without_arguments(state, after, JOBS_LISTED_MAX);
                let dead = dead.await?;
                for job in &dead {
                    changed += usize::from(change(job.id).await?);
                    after = job.id;
                }
                is_full = dead.len() == JOBS_LISTED_MAX;
            }
            return Ok(format!("{changed} {done}\n"));
        }
        let mut missing = Vec::new();
        for id in &self.ids {
            match change(*id).await? {
                true => changed += 1,
                false => missing.push(id.to_string()),
            }
        }
        if !missing.is_empty() {
            bail!(
                "{changed} {done}; not there, or running: {}",
                missing.join(", ")
            );
        }
        Ok(format!("{changed} {done}\n"))
    }
}

fn line(text: &mut String, job: &JobRow) {
    let JobRow {
        id,
        name,
        queue,
        attempts,
        arguments,
        ..
    } = job;
    let state = job.state.name();
    let due = moment(job.due_ms);
    let error = job
        .error
        .as_deref()
        .map_or(String::new(), |error| format!("  {}", first_line(error)));
    let times = if *attempts == 1 { "time" } else { "times" };
    // A text that is written to memory has room.
    let _ = writeln!(
        text,
        "{}",
        printable(&format!(
            "{id}  {state:<9}  {due}  {name} {arguments}  queue {queue}, begun {attempts} {times}{error}"
        ))
    );
}

/// A text without what a terminal obeys: what a client sent may be in arguments and errors.
fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character.is_control() {
            true => shown.extend(character.escape_default()),
            false => shown.push(character),
        }
    }
    shown
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// `2026-11-26 21:23:32 UTC`.
fn moment(unix_ms: i64) -> String {
    let Ok(at) = OffsetDateTime::from_unix_timestamp(unix_ms.div_euclid(1_000)) else {
        return unix_ms.to_string();
    };
    let (date, time) = (at.date(), at.time());
    let (hour, minute, second) = (time.hour(), time.minute(), time.second());
    format!("{date} {hour:02}:{minute:02}:{second:02} UTC")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_are_dead_are_retried_once_each_also_where_they_die_at_once() {
        let all = JobSelection {
            place: JobPlace {
                database: None,
                data: "data".into(),
            },
            ids: Vec::new(),
            all: true,
        };
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_all().build().unwrap();
        runtime.block_on(async {
            let url = "sqlite::memory:?name=dead";
            let database = Database::connect(url, Options::default()).await.unwrap();
            let queue = JobQueue::over(&database);
            queue.prepare().await.unwrap();
            let insert = "insert into tsumugi_jobs (name, queue, arguments, state, sort_order, attempt, failures, retries, due_at, pushed_at) \
                          values ('a', 'default', '{}', 3, 0, 1, 1, 0, 0, 0)";
            for _ in 0..2 {
                database.execute(insert, []).await.unwrap();
            }
            let dies = async |_| Ok(true);
            let text = all.each(&queue, "retried", dies).await.unwrap();
            assert_eq!(text, "2 retried\n");
        });
    }

    #[test]
    fn control_characters_of_a_job_are_shown_and_not_sent_to_the_terminal() {
        let check = |text, expected| assert_eq!(printable(text), expected);
        check("no such user \"ann\" äあ", "no such user \"ann\" äあ");
        check("a\u{1b}]0;title\u{7}b", "a\\u{1b}]0;title\\u{7}b");
        check("\u{9b}2J\r\u{7f}", "\\u{9b}2J\\r\\u{7f}");
    }
}

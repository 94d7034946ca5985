//! Jobs in Rust: pushed by handlers and in transactions, run beside requests, effects that happen once. What each database does is tested in
//! `crates/jobs`.

use std::cell::RefCell;
use std::time::Instant;

use tsumugi::jobs::{ClaimedJob, CronSchedule, JobCounts};
use tsumugi::prelude::*;
use tsumugi::trial::{self, Client};
use tsumugi::{Job, Jobs, PushOptions};

thread_local! {
    static URL: RefCell<String> = const { RefCell::new(String::new()) };
}

#[derive(Serialize, Deserialize)]
struct Note {
    n: i64,
}

impl Job for Note {
    const NAME: &'static str = "note";
}

struct App {
    db: Db,
    jobs: Jobs,
}

impl Plugin for App {
    async fn start(worker: &Worker) -> Result<App> {
        let url = URL.with_borrow(Clone::clone);
        let db = Db::connect(&url, Options::default()).await?;
        db.execute("create table notes (n bigint not null)", [])
            .await?;
        let jobs = Jobs::over(&db);
        worker.use_jobs(jobs.clone());
        Ok(App { db, jobs })
    }
}

async fn push(app: State<App>) -> Result<&'static str> {
    app.jobs.push(&Note { n: 1 }).await?;
    app.db
        .tx(async |tx: &Tx| {
            let unique = Some("two".to_owned());
            let options = PushOptions {
                unique,
                ..PushOptions::default()
            };
            let first = app
                .jobs
                .push_in(tx, &Note { n: 2 }, options.clone())
                .await?;
            let second = app.jobs.push_in(tx, &Note { n: 2 }, options).await?;
            assert!(first.is_some() && second.is_none());
            Ok::<_, Error>(())
        })
        .await?;
    let undone = app.db.tx(async |tx: &Tx| {
        app.jobs
            .push_in(tx, &Note { n: 3 }, PushOptions::default())
            .await?;
        Err::<(), _>(Error::conflict("undone"))
    });
    assert!(undone.await.is_err());
    Ok("pushed")
}

/// Fails the first time, behind its effect.
async fn note(app: &App, note: Note, run: &ClaimedJob) -> Result<()> {
    app.db
        .tx(async |tx: &Tx| {
            if app.jobs.once(tx, None, Some(run)).await? {
                tx.execute("insert into notes (n) values (?)", values![note.n])
                    .await?;
            }
            Ok::<_, Error>(())
        })
        .await?;
    match run.attempt {
        1 => Err(Error::conflict("the first time")),
        _ => Ok(()),
    }
}

async fn notes(app: State<App>) -> Result<String> {
    let rows = app.db.query("select n from notes order by n", []).await?;
    let numbers = rows.iter().filter_map(|row| row.value(0)?.as_integer());
    let numbers: Vec<String> = numbers.map(|n| n.to_string()).collect();
    let JobCounts {
        ready,
        running,
        scheduled,
        ..
    } = app.jobs.queue().counts().await?;
    Ok(format!(
        "{} of {}",
        numbers.join(" "),
        ready + running + scheduled
    ))
}

fn routes() -> Router<App> {
    Router::new()
        .route("/", post(push).get(notes))
        .job(async |app: &App, job: Note, run: &ClaimedJob| note(app, job, run).await)
}

fn check(url: &str) {
    URL.set(url.to_owned());
    trial::run(routes, async |client: &Client<App>| {
        assert_eq!(client.post("/").await.text(), "pushed");
        let begun = Instant::now();
        while client.get("/").await.text() != "1 2 of 0" {
            assert!(
                begun.elapsed() < Duration::from_secs(60),
                "the jobs do not end"
            );
            sleep(Duration::from_millis(20)).await;
        }
    });
}

#[test]
fn jobs_are_run_until_they_end_well_and_their_effects_happen_once() {
    check("sqlite::memory:");
    let database = tsumugi_testkit::postgres::Server::shared().database();
    check(&database.url());
}

#[test]
fn line_of_cron_that_is_none_is_refused() {
    assert!(CronSchedule::parse("0 3 * * *", "Asia/Tokyo").is_ok());
    assert!(CronSchedule::parse("0 3 * *", "Asia/Tokyo").is_err());
}

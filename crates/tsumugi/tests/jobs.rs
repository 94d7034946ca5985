//! Jobs in Rust: pushed by handlers and in transactions, run beside requests, effects that happen once. What each database does is tested in
//! `crates/jobs`.

use std::cell::RefCell;
use std::time::Instant;

use tsumugi::jobs::{ClaimedJob, CronSchedule, JobCounts, WorkerOptions};
use tsumugi::prelude::*;
use tsumugi::trial::{self, Client};
use tsumugi::{Job, Jobs, LineOptions, PushOptions};

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
    } = app.jobs.counts().await?;
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

/// What a push may say, and what is done with jobs that wait.
async fn words(app: State<Pusher>) -> Result<String> {
    let later = PushOptions {
        after: Some(Duration::from_secs(3_600)),
        priority: Some(7),
        ..PushOptions::default()
    };
    let id = app.0.push_by(&Note { n: 1 }, later.clone()).await?;
    let listed = app.0.list(None, 0, 10).await?;
    let seen: Vec<_> = listed
        .iter()
        .map(|job| (job.state.name(), job.priority))
        .collect();
    let retried = app.0.retry_dead::<Note>().await?;
    let dropped = app.0.drop(id.unwrap_or_default()).await?;
    let both = PushOptions {
        at: Some(std::time::SystemTime::now()),
        ..later
    };
    let error = app.0.push_by(&Note { n: 1 }, both).await.unwrap_err();
    Ok(format!("{seen:?} {retried} {dropped} {error}"))
}

/// Jobs of a process that only pushes.
struct Pusher(Jobs);

impl Plugin for Pusher {
    async fn start(worker: &Worker) -> Result<Pusher> {
        // Not in memory, which other tests of this process would share.
        let url = format!("sqlite:{}/app.db", worker.data_dir().display());
        let db = Db::connect(&url, Options::default()).await?;
        let options = WorkerOptions {
            run: false,
            ..WorkerOptions::default()
        };
        let jobs = Jobs::over(&db).options(options);
        worker.use_jobs(jobs.clone());
        Ok(Pusher(jobs))
    }
}

async fn hold(app: State<Pusher>) -> Result<String> {
    app.0.push(&Note { n: 1 }).await?;
    sleep(Duration::from_millis(200)).await;
    Ok(app.0.counts().await?.ready.to_string())
}

/// What has run after the commit of a transaction with these steps; `-` of one that fails.
async fn commits(app: State<Pusher>) -> Result<String> {
    let db: Db = app.0.queue().database().clone().into();
    let mut shown = Vec::new();
    for fails in [false, true] {
        let seen = std::rc::Rc::new(RefCell::new(Vec::new()));
        let note = |tx: &Tx, step: &'static str| {
            let seen = std::rc::Rc::clone(&seen);
            tx.after_commit(move || seen.borrow_mut().push(step));
        };
        let ended = db.tx(async |tx: &Tx| {
            note(tx, "first");
            let undone = tx.savepoint().await?;
            note(tx, "undone");
            tx.savepoint().await?.release().await?;
            undone.roll_back().await?;
            let dropped = tx.savepoint().await?;
            note(tx, "dropped");
            drop(dropped);
            let kept = tx.savepoint().await?;
            note(tx, "kept");
            kept.release().await?;
            // It holds the transaction, and does not keep it open.
            let own = tx.clone();
            tx.after_commit(move || drop(own));
            assert!(seen.borrow().is_empty());
            match fails {
                false => Ok(()),
                true => Err(Error::conflict("undone")),
            }
        });
        assert_eq!(ended.await.is_err(), fails);
        shown.push(seen.borrow().join(" "));
    }
    Ok(shown.join(" | "))
}

#[test]
fn push_takes_priority_and_delay_and_refuses_two_times() {
    let routes = || {
        Router::new()
            .route("/", get(words))
            .job(async |_: &Pusher, _: Note, _: &ClaimedJob| {})
    };
    trial::run(routes, async |client: &Client<Pusher>| {
        let reply = client.get("/").await;
        let expected = "[(\"scheduled\", 7)] 0 true a job is due at a time or after one, not both";
        assert_eq!(reply.text(), expected);
    });
}

#[test]
fn process_with_run_false_leaves_jobs_ready() {
    let routes = || {
        Router::new()
            .route("/", post(hold))
            .job(async |_: &Pusher, _: Note, _: &ClaimedJob| {})
            .every_line_with(
                "0 3 1 1 *",
                "UTC",
                "report",
                LineOptions::default(),
                async |_: &Pusher| {},
            )
    };
    trial::run(routes, async |client: &Client<Pusher>| {
        assert_eq!(client.post("/").await.text(), "1");
    });
}

#[test]
fn after_commit_runs_behind_the_commit_and_not_where_that_is_undone() {
    let routes = || Router::new().route("/", get(commits));
    trial::run(routes, async |client: &Client<Pusher>| {
        assert_eq!(client.get("/").await.text(), "first kept | ");
    });
}

#[test]
fn line_of_cron_that_is_none_is_refused() {
    assert!(CronSchedule::parse("0 3 * * *", "Asia/Tokyo").is_ok());
    assert!(CronSchedule::parse("0 3 * *", "Asia/Tokyo").is_err());
}

#[derive(Serialize, Deserialize)]
struct Nested {
    value: tsumugi::serde_json::Value,
}

impl Job for Nested {
    const NAME: &'static str = "nested";
}

/// Whether values are pushed that are nested so deep.
async fn nested(app: State<Pusher>) -> Result<String> {
    let mut shown = Vec::new();
    for depth in [100, 126, 127, 200] {
        let mut value = tsumugi::serde_json::Value::Null;
        for _ in 0..depth {
            value = vec![value].into();
        }
        let pushed = app.0.push(&Nested { value }).await;
        shown.push(pushed.is_ok().to_string());
    }
    Ok(format!(
        "{} of {}",
        shown.join(" "),
        app.0.counts().await?.ready
    ))
}

#[test]
fn push_of_what_no_worker_could_read_is_refused() {
    let routes = || {
        Router::new()
            .route("/", get(nested))
            .job(async |_: &Pusher, _: Nested, _: &ClaimedJob| {})
    };
    trial::run(routes, async |client: &Client<Pusher>| {
        assert_eq!(client.get("/").await.text(), "true true false false of 2");
    });
}

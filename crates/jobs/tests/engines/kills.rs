//! The process that runs jobs is killed with SIGKILL in every state of a job, again and again: none is lost, and effects with a key happen once.
//!
//! A child is this program again, with the place in its environment; it says on standard output in which state a job is, and waits there a moment.
//! `TSUMUGI_JOB_KILLS` says how many are killed, which are a few without it; 200 are a part of `make soak`. `TSUMUGI_JOB_SEED` says which.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::rc::Rc;
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::{Instant, sleep, timeout};
use tsumugi_db::{Database, Executor, Options, TransactionOptions, values};
use tsumugi_jobs::{ClaimedJob, JobKind, JobPush, JobQueue, JobState, JobWorker, WorkerOptions};
use tsumugi_testkit::Dice;

use crate::{Place, at, eventually, here, push};

const URL: &str = "TSUMUGI_JOBS_CHILD_URL";

/// Where a child may be killed. The last is any time.
const STATES: [&str; 7] = [
    "claimed",
    "effect",
    "commit",
    "committed",
    "failing",
    "pushed",
    "",
];

fn options() -> WorkerOptions {
    WorkerOptions {
        lease: Duration::from_millis(500),
        poll: Some(Duration::from_millis(20)),
        running: 3,
        ..WorkerOptions::default()
    }
}

fn kinds() -> Vec<JobKind> {
    let kind = |name: &str| {
        let mut kind = JobKind::new(name).unwrap();
        kind.retries = 1_000;
        kind
    };
    vec![kind("effect"), kind("second")]
}

/// Says in which state the job is, and leaves time to be killed in it.
async fn say(state: &str, id: i64) {
    println!("at {state} {id}");
    std::io::stdout().flush().unwrap();
    sleep(Duration::from_millis(3)).await;
}

/// Writes a row for its number, once, and pushes another job in the same transaction.
async fn perform(queue: &JobQueue, job: &ClaimedJob) -> Result<(), Box<dyn std::error::Error>> {
    say("claimed", job.id).await;
    if job.name == "effect" && job.attempt == 1 && job.id % 5 == 0 {
        say("failing", job.id).await;
        return Err("the first time".into());
    }
    let transaction = Rc::new(
        queue
            .database()
            .begin(TransactionOptions::default())
            .await?,
    );
    let inside = Executor::Transaction(Rc::clone(&transaction));
    if queue
        .begin_once(&inside, None, Some((job.id, job.attempt)))
        .await?
    {
        let number: i64 = job.arguments.parse()?;
        let insert = "insert into effects (name, n) values (?, ?)";
        inside.execute(insert, values![&*job.name, number]).await?;
        say("effect", job.id).await;
        if job.name == "effect" {
            let second = kinds().remove(1);
            queue
                .push(&JobPush::new(second, job.arguments.clone()), &inside)
                .await?;
            say("pushed", job.id).await;
        }
    }
    say("commit", job.id).await;
    transaction.commit().await?;
    say("committed", job.id).await;
    Ok(())
}

/// Not a test of its own: what the children run.
#[test]
fn child_that_is_killed() {
    let Ok(url) = std::env::var(URL) else {
        return;
    };
    let _ = tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .try_init();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let database = Database::connect(&url, Options::default()).await.unwrap();
        let queue = JobQueue::over(&database);
        let own = queue.clone();
        let worker = JobWorker::new(
            &queue,
            kinds(),
            options(),
            Rc::new(move |job| {
                let queue = own.clone();
                Box::pin(async move {
                    perform(&queue, &job)
                        .await
                        .map_err(|error| error.to_string())
                })
            }),
        );
        worker.unwrap().run(std::future::pending()).await;
    });
}

/// A process that is killed when it is dropped.
struct Victim(Child);

impl Drop for Victim {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

fn child(url: &str) -> (Victim, BufReader<ChildStdout>) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kills::child_that_is_killed", "--nocapture"])
        .env(URL, url)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap());
    (Victim(child), lines)
}

fn number_of(variable: &str, default: u64) -> u64 {
    let said = std::env::var(variable).ok();
    said.and_then(|number| number.parse().ok())
        .unwrap_or(default)
}

/// Those that wait for their next attempt do not hold up the test.
async fn hurry(queue: &JobQueue) {
    let waiting = queue.list(Some(JobState::Scheduled), 0, 1_000).await;
    for job in waiting.unwrap() {
        match queue.retry(job.id).await {
            Ok(_) => {}
            // A child that makes it ready in the same moment is in the way, which serves as well.
            Err(_) if queue.database().scheme() == "firebird" => {}
            Err(error) => panic!("{}: {error}", job.id),
        }
    }
}

/// The lines that a child says, from a thread of their own: it may say nothing more once there is nothing to do.
fn said_by(lines: BufReader<ChildStdout>) -> UnboundedReceiver<String> {
    let (sender, said) = unbounded_channel();
    std::thread::spawn(move || {
        for line in lines.lines().map_while(Result::ok) {
            // There is no reader once it is killed.
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    said
}

/// Starts a process, and kills it where a job is in this state, after so many others were.
async fn kill_in(queue: &JobQueue, url: &str, state: &str, skipped: u64) {
    let (_child, lines) = child(url);
    let mut said = said_by(lines);
    let (begun, mut seen, mut count) = (Instant::now(), 0, 0);
    // What is not reached is over when there is nothing more to do, or soon: then it is killed at any time.
    while count < 40 {
        let line = match timeout(Duration::from_millis(50), said.recv()).await {
            Ok(Some(line)) => line,
            Ok(None) => return,
            Err(_) => String::new(),
        };
        if let Some((_, said)) = line.split_once("at ") {
            count += 1;
            seen += u64::from(said.starts_with(state));
        }
        let counts = queue.counts().await.unwrap();
        if seen > skipped || counts.ready + counts.running == 0 {
            return;
        }
        assert!(
            begun.elapsed() < Duration::from_secs(120),
            "{state}: {counts:?}"
        );
    }
}

async fn kill_again_and_again(place: &Place, kills: u64) {
    let seed = number_of("TSUMUGI_JOB_SEED", 7);
    let dice = Dice::new(seed);
    let queue = place.queue().await;
    queue.prepare().await.unwrap();
    let create = "create table effects (name varchar(20) not null, n bigint not null)";
    queue.database().execute(create, []).await.unwrap();
    let kind = kinds().remove(0);
    let mut pushed = 0_u64;
    for round in 0..kills {
        for _ in 0..1 + dice.below(3) {
            let job = JobPush::new(kind.clone(), pushed.to_string());
            push(&queue, &job).await.unwrap();
            pushed += 1;
        }
        hurry(&queue).await;
        let state = STATES[dice.place(STATES.len())];
        kill_in(&queue, &place.url(), state, dice.below(3)).await;
        let dead = queue.counts().await.unwrap().dead;
        assert_eq!(dead, 0, "seed {seed}, round {round}, {state}");
    }
    let (last, lines) = child(&place.url());
    drop(std::thread::spawn(move || lines.lines().count()));
    eventually("all end", async || {
        hurry(&queue).await;
        queue.list(None, 0, 1).await.unwrap().is_empty()
    })
    .await;
    drop(last);
    check_effects(&queue, pushed, seed).await;
    println!(
        "soak     jobs of {} killed in {kills} states: {pushed} pushed, none lost, effects once",
        place.name()
    );
}

/// Each number is there once for each kind, and what has ended leaves no keys.
async fn check_effects(queue: &JobQueue, pushed: u64, seed: u64) {
    let all = Some(i64::try_from(pushed).unwrap());
    for name in ["effect", "second"] {
        let count = "select count(*), count(distinct n) from effects where name = ?";
        let rows = here(queue).query(count, values![name]).await.unwrap();
        let row = rows.first().unwrap();
        let count = |index| row.value(index).and_then(|value| value.as_integer());
        assert_eq!((count(0), count(1)), (all, all), "seed {seed}: {name}");
    }
    let keys = "select count(*) from tsumugi_job_keys";
    let keys = here(queue).query(keys, []).await.unwrap();
    let keys = keys.first().and_then(|row| row.value(0));
    let keys = keys.and_then(|count| count.as_integer());
    assert_eq!(keys, Some(0), "seed {seed}");
}

#[test]
fn process_killed_in_any_state_of_a_job_loses_none_and_does_none_twice() {
    let kills = number_of("TSUMUGI_JOB_KILLS", 12);
    for place in [Place::sqlite(), Place::postgres(), Place::firebird()] {
        at(&place, async |place| {
            kill_again_and_again(place, kills).await
        });
    }
}

//! Locks, timers and channels over real databases: what each engine promises, by the same tests, and what PostgreSQL's alone does.

#[path = "../behaviour/mod.rs"]
mod behaviour;
mod channels;
mod followers;
mod locks;
mod timers;

use std::time::Duration;

use tempfile::TempDir;
use tsumugi_cluster::Cluster;
use tsumugi_db::{Database, Options};
use tsumugi_testkit::postgres::{PostgresDatabase, Server};

/// A place that several processes share, each of which the test stands for by a connection of its own.
enum Place {
    Postgres(PostgresDatabase<'static>),
    Sqlite(TempDir),
    Process,
}

impl Place {
    fn postgres() -> Place {
        Place::Postgres(Server::shared().database())
    }

    fn url(&self) -> String {
        match self {
            Place::Postgres(database) => database.url(),
            Place::Sqlite(folder) => format!("sqlite:{}/app.db", folder.path().display()),
            Place::Process => "sqlite::memory:".to_owned(),
        }
    }

    /// A database as another process has it.
    async fn database(&self) -> Database {
        let options = Options::default();
        Database::connect(&self.url(), options).await.unwrap()
    }

    /// A cluster as another process has it.
    async fn cluster(&self) -> Cluster {
        match self {
            Place::Process => Cluster::of_process(),
            _ => Cluster::over(&self.database().await).unwrap(),
        }
    }
}

impl Place {
    /// How long a lease lasts that a test waits for the end of.
    fn short(&self) -> Duration {
        SHORT
    }

    /// The period of timers.
    fn period(&self) -> Duration {
        Duration::from_secs(1)
    }

    /// How much later than a period a timer is due that nobody waited for.
    fn late(&self) -> Duration {
        Duration::ZERO
    }
}

/// Runs a test at a place, on a runtime like a worker's.
fn at(place: Place, test: impl AsyncFnOnce(Place)) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, test(place));
}

/// Runs a test with each engine. Names are the test's own: the process has one table for all tests.
fn with_each(test: impl AsyncFn(Place)) {
    at(Place::Process, &test);
    at(Place::Sqlite(tempfile::tempdir().unwrap()), &test);
    at(Place::postgres(), &test);
}

/// The same with each engine that carries messages.
fn with_each_carrier(test: impl AsyncFn(Place)) {
    with_each(test);
}

/// A lease that a test waits for the end of.
const SHORT: Duration = Duration::from_secs(1);
/// One that outlasts every test.
const LONG: Duration = Duration::from_secs(600);

//! Connections to real servers: every way to reach, encrypt, log in and choose. And statements on them.
//! Rule: an error is checked by its text, because the text is what a person gets; and no text ever has a password.

mod blocking;
mod copying;
mod drops;
mod endings;
mod hosts;
mod listening;
mod log_places;
mod login;
mod long_pipelines;
mod mixture;
mod plans;
mod pooler;
mod reach;
mod secure;
mod sizes;
mod statements;
mod typed;
mod xacts;

use std::pin::Pin;

use ring::rand::{SecureRandom as _, SystemRandom};
use tsumugi_pg::{Config, Connection, Connector, Environment, Error, Rows, StartedConnection};
use tsumugi_pg_proto::backend::TransactionStatus;
use tsumugi_testkit::postgres::{Server, User};

fn environment() -> Environment {
    Environment::empty().with_user("postgres")
}

async fn connect(text: &str) -> Result<StartedConnection, Error> {
    let config = Config::parse(text, &environment())?;
    Connector::new(config).connect(&mut random).await
}

fn random(bytes: &mut [u8]) {
    SystemRandom::new().fill(bytes).unwrap();
}

/// Runs a test on a runtime like a worker's.
fn run<F: Future<Output = ()>>(test: F) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, test);
}

/// A connection to the server that all tests of this process share; `options` begin with `?`.
async fn open(options: &str) -> Connection {
    open_at(&(Server::shared().url(User::TRUST) + options)).await
}

async fn open_at(url: &str) -> Connection {
    let config = Config::parse(url, &environment()).unwrap();
    Connection::open(&Connector::new(config)).await.unwrap()
}

/// Polls once, then lets the others run. True when it has ended.
async fn poll_once<F: Future>(future: Pin<&mut F>) -> bool {
    let ended = tsumugi_testkit::poll::once(future).await;
    tokio::task::yield_now().await;
    ended
}

/// It still answers, and no transaction is open.
async fn is_clean(db: &Connection) {
    assert_eq!(int(&db.query("select 7", &()).await.unwrap()), 7);
    assert_eq!(db.status(), TransactionStatus::Idle);
}

/// The SQLSTATE of an error that the server sent.
#[track_caller]
fn code<T>(result: Result<T, Error>) -> String {
    let error = result.err().expect("it must fail");
    error
        .server()
        .expect("the server says why")
        .code
        .to_string()
}

/// The server's process for a connection.
async fn pid(db: &Connection) -> i32 {
    int(&db.query("select pg_backend_pid()", &()).await.unwrap())
}

/// The first value.
#[track_caller]
fn int(rows: &Rows) -> i32 {
    rows.first().unwrap().unwrap().value(0).unwrap()
}

/// The server's process for this connection.
fn process(connected: &StartedConnection) -> u32 {
    connected.session.key.as_ref().unwrap().process_id
}

/// The error's text, and that of all its causes, without any password.
#[track_caller]
fn text(result: Result<StartedConnection, Error>) -> String {
    let error = result.err().expect("it must not connect");
    let mut shown = format!("{error:?} {error:#?}");
    let mut cause: Option<&dyn std::error::Error> = Some(&error);
    while let Some(error) = cause {
        shown.push_str(&error.to_string());
        cause = error.source();
    }
    for user in [User::CLEARTEXT, User::MD5, User::SCRAM] {
        assert!(!shown.contains(user.password.unwrap()), "{shown}");
    }
    assert!(!shown.contains("wrong secret"), "{shown}");
    error.to_string()
}

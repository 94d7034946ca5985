//! The driver against real servers: every way to log in, statements, transactions, what goes wrong.
//! Rule: an error is checked by its code or its text, because those are what a person gets; and no text ever has a password.

mod automatic;
mod blobs;
mod charsets;
mod drops;
mod errors;
mod events;
mod login;
mod statements;
mod transactions;
mod values;
mod wire;

use tsumugi_firebird::{Config, Connection, Connector, Error, Rows};
use tsumugi_firebird_proto::GdsCode;
use tsumugi_firebird_proto::values::{TextRules, Value};
use tsumugi_testkit::firebird::FirebirdDatabase;

/// Runs a test on a runtime like a worker's.
fn run<F: Future<Output = ()>>(test: F) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, test);
}

async fn connect(url: &str) -> Result<Connection, Error> {
    Connection::open(&Connector::new(Config::parse(url)?)).await
}

async fn open(database: &FirebirdDatabase<'_>) -> Connection {
    connect(&database.url()).await.unwrap()
}

/// The code of an error that the server sent.
#[track_caller]
fn code<T>(result: Result<T, Error>) -> GdsCode {
    let error = result.err().expect("it must fail");
    error.server().expect("the server says why").code
}

/// The first value.
#[track_caller]
fn value(rows: &Rows) -> Value<'_> {
    let row = rows.first().expect("there is a row");
    row.field(0).unwrap().value(TextRules::default())
}

/// The first value, a text.
#[track_caller]
fn text(rows: &Rows) -> String {
    match value(rows) {
        Value::Text(text) => text.into_owned(),
        other => panic!("{other:?}"),
    }
}

/// The first value, a whole number.
#[track_caller]
fn int(rows: &Rows) -> i64 {
    match value(rows) {
        Value::Integer(number) => number,
        other => panic!("{other:?}"),
    }
}

/// It still answers.
async fn is_usable(db: &Connection) {
    let rows = db.query("select 7 from rdb$database", &[]).await.unwrap();
    assert_eq!(int(&rows), 7);
}

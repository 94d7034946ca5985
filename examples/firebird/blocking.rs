//! The catalogue of a Firebird database as JSON, in two ways that stop everybody else on their thread: to be measured, not to be
//! imitated. Run: DATABASE_URL=firebird://… cargo run --release --package tsumugi --example firebird-blocking -- serve
//! Rule: the worker does nothing until the whole answer is there, as with a client library that blocks.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use tsumugi::db::Database;
use tsumugi::http::HeaderValue;
use tsumugi::http::header::CONTENT_TYPE;
use tsumugi::prelude::*;
use tsumugi::tokio::runtime::Builder;
use tsumugi::tokio::task::LocalSet;

#[cfg(test)]
mod tests;

#[global_allocator]
static ALLOCATOR: tsumugi_allocator::Allocator = tsumugi_allocator::Allocator;

const ALL: &str = "select * from rdb$relations";
const TEN: &str = "select first 10 * from rdb$relations";
const PLAIN: &str = "select rdb$relation_id, rdb$system_flag, rdb$dbkey_length, rdb$format, rdb$field_id, rdb$relation_name, rdb$security_class, \
                     rdb$external_file, rdb$owner_name, rdb$default_class, rdb$flags, rdb$relation_type from rdb$relations";
const PAGE: &str = "<!DOCTYPE html><html><head><title>The catalogue of a database</title></head>\
                    <body><h1>The catalogue, in two ways that block</h1></body></html>\n";

/// How a connection is had.
#[derive(Clone, Copy)]
enum Way {
    Connect,
    Single,
}

/// A call that blocks.
struct Call {
    way: Way,
    sql: &'static str,
}

type Outcome = std::result::Result<Vec<u8>, DbError>;

/// A client that blocks: each call ends when its whole answer is there.
struct Client {
    calls: SyncSender<Call>,
    outcomes: Receiver<Outcome>,
}

impl Client {
    fn start(url: String) -> Result<Client> {
        let (calls, asked) = sync_channel(1);
        let (answered, outcomes) = sync_channel(1);
        let serve = move || {
            // Gone with it, the client hears that nobody answers.
            let _ = answer(&url, &asked, &answered);
        };
        let named = thread::Builder::new().name("firebird".to_owned());
        named.spawn(serve)?;
        Ok(Client { calls, outcomes })
    }

    fn call(&self, way: Way, sql: &'static str) -> Result<Vec<u8>> {
        // Nobody answers when the client could not begin.
        self.calls.send(Call { way, sql }).map_err(Error::other)?;
        Ok(self.outcomes.recv().map_err(Error::other)??)
    }
}

/// Answers one call after the other.
fn answer(
    url: &str,
    asked: &Receiver<Call>,
    answered: &SyncSender<Outcome>,
) -> std::io::Result<()> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let tasks = LocalSet::new();
    let mut single = None;
    while let Ok(Call { way, sql }) = asked.recv() {
        let outcome = tasks.block_on(&runtime, async {
            match way {
                Way::Connect => {
                    let database = connect(url).await?;
                    let outcome = json(&database, sql).await;
                    database.close();
                    outcome
                }
                Way::Single => {
                    if single.is_none() {
                        single = Some(connect(url).await?);
                    }
                    let Some(database) = &single else {
                        unreachable!("it was just put there");
                    };
                    json(database, sql).await
                }
            }
        });
        if answered.send(outcome).is_err() {
            break;
        }
    }
    Ok(())
}

async fn connect(url: &str) -> std::result::Result<Database, DbError> {
    let mark = if url.contains('?') { '&' } else { '?' };
    let mut options = Options::default();
    options.pool = 1;
    Database::connect(&format!("{url}{mark}statement_cache=0"), options).await
}

async fn json(database: &Database, sql: &str) -> Outcome {
    let rows = database.query(sql, []).await?;
    let mut out = Vec::new();
    rows.write_json(&mut out)?;
    Ok(out)
}

struct App {
    client: Client,
}

impl Plugin for App {
    async fn start(worker: &Worker) -> Result<App> {
        let url = worker.env("DATABASE_URL")?;
        Ok(App {
            client: Client::start(url)?,
        })
    }
}

#[derive(Deserialize)]
struct Wanted {
    #[serde(default)]
    only: String,
}

fn relations(app: &App, way: Way, wanted: &Wanted) -> Result<Response> {
    let sql = match wanted.only.as_str() {
        "ten" => TEN,
        "plain" => PLAIN,
        _ => ALL,
    };
    let body = Bytes::from(app.client.call(way, sql)?);
    let json = HeaderValue::from_static("application/json");
    Ok(Response::new(StatusCode::OK, body).with(CONTENT_TYPE, json))
}

async fn by_connecting(app: State<App>, Query(wanted): Query<Wanted>) -> Result<Response> {
    relations(&app, Way::Connect, &wanted)
}

async fn on_one(app: State<App>, Query(wanted): Query<Wanted>) -> Result<Response> {
    relations(&app, Way::Single, &wanted)
}

async fn page() -> Html<&'static str> {
    Html(PAGE)
}

fn routes() -> Router<App> {
    Router::new()
        .route("/connect", get(by_connecting))
        .route("/single", get(on_one))
        .route("/", get(page))
}

fn main() -> std::process::ExitCode {
    tsumugi::main(routes)
}

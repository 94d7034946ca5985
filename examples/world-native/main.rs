//! The endpoints of the public framework benchmarks on PostgreSQL, in Rust: those of `examples/world`, which is in Ruby.
//! Run: DATABASE_URL=postgres://… cargo run --release --package tsumugi --example world-native -- serve

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;
use std::io::Write as _;
use std::sync::Arc;

use futures_util::future::try_join_all;
use tsumugi::db::{PipelineAtomicity, Value};
use tsumugi::http::HeaderValue;
use tsumugi::http::header::CONTENT_TYPE;
use tsumugi::prelude::*;

#[cfg(test)]
mod tests;

#[global_allocator]
static ALLOCATOR: tsumugi_allocator::Allocator = tsumugi_allocator::Allocator;

const WORLDS: u64 = 10_000;
const QUERIES_MAX: usize = 500;
const READ: &str = "select id, randomnumber as \"randomNumber\" from world where id = ?";
const WRITE: &str = "update world set randomnumber = fresh.number \
                     from unnest(?::int[], ?::int[]) as fresh (id, number) where world.id = fresh.id";
const ADDED: &str = "Additional fortune added at request time.";

#[derive(Deserialize, Serialize)]
struct World {
    id: i64,
    #[serde(rename = "randomNumber")]
    random_number: i64,
}

#[derive(Serialize)]
struct Message {
    message: &'static str,
}

#[derive(Deserialize)]
struct Asked {
    #[serde(default)]
    q: String,
}

impl Asked {
    /// 1 to 500; what is no number is 1.
    fn count(&self) -> usize {
        self.q.parse().unwrap_or(1).clamp(1, QUERIES_MAX)
    }
}

struct App {
    db: Db,
    /// The four ways of `/pool`.
    one: Db,
    pooled: Db,
    unprepared: Db,
    read: Arc<str>,
    random: Cell<u64>,
}

impl Plugin for App {
    async fn start(worker: &Worker) -> Result<App> {
        let url = worker.env("DATABASE_URL")?;
        let mark = if url.contains('?') { '&' } else { '?' };
        let with = async |option: &str, pool| {
            let mut options = Options::default();
            options.pool = pool;
            Db::connect(&format!("{url}{mark}{option}"), options).await
        };
        Ok(App {
            // Statements share connections, and one is enough for a worker.
            db: with("application_name=world", 1).await?,
            one: with("application_name=one", 1).await?,
            pooled: with("application_name=pooled", 8).await?,
            unprepared: with("statement_cache=0", 8).await?,
            read: READ.into(),
            random: Cell::new(RandomState::new().hash_one(worker.id()) | 1),
        })
    }

    async fn stop(&self) {
        for db in [&self.db, &self.one, &self.pooled, &self.unprepared] {
            db.close().await;
        }
    }
}

impl App {
    /// 1 to 10,000 (xorshift64).
    fn random(&self) -> i64 {
        let mut state = self.random.get();
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        self.random.set(state);
        (state % WORLDS + 1) as i64
    }

    /// Every read is a statement of its own; all leave in one write.
    async fn worlds(&self, count: usize) -> Result<Vec<Rows>> {
        let read = || ((&self.read).into(), values![self.random()]);
        let statements = (0..count).map(|_| read()).collect();
        let outcomes = self
            .db
            .pipeline(statements, PipelineAtomicity::Each)
            .await?;
        Ok(outcomes
            .into_iter()
            .collect::<std::result::Result<_, _>>()?)
    }

    async fn in_turn(&self, db: &Db) -> Result<Vec<Rows>> {
        let mut found = Vec::with_capacity(QUERIES_MAX);
        for _ in 0..QUERIES_MAX {
            found.push(
                db.query(Arc::clone(&self.read), values![self.random()])
                    .await?,
            );
        }
        Ok(found)
    }

    async fn at_once(&self, db: &Db) -> Result<Vec<Rows>> {
        let read = |_| db.query(Arc::clone(&self.read), values![self.random()]);
        Ok(try_join_all((0..QUERIES_MAX).map(read)).await?)
    }
}

/// The first row of each result, as the database has it: no value is made of a row.
fn json(worlds: &[Rows]) -> Result<Response> {
    let mut out = Vec::with_capacity(40 * worlds.len() + 2);
    for (index, rows) in worlds.iter().enumerate() {
        out.push(if index == 0 { b'[' } else { b',' });
        rows.write_json_row(0, &mut out)?;
    }
    out.push(b']');
    Ok(typed("application/json", out))
}

fn typed(content_type: &'static str, body: Vec<u8>) -> Response {
    let content_type = HeaderValue::from_static(content_type);
    Response::new(StatusCode::OK, Bytes::from(body)).with(CONTENT_TYPE, content_type)
}

async fn one(app: State<App>) -> Result<Response> {
    let rows = app
        .db
        .query(Arc::clone(&app.read), values![app.random()])
        .await?;
    let mut out = Vec::with_capacity(40);
    rows.write_json_row(0, &mut out)?;
    Ok(typed("application/json", out))
}

async fn queries(app: State<App>, Query(asked): Query<Asked>) -> Result<Response> {
    json(&app.worlds(asked.count()).await?)
}

async fn updates(app: State<App>, Query(asked): Query<Asked>) -> Result<Json<Vec<World>>> {
    let found = app.worlds(asked.count()).await?;
    let firsts = found.iter().filter_map(Rows::first);
    let mut worlds: Vec<World> = firsts
        .map(tsumugi::builder::from_row)
        .collect::<Result<_>>()?;
    // In one order everywhere, and each row once: statements of several connections must not wait for each other in a circle.
    worlds.sort_unstable_by_key(|world| world.id);
    worlds.dedup_by_key(|world| world.id);
    for world in &mut worlds {
        world.random_number = app.random();
    }
    let list = |of: fn(&World) -> i64| {
        let numbers = worlds.iter().map(|world| Value::Integer(of(world)));
        Value::List(numbers.collect())
    };
    let binds = vec![list(|world| world.id), list(|world| world.random_number)];
    app.db.execute(WRITE, binds).await?;
    Ok(Json(worlds))
}

async fn fortunes(app: State<App>) -> Result<Response> {
    let rows = app.db.query("select id, message from fortune", []).await?;
    let mut fortunes: Vec<(i64, &str)> = Vec::with_capacity(rows.len() + 1);
    for row in rows.iter() {
        let mut values = row.values();
        let id = values.next().and_then(|id| id.as_integer());
        let message = values.next().and_then(|message| message.as_text());
        fortunes.extend(id.zip(message));
    }
    fortunes.push((0, ADDED));
    fortunes.sort_unstable_by_key(|(_, message)| *message);
    let mut page = Vec::with_capacity(2048);
    page.extend_from_slice(
        b"<!DOCTYPE html><html><head><title>Fortunes</title></head><body><table><tr><th>id</th><th>message</th></tr>\n",
    );
    for (id, message) in fortunes {
        let _ = write!(page, "<tr><td>{id}</td><td>"); // writing to memory cannot fail
        escape(message, &mut page);
        page.extend_from_slice(b"</td></tr>\n");
    }
    page.extend_from_slice(b"</table></body></html>\n");
    Ok(typed("text/html; charset=utf-8", page))
}

fn escape(text: &str, out: &mut Vec<u8>) {
    for byte in text.bytes() {
        match byte {
            b'&' => out.extend_from_slice(b"&amp;"),
            b'<' => out.extend_from_slice(b"&lt;"),
            b'>' => out.extend_from_slice(b"&gt;"),
            b'"' => out.extend_from_slice(b"&quot;"),
            b'\'' => out.extend_from_slice(b"&#39;"),
            byte => out.push(byte),
        }
    }
}

#[derive(Deserialize)]
struct Way {
    way: String,
}

async fn pool(app: State<App>, Query(Way { way }): Query<Way>) -> Result<Response> {
    let worlds = match way.as_str() {
        "single_prepared" => app.in_turn(&app.one).await?,
        "pool_unprepared" => app.at_once(&app.unprepared).await?,
        "pool_prepared" => app.at_once(&app.pooled).await?,
        "pipelined" => app.worlds(QUERIES_MAX).await?,
        _ => {
            let ways = "way is one of single_prepared, pool_unprepared, pool_prepared, pipelined";
            return Err(Error::bad_request(ways));
        }
    };
    json(&worlds)
}

fn routes() -> Router<App> {
    let message = "Hello, World!";
    Router::new()
        .route("/plaintext", get(async move || message))
        .route("/hello", get(async || "hello"))
        .route("/json", get(async move || Json(Message { message })))
        .route("/db", get(one))
        .route("/queries", get(queries))
        .route("/updates", get(updates))
        .route("/fortunes", get(fortunes))
        .route("/pool", get(pool))
}

fn main() -> std::process::ExitCode {
    tsumugi::main(routes)
}

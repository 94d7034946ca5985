//! The World/Fortune endpoints on axum and tokio-postgres, to be measured beside ours. Not part of the product.
//! A worker is one thread with its own runtime, listener and connection, on which queries are pipelined: `world-axum ADDRESS URL WORKERS`.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;

use axum::Router;
use axum::extract::{Query, State};
use axum::response::{Html, Json};
use axum::routing::get;
use futures_util::stream::{FuturesOrdered, TryStreamExt};
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};
use socket2::{Domain, Protocol, Socket, Type as Kind};
use tokio::net::TcpListener;
use tokio::runtime;
use tokio::task::{self, LocalSet};
use tokio_postgres::types::Type;
use tokio_postgres::{Client, NoTls, Statement};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Error = Box<dyn std::error::Error + Send + Sync>;
type Shared = State<Arc<Database>>;

const ROWS: i32 = 10_000;
const QUERIES_MAX: usize = 500;
const BACKLOG: i32 = 4096;
const PAGE: &str = "<!DOCTYPE html>\n<html>\n<head><title>Hello</title></head>\n<body><h1>Hello, World!</h1></body>\n</html>\n";
const ADDED: &str = "Additional fortune added at request time.";

/// One worker's connection and its statements.
struct Database {
    client: Client,
    read: Statement,
    write: Statement,
    fortunes: Statement,
}

#[derive(Serialize)]
struct World {
    id: i32,
    #[serde(rename = "randomNumber")]
    random_number: i32,
}

/// The same with its column's own name.
#[derive(Serialize)]
struct PlainWorld {
    id: i32,
    randomnumber: i32,
}

#[derive(Deserialize)]
struct Asked {
    q: Option<String>,
}

impl Asked {
    /// 1 to 500; what is no number is 1.
    fn count(&self) -> usize {
        let number = self.q.as_deref().and_then(|text| text.parse().ok());
        number.unwrap_or(1).clamp(1, QUERIES_MAX)
    }
}

fn random() -> i32 {
    thread_local!(static RANDOM: RefCell<SmallRng> = RefCell::new(SmallRng::from_os_rng()));
    RANDOM.with_borrow_mut(|random| random.random_range(1..=ROWS))
}

impl Database {
    async fn connect(url: &str) -> Result<Database, Error> {
        let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
        task::spawn_local(async move {
            if let Err(error) = connection.await {
                eprintln!("the connection broke: {error}");
            }
        });
        let read = client
            .prepare_typed(
                "select id, randomnumber from world where id = $1",
                &[Type::INT4],
            )
            .await?;
        let write = client
            .prepare_typed(
                "update world set randomnumber = new.number from unnest($1::int[], $2::int[]) as new (id, number) where world.id = new.id",
                &[Type::INT4_ARRAY, Type::INT4_ARRAY],
            )
            .await?;
        let fortunes = client.prepare("select id, message from fortune").await?;
        Ok(Database {
            client,
            read,
            write,
            fortunes,
        })
    }

    async fn world(&self) -> Result<World, tokio_postgres::Error> {
        let row = self.client.query_one(&self.read, &[&random()]).await?;
        Ok(World {
            id: row.get(0),
            random_number: row.get(1),
        })
    }

    async fn worlds(&self, count: usize) -> Vec<World> {
        let queries: FuturesOrdered<_> = (0..count).map(|_| self.world()).collect();
        queries.try_collect().await.expect("the database answers")
    }
}

async fn one(State(database): Shared) -> Json<World> {
    Json(database.world().await.expect("the database answers"))
}

async fn many(State(database): Shared, Query(asked): Query<Asked>) -> Json<Vec<World>> {
    Json(database.worlds(asked.count()).await)
}

/// The first rows, by their keys, as they were asked for.
async fn finds(State(database): Shared) -> Json<Vec<PlainWorld>> {
    let find = |id: i32| {
        let database = Arc::clone(&database);
        async move {
            let row = database.client.query_one(&database.read, &[&id]).await?;
            Ok::<_, tokio_postgres::Error>(PlainWorld {
                id: row.get(0),
                randomnumber: row.get(1),
            })
        }
    };
    let queries: FuturesOrdered<_> = (1..=QUERIES_MAX as i32).map(find).collect();
    Json(queries.try_collect().await.expect("the database answers"))
}

async fn update(State(database): Shared, Query(asked): Query<Asked>) -> Json<Vec<World>> {
    let mut worlds = database.worlds(asked.count()).await;
    // In one order everywhere, and each row once: statements of several connections must not wait for each other in a circle.
    worlds.sort_unstable_by_key(|world| world.id);
    worlds.dedup_by_key(|world| world.id);
    worlds
        .iter_mut()
        .for_each(|world| world.random_number = random());
    let (ids, numbers): (Vec<_>, Vec<_>) = worlds
        .iter()
        .map(|world| (world.id, world.random_number))
        .unzip();
    let written = database
        .client
        .execute(&database.write, &[&ids, &numbers])
        .await;
    written.expect("the database answers");
    Json(worlds)
}

async fn fortunes(State(database): Shared) -> Html<String> {
    let rows = database.client.query(&database.fortunes, &[]).await;
    let rows = rows.expect("the database answers");
    let mut fortunes: Vec<(i32, &str)> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
    fortunes.push((0, ADDED));
    fortunes.sort_unstable_by_key(|(_, message)| *message);
    let mut page = String::with_capacity(2048);
    page.push_str("<!DOCTYPE html><html><head><title>Fortunes</title></head><body><table><tr><th>id</th><th>message</th></tr>");
    for (id, message) in fortunes {
        page.push_str("<tr><td>");
        page.push_str(&id.to_string());
        page.push_str("</td><td>");
        escape(message, &mut page);
        page.push_str("</td></tr>");
    }
    page.push_str("</table></body></html>");
    Html(page)
}

fn escape(text: &str, page: &mut String) {
    let mut plain = 0;
    for (at, byte) in text.bytes().enumerate() {
        let entity = match byte {
            b'&' => "&amp;",
            b'<' => "&lt;",
            b'>' => "&gt;",
            b'"' => "&quot;",
            b'\'' => "&#39;",
            _ => continue,
        };
        page.push_str(&text[plain..at]);
        page.push_str(entity);
        plain = at + 1;
    }
    page.push_str(&text[plain..]);
}

#[derive(Serialize)]
struct Hello {
    message: &'static str,
}

fn router(database: Database) -> Router {
    Router::new()
        .route("/plaintext", get(|| async { "Hello, World!" }))
        .route(
            "/json",
            get(|| async {
                Json(Hello {
                    message: "Hello, World!",
                })
            }),
        )
        .route("/html", get(|| async { Html(PAGE) }))
        .route("/finds", get(finds))
        .route("/db", get(one))
        .route("/queries", get(many))
        .route("/updates", get(update))
        .route("/fortunes", get(fortunes))
        .with_state(Arc::new(database))
}

/// Each worker listens by itself; the kernel spreads connections over them.
fn listen(address: SocketAddr) -> Result<TcpListener, Error> {
    let socket = Socket::new(
        Domain::for_address(address),
        Kind::STREAM,
        Some(Protocol::TCP),
    )?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(TcpListener::from_std(socket.into())?)
}

async fn serve(address: SocketAddr, url: String) -> Result<(), Error> {
    let router = router(Database::connect(&url).await?);
    let listener = listen(address)?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let service = TowerToHyperService::new(router.clone());
        task::spawn_local(async move {
            // A client that leaves is no error of ours.
            let _ = http1::Builder::new()
                .pipeline_flush(true)
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

fn work(address: SocketAddr, url: String) -> Result<(), Error> {
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    LocalSet::new().block_on(&runtime, serve(address, url))
}

fn main() -> Result<(), Error> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [address, url, workers] = words.as_slice() else {
        return Err("usage: world-axum ADDRESS URL WORKERS".into());
    };
    let (address, workers): (SocketAddr, usize) = (address.parse()?, workers.parse()?);
    let workers: Vec<_> = (0..workers)
        .map(|_| {
            let url = url.clone();
            thread::spawn(move || work(address, url))
        })
        .collect();
    for worker in workers {
        worker.join().map_err(|_| "a worker panicked")??;
    }
    Ok(())
}

//! HttpArena's profiles on actix-web and tokio-postgres, to be measured beside ours. Not part of the product.
//! Files come from disk by actix-files, compression is actix-web's own: `arena-actix PLAIN TLS_HTTP1 TLS H2C WORKERS`, four addresses, the last
//! of which is not listened on. Each worker has a connection of its own to `DATABASE_URL`, on which queries are pipelined.

use std::collections::HashMap;
use std::sync::{Arc, RwLock};
use std::time::{Duration, Instant};

use actix_files::Files;
use actix_web::http::header::ContentType;
use actix_web::middleware::Compress;
use actix_web::web::{self, Bytes, Data, Json, Path, Payload, Query, ServiceConfig};
use actix_web::{App, HttpRequest, HttpResponse, HttpServer};
use bench_peers::arena::{Item, Items, Rating, addresses, certificate, list};
use futures_util::StreamExt as _;
use serde::{Deserialize, Serialize};
use tokio_postgres::types::{Json as Jsonb, ToSql};
use tokio_postgres::{Client, NoTls, Row, Statement};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Error = Box<dyn std::error::Error + Send + Sync>;
/// None without `DATABASE_URL`.
type Shared = Data<Option<Database>>;
type Parameters<'a> = &'a [&'a (dyn ToSql + Sync)];

const COLUMNS: &str = "select id, name, category, price, quantity, active, tags, rating_score, rating_count from items";
const CACHED: Duration = Duration::from_millis(200);

/// One worker's connection and its statements.
struct Database {
    client: Client,
    by_price: Statement,
    by_category: Statement,
    by_id: Statement,
    upsert: Statement,
    update: Statement,
}

impl Database {
    async fn connect(url: &str) -> Result<Database, tokio_postgres::Error> {
        let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
        actix_web::rt::spawn(async move { drop(connection.await) });
        let select = async |rest: &str| client.prepare(&format!("{COLUMNS} {rest}")).await;
        let by_price = select("where price between $1 and $2 limit $3").await?;
        let by_category = select("where category = $1 order by id limit $2 offset $3").await?;
        let by_id = select("where id = $1").await?;
        let upsert = "insert into items (id, name, category, price, quantity, active, tags, rating_score, rating_count) \
                      values ($1, $2, $3, $4, $5, true, '[\"bench\"]', 0, 0) \
                      on conflict (id) do update set name = excluded.name, price = excluded.price, quantity = excluded.quantity";
        let update = "update items set name = $1, price = $2, quantity = $3 where id = $4";
        Ok(Database {
            upsert: client.prepare(upsert).await?,
            update: client.prepare(update).await?,
            client,
            by_price,
            by_category,
            by_id,
        })
    }

    async fn items(
        &self,
        statement: &Statement,
        parameters: Parameters<'_>,
    ) -> actix_web::Result<Vec<Item>> {
        let rows = self.client.query(statement, parameters).await;
        Ok(rows.map_err(failed)?.iter().map(item).collect())
    }

    async fn execute(
        &self,
        statement: &Statement,
        parameters: Parameters<'_>,
    ) -> actix_web::Result<u64> {
        self.client
            .execute(statement, parameters)
            .await
            .map_err(failed)
    }
}

fn connected(database: &Option<Database>) -> actix_web::Result<&Database> {
    database
        .as_ref()
        .ok_or_else(|| actix_web::error::ErrorServiceUnavailable("DATABASE_URL is not set"))
}

fn failed(error: tokio_postgres::Error) -> actix_web::Error {
    actix_web::error::ErrorInternalServerError(error)
}

fn item(row: &Row) -> Item {
    let Jsonb(tags) = row.get(6);
    Item {
        id: row.get(0),
        name: row.get(1),
        category: row.get(2),
        price: row.get(3),
        quantity: row.get(4),
        active: row.get(5),
        tags,
        rating: Rating {
            score: row.get(7),
            count: row.get(8),
        },
    }
}

/// What was read, for all workers, until it is too old.
#[derive(Default)]
struct Cache(RwLock<HashMap<i32, (Instant, Bytes)>>);

impl Cache {
    fn get(&self, id: i32) -> Option<Bytes> {
        let records = self.0.read().ok()?;
        let (stored, text) = records.get(&id)?;
        (stored.elapsed() < CACHED).then(|| text.clone())
    }

    fn set(&self, id: i32, text: Bytes) {
        if let Ok(mut records) = self.0.write() {
            records.insert(id, (Instant::now(), text));
        }
    }

    fn remove(&self, id: i32) {
        if let Ok(mut records) = self.0.write() {
            records.remove(&id);
        }
    }
}

fn text(text: String) -> HttpResponse {
    HttpResponse::Ok()
        .content_type(ContentType::plaintext())
        .body(text)
}

fn json(body: impl Into<Bytes>) -> HttpResponse {
    HttpResponse::Ok()
        .content_type(ContentType::json())
        .body(body.into())
}

#[derive(Deserialize)]
struct Terms {
    #[serde(default)]
    a: i64,
    #[serde(default)]
    b: i64,
}

async fn sum(terms: Query<Terms>) -> HttpResponse {
    text((terms.a + terms.b).to_string())
}

async fn sum_with_body(terms: Query<Terms>, body: String) -> HttpResponse {
    let number: i64 = body.trim().parse().unwrap_or(0);
    text((terms.a + terms.b + number).to_string())
}

#[derive(Deserialize)]
struct Factor {
    m: Option<i64>,
}

async fn priced(items: Data<Items>, count: Path<usize>, factor: Query<Factor>) -> HttpResponse {
    json(items.json(*count, factor.m.unwrap_or(1)))
}

async fn upload(mut body: Payload) -> actix_web::Result<HttpResponse> {
    let mut size = 0;
    while let Some(piece) = body.next().await {
        size += piece?.len();
    }
    Ok(text(size.to_string()))
}

#[derive(Deserialize)]
struct Prices {
    min: Option<i32>,
    max: Option<i32>,
    limit: Option<i64>,
}

async fn range(database: Shared, prices: Query<Prices>) -> actix_web::Result<HttpResponse> {
    let database = connected(&database)?;
    let (min, max) = (prices.min.unwrap_or(10), prices.max.unwrap_or(50));
    let limit = prices.limit.unwrap_or(50).clamp(1, 50);
    let items = database
        .items(&database.by_price, &[&min, &max, &limit])
        .await?;
    Ok(json(list(items)))
}

#[derive(Deserialize)]
struct Page {
    category: Option<String>,
    page: Option<i64>,
    limit: Option<i64>,
}

#[derive(Serialize)]
struct ItemPage {
    items: Vec<Item>,
    total: usize,
    page: i64,
    limit: i64,
}

async fn pages(database: Shared, asked: Query<Page>) -> actix_web::Result<HttpResponse> {
    let database = connected(&database)?;
    let category = asked.category.as_deref().unwrap_or("electronics");
    let page = asked.page.unwrap_or(1).max(1);
    let limit = asked.limit.unwrap_or(10).clamp(1, 50);
    let offset = (page - 1) * limit;
    let items = database
        .items(&database.by_category, &[&category, &limit, &offset])
        .await?;
    let total = items.len();
    Ok(HttpResponse::Ok().json(ItemPage {
        items,
        total,
        page,
        limit,
    }))
}

async fn show(
    database: Shared,
    cache: Data<Cache>,
    id: Path<i32>,
) -> actix_web::Result<HttpResponse> {
    let database = connected(&database)?;
    let answer = |body: Bytes, cache: &'static str| {
        HttpResponse::Ok()
            .content_type(ContentType::json())
            .insert_header(("x-cache", cache))
            .body(body)
    };
    if let Some(found) = cache.get(*id) {
        return Ok(answer(found, "HIT"));
    }
    let Some(item) = database.items(&database.by_id, &[&*id]).await?.pop() else {
        return Ok(HttpResponse::NotFound().finish());
    };
    let found = Bytes::from(serde_json::to_vec(&item)?);
    cache.set(*id, found.clone());
    Ok(answer(found, "MISS"))
}

#[derive(Deserialize, Serialize)]
struct NewItem {
    id: i32,
    name: String,
    category: String,
    price: i32,
    quantity: i32,
}

async fn create(database: Shared, item: Json<NewItem>) -> actix_web::Result<HttpResponse> {
    let database = connected(&database)?;
    let parameters: Parameters<'_> = &[
        &item.id,
        &item.name,
        &item.category,
        &item.price,
        &item.quantity,
    ];
    database.execute(&database.upsert, parameters).await?;
    Ok(HttpResponse::Created().json(item.0))
}

#[derive(Deserialize, Serialize)]
struct Change {
    name: String,
    price: i32,
    quantity: i32,
}

async fn change(
    database: Shared,
    cache: Data<Cache>,
    id: Path<i32>,
    change: Json<Change>,
) -> actix_web::Result<HttpResponse> {
    let database = connected(&database)?;
    let parameters: Parameters<'_> = &[&change.name, &change.price, &change.quantity, &*id];
    if database.execute(&database.update, parameters).await? == 0 {
        return Ok(HttpResponse::NotFound().finish());
    }
    cache.remove(*id);
    Ok(HttpResponse::Ok().json(change.0))
}

/// Sends messages back as they are.
async fn echo(request: HttpRequest, body: Payload) -> actix_web::Result<HttpResponse> {
    let (response, mut session, mut messages) = actix_ws::handle(&request, body)?;
    actix_web::rt::spawn(async move {
        while let Some(Ok(message)) = messages.next().await {
            let sent = match message {
                actix_ws::Message::Text(text) => session.text(text).await,
                actix_ws::Message::Binary(bytes) => session.binary(bytes).await,
                actix_ws::Message::Ping(bytes) => session.pong(&bytes).await,
                actix_ws::Message::Close(reason) => {
                    let _ = session.close(reason).await; // the client may have gone
                    return;
                }
                _ => Ok(()),
            };
            if sent.is_err() {
                return;
            }
        }
    });
    Ok(response)
}

fn routes(config: &mut ServiceConfig) {
    config
        .route("/baseline11", web::get().to(sum))
        .route("/baseline11", web::post().to(sum_with_body))
        .route("/baseline2", web::get().to(sum))
        .route("/pipeline", web::get().to(async || text("ok".to_owned())))
        .route("/json/{count}", web::get().to(priced))
        .route("/upload", web::post().to(upload))
        .route("/async-db", web::get().to(range))
        .route("/crud/items", web::get().to(pages))
        .route("/crud/items", web::post().to(create))
        .route("/crud/items/{id}", web::get().to(show))
        .route("/crud/items/{id}", web::put().to(change))
        .route("/ws", web::get().to(echo))
        .service(Files::new(
            "/static",
            std::env::var("ARENA_FILES").unwrap_or_default(),
        ));
}

#[actix_web::main]
async fn main() -> Result<(), Error> {
    let ([plain, tls_http1, tls, _], workers) = addresses()?;
    let items = Data::new(Items::load()?);
    let cache = Data::new(Cache::default());
    let url: Option<Arc<str>> = std::env::var("DATABASE_URL").ok().map(Arc::from);
    let server = HttpServer::new(move || {
        let url = url.clone();
        App::new()
            .wrap(Compress::default())
            .app_data(items.clone())
            .app_data(cache.clone())
            .data_factory(move || {
                let url = url.clone();
                async move {
                    match url {
                        Some(url) => Database::connect(&url).await.map(Some).map_err(|_| ()),
                        None => Ok(None),
                    }
                }
            })
            .configure(routes)
    });
    let http1 = rustls::ServerConfig::clone(&*certificate(b"http/1.1")?);
    let http2 = rustls::ServerConfig::clone(&*certificate(b"h2")?);
    server
        .workers(workers)
        .bind(plain)?
        .bind_rustls_0_23(tls_http1, http1)?
        .bind_rustls_0_23(tls, http2)?
        .run()
        .await?;
    Ok(())
}

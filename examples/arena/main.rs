//! The profiles of the public suite HttpArena in Rust: those of `crates/bench/apps/arena.rb`, which is in Ruby, and the echo over WebSocket.
//! Not the suite: `tsumugi bench arena` starts this program with `ARENA_DATASET` (a file of items as JSON), `ARENA_FILES` (a folder) and
//! `DATABASE_URL` (PostgreSQL with the table `items`).

use tsumugi::db::Value;
use tsumugi::http::header::CONTENT_TYPE;
use tsumugi::http::{HeaderName, HeaderValue};
use tsumugi::prelude::*;

#[global_allocator]
static ALLOCATOR: tsumugi_allocator::Allocator = tsumugi_allocator::Allocator;

const BY_PRICE: &str = "select id, name, category, price, quantity, active, tags, rating_score, rating_count \
                        from items where price between ? and ? limit ?";
const BY_CATEGORY: &str = "select id, name, category, price, quantity, active, tags, rating_score, rating_count \
                           from items where category = ? order by id limit ? offset ?";
const BY_ID: &str = "select id, name, category, price, quantity, active, tags, rating_score, rating_count \
                     from items where id = ?";
const UPSERT: &str = "insert into items (id, name, category, price, quantity, active, tags, rating_score, rating_count) \
                      values (?, ?, ?, ?, ?, true, '[\"bench\"]', 0, 0) \
                      on conflict (id) do update set name = excluded.name, price = excluded.price, quantity = excluded.quantity";
const UPDATE: &str = "update items set name = ?, price = ?, quantity = ? where id = ?";
const CACHED: Duration = Duration::from_millis(200);
const X_CACHE: HeaderName = HeaderName::from_static("x-cache");

#[derive(Deserialize, Serialize)]
struct Rating {
    score: i64,
    count: i64,
}

#[derive(Deserialize, Serialize)]
struct Item {
    id: i64,
    name: String,
    category: String,
    price: i64,
    quantity: i64,
    active: bool,
    tags: Vec<String>,
    rating: Rating,
}

/// A row of `items`.
#[derive(Deserialize)]
struct ItemRow {
    id: i64,
    name: String,
    category: String,
    price: i64,
    quantity: i64,
    active: bool,
    tags: Vec<String>,
    rating_score: i64,
    rating_count: i64,
}

impl From<ItemRow> for Item {
    fn from(row: ItemRow) -> Item {
        Item {
            id: row.id,
            name: row.name,
            category: row.category,
            price: row.price,
            quantity: row.quantity,
            active: row.active,
            tags: row.tags,
            rating: Rating {
                score: row.rating_score,
                count: row.rating_count,
            },
        }
    }
}

struct App {
    items: Rc<[Item]>,
    cache: Kv,
    db: Option<Db>,
}

impl Plugin for App {
    async fn start(worker: &Worker) -> Result<App> {
        let file = worker.env("ARENA_DATASET")?;
        let text = worker
            .offload(move || std::fs::read_to_string(file))
            .await?;
        let items: Vec<Item> =
            serde_json::from_str(&text.map_err(Error::other)?).map_err(Error::other)?;
        let db = match worker.env("DATABASE_URL") {
            Ok(url) => Some(Db::connect(&url, Options::default()).await?),
            Err(_) => None,
        };
        Ok(App {
            items: items.into(),
            cache: Kv::open(worker, "memory:arena").await?,
            db,
        })
    }

    async fn stop(&self) {
        if let Some(db) = &self.db {
            db.close().await;
        }
    }
}

impl App {
    fn db(&self) -> Result<&Db> {
        let missing = "DATABASE_URL is not set";
        let refusal = Error::refused(StatusCode::SERVICE_UNAVAILABLE, missing);
        self.db.as_ref().ok_or(refusal)
    }

    async fn rows(&self, sql: &'static str, binds: Vec<Value>) -> Result<Vec<Item>> {
        let rows = self.db()?.query(sql, binds).await?;
        let items = rows
            .iter()
            .map(|row| tsumugi::builder::from_row::<ItemRow>(row));
        items.map(|row| row.map(Item::from)).collect()
    }
}

#[derive(Deserialize)]
struct Terms {
    #[serde(default)]
    a: i64,
    #[serde(default)]
    b: i64,
}

async fn sum(Query(Terms { a, b }): Query<Terms>) -> String {
    (a + b).to_string()
}

async fn sum_with_body(Query(Terms { a, b }): Query<Terms>, body: String) -> Result<String> {
    let number: i64 = body
        .trim()
        .parse()
        .map_err(|_| Error::bad_request("the body is no number"))?;
    Ok((a + b + number).to_string())
}

#[derive(Serialize)]
struct Listed<T> {
    items: Vec<T>,
    count: usize,
}

impl<T: Serialize> Listed<T> {
    fn response(items: Vec<T>) -> Response {
        let count = items.len();
        Json(Listed { items, count }).into_response()
    }
}

/// An item of the dataset with what it comes to.
#[derive(Serialize)]
struct ItemWithTotal<'a> {
    id: i64,
    name: &'a str,
    category: &'a str,
    price: i64,
    quantity: i64,
    active: bool,
    tags: &'a [String],
    rating: &'a Rating,
    total: i64,
}

#[derive(Deserialize)]
struct Factor {
    m: Option<i64>,
}

async fn json(app: State<App>, Path(count): Path<usize>, Query(factor): Query<Factor>) -> Response {
    let factor = factor.m.unwrap_or(1);
    let priced = app.items.iter().take(count).map(|item| ItemWithTotal {
        id: item.id,
        name: &item.name,
        category: &item.category,
        price: item.price,
        quantity: item.quantity,
        active: item.active,
        tags: &item.tags,
        rating: &item.rating,
        total: item.price * item.quantity * factor,
    });
    Listed::response(priced.collect())
}

async fn upload(mut body: BodyStream) -> Result<String> {
    let mut size = 0;
    while let Some(piece) = body.piece().await? {
        size += piece.len();
    }
    Ok(size.to_string())
}

#[derive(Deserialize)]
struct Prices {
    min: Option<i64>,
    max: Option<i64>,
    limit: Option<i64>,
}

async fn async_db(app: State<App>, Query(prices): Query<Prices>) -> Result<Response> {
    let (min, max) = (prices.min.unwrap_or(10), prices.max.unwrap_or(50));
    let limit = prices.limit.unwrap_or(50).clamp(1, 50);
    let items = app.rows(BY_PRICE, values![min, max, limit]).await?;
    Ok(Listed::response(items))
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

async fn list(app: State<App>, Query(asked): Query<Page>) -> Result<Json<ItemPage>> {
    let category = asked.category.unwrap_or_else(|| "electronics".to_owned());
    let page = asked.page.unwrap_or(1).max(1);
    let limit = asked.limit.unwrap_or(10).clamp(1, 50);
    let binds = values![category, limit, (page - 1) * limit];
    let items = app.rows(BY_CATEGORY, binds).await?;
    let total = items.len();
    Ok(Json(ItemPage {
        items,
        total,
        page,
        limit,
    }))
}

async fn show(app: State<App>, Path(id): Path<i64>) -> Result<Response> {
    let key = id.to_string();
    if let Some(text) = app.cache.get(&key).await? {
        return Ok(cacheable(text, "HIT"));
    }
    let item = app.rows(BY_ID, values![id]).await?.pop();
    let item = item.ok_or(Error::not_found("no such item"))?;
    let text = serde_json::to_string(&item).map_err(Error::other)?;
    app.cache.set(key, text.clone(), Some(CACHED)).await?;
    Ok(cacheable(text, "MISS"))
}

fn cacheable(text: String, cache: &'static str) -> Response {
    Response::new(StatusCode::OK, Bytes::from(text))
        .with(CONTENT_TYPE, HeaderValue::from_static("application/json"))
        .with(X_CACHE, HeaderValue::from_static(cache))
}

#[derive(Deserialize, Serialize)]
struct NewItem {
    id: i64,
    name: String,
    category: String,
    price: i64,
    quantity: i64,
}

async fn create(app: State<App>, Json(item): Json<NewItem>) -> Result<(u16, Json<NewItem>)> {
    let binds = values![
        item.id,
        item.name.clone(),
        item.category.clone(),
        item.price,
        item.quantity
    ];
    app.db()?.execute(UPSERT, binds).await?;
    Ok((201, Json(item)))
}

#[derive(Deserialize)]
struct Change {
    name: String,
    price: i64,
    quantity: i64,
}

#[derive(Serialize)]
struct UpdatedItem {
    id: i64,
    name: String,
    price: i64,
    quantity: i64,
}

async fn change(
    app: State<App>,
    Path(id): Path<i64>,
    Json(change): Json<Change>,
) -> Result<Json<UpdatedItem>> {
    let Change {
        name,
        price,
        quantity,
    } = change;
    let binds = values![name.clone(), price, quantity, id];
    if app.db()?.execute(UPDATE, binds).await?.affected == 0 {
        return Err(Error::not_found("no such item"));
    }
    app.cache.remove(id.to_string()).await?;
    Ok(Json(UpdatedItem {
        id,
        name,
        price,
        quantity,
    }))
}

async fn echo(upgrade: WebSocketUpgrade) -> WebSocketResponse {
    upgrade.accept(async |socket| {
        while let Some(message) = socket.receive().await? {
            socket.send(message).await?;
        }
        Ok(())
    })
}

fn routes() -> Router<App> {
    let files = std::env::var("ARENA_FILES").unwrap_or_else(|_| "static".to_owned());
    Router::new()
        .route("/baseline11", get(sum).post(sum_with_body))
        .route("/baseline2", get(sum))
        .route("/pipeline", get(async || "ok"))
        .route("/json/{count}", get(json))
        .route("/upload", post(upload))
        .route("/async-db", get(async_db))
        .route("/crud/items", get(list).post(create))
        .route("/crud/items/{id}", get(show).put(change))
        .route("/ws", get(echo))
        .files("/static", files)
}

fn main() -> std::process::ExitCode {
    tsumugi::main(routes)
}

//! The same application twice: handlers in Rust below `/rust`, in Ruby below `/ruby`. The requests are in the files beside.
//! Rule: neither does what the other does not.

use std::cell::Cell;
use std::ops::Bound;

use tsumugi::db::Value as DbValue;
use tsumugi::prelude::*;
use tsumugi::serde_json::Value as JsonValue;
use tsumugi::sql::Value as Bound_;

use crate::URL;

pub struct App {
    pub db: Db,
    kv: Kv,
}

impl Plugin for App {
    async fn start(worker: &Worker) -> Result<App> {
        let url = URL.with_borrow(Clone::clone);
        let db = Db::connect(&url, Options::default()).await?;
        let kv = Kv::open(worker, "memory:faces").await?;
        Ok(App { db, kv })
    }
}

/// A row of `numbers`.
#[derive(Serialize)]
struct Number {
    id: i64,
}

/// So many rows, the last of which is there twice.
fn numbers(count: i64) -> impl Iterator<Item = Number> {
    let ids = (1..count).chain([1]);
    ids.map(|id| Number { id })
}

/// In a transaction that goes on after the error: what had been inserted before it is not there.
async fn insert_all(app: State<App>, Path(count): Path<i64>) -> Result<String> {
    let failed = app
        .db
        .tx(async |tx: &Tx| {
            let failed = is_refused(tx.table("numbers").insert_all(numbers(count)).await)?;
            tx.table("numbers").insert(Number { id: -1 }).await?;
            Ok::<_, Error>(failed)
        })
        .await?;
    counted(&app, failed).await
}

/// Without a transaction of the caller's.
async fn insert_all_alone(app: State<App>, Path(count): Path<i64>) -> Result<String> {
    let table = app.db.table("numbers");
    let failed = is_refused(table.insert_all(numbers(count)).await)?;
    counted(&app, failed).await
}

/// Reads that are marked as such, and what they refuse.
async fn reads(app: State<App>) -> Result<String> {
    let reads = app.db.read();
    let counted = reads.table("numbers").count().await?;
    let rows = reads
        .query("select id from numbers order by id", [])
        .await?;
    let all = reads.table("numbers").all_rows();
    let refused = match all.set("id", 0).update().await {
        Err(error) => error.to_string().contains("db.read only reads"),
        Ok(_) => false,
    };
    Ok(format!("{counted} {} {refused}", rows.len()))
}

/// Whether the row was there already; another error is the handler's.
fn is_refused<T>(inserted: Result<T>) -> Result<bool> {
    match inserted {
        Ok(_) => Ok(false),
        Err(Error::Db(DbError::UniqueViolation { .. })) => Ok(true),
        Err(other) => Err(other),
    }
}

async fn counted(app: &App, failed: bool) -> Result<String> {
    let rows = app.db.table("numbers");
    let counted = rows.count().await?;
    rows.all_rows().delete().await?;
    Ok(format!("{failed} {counted}"))
}

/// A statement and the value for its `?`.
#[derive(Deserialize)]
struct StatementBody {
    sql: String,
    value: JsonValue,
}

async fn ask(app: State<App>, Json(statement): Json<StatementBody>) -> Result<()> {
    let value = match statement.value {
        JsonValue::Bool(truth) => DbValue::from(truth),
        JsonValue::Number(number) => match number.as_i64() {
            Some(integer) => DbValue::from(integer),
            None => DbValue::from(number.as_f64().unwrap_or(f64::NAN)),
        },
        JsonValue::String(text) => DbValue::from(text),
        other => DbValue::Json(other.to_string()),
    };
    app.db.query(statement.sql, vec![value]).await?;
    Ok(())
}

/// Keeps the only connection, and on SQLite the turn to write, for so many milliseconds.
async fn occupy(app: State<App>, Path(ms): Path<u64>) -> Result<()> {
    let transaction = app.db.tx(async |tx: &Tx| {
        tx.execute("delete from numbers", []).await?;
        sleep(Duration::from_millis(ms)).await;
        Ok::<_, Error>(())
    });
    transaction.await
}

#[derive(Deserialize, Serialize)]
struct Person {
    id: i64,
    name: String,
    age: JsonValue,
    born: Option<String>,
}

async fn enrol(app: State<App>, Json(person): Json<Person>) -> Result<(u16, &'static str)> {
    app.db.table("people").insert_key::<i64>(person).await?;
    Ok((201, ""))
}

/// Deletes what is none of these, or all if there are none of these.
async fn delete_others(app: State<App>, Json(ids): Json<Vec<i64>>) -> Result<String> {
    let others = app.db.table("numbers").filter(col("id").not_in(ids));
    deleted(others.delete().await)
}

async fn delete_within(
    app: State<App>,
    Json((from, to)): Json<(Option<i64>, Option<i64>)>,
) -> Result<String> {
    let from = from.map_or(Bound::Unbounded, Bound::Included);
    let to = to.map_or(Bound::Unbounded, Bound::Included);
    let within = app.db.table("numbers").filter(col("id").within((from, to)));
    deleted(within.delete().await)
}

/// A value of JSON as the builder binds it.
fn bound(value: JsonValue) -> Bound_ {
    match value {
        JsonValue::Null => Bound_::Null,
        JsonValue::Bool(truth) => truth.into(),
        JsonValue::Number(number) => match number.as_i64() {
            Some(integer) => integer.into(),
            None => number.as_f64().unwrap_or(f64::NAN).into(),
        },
        JsonValue::String(text) => text.into(),
        JsonValue::Array(list) => Bound_::List(list.into_iter().map(bound).collect()),
        object => Bound_::Json(object.to_string()),
    }
}

async fn add(app: State<App>, Json(value): Json<JsonValue>) -> Result<()> {
    let one = app.db.table("people").filter(col("id").eq(1));
    let age = col("age") + tsumugi::sql::value(bound(value));
    one.set("age", age).update().await?;
    Ok(())
}

/// People whose column compares so.
async fn compare(
    app: State<App>,
    Json((column, operator, value)): Json<(String, String, JsonValue)>,
) -> Result<String> {
    let condition = col(column).compare(&operator, bound(value))?;
    let found = app.db.table("people").filter(condition);
    Ok(found.count().await?.to_string())
}

/// Doubles an expression so many times.
async fn double(app: State<App>, Path(times): Path<u32>) -> Result<String> {
    let age = (0..times).fold(col("age"), |age, _| age.clone() + age);
    let one = app.db.table("people").filter(col("id").eq(1));
    deleted(one.set("age", age).update().await)
}

/// Rows of the builder's queries and of a text, in one pipeline.
async fn pipe(app: State<App>, Path(id): Path<i64>) -> Result<String> {
    let numbers = app.db.table("numbers").order("id");
    let one = numbers.clone().filter(col("id").eq(id)).statement()?;
    let more = ("select id from numbers where id > ?".into(), values![id]);
    let statements = vec![one, more, numbers.limit(1).statement()?];
    let each = tsumugi::db::PipelineAtomicity::Each;
    let mut found = Vec::new();
    for rows in app.db.pipeline(statements, each).await? {
        let ids: Vec<(i64,)> = tsumugi::builder::from_rows(&rows?)?;
        found.push(ids.into_iter().map(|(id,)| id).collect::<Vec<_>>());
    }
    Ok(format!("{found:?}"))
}

/// How often a transaction is tried that changes tables, writes a row and fails so that it may be run again, and how many rows are there.
async fn change(app: State<App>, Path(retries): Path<u32>) -> Result<String> {
    let tries = Cell::new(0);
    let options = TransactionOptions::write(tsumugi::db::TransactionMode::Schema);
    let changed = app.db.tx_with_retries(retries, options, async |tx: &Tx| {
        tries.set(tries.get() + 1);
        let table = format!("create table rust_{}(n integer)", tries.get());
        tx.execute(table, []).await?;
        let row = Number { id: tries.get() };
        tx.table("numbers").insert(row).await?;
        let reason = "here".to_owned();
        Err::<(), _>(Error::from(DbError::LostUncommitted { reason }))
    });
    let is_done = changed.await.is_ok();
    let count = app.db.table("numbers").count().await?;
    Ok(format!("{is_done} {} {count}", tries.get()))
}

async fn move_others(app: State<App>, Json(ids): Json<Vec<i64>>) -> Result<String> {
    let others = app.db.table("numbers").filter(!col("id").is_in(ids));
    deleted(others.set("id", col("id") + 100).update().await)
}

fn deleted(changed: Result<u64>) -> Result<String> {
    match changed {
        Ok(changed) => Ok(changed.to_string()),
        Err(Error::Sql(error)) => Ok(error.to_string()),
        Err(other) => Err(other),
    }
}

/// The value of a key, computed by this face in so many milliseconds when nobody else does.
async fn fetch(app: State<App>, Path((key, ms)): Path<(String, u64)>) -> Result<String> {
    let ttl = Duration::from_secs(60);
    let computed = app.kv.fetch(key, ttl, async || {
        app.kv.increment("computed", 1).await?;
        sleep(Duration::from_millis(ms)).await;
        Ok("rust".to_owned())
    });
    computed.await
}

/// A row of what is no text.
#[derive(Deserialize, Serialize)]
struct Listed {
    id: i64,
    name: String,
}

async fn list(app: State<App>, Path(key): Path<String>) -> Result<Json<Vec<Listed>>> {
    let ttl = Duration::from_secs(60);
    let name = "花".to_owned();
    let listed = app
        .kv
        .fetch(key, ttl, async || Ok(vec![Listed { id: 1, name }]));
    listed.await.map(Json)
}

async fn computed(app: State<App>) -> Result<String> {
    Ok(app.kv.increment("computed", 0).await?.to_string())
}

pub fn routes(ruby: &std::path::Path) -> Router<App> {
    let rust = Router::new()
        .route("/insert_all/{count}", post(insert_all))
        .route("/insert_all_alone/{count}", post(insert_all_alone))
        .route("/ask", post(ask))
        .route("/occupy/{ms}", post(occupy))
        .route("/people", post(enrol))
        .route("/delete_others", post(delete_others))
        .route("/delete_within", post(delete_within))
        .route("/move_others", post(move_others))
        .route("/change/{retries}", get(change))
        .route("/pipe/{id}", get(pipe))
        .route("/reads", get(reads))
        .route("/add", post(add))
        .route("/compare", post(compare))
        .route("/double/{times}", post(double))
        .route("/fetch/{key}/{ms}", get(fetch))
        .route("/list/{key}", get(list))
        .route("/computed", get(computed));
    Router::new()
        .nest("/rust", rust)
        .mount("/ruby", Ruby::new(ruby))
}

pub const RUBY: &str = r##"
plugin(:db) { DB.connect "URL" }

def numbers(count) = ((1...count).to_a << 1).map { |id| { id: id } }
def failed?
  yield
  false
rescue DB::UniqueViolation
  true
end
def counted(failed)
  count = db[:numbers].count
  db[:numbers].all_rows!.delete
  text "#{failed} #{count}"
end
get "/reads" do
  counted = db.read[:numbers].count
  rows = db.read { db.query("select id from numbers order by id") }
  refused = begin
    db.read { db[:numbers].all_rows!.update(id: 0) }
    false
  rescue DB::Error => e
    e.message.include?("db.read only reads")
  end
  text "#{counted} #{rows.size} #{refused}"
end
post "/insert_all/:count" do |count|
  rows = numbers(count.to_i)
  counted(db.transaction do
    failed = failed? { db[:numbers].insert(rows) }
    db[:numbers].insert(id: -1)
    failed
  end)
end
post "/insert_all_alone/:count" do |count|
  rows = numbers(count.to_i)
  counted(failed? { db[:numbers].insert(rows) })
end
post "/ask" do
  statement = body.json
  db.query(statement["sql"], statement["value"])
  status 204
end
post "/occupy/:ms" do |ms|
  db.transaction do
    db.execute "delete from numbers"
    sleep ms.to_i / 1000.0
  end
  status 204
end
post "/people" do
  db[:people].insert(body.json)
  status 201
end
def changed
  text yield.to_s
rescue DB::UsageError => e
  text e.message
end
post("/delete_others") { changed { db[:numbers].where_not_in(:id, body.json).delete } }
post "/delete_within" do
  from, to = body.json
  changed { db[:numbers].where(id: from..to).delete }
end
get "/change/:retries" do |retries|
  tries = 0
  begin
    db.transaction(mode: :schema, retries: retries.to_i) do
      tries += 1
      db.execute "create table ruby_#{tries}(n integer)"
      db[:numbers].insert(id: tries)
      raise DB::SerializationFailure, "here"
    end
  rescue DB::SerializationFailure
    text "false #{tries} #{db[:numbers].count}"
  end
end
get "/pipe/:id" do |id|
  numbers = db[:numbers].order(:id)
  found = db.pipeline do |p|
    p.query numbers.where(id: id.to_i)
    p.query "select id from numbers where id > ?", id.to_i
    p.query numbers.limit(1)
  end
  text found.map { |rows| rows.map { |row| row[:id] } }.inspect
end
post "/add" do
  db[:people].where(id: 1).update(age: col(:age) + body.json)
  status 204
end
post "/compare" do
  column, operator, value = body.json
  text db[:people].where(column.to_sym, operator, value).count.to_s
end
post "/double/:times" do |times|
  age = col(:age)
  times.to_i.times { age = age + age }
  text db[:people].where(id: 1).update(age: age).to_s
rescue DB::LimitExceeded => e
  text e.message
end
plugin(:kv) { KV.open "memory:faces" }
get("/list/:key") { |key| kv.fetch(key, ttl: 60) { [{ id: 1, name: "花" }] } }
get "/fetch/:key/:ms" do |key, ms|
  text(kv.fetch(key, ttl: 60) do
    kv.incr("computed")
    sleep ms.to_i / 1000.0
    "ruby"
  end)
end
post "/migrate" do
  text db.migrate(body.json).to_s
rescue DB::Error => e
  text "#{e.class}: #{e.message}"
end
post("/move_others") { changed { db[:numbers].where_not(id: body.json).update(id: col(:id) + 100) } }
"##;

//! Scenarios for one worker and for many: rows of a database, 500 of them found by their keys and awaited together, strings that are made and
//! dropped, a string and a page. And the environment, read by every thread at run time. Rule: nothing is shared between threads, so more of them are never slower than one.

use std::fmt::Write as _;

use futures_util::future::try_join_all;
use tsumugi::prelude::*;

/// Rows of the table, and of one response.
const ROWS: u64 = 1_000;
const ROWS_SHOWN: u64 = 20;

/// Rows of the table `world`, and those of one response that are found one by one.
const WORLDS: u64 = 10_000;
const FINDS: i64 = 500;

/// Strings of one response.
const STRINGS: usize = 1_000;

/// Connections of each worker, where POOL does not say otherwise.
const POOL: usize = 20;

const PAGE: &str = "<!DOCTYPE html>\n<html>\n<head><title>Hello</title></head>\n<body><h1>Hello, World!</h1></body>\n</html>\n";

pub struct App {
    worker: Worker,
    db: Db,
    /// A place in the table, another one for each request.
    place: Cell<u64>,
}

#[derive(Deserialize, Serialize)]
pub struct Fruit {
    id: i64,
    name: String,
}

#[derive(Deserialize, Serialize)]
pub struct World {
    id: i64,
    randomnumber: i64,
}

/// The table `world`, where it is not there yet.
async fn make_worlds(db: &Db) -> Result<()> {
    let table =
        "create table if not exists world (id integer primary key, randomnumber integer not null)";
    if db.execute(table, []).await.is_err() {
        db.execute(table, []).await?;
    }
    if !db.table("world").exists().await? {
        let rows = (1..=WORLDS).map(|id| format!("({id}, {})", id * 7919 % WORLDS + 1));
        let rows = rows.collect::<Vec<_>>().join(", ");
        let rows =
            format!("insert into world (id, randomnumber) values {rows} on conflict do nothing");
        db.execute(rows, []).await?;
    }
    Ok(())
}

impl Plugin for App {
    async fn start(worker: &Worker) -> Result<App> {
        let url = worker.env("DATABASE_URL");
        let url = url.unwrap_or_else(|_| "sqlite::memory:?name=threads".to_owned());
        let mut options = Options::default();
        options.pool = POOL;
        if let Ok(pool) = worker.env("POOL") {
            let number = pool.parse::<usize>();
            options.pool =
                number.map_err(|_| Error::Usage(format!("POOL={pool} is no number").into()))?;
        }
        let db = Db::connect(&url, options).await?;
        make_worlds(&db).await?;
        let fruits = (1..=ROWS).map(|id| format!("({id}, 'fruit {id}')"));
        let fruits: Vec<String> = fruits.collect();
        // Every worker tries, one of them makes the table; on PostgreSQL two at once may collide, so the second try decides.
        let table =
            "create table if not exists fruits (id integer primary key, name text not null)";
        let made = db.execute(table, []).await;
        if made.is_err() {
            db.execute(table, []).await?;
        }
        let rows = format!(
            "insert into fruits (id, name) values {} on conflict do nothing",
            fruits.join(", ")
        );
        db.execute(rows, []).await?;
        Ok(App {
            worker: worker.clone(),
            db,
            place: Cell::new(worker.id() as u64),
        })
    }

    async fn stop(&self) {
        self.db.close().await;
    }
}

async fn rows(app: State<App>) -> Result<Json<Vec<Fruit>>> {
    let place = app.place.get() % (ROWS - ROWS_SHOWN);
    app.place.set(place + 7);
    let fruits = app.db.table("fruits").filter(col("id").gt(place as i64));
    fruits.order("id").limit(ROWS_SHOWN).all().await.map(Json)
}

/// Each row by a query of its own; all of them are under way before the first is awaited.
async fn finds(app: State<App>) -> Result<Json<Vec<World>>> {
    let find = |id| {
        let one = app.db.table("world").filter(col("id").eq(id));
        async move {
            let found: Option<World> = one.first().await?;
            found.ok_or_else(|| Error::Usage(format!("there is no world {id}").into()))
        }
    };
    try_join_all((1..=FINDS).map(find)).await.map(Json)
}

async fn strings() -> String {
    let mut lines: Vec<String> = (0..STRINGS).map(|line| format!("line {line}")).collect();
    lines.reverse();
    let mut text = String::new();
    for line in &lines {
        let _ = writeln!(text, "{line}"); // writing to memory cannot fail
    }
    text
}

#[derive(Deserialize)]
struct Variable {
    name: String,
}

/// The others are nobody's business.
const SHOWN: &str = "TSUMUGI_EXAMPLE";

async fn environment(app: State<App>, Query(variable): Query<Variable>) -> Result<String> {
    if !variable.name.starts_with(SHOWN) {
        return Err(Error::forbidden(format!(
            "only names that begin with {SHOWN} are shown"
        )));
    }
    let value = app.worker.env(&variable.name);
    let value = value.map_err(|error| Error::not_found(error.to_string()))?;
    Ok(format!("{} on worker {}\n", value, app.worker.id()))
}

pub fn routes() -> Router<App> {
    Router::new()
        .route("/rows", get(rows))
        .route("/finds", get(finds))
        .route("/strings", get(strings))
        .route("/show", get(async || "hello\n"))
        .route("/html", get(async || Html(PAGE)))
        .route("/env", get(environment))
}

#[cfg(test)]
mod tests {
    use tsumugi::Settings;
    use tsumugi::trial;

    use super::*;

    #[test]
    fn every_scenario_and_the_environment_answer() {
        let variable = ("TSUMUGI_EXAMPLE".to_owned(), "seen".to_owned());
        let settings = Settings {
            environment: [variable].into(),
            ..Settings::default()
        };
        trial::run_with(settings, routes, async |client| {
            let fruits: Vec<Fruit> = client.get("/rows").await.json();
            assert_eq!(fruits.len(), 20);
            assert_eq!((fruits[0].id, fruits[0].name.as_str()), (1, "fruit 1"));
            let worlds: Vec<World> = client.get("/finds").await.json();
            let ids: Vec<i64> = worlds.iter().map(|world| world.id).collect();
            assert_eq!(ids, (1..=500).collect::<Vec<_>>());
            assert_eq!(client.get("/show").await.text(), "hello\n");
            assert_eq!(client.get("/html").await.text(), PAGE);
            let strings = client.get("/strings").await;
            assert!(strings.text().starts_with("line 999\nline 998\n"));
            let seen = client.get("/env?name=TSUMUGI_EXAMPLE").await;
            assert_eq!(seen.text(), "seen on worker 0\n");
            let missing = client.get("/env?name=TSUMUGI_EXAMPLE_NOT_SET").await;
            assert_eq!(missing.status, 404);
            assert_eq!(client.get("/env?name=PATH").await.status, 403);
        });
    }
}

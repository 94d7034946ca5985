//! An application in Rust: a plugin for each worker, handlers that wait without blocking, a task board beside them (`tasks.rs`).
//! Run: cargo run --package tsumugi --example native -- serve --dev, with DATABASE_URL or with SQLite in ./data.

use tsumugi::prelude::*;

mod migrations;
mod tasks;
#[cfg(test)]
mod tests;

#[derive(Serialize, Deserialize)]
struct User {
    id: i64,
    name: String,
}

#[derive(Serialize, Deserialize)]
struct NewUser {
    name: String,
    email: String,
}

#[derive(Deserialize)]
struct Transfer {
    from: i64,
    to: i64,
    amount: i64,
}

/// One per worker. Rc and Cell are fine: it never leaves its thread.
struct App {
    db: Db,
    kv: Kv,
    board: tasks::Board,
    served: Cell<u64>,
}

impl Plugin for App {
    async fn start(w: &Worker) -> Result<App> {
        let db = migrations::connect(w).await?;
        // Every worker tries, one of them makes the tables. `native migrate up` does the same by hand.
        db.migrate(migrations::migrations()).await?;
        let cache = w.data_dir().join("cache");
        let kv = Kv::open(w, &cache.to_string_lossy()).await?;
        Ok(App {
            db,
            kv,
            board: tasks::Board::default(),
            served: Cell::new(0),
        })
    }

    async fn stop(&self) {
        self.db.close().await;
    }
}

async fn show(app: State<App>, Path(id): Path<i64>) -> Result<Json<User>> {
    app.served.set(app.served.get() + 1); // no atomics, no locks
    let key = format!("user:{id}");
    app.kv
        .fetch(key, Duration::from_secs(60), async || {
            let user = app.db.table("users").filter(col("id").eq(id));
            let user = user.first::<User>().await?;
            user.ok_or(Error::not_found("no such user"))
        })
        .await
        .map(Json)
}

async fn create(app: State<App>, Json(u): Json<NewUser>) -> Result<(u16, Json<i64>)> {
    Ok((201, Json(app.db.table("users").insert(u).await?)))
}

async fn dashboard(app: State<App>) -> Result<Json<(u64, Vec<User>, Option<String>)>> {
    let users = app.db.table("users");
    let newest = users.clone().order("id").limit(5);
    try_join!(users.count(), newest.all::<User>(), app.kv.get("motd")).map(Json)
}

async fn transfer(app: State<App>, Json(t): Json<Transfer>) -> Result<()> {
    if t.amount <= 0 {
        return Err(Error::unprocessable("the amount is not positive"));
    }
    // Err or a dropped future: ROLLBACK.
    app.db
        .tx(async |tx| {
            let from = tx.table("accounts").filter(col("id").eq(t.from));
            let covered = from.filter(col("balance").ge(t.amount));
            let taken = covered.set("balance", col("balance") - t.amount);
            if taken.update().await? == 0 {
                return Err(Error::conflict("insufficient funds"));
            }
            let to = tx.table("accounts").filter(col("id").eq(t.to));
            let given = to.set("balance", col("balance") + t.amount);
            if given.update().await? == 0 {
                return Err(Error::not_found("no such account"));
            }
            Ok(())
        })
        .await // () becomes 204
}

async fn export(app: State<App>) -> Csv {
    Csv(app.db.table("events").order("id").stream())
}

async fn slow() -> &'static str {
    sleep(Duration::from_millis(250)).await;
    "done\n"
}

async fn purge(app: &App) -> Result<()> {
    let over = app.db.table("visits").filter(col("expires_at").lt(0));
    over.delete().await?;
    Ok(())
}

/// A plain function: called once on every worker.
fn routes() -> Router<App> {
    Router::new()
        .route("/users", post(create))
        .route("/users/{id}", get(show))
        .route("/dashboard", get(dashboard))
        .route("/transfer", post(transfer))
        .route("/export.csv", get(export))
        .route("/slow", get(slow))
        .nest("/tasks", tasks::routes())
        .every(Duration::from_secs(30), On::OneWorker, purge)
        // The last word on every Err, like Ruby's `error`.
        .map_err(|e| match e {
            Error::Db(DbError::UniqueViolation { .. }) => (409, "duplicate").into_response(),
            Error::Db(DbError::PoolTimeout { .. }) => (503, "busy").into_response(),
            e => e.into_response(),
        })
}

fn main() -> std::process::ExitCode {
    tsumugi::Commands::new(routes)
        .database(migrations::connect)
        .migrations(migrations::migrations)
        .seeds(migrations::seeds)
        .main()
}

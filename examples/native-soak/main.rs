//! Everything that a handler or a plugin can hold, counted: requests that wait, streams, transactions, WebSockets, timers, plugins.
//! Under any load `/live` and `/metrics` say what is held now; when the clients have gone it is nothing but the plugins.
//! Run: cargo run --release --package tsumugi --example native-soak -- serve --admin 127.0.0.1:9090

use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

use tsumugi::prelude::*;

#[cfg(test)]
mod tests;

#[global_allocator]
static ALLOCATOR: tsumugi_allocator::Allocator = tsumugi_allocator::Allocator;

/// What is alive in the process, over all workers.
struct Live {
    plugins: AtomicI64,
    requests: AtomicI64,
    streams: AtomicI64,
    transactions: AtomicI64,
    sockets: AtomicI64,
    ticks: AtomicI64,
}

static LIVE: Live = Live {
    plugins: AtomicI64::new(0),
    requests: AtomicI64::new(0),
    streams: AtomicI64::new(0),
    transactions: AtomicI64::new(0),
    sockets: AtomicI64::new(0),
    ticks: AtomicI64::new(0),
};

/// Counted as long as it lives.
struct Counted(&'static AtomicI64);

impl Counted {
    fn new(counter: &'static AtomicI64) -> Counted {
        counter.fetch_add(1, Relaxed);
        Counted(counter)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

struct App {
    db: Db,
    kv: Kv,
    _counted: Counted,
}

impl Plugin for App {
    async fn start(worker: &Worker) -> Result<App> {
        let url = worker.env("DATABASE_URL");
        let url = url.unwrap_or("sqlite::memory:?name=soak".to_owned());
        let db = Db::connect(&url, Options::default()).await?;
        db.execute("create table if not exists soak (n integer)", [])
            .await?;
        Ok(App {
            db,
            kv: Kv::open(worker, "memory:soak").await?,
            _counted: Counted::new(&LIVE.plugins),
        })
    }

    async fn stop(&self) {
        self.db.close().await;
    }
}

async fn wait(app: State<App>) -> Result<String> {
    let _counted = Counted::new(&LIVE.requests);
    sleep(Duration::from_millis(20)).await;
    Ok(app.kv.increment("waits", 1).await?.to_string())
}

async fn stream(app: State<App>) -> StreamResponse {
    StreamResponse::new("text/plain", async move |out| {
        let (_counted, _app) = (Counted::new(&LIVE.streams), app);
        for _ in 0..1000 {
            out.write(vec![b'x'; 2000]).await?;
            sleep(Duration::from_millis(1)).await;
        }
        Ok(())
    })
}

/// Changes a row, waits, and is rolled back.
async fn transaction(app: State<App>) -> Result<()> {
    let outcome = app.db.tx(async |tx| {
        let _counted = Counted::new(&LIVE.transactions);
        tx.execute("insert into soak values (1)", []).await?;
        sleep(Duration::from_millis(5)).await;
        Err::<(), _>(Error::conflict("rolled back"))
    });
    match outcome.await {
        Err(Error::Refused { .. }) => Ok(()),
        other => other,
    }
}

async fn socket(app: State<App>, upgrade: WebSocketUpgrade) -> WebSocketResponse {
    upgrade.accept(async move |socket| {
        let (_counted, _app) = (Counted::new(&LIVE.sockets), app);
        while let Some(message) = socket.receive().await? {
            socket.send(message).await?;
        }
        Ok(())
    })
}

#[derive(Debug, Deserialize, PartialEq, Serialize)]
struct Counts {
    plugins: i64,
    requests: i64,
    streams: i64,
    transactions: i64,
    sockets: i64,
    ticks: i64,
}

async fn live() -> Json<Counts> {
    Json(Counts {
        plugins: LIVE.plugins.load(Relaxed),
        requests: LIVE.requests.load(Relaxed),
        streams: LIVE.streams.load(Relaxed),
        transactions: LIVE.transactions.load(Relaxed),
        sockets: LIVE.sockets.load(Relaxed),
        ticks: LIVE.ticks.load(Relaxed),
    })
}

fn routes() -> Router<App> {
    Router::new()
        .route("/wait", get(wait))
        .route("/stream", get(stream))
        .route("/tx", get(transaction))
        .route("/socket", get(socket))
        .route("/live", get(live))
        .every(
            Duration::from_millis(50),
            On::AllWorkers,
            async |app: &App| {
                let _counted = Counted::new(&LIVE.ticks);
                app.kv.get("waits").await.map(|_| ())
            },
        )
}

fn main() -> std::process::ExitCode {
    tsumugi::main(routes)
}

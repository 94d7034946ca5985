//! What `scripts/scale-costs` asks of a server in Rust: requests that wait, subscribers of a channel by events and by WebSocket, a publish.
//! The same in Ruby is app.rb beside it. DATABASE_URL, where it is set, names a PostgreSQL that several processes share.
//! Run: cargo run --release --package tsumugi --example scale -- serve

use tsumugi::cluster::Subscription;
use tsumugi::prelude::*;

#[global_allocator]
static ALLOCATOR: tsumugi_allocator::Allocator = tsumugi_allocator::Allocator;

/// Less than `request_ms_max`, which would end it.
const SLEEP: Duration = Duration::from_secs(25);

struct App {
    cluster: Cluster,
    db: Option<Db>,
}

impl Plugin for App {
    async fn start(worker: &Worker) -> Result<App> {
        let mut db = None;
        if let Ok(url) = worker.env("DATABASE_URL") {
            let opened = Db::connect(&url, Options::default()).await?;
            worker.use_cluster(Cluster::over(&opened)?);
            db = Some(opened);
        }
        Ok(App {
            cluster: worker.cluster(),
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
    async fn subscribe(&self) -> Result<Subscription> {
        Ok(self.cluster.channel("news")?.subscribe().await?)
    }
}

async fn hello() -> &'static str {
    "hello\n"
}

async fn wait() -> &'static str {
    sleep(SLEEP).await;
    "hello\n"
}

async fn events(app: State<App>) -> Sse {
    Sse::new(async move |events| {
        let mut news = app.subscribe().await?;
        loop {
            if let ChannelEvent::Message(text) = news.recv().await {
                events.send(text.to_string()).await?;
            }
        }
    })
}

async fn socket(upgrade: WebSocketUpgrade, app: State<App>) -> WebSocketResponse {
    upgrade.any_origin().accept(async move |socket| {
        let mut news = app.subscribe().await?;
        loop {
            tokio::select! {
                event = news.recv() => if let ChannelEvent::Message(text) = event {
                    socket.send(&*text).await?;
                },
                // Pings are answered while it is received.
                message = socket.receive() => if message?.is_none() {
                    return Ok(());
                },
            }
        }
    })
}

async fn publish(app: State<App>, text: String) -> Result<StatusCode> {
    app.cluster.channel("news")?.publish(&text).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn routes() -> Router<App> {
    Router::new()
        .route("/hello", get(hello))
        .route("/sleep", get(wait))
        .route("/events", get(events))
        .route("/socket", get(socket))
        .route("/publish", post(publish))
}

fn main() -> std::process::ExitCode {
    tsumugi::main(routes)
}

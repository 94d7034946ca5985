//! The application of this test in Rust, as a process of this test's program. Rule: the same paths and the same answers.

use tsumugi::prelude::*;

/// What its command line is, between lines.
pub const ARGUMENTS: &str = "EVENTS_ARGUMENTS";
/// Where its database is.
pub const DATABASE: &str = "EVENTS_DATABASE";

struct App {
    chat: KeptChannel,
}

impl Plugin for App {
    async fn start(worker: &Worker) -> Result<App> {
        let db = Db::connect(&worker.env(DATABASE)?, Options::default()).await?;
        worker.use_cluster(Cluster::over(&db)?);
        let chat = worker.cluster().channel("chat")?.keeping(1_000)?;
        Ok(App { chat })
    }
}

async fn publish(app: State<App>, text: String) -> Result<StatusCode> {
    app.chat.publish(&text).await?;
    Ok(StatusCode::ACCEPTED)
}

async fn follow(app: State<App>, LastEventId(last): LastEventId) -> Sse {
    let chat = app.chat.clone();
    Sse::new(async move |events| events.follow(&chat, last).await)
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
    Router::new()
        .route("/chat", get(follow).post(publish))
        .route("/socket", get(echo))
}

/// Serves until it is ended, if this process was started for it.
pub fn serve_if_asked() {
    let Ok(arguments) = std::env::var(ARGUMENTS) else {
        return;
    };
    let arguments = ["events"].into_iter().chain(arguments.lines());
    let _ended = tsumugi::Commands::new(routes).main_with(arguments.map(Into::into));
}

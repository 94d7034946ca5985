//! The API of a task board: list, search, add, toggle, delete, and a live count of what is open. Knows no page.
//! Rule: a change tells the listeners of its own worker at once, and those of the others see it at their next look.

use tokio::sync::watch;
use tsumugi::prelude::*;
use tsumugi::sql::escape_like;
use tsumugi::tokio;

use crate::App;

const TITLE_CHARACTERS_MAX: usize = 120;
const TASKS_MAX: u64 = 200;

#[derive(Debug, Deserialize, PartialEq, Serialize)]
pub struct Task {
    pub id: i64,
    pub title: String,
    pub done: bool,
}

#[derive(Deserialize, Serialize)]
pub struct NewTask {
    pub title: String,
}

#[derive(Deserialize)]
struct Search {
    #[serde(default)]
    q: String,
}

/// How many tasks are open, for the listeners of this worker.
pub struct Board {
    open: watch::Sender<u64>,
}

impl Default for Board {
    fn default() -> Board {
        Board {
            open: watch::Sender::new(0),
        }
    }
}

impl App {
    /// Looks at the count and tells it to listeners if it is another one.
    async fn look(&self) -> Result<()> {
        let open = self.db.table("tasks").filter(col("done").eq(0));
        let open = open.count().await?;
        self.board
            .open
            .send_if_modified(|known| std::mem::replace(known, open) != open);
        Ok(())
    }
}

async fn list(app: State<App>, Query(search): Query<Search>) -> Result<Json<Vec<Task>>> {
    let tasks = app.db.table("tasks").order(desc("id")).limit(TASKS_MAX);
    let tasks = match search.q.trim() {
        "" => tasks,
        words => tasks.filter(col("title").ilike(format!("%{}%", escape_like(words)))),
    };
    tasks.all().await.map(Json)
}

async fn add(app: State<App>, Json(task): Json<NewTask>) -> Result<(u16, Json<i64>)> {
    Ok((201, Json(insert(&app, &task.title).await?)))
}

async fn insert(app: &App, title: &str) -> Result<i64> {
    let title = title.trim();
    if title.is_empty() {
        return Err(Error::unprocessable("a task needs a title"));
    }
    if title.chars().count() > TITLE_CHARACTERS_MAX {
        return Err(Error::unprocessable("the title is too long"));
    }
    let task = NewTask {
        title: title.to_owned(),
    };
    let id = app.db.table("tasks").insert(task).await?;
    app.look().await?;
    Ok(id)
}

async fn toggle(app: State<App>, Path(id): Path<i64>) -> Result<()> {
    let task = app.db.table("tasks").filter(col("id").eq(id));
    let toggled = task.set("done", value(1) - col("done")).update().await?;
    changed(&app, toggled).await
}

async fn remove(app: State<App>, Path(id): Path<i64>) -> Result<()> {
    let task = app.db.table("tasks").filter(col("id").eq(id));
    let removed = task.delete().await?;
    changed(&app, removed).await
}

async fn changed(app: &App, tasks: u64) -> Result<()> {
    match tasks {
        0 => Err(Error::not_found("no such task")),
        _ => app.look().await,
    }
}

/// The count, now and whenever it changes, until the client goes.
async fn events(app: State<App>) -> Sse {
    let mut open = app.board.open.subscribe();
    Sse::new(async move |events| {
        loop {
            let count = *open.borrow_and_update();
            events.send(count.to_string()).await?;
            if open.changed().await.is_err() {
                return Ok(());
            }
        }
    })
}

/// The same over a WebSocket, where each text that comes is the title of a new task. A title that is none is told so.
async fn socket(app: State<App>, upgrade: WebSocketUpgrade) -> WebSocketResponse {
    let mut open = app.board.open.subscribe();
    upgrade.accept(async move |socket| {
        let count = *open.borrow_and_update();
        socket.send(count.to_string()).await?;
        loop {
            tokio::select! {
                message = socket.receive() => match message? {
                    Some(Message::Text(title)) => match insert(&app, &title).await {
                        Ok(_) => {}
                        Err(refused @ Error::Refused { .. }) => socket.send(refused.to_string()).await?,
                        Err(error) => return Err(error),
                    },
                    Some(Message::Binary(_)) => return Ok(socket.close(1003, "a title is text").await?),
                    None => return Ok(()),
                },
                _ = open.changed() => {
                    let count = *open.borrow_and_update();
                    socket.send(count.to_string()).await?;
                }
            }
        }
    })
}

async fn export(app: State<App>) -> Csv {
    Csv(app.db.table("tasks").order("id").stream())
}

pub fn routes() -> Router<App> {
    Router::new()
        .route("/", get(list).post(add))
        .route("/{id}/toggle", post(toggle))
        .route("/{id}", delete(remove))
        .route("/events", get(events))
        .route("/socket", get(socket))
        .route("/all.csv", get(export))
        .every(
            Duration::from_millis(500),
            On::AllWorkers,
            async |app: &App| app.look().await,
        )
}

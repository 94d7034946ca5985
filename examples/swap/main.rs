//! The same handlers over three database clients, of which none is known to the framework: the plugin's field is swapped, and nothing else.
//! Run: cargo run --package tsumugi --example swap -- serve, with CLIENT=tsumugi, tokio-postgres or rusqlite.

use tsumugi::prelude::*;

mod ours;
mod rusqlite_client;
#[cfg(test)]
mod tests;
mod tokio_postgres_client;

#[derive(Debug, Deserialize, PartialEq, Serialize)]
struct User {
    id: i64,
    name: String,
}

/// What the handlers need of a client.
trait Users: Sized + 'static {
    async fn connect(worker: &Worker) -> Result<Self>;
    async fn add(&self, name: &str) -> Result<i64>;
    async fn find(&self, id: i64) -> Result<Option<User>>;
}

struct App<C> {
    users: C,
}

impl<C: Users> Plugin for App<C> {
    async fn start(worker: &Worker) -> Result<App<C>> {
        Ok(App {
            users: C::connect(worker).await?,
        })
    }
}

async fn add<C: Users>(app: State<App<C>>, Json(name): Json<String>) -> Result<(u16, Json<i64>)> {
    Ok((201, Json(app.users.add(&name).await?)))
}

async fn show<C: Users>(app: State<App<C>>, Path(id): Path<i64>) -> Result<Json<User>> {
    let user = app.users.find(id).await?;
    user.map(Json).ok_or(Error::not_found("no such user"))
}

fn routes<C: Users>() -> Router<App<C>> {
    Router::new()
        .route("/users", post(add::<C>))
        .route("/users/{id}", get(show::<C>))
}

fn main() -> std::process::ExitCode {
    match std::env::var("CLIENT").as_deref() {
        Ok("rusqlite") => tsumugi::main(routes::<rusqlite_client::Client>),
        Ok("tokio-postgres") => tsumugi::main(routes::<tokio_postgres_client::Client>),
        _ => tsumugi::main(routes::<ours::Client>),
    }
}

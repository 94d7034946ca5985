//! The users through rusqlite, which blocks: its connection works on a thread of the process's pool, one call at a time.

use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::{Connection, OptionalExtension as _};
use tsumugi::prelude::*;
use tsumugi::tokio::sync::Semaphore;

use crate::{User, Users};

pub struct Client {
    worker: Worker,
    /// One call at a time goes to the pool: the others wait here, and keep none of its threads.
    turn: Semaphore,
    /// Locked on the pool's threads only; the worker never waits for it.
    connection: Arc<Mutex<Connection>>,
}

impl Client {
    async fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T> {
        let _turn = self.turn.acquire().await.map_err(Error::other)?;
        let connection = Arc::clone(&self.connection);
        let run = move || work(&connection.lock().unwrap_or_else(PoisonError::into_inner));
        self.worker.offload(run).await?.map_err(Error::other)
    }
}

impl Users for Client {
    async fn connect(worker: &Worker) -> Result<Client> {
        let url = worker.env("DATABASE_URL")?;
        let path = url.trim_start_matches("sqlite:").to_owned();
        let opened = worker.offload(move || Connection::open(path)).await?;
        Ok(Client {
            worker: worker.clone(),
            turn: Semaphore::new(1),
            connection: Arc::new(Mutex::new(opened.map_err(Error::other)?)),
        })
    }

    async fn add(&self, name: &str) -> Result<i64> {
        let name = name.to_owned();
        self.call(move |connection| {
            connection.execute("insert into users (name) values (?)", [name])?;
            Ok(connection.last_insert_rowid())
        })
        .await
    }

    async fn find(&self, id: i64) -> Result<Option<User>> {
        self.call(move |connection| {
            let select = "select id, name from users where id = ?";
            let user = |row: &rusqlite::Row<'_>| {
                Ok(User {
                    id: row.get(0)?,
                    name: row.get(1)?,
                })
            };
            connection.query_row(select, [id], user).optional()
        })
        .await
    }
}

//! The users in a database of ours: SQLite or PostgreSQL, as the URL says.

use tsumugi::prelude::*;

use crate::{User, Users};

pub struct Client(Db);

impl Users for Client {
    async fn connect(worker: &Worker) -> Result<Client> {
        let url = worker.env("DATABASE_URL")?;
        Ok(Client(Db::connect(&url, Options::default()).await?))
    }

    async fn add(&self, name: &str) -> Result<i64> {
        #[derive(Serialize)]
        struct New<'n> {
            name: &'n str,
        }
        self.0.table("users").insert(New { name }).await
    }

    async fn find(&self, id: i64) -> Result<Option<User>> {
        self.0.table("users").filter(col("id").eq(id)).first().await
    }
}

//! The users through tokio-postgres: its connection is a task of the worker, its client a field of the plugin.

use tokio_postgres::NoTls;
use tsumugi::prelude::*;

use crate::{User, Users};

pub struct Client(tokio_postgres::Client);

impl Users for Client {
    async fn connect(worker: &Worker) -> Result<Client> {
        let url = worker.env("DATABASE_URL")?;
        let connected = tokio_postgres::connect(&url, NoTls).await;
        let (client, connection) = connected.map_err(Error::other)?;
        drop(worker.spawn(connection));
        Ok(Client(client))
    }

    async fn add(&self, name: &str) -> Result<i64> {
        let insert = "insert into users (name) values ($1) returning id";
        let row = self.0.query_one(insert, &[&name]).await;
        Ok(row.map_err(Error::other)?.get(0))
    }

    async fn find(&self, id: i64) -> Result<Option<User>> {
        let select = "select id, name from users where id = $1";
        let row = self
            .0
            .query_opt(select, &[&id])
            .await
            .map_err(Error::other)?;
        Ok(row.map(|row| User {
            id: row.get(0),
            name: row.get(1),
        }))
    }
}

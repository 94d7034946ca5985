//! The table users, with somebody in it.

use serde_json::json;
use tsumugi::{Result, Tx};
use tsumugi_sql::schema::{Table, increments, string};

pub async fn up(tx: &Tx) -> Result<()> {
    let users = Table::new("users")
        .column(increments("id"))
        .column(string("name", 20));
    tx.create(&users).await?;
    tx.table("users").insert(json!({ "name": "bo" })).await.map(drop)
}

pub async fn down(tx: &Tx) -> Result<()> {
    tx.drop_table("users").await
}

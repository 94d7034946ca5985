//! The table pets, with one of them.

use serde_json::json;
use tsumugi::{Result, Tx};
use tsumugi_sql::schema::{Table, increments, string};

pub async fn up(tx: &Tx) -> Result<()> {
    let pets = Table::new("pets")
        .column(increments("id"))
        .column(string("name", 20));
    tx.create(&pets).await?;
    tx.table("pets").insert(json!({ "name": "rex" })).await.map(drop)
}

pub async fn down(tx: &Tx) -> Result<()> {
    tx.drop_table("pets").await
}

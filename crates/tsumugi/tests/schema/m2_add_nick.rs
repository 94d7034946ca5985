//! What users are called.

use tsumugi::{Result, Tx};
use tsumugi_sql::schema::{alter, string};

pub async fn up(tx: &Tx) -> Result<()> {
    let nick = string("nick", 20).default("bobby");
    tx.alter(&alter("users").add_column(nick)).await
}

pub async fn down(tx: &Tx) -> Result<()> {
    tx.alter(&alter("users").drop_column("nick")).await
}

//! All tables of the example. Makes and drops them, and fills none.
//! Rule: not changed once it is applied, since its text is what tells.

use tsumugi::prelude::*;
use tsumugi::sql::schema::{Table, big_integer, increments, integer, string};

pub async fn up(tx: &Tx) -> Result<()> {
    let users = Table::new("users")
        .column(increments("id"))
        .column(string("name", 100))
        .column(string("email", 200).unique());
    let accounts = Table::new("accounts")
        .column(increments("id"))
        .column(big_integer("balance"));
    let events = Table::new("events")
        .column(increments("id"))
        .column(string("what", 200));
    let visits = Table::new("visits")
        .column(increments("id"))
        .column(big_integer("expires_at"));
    let tasks = Table::new("tasks")
        .column(increments("id"))
        .column(string("title", 120))
        .column(integer("done").default(0));
    for table in [users, accounts, events, visits, tasks] {
        tx.create(&table).await?;
    }
    Ok(())
}

pub async fn down(tx: &Tx) -> Result<()> {
    for table in ["users", "accounts", "events", "visits", "tasks"] {
        tx.drop_table(table).await?;
    }
    Ok(())
}

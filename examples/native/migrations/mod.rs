//! The database of the example: how it is reached, its migrations, and the rows that it begins with. Answers nothing.
//! Rule: a migration is a file of its own, which is not changed once it is applied.

use tsumugi::prelude::*;

tsumugi::migrations![m20260101120000_create_tables];

/// The database of DATABASE_URL, or a file among the data.
pub async fn connect(worker: &Worker) -> Result<Db> {
    let mut options = Options::default();
    options.pool = 8;
    options.acquire_timeout = Duration::from_secs(2);
    options.statement_timeout = Duration::from_secs(5);
    let here = format!("sqlite:{}/native.db", worker.data_dir().display());
    let url = worker.env("DATABASE_URL").unwrap_or(here);
    Db::connect(&url, options).await
}

/// Two accounts, if there is none.
pub async fn seeds(db: &Db) -> Result<()> {
    let seeded = db.seed("accounts", async |tx: &Tx| {
        let accounts = "insert into accounts (id, balance) values (1, 10), (2, 0)";
        tx.execute(accounts, []).await?;
        Ok(())
    });
    seeded.await.map(drop)
}

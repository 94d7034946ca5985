//! Transactions and callers that leave, on all databases. Not what one of them does in its own way: that is beside this folder.
//! Rule: each test runs on SQLite, PostgreSQL and Firebird and expects the same; COPY is only where there is one.

mod callbacks;
mod calls;
mod ends;
mod figures;
mod histories;
mod lost_answers;
mod savepoints;
mod several;
mod sizes;
mod streams;
mod timeouts;

use tsumugi_db::{Database, Options, Transaction, TransactionOptions, ValueRef, values};

/// An empty database of one kind.
struct Place {
    kind: Kind,
    url: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Sqlite,
    Postgres,
    Firebird,
}

impl Kind {
    /// Never ends by itself, and only reads.
    fn endless(self) -> &'static str {
        match self {
            Kind::Sqlite => {
                "with recursive c(x) as (select 1 union all select x + 1 from c) select count(*) from c"
            }
            Kind::Postgres => "select count(*) from pg_sleep(600)",
            Kind::Firebird => {
                "select count(*) from rdb$fields a, rdb$fields b, rdb$fields c, rdb$fields d"
            }
        }
    }

    /// One batch of rows at least, and then none for a second or more.
    fn stalling(self) -> &'static str {
        match self {
            Kind::Sqlite => {
                "with recursive c(x) as (select 1 union all select x + 1 from c) select x from c where x < 2000 or x < 0"
            }
            Kind::Postgres => {
                "select n, case when n = 2001 then pg_sleep(1) end from generate_series(1, 5000) n"
            }
            Kind::Firebird => {
                "execute block returns (n integer, t char(200)) as begin \
                 n = 0; t = ''; while (n < 3000) do begin n = n + 1; suspend; end \
                 while (datediff(millisecond from current_timestamp to cast('now' as timestamp)) < 1500) do n = n + 1; \
                 suspend; end"
            }
        }
    }

    /// So many numbers, in more than one batch.
    fn numbers(self) -> &'static str {
        match self {
            Kind::Sqlite => {
                "with recursive c(x) as (select 1 union all select x + 1 from c where x < 5000) select x from c"
            }
            Kind::Postgres => "select generate_series(1, 5000)",
            Kind::Firebird => "select first 5000 1 from rdb$fields a, rdb$fields b",
        }
    }
}

const NUMBERS: usize = 5000;

/// Runs a test with an empty database of each kind. Table `t` has one column, `n`, its key.
fn on_each(options: &str, test: impl AsyncFn(&Database, &Place)) {
    let directory = tempfile::tempdir().unwrap();
    let postgres = tsumugi_testkit::postgres::Server::shared().database();
    let firebird = tsumugi_testkit::firebird::Server::shared().database();
    let file = directory.path().join("test.db");
    let places = [
        (Kind::Sqlite, format!("sqlite:{}", file.display())),
        (Kind::Postgres, postgres.url()),
        (Kind::Firebird, firebird.url()),
    ];
    for (kind, url) in places {
        let place = Place {
            kind,
            url: url + options,
        };
        run(async {
            let db = Database::connect(&place.url, Options::default())
                .await
                .unwrap();
            let table = "create table t(n integer not null primary key)";
            db.execute(table, []).await.unwrap();
            test(&db, &place).await;
            db.close();
        });
    }
}

/// On a runtime like a worker's.
fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, test);
}

async fn begin(db: &Database) -> Transaction {
    db.begin(TransactionOptions::default()).await.unwrap()
}

async fn insert(tx: &Transaction, n: i64) {
    let sql = "insert into t(n) values (?)";
    tx.execute(sql, values![n]).await.unwrap();
}

/// The numbers in `t`.
async fn numbers(db: &Database) -> String {
    let rows = db.query("select n from t order by n", []).await.unwrap();
    let number = |row: tsumugi_db::Row<'_>| match row.value(0) {
        Some(ValueRef::Integer(n)) => n.to_string(),
        other => panic!("{other:?}"),
    };
    rows.iter().map(number).collect::<Vec<_>>().join(" ")
}

//! Values bound to statements of PostgreSQL and Firebird, at sizes apart: time grows with the bytes, not with their square. The drivers
//! run on the test's own thread, whose CPU time is what is compared; the servers' own time does not count.

use tsumugi_db::{Database, Options, Value};
use tsumugi_testkit::growth::{CpuClock, excess_of_made};

/// How the bytes are bound.
#[derive(Clone, Copy, Debug)]
enum Bound {
    Text,
    Blob,
    Json,
    /// Each piece between two commas is an element.
    Texts,
    Integers,
}

/// What a database does with a mebibyte of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    Taken,
    /// `DataError`: the value is no value of that kind.
    Refused,
    /// Taken up to 128 KiB, refused beyond.
    TakenShort,
}

use Expected::{Refused, Taken, TakenShort};

/// Statements that run one after the other, the first with the value.
type Entry = (&'static str, Bound, &'static [u8], Expected);

fn value(bound: Bound, bytes: &[u8]) -> Value {
    let text = || std::str::from_utf8(bytes).unwrap();
    let pieces = || text().split(',').filter(|piece| !piece.is_empty());
    match bound {
        Bound::Text => Value::Text(text().to_owned()),
        Bound::Blob => Value::Blob(bytes.to_vec()),
        Bound::Json => Value::Json(format!("[{}1]", text())),
        Bound::Texts => Value::List(pieces().map(Value::from).collect()),
        Bound::Integers => Value::List(
            pieces()
                .map(|piece| Value::Integer(piece.parse().unwrap()))
                .collect(),
        ),
    }
}

async fn excess(db: &Database, (sql, bound, piece, expected): Entry) -> Option<String> {
    let run = async |bytes: &[u8]| {
        let found = db.query(sql, vec![value(bound, bytes)]).await;
        let expected = match expected {
            TakenShort if bytes.len() <= 128 << 10 => Taken,
            TakenShort => Refused,
            always => always,
        };
        match (found, expected) {
            (Ok(rows), Taken) => rows.write_json(&mut Vec::new()).unwrap(),
            (Err(error), Refused) => assert_eq!(error.kind(), "DataError", "{sql}: {error}"),
            (Ok(_), _) => panic!("{sql} took {bound:?}"),
            (Err(error), _) => panic!("{sql}: {error}"),
        }
        if sql.starts_with("insert") {
            let rows = db.query("select n from t", []).await.unwrap();
            rows.write_json(&mut Vec::new()).unwrap();
            db.execute("delete from t", []).await.unwrap();
        }
    };
    let make = |size: usize| piece.repeat(size / piece.len());
    let entry = format!("{sql} with {bound:?}");
    excess_of_made(CpuClock::Thread, &entry, make, run).await
}

fn check(url: &str, table: &str, entries: &[Entry]) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let found = tokio::task::LocalSet::new().block_on(&runtime, async {
        let db = Database::connect(url, Options::default()).await.unwrap();
        db.execute(table, []).await.unwrap();
        let mut found = Vec::new();
        for entry in entries {
            found.extend(excess(&db, *entry).await);
        }
        db.close();
        found
    });
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn time_to_bind_values_to_postgres_grows_with_their_bytes() {
    const TEXT: &[u8] = b"a%_'\"\\";
    let database = tsumugi_testkit::postgres::Server::shared().database();
    check(
        &database.url(),
        "create table t(n text)",
        &[
            ("select ? as n", Bound::Text, TEXT, Taken),
            ("insert into t(n) values (?)", Bound::Text, TEXT, Taken),
            (
                "select count(*) from t where n = ?",
                Bound::Text,
                TEXT,
                Taken,
            ),
            (
                "select count(*) from t where n like ?",
                Bound::Text,
                TEXT,
                Taken,
            ),
            ("select ?::bytea as n", Bound::Blob, b"\0\xff'\\", Taken),
            ("select ?::text as n", Bound::Json, b"{\"a\": 1},", Taken),
            ("select ?::jsonb as n", Bound::Json, b"\"\\u00e9\",", Taken),
            (
                "select unnest(?::text[]) as n",
                Bound::Texts,
                b"a\"\\{},",
                Taken,
            ),
            (
                "select unnest(?::int[]) as n",
                Bound::Integers,
                b"1234567,",
                Taken,
            ),
            (
                "select count(*) from t where n = any(?)",
                Bound::Texts,
                b"ab,",
                Taken,
            ),
            // Digits and dates are read before they are sent.
            ("select ?::numeric as n", Bound::Text, b"9", TakenShort),
            ("select ?::int as n", Bound::Text, b"9", Refused),
            ("select ?::float8 as n", Bound::Text, b"9", Refused),
            ("select ?::int[] as n", Bound::Text, b"{1,", Refused),
            ("select ?::timestamptz as n", Bound::Text, b"2024-", Refused),
            ("select ?::uuid as n", Bound::Text, b"0a-", Refused),
            ("select ?::inet as n", Bound::Text, b"::1", Refused),
            ("select ?::interval as n", Bound::Text, b"1 day ", Refused),
        ],
    );
}

#[test]
fn time_to_bind_values_to_firebird_grows_with_their_bytes() {
    const TEXT: &[u8] = b"a%_'\"\\";
    let database = tsumugi_testkit::firebird::Server::shared().database();
    check(
        &database.url(),
        "create table t(n blob sub_type text, b blob)",
        &[
            ("insert into t(n) values (?)", Bound::Text, TEXT, Taken),
            (
                "insert into t(n) values (?)",
                Bound::Json,
                b"{\"a\": 1},",
                Taken,
            ),
            ("insert into t(n) values (?)", Bound::Texts, b"ab,", Taken),
            (
                "insert into t(n) values (?)",
                Bound::Integers,
                b"1234567,",
                Taken,
            ),
            (
                "insert into t(b) values (?)",
                Bound::Blob,
                b"\0\xff'\\",
                Taken,
            ),
            (
                "select count(*) from t where n = ?",
                Bound::Text,
                TEXT,
                Taken,
            ),
            (
                "select cast(? as varchar(8000)) as n from rdb$database",
                Bound::Text,
                "é".as_bytes(),
                Refused,
            ),
            (
                "select cast(? as varchar(8000)) as n from rdb$database",
                Bound::Integers,
                b"1,",
                Refused,
            ),
            (
                "select cast(? as numeric(18, 2)) as n from rdb$database",
                Bound::Text,
                b"9",
                Refused,
            ),
            (
                "select cast(? as double precision) as n from rdb$database",
                Bound::Text,
                b"9",
                Refused,
            ),
            (
                "select cast(? as timestamp) as n from rdb$database",
                Bound::Text,
                b"2024-",
                Refused,
            ),
        ],
    );
}

//! Every kind of column on every database: what is stored, and as what it comes back. Which types they are is tested where they are written.
//! Rule: a kind has one line here; the compiler asks for that of a new one.

use tsumugi_db::{Database, Options, ValueRef, values};
use tsumugi_sql::schema::{Kind, KindName, Table, column};
use tsumugi_sql::{Record, Value, table};
use tsumugi_testkit::{firebird, postgres};

/// A kind with its size, a value, and how it comes back from SQLite, PostgreSQL and Firebird. Numbers that the database gives are not bound.
fn example(name: KindName) -> (Kind, Option<Value>, [&'static str; 3]) {
    let text = |text: &str| Some(Value::from(text));
    let (precision, scale) = (10, 2);
    let decimal = Kind::Decimal { precision, scale };
    let either = Kind::Enum(vec!["a".to_owned(), "bc".to_owned()]);
    match name {
        KindName::Increments => (Kind::Increments, None, ["integer 1"; 3]),
        KindName::SmallInteger => (Kind::SmallInteger, Some(7.into()), ["integer 7"; 3]),
        KindName::MediumInteger => (Kind::MediumInteger, Some(7.into()), ["integer 7"; 3]),
        KindName::Integer => (Kind::Integer, Some(7.into()), ["integer 7"; 3]),
        KindName::BigInteger => (
            Kind::BigInteger,
            Some(i64::MAX.into()),
            ["integer 9223372036854775807"; 3],
        ),
        KindName::Decimal => (decimal, text("1.5"), ["Decimal 1.50"; 3]),
        KindName::Double => (Kind::Double, Some(0.5.into()), ["real 0.5"; 3]),
        KindName::Float => (Kind::Float, Some(0.5.into()), ["real 0.5"; 3]),
        KindName::Uuid => (
            Kind::Uuid,
            text("00112233-4455-6677-8899-aabbccddeeff"),
            [
                "text 00112233-4455-6677-8899-aabbccddeeff",
                "Printed 00112233-4455-6677-8899-aabbccddeeff",
                "text 00112233-4455-6677-8899-aabbccddeeff",
            ],
        ),
        KindName::Char => (Kind::Char(3), text("abc"), ["text abc"; 3]),
        KindName::String => (Kind::String(5), text("ab"), ["text ab"; 3]),
        KindName::Text => (Kind::Text, text("ab"), ["text ab"; 3]),
        KindName::Date => (Kind::Date, text("2024-02-29"), ["Date 2024-02-29"; 3]),
        KindName::DateTime => (
            Kind::DateTime,
            text("2024-02-29T03:04:05Z"),
            ["Timestamp 2024-02-29 03:04:05"; 3],
        ),
        KindName::Time => (
            Kind::Time,
            text("03:04:05"),
            ["text 03:04:05", "Printed 03:04:05", "Printed 03:04:05"],
        ),
        KindName::Timestamp => (
            Kind::Timestamp,
            text("2024-02-29T03:04:05Z"),
            [
                "TimestampTz 2024-02-29 03:04:05+00",
                "TimestampTz 2024-02-29 03:04:05+00",
                "Timestamp 2024-02-29 03:04:05",
            ],
        ),
        KindName::Binary => (
            Kind::Binary,
            Some(Value::Blob(vec![0xff])),
            ["blob [255]"; 3],
        ),
        KindName::Boolean => (Kind::Boolean, Some(true.into()), ["boolean true"; 3]),
        KindName::Enum => (either, text("bc"), ["text bc"; 3]),
        KindName::Json => (
            Kind::Json,
            Some(Value::Json(r#"{"a": 1}"#.to_owned())),
            [
                r#"Structure {"a": 1}"#,
                r#"Structure {"a": 1}"#,
                r#"text {"a": 1}"#,
            ],
        ),
    }
}

fn shown(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Integer(integer) => format!("integer {integer}"),
        ValueRef::Real(real) => format!("real {real}"),
        ValueRef::Text(text) => format!("text {text}"),
        ValueRef::Blob(bytes) => format!("blob {bytes:?}"),
        ValueRef::Boolean(truth) => format!("boolean {truth}"),
        ValueRef::Typed(typed) => {
            let mut text = Vec::new();
            typed.write_text(&mut text).unwrap();
            format!("{:?} {}", typed.kind(), String::from_utf8(text).unwrap())
        }
        other => format!("{other:?}"),
    }
}

/// Runs a test on each database, with its place in the order SQLite, PostgreSQL, Firebird.
fn on_each(test: impl AsyncFn(usize, Database)) {
    let postgres = postgres::Server::shared().database();
    let firebird = firebird::Server::shared().database();
    let directory = tempfile::tempdir().unwrap();
    let file = format!("sqlite:{}", directory.path().join("test.db").display());
    for (place, url) in [file, postgres.url(), firebird.url()].iter().enumerate() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        tokio::task::LocalSet::new().block_on(&runtime, async {
            let db = Database::connect(url, Options::default()).await.unwrap();
            test(place, db.clone()).await;
            db.close();
        });
    }
}

#[test]
fn every_kind_comes_back_as_what_it_is() {
    on_each(async |place, db| {
        for name in KindName::ALL {
            let (kind, value, expected) = example(*name);
            assert_eq!(kind.name(), *name);
            let called = format!("t_{}", name.word());
            let wanted = Table::new(called.as_str()).column(column("v", kind));
            assert!(db.create(&wanted).await.unwrap());
            let record = match value {
                Some(value) => Record::new().set("v", value),
                None => Record::new(),
            };
            let things = table(called.as_str());
            let insert = things.to_insert(&record, db.dialect()).unwrap();
            db.run(insert).await.unwrap();
            let rows = things.to_rows(db.dialect()).unwrap();
            let rows = db.fetch(rows).await.unwrap();
            let value = rows.first().unwrap().value(0).unwrap();
            assert_eq!(shown(value), expected[place], "{} {name:?}", db.scheme());
        }
    });
}

#[test]
fn table_that_is_not_there_has_an_error_of_its_own_that_names_migrate() {
    on_each(async |_, db| {
        for sql in [
            "select * from nowhere where id = ?",
            "insert into nowhere values (?)",
            "update nowhere set id = ?",
            "delete from nowhere where id = ?",
        ] {
            let error = db.query(sql, values![1]).await.unwrap_err();
            assert_eq!(error.kind(), "UndefinedTable", "{}: {error}", db.scheme());
            assert_eq!(error.sql(), Some(sql));
            let message = error.to_string();
            assert!(message.to_lowercase().contains("nowhere"), "{message}");
            assert!(message.contains("`tsumugi migrate up`"), "{message}");
        }
        let error = db.execute("drop table nowhere", []).await.unwrap_err();
        assert_eq!(error.kind(), "UndefinedTable", "{}: {error}", db.scheme());
        let create = "create table things (a integer)";
        db.execute(create, []).await.unwrap();
        // In the second a name stands for no table of the statement: no migration makes it.
        for sql in ["selec 1", "select nope.a from things"] {
            let error = db.query(sql, []).await.unwrap_err();
            assert_eq!(error.kind(), "SyntaxError", "{}: {error}", db.scheme());
        }
    });
}

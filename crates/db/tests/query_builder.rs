//! Statements of the builder on both databases, through the public face. What the builder writes is tested where it is written.
//! Rule: each test runs on SQLite and on PostgreSQL and expects the same.

use tsumugi_db::{BatchSize, Database, Options, RowStream, Rows, TransactionOptions};
use tsumugi_sql::{Record, Value, col, raw, record, schema, table};
use tsumugi_testkit::postgres::Server;

/// Runs a test on an empty database of each kind.
fn check<F: Future<Output = ()>>(test: impl Fn(Database) -> F) {
    let server = Server::shared().database();
    let directory = tempfile::tempdir().unwrap();
    let file = format!("sqlite:{}", directory.path().join("test.db").display());
    for url in [file, server.url()] {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        tokio::task::LocalSet::new().block_on(&runtime, async {
            let db = Database::connect(&url, Options::default()).await.unwrap();
            make(&db).await;
            test(db.clone()).await;
            db.close();
        });
    }
}

async fn make(db: &Database) {
    let users = schema::Table::new("users")
        .column(schema::increments("id"))
        .column(schema::string("name", 40));
    for sql in users.create(db.dialect()).unwrap() {
        db.execute_script(sql).await.unwrap();
    }
}

fn json(rows: &Rows) -> String {
    let mut out = Vec::new();
    rows.write_json(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn rows_are_inserted_fetched_followed_and_changed() {
    check(async |db| {
        let dialect = db.dialect();
        let users = table("users");
        let insert = users.clone().returning("id");
        let insert = insert.to_insert(&record! { "name" => "an" }, dialect);
        let rows = db.fetch(insert.unwrap()).await.unwrap();
        assert_eq!(json(&rows), r#"[{"id":1}]"#);
        let records = [record! { "name" => "bo" }, record! { "name" => "c?" }];
        for statement in users.to_insert_all(&records, dialect).unwrap() {
            assert_eq!(db.run(statement).await.unwrap().affected, 2);
        }
        let some = users.clone().filter(col("id").ge(2)).order("id");
        let rows = db.fetch(some.to_rows(dialect).unwrap()).await.unwrap();
        assert_eq!(
            json(&rows),
            r#"[{"id":2,"name":"bo"},{"id":3,"name":"c?"}]"#
        );
        let mut stream = db.follow(some.to_rows(dialect).unwrap()).await.unwrap();
        assert_eq!(stream.next().await.unwrap().unwrap().len(), 2);
        drop(stream);
        let renamed = some.clone().unordered().set("name", "d");
        let changed = db.run(renamed.to_update(dialect).unwrap()).await.unwrap();
        assert_eq!(changed.affected, 2);
    });
}

#[test]
fn question_marks_of_raw_sql_are_what_they_were() {
    check(async |db| {
        let query =
            table("users").filter(raw("'a?' = ? and ?=2", [Value::from("a?"), Value::from(2)]));
        let count = query.to_count(db.dialect()).unwrap();
        let rows = db.fetch(count).await.unwrap();
        assert_eq!(json(&rows), r#"[{"count":0}]"#);
        if db.scheme() == "postgres" {
            let query = table("users").filter(raw("'{\"a\": 1}'::jsonb ?? ?", [Value::from("a")]));
            db.fetch(query.to_rows(db.dialect()).unwrap())
                .await
                .unwrap();
        }
    });
}

#[test]
fn a_transaction_runs_them_too_and_knows_tables_made_in_it() {
    check(async |db| {
        let tx = db.begin(TransactionOptions::default()).await.unwrap();
        let notes = schema::Table::new("notes").column(schema::increments("number"));
        for sql in notes.create(tx.dialect()).unwrap() {
            tx.execute_script(sql).await.unwrap();
        }
        let found = tx.describe("notes").await.unwrap().unwrap();
        assert_eq!(found.primary_key(), ["number"]);
        let insert = table("notes").to_insert(&Record::new(), tx.dialect());
        tx.run(insert.unwrap()).await.unwrap();
        tx.roll_back().await.unwrap();
        assert_eq!(db.describe("notes").await.unwrap(), None);
    });
}

#[test]
fn query_the_builder_refuses_has_an_error_kind() {
    check(async |db| {
        let refused = table("users").to_delete(db.dialect()).unwrap_err();
        assert_eq!(tsumugi_db::Error::from(refused).kind(), "UsageError");
        let unsupported = tsumugi_sql::Error::Unsupported {
            database: "SQLite",
            what: "skip locked",
        };
        assert_eq!(tsumugi_db::Error::from(unsupported).kind(), "Unsupported");
        let limit = tsumugi_sql::Error::Limit {
            limit: "DEPTH_MAX",
            max: 200,
        };
        assert_eq!(tsumugi_db::Error::from(limit).kind(), "LimitExceeded");
    });
}

#[test]
fn every_kind_of_column_comes_out_the_same() {
    check(async |db| {
        let things = schema::Table::new("things").columns([
            schema::increments("id"),
            schema::decimal("price", 10, 2),
            schema::date("day"),
            schema::datetime("at"),
            schema::timestamp("moment"),
            schema::time("clock"),
            schema::uuid("uuid"),
            schema::json("data"),
            schema::boolean("truth"),
            schema::enumeration("kind", ["a", "b"]),
            schema::double("real"),
            schema::big_integer("large"),
            schema::binary("bytes"),
        ]);
        for sql in things.create(db.dialect()).unwrap() {
            db.execute_script(sql).await.unwrap();
        }
        let row = record! {
            "price" => "12.5", "day" => "2024-02-29", "at" => "2024-01-02T03:04:05.500000Z",
            "moment" => "2024-01-02T03:04:05.000006Z", "clock" => "03:04:05",
            "uuid" => "67e55044-10b1-426f-9247-bb680e5fe0c8", "data" => Value::Json("[1]".to_owned()),
            "truth" => true, "kind" => "b", "real" => 0.5, "large" => i64::MAX, "bytes" => vec![255_u8],
        };
        let empty = record! {
            "price" => -3, "day" => "2024-02-29", "at" => "2024-01-02T03:04:05Z", "moment" => "2024-01-02T05:04:05+02:00",
            "clock" => "03:04:05", "uuid" => "67e55044-10b1-426f-9247-bb680e5fe0c8", "data" => Value::Json("null".to_owned()),
            "truth" => false, "kind" => "a", "real" => -1.0, "large" => 0, "bytes" => Vec::<u8>::new(),
        };
        for statement in table("things")
            .to_insert_all(&[row, empty], db.dialect())
            .unwrap()
        {
            db.run(statement).await.unwrap();
        }
        let rows = table("things").order("id").to_rows(db.dialect()).unwrap();
        let rows = json(&db.fetch(rows).await.unwrap());
        let expected = [
            r#"[{"id":1,"price":"12.50","day":"2024-02-29","at":"2024-01-02T03:04:05.5","moment":"2024-01-02T03:04:05.000006Z","clock":"03:04:05","#,
            r#""uuid":"67e55044-10b1-426f-9247-bb680e5fe0c8","data":[1],"truth":true,"kind":"b","real":0.5,"large":9223372036854775807,"bytes":"/w=="},"#,
            r#"{"id":2,"price":"-3.00","day":"2024-02-29","at":"2024-01-02T03:04:05","moment":"2024-01-02T03:04:05Z","clock":"03:04:05","#,
            r#""uuid":"67e55044-10b1-426f-9247-bb680e5fe0c8","data":null,"truth":false,"kind":"a","real":-1.0,"large":0,"bytes":""}]"#,
        ];
        assert_eq!(rows, expected.concat(), "{}", db.scheme());
    });
}

/// Two shops with two prices each, of which one has more digits than a double.
async fn priced(db: &Database) {
    let prices = schema::Table::new("prices").columns([
        schema::increments("id"),
        schema::text("shop"),
        schema::decimal("price", 30, 2),
    ]);
    for sql in prices.create(db.dialect()).unwrap() {
        db.execute_script(sql).await.unwrap();
    }
    let row = |shop: &str, price: &str| record! { "shop" => shop, "price" => price };
    let rows = [
        row("a", "9.50"),
        row("a", "10"),
        row("b", "-2.25"),
        row("b", "12345678901234567890.01"),
    ];
    for statement in table("prices").to_insert_all(&rows, db.dialect()).unwrap() {
        db.run(statement).await.unwrap();
    }
}

async fn fetched(db: &Database, query: tsumugi_sql::Query) -> String {
    let statement = query.to_rows(db.dialect()).unwrap();
    json(&db.fetch(statement).await.unwrap())
}

#[test]
fn decimals_are_compared_ordered_and_added_exactly() {
    check(async |db| {
        priced(&db).await;
        let prices = || table("prices").select("id").order("price");
        assert_eq!(
            fetched(&db, prices()).await,
            r#"[{"id":3},{"id":1},{"id":2},{"id":4}]"#
        );
        assert_eq!(
            fetched(
                &db,
                prices().filter(col("price").gt(9).and(col("price").lt("10.01")))
            )
            .await,
            r#"[{"id":1},{"id":2}]"#
        );
        assert_eq!(
            fetched(&db, prices().filter(col("price").eq("9.5"))).await,
            r#"[{"id":1}]"#
        );
        let sums = table("prices").select(("shop", tsumugi_sql::sum("price")));
        let sums = sums.group("shop").order(tsumugi_sql::desc("sum_price"));
        assert_eq!(
            fetched(&db, sums.clone()).await,
            r#"[{"shop":"b","sum_price":"12345678901234567887.76"},{"shop":"a","sum_price":"19.50"}]"#
        );
        let few = sums.having(tsumugi_sql::sum("price").lt(20));
        assert_eq!(
            fetched(&db, few).await,
            r#"[{"shop":"a","sum_price":"19.50"}]"#
        );
    });
}

#[test]
fn aggregates_of_decimals_are_compared_as_numbers() {
    check(async |db| {
        priced(&db).await;
        let max = || tsumugi_sql::max("price");
        let lasts = || table("prices").select("shop").group("shop");
        assert_eq!(
            fetched(&db, lasts().order(max().desc())).await,
            r#"[{"shop":"b"},{"shop":"a"}]"#
        );
        for having in [
            max().lt("10.01"),
            max().lt(11),
            max().between("9.0", "10.1"),
            max().is_in(["10"]),
        ] {
            assert_eq!(
                fetched(&db, lasts().having(having)).await,
                r#"[{"shop":"a"}]"#
            );
        }
        let summed = || {
            let sums = table("prices").select(("shop", tsumugi_sql::sum("price")));
            tsumugi_sql::table(tsumugi_sql::Source::query(sums.group("shop"), "s"))
        };
        let few = r#"[{"shop":"a","sum_price":"19.50"}]"#;
        for filter in [
            col("sum_price").lt(20),
            col("s.sum_price").lt("100.0"),
            col("sum_price").eq("19.5"),
        ] {
            assert_eq!(fetched(&db, summed().filter(filter)).await, few);
        }
    });
}

#[test]
fn averages_extremes_and_windows_of_decimals_are_exact() {
    check(async |db| {
        priced(&db).await;
        let averages = table("prices").filter(col("shop").eq("a"));
        assert_eq!(
            fetched(&db, averages.select(tsumugi_sql::avg("price"))).await,
            r#"[{"avg_price":9.75}]"#
        );
        for (aggregate, expected) in [
            (tsumugi_sql::Aggregate::Max, r#"[{"max_price":"10.00"}]"#),
            (tsumugi_sql::Aggregate::Min, r#"[{"min_price":"9.50"}]"#),
        ] {
            let few = table("prices").filter(col("shop").eq("a"));
            let statement = few.to_aggregate(aggregate, "price", db.dialect());
            let rows = db.fetch(statement.unwrap()).await.unwrap();
            assert_eq!(json(&rows), expected);
        }
        let running = "sum(price) over (order by id rows between 1 preceding and current row)";
        let running = table("prices")
            .select((raw(running, []).alias("n"),))
            .order("id")
            .limit(3);
        assert_eq!(
            fetched(&db, running).await,
            r#"[{"n":"9.50"},{"n":"19.50"},{"n":"7.75"}]"#
        );
    });
}

#[test]
fn batches_have_at_most_as_many_rows_as_was_said() {
    async fn sizes(mut stream: RowStream) -> Vec<usize> {
        let mut sizes = Vec::new();
        while let Some(rows) = stream.next().await.unwrap() {
            sizes.push(rows.len());
        }
        sizes
    }
    check(async |db| {
        let users = table("users");
        let records: Vec<Record> = (0..10)
            .map(|n| record! { "name" => n.to_string() })
            .collect();
        for statement in users.to_insert_all(&records, db.dialect()).unwrap() {
            db.run(statement).await.unwrap();
        }
        let all = || users.clone().order("id").to_rows(db.dialect()).unwrap();
        for rows in [1, 3, 7, 1_000] {
            let by = BatchSize::of(rows).unwrap();
            let tx = db.begin(TransactionOptions::default()).await.unwrap();
            let streams = [
                db.follow_by(all(), by).await.unwrap(),
                tx.follow_by(all(), by).await.unwrap(),
            ];
            for stream in streams {
                let sizes = sizes(stream).await;
                let fits = |size: &usize| *size as i64 <= rows;
                assert!(sizes.iter().all(fits), "{rows}: {sizes:?}");
                assert_eq!(sizes.iter().sum::<usize>(), 10, "{rows}");
            }
            tx.roll_back().await.unwrap();
        }
    });
}

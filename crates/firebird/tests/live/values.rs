//! Every type of Firebird 3 as a column and as a parameter: what goes in comes out, at its ends and in its odd places.
//! Types of Firebird 4 are not tested here: no such server is. Rule: a value is compared as a value, not as a text.

use std::sync::atomic::{AtomicU32, Ordering};

use tsumugi_firebird::Connection;
use tsumugi_firebird_proto::GdsCode;
use tsumugi_firebird_proto::values::{Date, Decimal, Padding, TextRules, Time, Timestamp, Value};
use tsumugi_testkit::firebird::Server;

use crate::{code, is_usable, open, run, value};

static TABLES: AtomicU32 = AtomicU32::new(0);

/// Stores `given` in a column of the type `kind` and expects `expected` back, also through a cast to the type.
async fn check(db: &Connection, kind: &str, given: Value<'_>, expected: Value<'_>) {
    let ask = async |sql: &str, values: &[Value<'_>]| {
        let rows = db.query(sql, values).await;
        rows.unwrap_or_else(|error| panic!("{sql} with {given:?}: {error}"))
    };
    let given = std::slice::from_ref(&given);
    let cast = format!("select cast(? as {kind}) from rdb$database");
    assert_eq!(
        value(&ask(&cast, given).await),
        expected,
        "{cast} {given:?}"
    );
    let table = format!("t_{}", TABLES.fetch_add(1, Ordering::Relaxed));
    ask(&format!("create table {table} (v {kind})"), &[]).await;
    ask(&format!("insert into {table} values (?)"), given).await;
    let rows = ask(&format!("select v from {table}"), &[]).await;
    assert_eq!(value(&rows), expected, "a column of {kind}, {given:?}");
}

async fn same(db: &Connection, kind: &str, values: impl IntoIterator<Item = Value<'_>>) {
    for value in values {
        check(db, kind, value.clone(), value).await;
    }
}

fn decimal(text: &str) -> Value<'_> {
    Value::Decimal(text.parse().unwrap())
}

#[test]
fn integers_reach_both_ends() {
    run(async {
        let database = Server::shared().database();
        let db = open(&database).await;
        same(&db, "smallint", [-32_768, 0, 32_767].map(Value::Integer)).await;
        let long = [i32::MIN, i32::MAX].map(|number| Value::Integer(number.into()));
        same(&db, "integer", long).await;
        same(&db, "bigint", [i64::MIN, i64::MAX].map(Value::Integer)).await;
        let beyond = db
            .query(
                "select cast(? as smallint) from rdb$database",
                &[Value::Integer(32_768)],
            )
            .await;
        assert_eq!(code(beyond), GdsCode::NUMERIC_RANGE);
        is_usable(&db).await;
    });
}

#[test]
fn exact_numbers_keep_their_scale() {
    run(async {
        let database = Server::shared().database();
        let db = open(&database).await;
        same(
            &db,
            "numeric(4, 2)",
            ["-99.99", "0.00", "1.50"].map(decimal),
        )
        .await;
        same(&db, "decimal(9, 4)", ["-99999.9999", "0.0001"].map(decimal)).await;
        let widest = ["-9.223372036854775808", "9.223372036854775807"];
        same(&db, "numeric(18, 18)", widest.map(decimal)).await;
        // The server rounds to the column's scale, as it does with a literal.
        check(&db, "numeric(9, 2)", decimal("1.255"), decimal("1.26")).await;
        check(&db, "numeric(9, 2)", Value::Integer(7), decimal("7.00")).await;
        let text = Value::Text("-12.34".into());
        check(&db, "numeric(9, 2)", text, decimal("-12.34")).await;
        let beyond = Value::Decimal(Decimal {
            unscaled: i128::MAX,
            scale: 0,
        });
        let refused = db
            .query("select cast(? as bigint) from rdb$database", &[beyond])
            .await;
        assert_eq!(code(refused), GdsCode::NUMERIC_RANGE);
        is_usable(&db).await;
    });
}

#[test]
fn floating_point_is_exact_to_the_bit() {
    run(async {
        let database = Server::shared().database();
        let db = open(&database).await;
        let doubles = [f64::MIN, f64::MIN_POSITIVE, 5e-324, 0.1, -0.0, f64::MAX];
        same(&db, "double precision", doubles.map(Value::Double)).await;
        let floats = [f32::MIN, f32::MIN_POSITIVE, 0.1, f32::MAX];
        same(&db, "float", floats.map(Value::Float)).await;
        check(
            &db,
            "double precision",
            Value::Integer(3),
            Value::Double(3.0),
        )
        .await;
    });
}

#[test]
fn dates_and_times_reach_their_ends() {
    run(async {
        let database = Server::shared().database();
        let db = open(&database).await;
        let day = |year, month, day| Date::from_ymd(year, month, day).unwrap();
        let days = [
            day(1, 1, 1),
            day(1858, 11, 16),
            day(2024, 2, 29),
            day(9999, 12, 31),
        ];
        same(&db, "date", days.map(Value::Date)).await;
        let time = |h, m, s, fraction| Time::from_hms(h, m, s, fraction).unwrap();
        let times = [
            time(0, 0, 0, 0),
            time(3, 4, 5, 6_700),
            time(23, 59, 59, 9_999),
        ];
        same(&db, "time", times.map(Value::Time)).await;
        let stamps = days.map(|date| {
            Value::Timestamp(Timestamp {
                date,
                time: times[2],
            })
        });
        same(&db, "timestamp", stamps).await;
        let text = Value::Text("2024-02-29".into());
        check(&db, "date", text, Value::Date(days[2])).await;
        let refused = db
            .query(
                "select cast(? as date) from rdb$database",
                &[Value::Text("2023-02-29".into())],
            )
            .await;
        assert_eq!(code(refused), GdsCode::CONVERSION);
        is_usable(&db).await;
    });
}

#[test]
fn booleans_are_written_and_read_back() {
    run(async {
        let database = Server::shared().database();
        let db = open(&database).await;
        same(&db, "boolean", [true, false].map(Value::Boolean)).await;
        let text = Value::Text("true".into());
        check(&db, "boolean", text, Value::Boolean(true)).await;
    });
}

#[test]
fn every_type_may_be_null() {
    run(async {
        let database = Server::shared().database();
        let db = open(&database).await;
        for kind in [
            "smallint",
            "integer",
            "bigint",
            "numeric(18, 4)",
            "float",
            "double precision",
            "char(3)",
            "varchar(3)",
            "char(3) character set octets",
            "date",
            "time",
            "timestamp",
            "boolean",
            "blob sub_type text",
            "blob sub_type binary",
        ] {
            check(&db, kind, Value::Null, Value::Null).await;
        }
    });
}

#[test]
fn nulls_and_values_are_distinguished_for_any_number_of_columns() {
    run(async {
        let database = Server::shared().database();
        let db = open(&database).await;
        for count in [1_i64, 8, 9, 17, 32, 33, 64, 65, 200] {
            let expected: Vec<Value<'_>> = (0..count)
                .map(|number| match number % 3 {
                    0 => Value::Null,
                    _ => Value::Integer(number),
                })
                .collect();
            let columns = vec!["cast(? as integer)"; expected.len()].join(", ");
            let sql = format!("select {columns} from rdb$database");
            let rows = db.query(&sql, &expected).await.unwrap();
            let row = rows.first().unwrap();
            let found: Vec<_> = row.values(TextRules::default()).collect();
            assert_eq!(found, expected, "{count} columns");
        }
    });
}

#[test]
fn null_test_parameter_takes_any_value() {
    run(async {
        let database = Server::shared().database();
        let db = open(&database).await;
        let sql = "select count(*) from rdb$database where ? is null";
        for (given, expected) in [
            (Value::Null, 1),
            (Value::Integer(1), 0),
            (Value::Text("".into()), 0),
        ] {
            let rows = db.query(sql, &[given]).await.unwrap();
            assert_eq!(value(&rows), Value::Integer(expected));
        }
    });
}

#[test]
fn char_has_its_characters_and_an_empty_text_is_one() {
    run(async {
        let database = Server::shared().database();
        let db = open(&database).await;
        let text = |text: &'static str| Value::Text(text.into());
        let bytes = Value::Bytes;
        check(&db, "char(5)", text("ab"), text("ab   ")).await;
        check(&db, "char(5)", text("日本語日本"), text("日本語日本")).await;
        check(&db, "char(5)", text(""), text("     ")).await;
        let narrow = "char(4) character set win1251";
        check(&db, narrow, text("Я"), text("Я   ")).await;
        let old = "char(4) character set unicode_fss";
        check(&db, old, text("日"), text("日   ")).await;
        let octets = "char(4) character set octets";
        check(&db, octets, bytes(b"\xff\0"), bytes(b"\xff\0\0\0")).await;
        check(&db, "varchar(5)", text(""), text("")).await;
        check(&db, "varchar(5)", text(" a "), text(" a ")).await;
        let too_long = db
            .query(
                "select cast(? as char(5)) from rdb$database",
                &[text("六文字の文字")],
            )
            .await;
        assert_eq!(code(too_long), GdsCode::TRUNCATION);
        let rows = db
            .query("select cast('ab' as char(5)) from rdb$database", &[])
            .await
            .unwrap();
        let rules = TextRules {
            padding: Padding::Trim,
            ..TextRules::default()
        };
        let trimmed = rows.first().unwrap().field(0).unwrap().value(rules);
        assert_eq!(trimmed, text("ab"));
    });
}

#[test]
fn longest_text_of_a_column_goes_both_ways() {
    run(async {
        let database = Server::shared().database();
        let db = open(&database).await;
        let long = "日".repeat(8_191);
        let text = Value::Text(long.as_str().into());
        same(&db, "varchar(8191)", [text]).await;
        let ascii = "x".repeat(32_765);
        let kind = "varchar(32765) character set octets";
        same(&db, kind, [Value::Bytes(ascii.as_bytes())]).await;
    });
}

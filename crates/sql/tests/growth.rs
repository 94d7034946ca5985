//! Lists in conditions, at sizes apart: time to build and to write them grows with their bytes. What a database takes as values ends a
//! list; one more is refused there.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use tsumugi_sql::{Dialect, Expr, FIREBIRD, POSTGRES, Result, SQLITE, Value, all, any, col, table};
use tsumugi_testkit::growth::{CpuClock, excess_of_made};

const DIALECTS: [&Dialect; 3] = [&SQLITE, &POSTGRES, &FIREBIRD];

/// How a list of values becomes a condition.
type Entry = (&'static str, fn(Vec<Value>) -> Expr);

const ENTRIES: [Entry; 6] = [
    ("in", |values| col("n").is_in(values)),
    ("not in", |values| col("n").not_in(values)),
    ("not (in)", |values| !col("n").is_in(values)),
    ("in, with null", |mut values| {
        values.push(Value::Null);
        col("n").is_in(values)
    }),
    ("any of equals", |values| {
        any(values.into_iter().map(|value| col("n").eq(value)))
    }),
    ("all of differs", |values| {
        all(values.into_iter().map(|value| col("n").ne(value)))
    }),
];

/// The values of a list that a client sent.
fn values(bytes: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(bytes).unwrap();
    let pieces = text.split(',').filter(|piece| !piece.is_empty());
    pieces
        .map(|piece| Value::Integer(piece.parse().unwrap()))
        .collect()
}

/// Writes a read, a change and a delete with this condition.
fn write(condition: &Expr, dialect: &Dialect) -> [Result<usize>; 3] {
    let found = table("t").filter(condition.clone());
    [
        found
            .to_rows(dialect)
            .map(|statement| statement.binds.len()),
        found
            .clone()
            .set("m", 1)
            .to_update(dialect)
            .map(|statement| statement.binds.len()),
        found
            .to_delete(dialect)
            .map(|statement| statement.binds.len()),
    ]
}

#[test]
fn time_for_lists_in_conditions_grows_with_their_bytes() {
    let mut found = Vec::new();
    for dialect in DIALECTS {
        for (entry, condition) in ENTRIES {
            let make = |size: usize| b"1234567,".repeat(size / 8);
            let work = async |bytes: &[u8]| {
                let values = values(bytes);
                let is_short = values.len() < dialect.binds_max;
                for written in write(&condition(values), dialect) {
                    assert!(!is_short || written.is_ok(), "{written:?}");
                }
            };
            let entry = format!("{entry} for {}", dialect.name);
            let compared = pin!(excess_of_made(CpuClock::Thread, &entry, make, work));
            let Poll::Ready(line) = compared.poll(&mut Context::from_waker(Waker::noop())) else {
                unreachable!("nothing waits");
            };
            found.extend(line);
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn binds_max_ends_lists_in_conditions() {
    for dialect in DIALECTS {
        let list = |count: usize| vec![Value::Integer(7); count];
        for (entry, condition) in ENTRIES.iter().take(3) {
            let [read, _, delete] = write(&condition(list(dialect.binds_max)), dialect);
            assert!(read.is_ok() && delete.is_ok(), "{entry}: {read:?}");
            for written in write(&condition(list(dialect.binds_max + 1)), dialect) {
                // A database that takes a list as one value has no such end.
                if let Err(error) = written {
                    assert!(error.to_string().contains("binds_max"), "{error}");
                } else {
                    assert_eq!(written, Ok(1), "{entry} for {}", dialect.name);
                }
            }
        }
    }
}

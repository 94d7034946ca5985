//! Answers built as words, taken whole, byte by byte and cut in two at every place; they must mean the same.

use super::*;
use crate::describe::Column;
use crate::wire::put_cstring;
use crate::{GdsCode, Violation, op};
use bytes::{BufMut, BytesMut};

/// One nullable VARCHAR(10).
fn format() -> Arc<Format> {
    let column = Column::of(449).unwrap().measured(10).unwrap();
    Arc::new(Format::new(vec![column]).unwrap())
}

/// `ok` and `ok=7` responses, `bad` a failed one, `row=text`, `null`, `more`, `eof`, `sql`, `sql=text`, `dummy`, `piggy`.
fn answers(words: &str) -> Vec<u8> {
    let mut out = Vec::new();
    for word in words.split_whitespace() {
        let (word, value) = word.split_once('=').unwrap_or((word, ""));
        let mut numbers = |numbers: &[u32]| numbers.iter().for_each(|number| out.put_u32(*number));
        match word {
            "ok" => numbers(&[op::RESPONSE, value.parse().unwrap_or(0), 0, 0, 0, 1, 0, 0]),
            "piggy" => numbers(&[op::RESPONSE_PIGGYBACK, 0, 0, 0, 0, 1, 0, 0]),
            "bad" => numbers(&[op::RESPONSE, 0, 0, 0, 0, 1, GdsCode::CANCELLED.0, 0]),
            "dummy" => numbers(&[op::DUMMY]),
            "null" => numbers(&[op::FETCH_RESPONSE, 0, 1, 0x0100_0000]),
            "more" => numbers(&[op::FETCH_RESPONSE, 0, 0]),
            "eof" => numbers(&[op::FETCH_RESPONSE, 100, 0]),
            "row" => {
                numbers(&[op::FETCH_RESPONSE, 0, 1, 0]);
                put_cstring(&mut out, value.as_bytes());
            }
            "sql" if value.is_empty() => numbers(&[op::SQL_RESPONSE, 0]),
            "sql" => {
                numbers(&[op::SQL_RESPONSE, 1, 0]);
                put_cstring(&mut out, value.as_bytes());
            }
            other => panic!("{other}"),
        }
    }
    out
}

/// `R`esponse, `D`eferred, `S`ql, `F`etch.
fn expecting(words: &str) -> Connection<usize> {
    let mut connection = Connection::new();
    for (token, word) in words.split_whitespace().enumerate() {
        let what = match word {
            "R" => Expect::Response,
            "D" => Expect::Deferred,
            "S" => Expect::Sql(format()),
            "F" => Expect::Fetch(format()),
            other => panic!("{other}"),
        };
        connection.expect(token, what).unwrap();
    }
    connection
}

fn said(outcome: &Outcome) -> String {
    match outcome {
        Ok(response) => format!("ok={}", response.object),
        Err(error) => format!("error={}", error.code),
    }
}

fn values(rows: &Rows) -> String {
    assert_eq!(rows.iter().count(), rows.len());
    rows.iter()
        .map(|row| match row.field(0).unwrap().bytes {
            None => "null ".to_owned(),
            Some(bytes) => format!("{} ", bytes.escape_ascii()),
        })
        .collect()
}

/// What became of `pieces`: pieces of rows are joined, because where they are cut may differ.
fn play<'a>(mut connection: Connection<usize>, pieces: impl Iterator<Item = &'a [u8]>) -> String {
    let mut input = BytesMut::new();
    let mut out = String::new();
    for piece in pieces {
        input.extend_from_slice(piece);
        loop {
            match connection.poll(&mut input) {
                Ok(None) if input.is_empty() && connection.awaited() == 0 => break,
                Ok(None) => {
                    assert!(connection.missing() > 0);
                    break;
                }
                Ok(Some(Event::Response { token, outcome })) => {
                    out.push_str(&format!("{token}:{} ", said(&outcome)));
                }
                Ok(Some(Event::Sql {
                    token,
                    row,
                    outcome,
                })) => {
                    let row = row.as_ref().map(values).unwrap_or_default();
                    out.push_str(&format!("{token}:{row}{} ", said(&outcome)));
                }
                Ok(Some(Event::Rows { token, rows, end })) => {
                    out.push_str(&values(&rows));
                    match end {
                        None => {}
                        Some(Ok(end)) => out.push_str(&format!("{token}:{end:?} ")),
                        Some(Err(error)) => out.push_str(&format!("{token}:error={} ", error.code)),
                    }
                }
                Err(violation) => return format!("{out}{violation}"),
            }
        }
    }
    if !input.is_empty() {
        out.push_str("unfinished");
    }
    out.trim_end().to_owned()
}

fn check(expect: &str, words: &str, expected: &str) {
    let bytes = answers(words);
    assert_eq!(
        play(expecting(expect), std::iter::once(&bytes[..])),
        expected
    );
    assert_eq!(play(expecting(expect), bytes.chunks(1)), expected);
    for at in 0..=bytes.len() {
        let (head, tail) = bytes.split_at(at);
        assert_eq!(
            play(expecting(expect), [head, tail].into_iter()),
            expected,
            "at {at}"
        );
    }
}

#[test]
fn replies_of_pipelined_requests_reach_their_callers() {
    check("D R R", "ok=3 bad ok=5", "0:ok=3 1:error=335544794 2:ok=5");
}

#[test]
fn query_in_one_write_gets_three_replies() {
    check(
        "R F D",
        "ok row=a row=bcd null row= eof ok",
        r"0:ok=0 a bcd null  1:Eof 2:ok=0",
    );
    check("F F", "row=a more row=b eof", "a 0:More b 1:Eof");
}

#[test]
fn rows_before_an_error_are_delivered() {
    check(
        "F R",
        "row=a row=b bad ok=1",
        "a b 0:error=335544794 1:ok=1",
    );
    check("F", "bad", "0:error=335544794");
}

#[test]
fn row_without_cursor_comes_before_its_response() {
    check("S R", "sql=x ok=1 ok=2", "0:x ok=1 1:ok=2");
    check("S", "sql ok", "0:ok=0");
}

#[test]
fn failed_execution_without_a_row_is_read() {
    check("S R", "sql bad ok=2", "0:error=335544794 1:ok=2");
    check("S R", "bad ok=2", "0:error=335544794 1:ok=2");
}

#[test]
fn dummy_and_piggyback_packets_are_skipped_anywhere() {
    check("R R", "dummy ok=1 piggy dummy ok=2", "0:ok=1 1:ok=2");
    check("F", "dummy row=a piggy row=b dummy eof", "a b 0:Eof");
    check("S", "dummy sql=x piggy ok=1", "0:x ok=1");
}

#[test]
fn dummy_packets_between_a_row_and_its_response_are_limited() {
    let mut input = BytesMut::from(&answers("sql=x")[..]);
    input.extend_from_slice(&answers("dummy").repeat(crate::limits::PASSED_BYTES_MAX / 4 + 2));
    let found = expecting("S").poll(&mut input);
    assert!(matches!(found, Err(Violation::TooMany { .. })));
}

#[test]
fn rows_beyond_the_limit_come_in_pieces() {
    let mut connection = expecting("F");
    let row = answers("row=abcdefgh");
    let count = crate::limits::ROWS_BYTES_MAX / row.len() * 2 + 2;
    let mut input = BytesMut::from(&row.repeat(count)[..]);
    let mut found = 0;
    for _ in 0..2 {
        let Ok(Some(Event::Rows {
            rows, end: None, ..
        })) = connection.poll(&mut input)
        else {
            panic!("a piece");
        };
        assert!(rows.size_bytes() < crate::limits::ROWS_BYTES_MAX + row.len());
        found += rows.len();
    }
    input.extend_from_slice(&answers("eof"));
    let Ok(Some(Event::Rows {
        rows,
        end: Some(Ok(FetchEnd::Eof)),
        ..
    })) = connection.poll(&mut input)
    else {
        panic!("the rest");
    };
    assert_eq!(found + rows.len(), count);
}

#[test]
fn answer_of_another_kind_ends_the_connection() {
    check(
        "R",
        "eof",
        "operation 66 came where a response was expected",
    );
    check(
        "F",
        "sql",
        "operation 78 came where rows or an error was expected",
    );
    check(
        "F",
        "ok",
        "operation 9 came where rows or an error was expected",
    );
    check(
        "S",
        "eof",
        "operation 66 came where the answer to an execution was expected",
    );
}

#[test]
fn reply_without_a_caller_ends_the_connection() {
    check("R", "ok ok", "0:ok=0 operation 9 came unasked");
}

#[test]
fn value_longer_than_its_column_ends_the_connection() {
    check(
        "F",
        "row=elevenchars",
        "a value has the impossible length 11",
    );
}

#[test]
fn counts_that_do_not_exist_end_the_connection() {
    for (expect, numbers) in [
        ("F", [op::FETCH_RESPONSE, 0, 2]),
        ("F", [op::FETCH_RESPONSE, 100, 1]),
        ("F", [op::FETCH_RESPONSE, 7, 0]),
        ("S", [op::SQL_RESPONSE, 2, 0]),
    ] {
        let bytes = numbers.map(u32::to_be_bytes).concat();
        let found = expecting(expect).poll(&mut BytesMut::from(&bytes[..]));
        assert!(matches!(found, Err(Violation::Value { .. })));
    }
}

#[test]
fn deferred_reply_is_not_awaited_alone() {
    assert!(!expecting("").will_answer());
    assert!(!expecting("D D").will_answer());
    assert!(expecting("D R").will_answer());
    let mut connection = expecting("R D");
    assert!(connection.will_answer());
    let mut input = BytesMut::from(&answers("ok")[..]);
    assert!(matches!(connection.poll(&mut input), Ok(Some(_))));
    assert!(!connection.will_answer());
    assert_eq!(connection.next(), Some(&1));
}

#[test]
fn abandoned_connection_returns_all_callers() {
    let mut connection = expecting("R F D");
    assert_eq!(connection.abandon().collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(connection.awaited(), 0);
}

#[test]
fn answers_before_a_fence_count_neither_it_nor_what_is_behind_it() {
    for (words, awaited, will_answer) in [
        ("R R D", 0, false),
        ("F R R S", 1, true),
        ("D D R R", 2, false),
        ("D R D R D", 3, true),
    ] {
        let before = expecting(words).before(|token| *token == awaited);
        assert_eq!(
            before,
            PendingReplies {
                awaited,
                will_answer
            },
            "{words}"
        );
    }
    let all = expecting("R D").before(|_| false);
    assert_eq!((all.awaited, all.will_answer), (2, true));
}

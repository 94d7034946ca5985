//! Status vectors, written as words: `g335544334` a code, `w` a warning, `#5` a number, anything else a text with `~` for spaces.

use super::code::ROWS;
use super::*;
use crate::wire::{Stop, put_cstring};
use bytes::BufMut;

fn vector(words: &str) -> Vec<u8> {
    let mut out = Vec::new();
    for word in words.split_whitespace() {
        match word.split_at(word.chars().next().map_or(0, char::len_utf8)) {
            ("g", code) => out.extend(
                [1_u32, code.parse().unwrap()]
                    .map(u32::to_be_bytes)
                    .concat(),
            ),
            ("w", code) => out.extend(
                [18_u32, code.parse().unwrap()]
                    .map(u32::to_be_bytes)
                    .concat(),
            ),
            ("#", number) => {
                out.put_u32(4);
                out.put_i32(number.parse().unwrap());
            }
            ("!", state) => {
                out.put_u32(19);
                put_cstring(&mut out, state.as_bytes());
            }
            _ => {
                out.put_u32(2);
                put_cstring(&mut out, word.replace('~', " ").as_bytes());
            }
        }
    }
    out.put_u32(0);
    out
}

fn error(words: &str) -> ServerError {
    let bytes = vector(words);
    let vector = StatusVector::read(&mut Reader::new(&bytes)).unwrap();
    *vector.error().unwrap()
}

/// The code, the state and the message of an error.
fn check(words: &str, expected: &str) {
    let error = error(words);
    let found = format!("{} {} {}", error.code, error.sqlstate, error.message);
    assert_eq!(found, expected, "{words}");
}

#[test]
fn error_of_the_sql_text_says_where_and_what() {
    check(
        "g335544569 g335544436 #-104 g335544634 #1 #1 g335544382 selec",
        "335544634 42000 unexpected word at line 1, column 1: selec",
    );
    let words = "g335544569 g335544436 #-204 g335544580 g335544382 NOPE g336397208 #1 #15";
    check(
        words,
        "335544580 42S02 unknown table: NOPE, at line 1, column 15",
    );
    assert_eq!(error(words).place(), Some((1, 15)));
}

#[test]
fn violated_constraint_is_named() {
    let words = "g335544665 PK_A A g335545072 (\"ID\"~=~1)";
    check(
        words,
        "335544665 23000 unique or primary key PK_A of table A is violated; the value is (\"ID\" = 1)",
    );
    assert_eq!(error(words).constraint(), Some("PK_A"));
}

#[test]
fn conflict_names_the_other_transaction() {
    check(
        "g335544336 g335544451 g335544878 #12",
        "335544336 40001 deadlock or conflict with another transaction; another transaction changed the row, by transaction 12",
    );
}

#[test]
fn overflow_is_named_by_its_most_specific_code() {
    check(
        "g335544321 g335544914 g335545033 #2 #6",
        "335544914 22001 the text is too long; at most 2, actual 6",
    );
    check("g335544321 g335544778", "335544778 22012 division by zero");
    check("g335544334 abc", "335544334 22018 abc cannot be converted");
}

#[test]
fn calculation_with_what_is_no_number_says_so() {
    check(
        "g335544569 g335544436 #-833 g335544606 g336397247",
        "336397247 42000 texts take no part in + and -",
    );
    check(
        "g335544569 g335544436 #-607 g335544657",
        "335544657 42000 arrays and blobs take no part in calculations",
    );
    check(
        "g335544801",
        "335544801 22008 a value of this type takes no part in calculations",
    );
    check(
        "g335544606 g335544967 SQRT",
        "335544967 42000 the argument of SQRT must not be negative",
    );
    check(
        "g335544606",
        "335544606 42000 the expression cannot be evaluated",
    );
}

#[test]
fn exception_of_the_schema_shows_its_text() {
    check(
        "g335544517 #1 g335544382 E_STOCK g335544382 在庫切れ~5 g335544842 At~block~line:~1",
        "335544517 HY000 exception E_STOCK: 在庫切れ 5; At block line: 1",
    );
    check(
        "g335544517 #2 g335544382 E_PAR g335545016 no~apple~of~tree apple tree",
        "335544517 HY000 exception E_PAR: no apple of tree",
    );
}

#[test]
fn change_of_the_schema_says_why_it_failed() {
    check(
        "g335544351 g336397286 T1 g336068740 T1",
        "336068740 42S01 table T1 exists already",
    );
    check(
        "g335544351 g336397288 NOPE g335544436 #-607 g335544570 g336397206 NOPE",
        "336397206 42S02 table NOPE does not exist",
    );
}

#[test]
fn unknown_code_is_shown_with_its_arguments() {
    check(
        "g335999999 one #2",
        "335999999 HY000 error 335999999 (one, 2)",
    );
}

#[test]
fn arguments_beyond_the_words_are_kept_and_missing_ones_show() {
    check(
        "g335544466 FK",
        "335544466 23000 foreign key FK of table ? is violated",
    );
    check("g335544778 odd", "335544778 22012 division by zero (odd)");
}

#[test]
fn state_that_the_server_sends_is_taken() {
    check("g335999999 !45000", "335999999 45000 error 335999999");
}

#[test]
fn success_with_a_warning_is_read() {
    let bytes = vector("g0 w335544807 #301");
    let vector = StatusVector::read(&mut Reader::new(&bytes)).unwrap();
    assert_eq!(vector.error(), None);
    let warning = vector.warning().unwrap();
    assert_eq!(warning.code, GdsCode(335_544_807));
    assert_eq!(warning.clauses.len(), 1);
    let silent = self::vector("g0");
    let vector = StatusVector::read(&mut Reader::new(&silent)).unwrap();
    assert_eq!((vector.error(), vector.warning()), (None, None));
}

#[test]
fn vector_without_end_is_refused() {
    let bytes = [0, 0, 0, 4, 0, 0, 0, 0].repeat(STATUS_ITEMS_MAX + 1);
    let found = StatusVector::read(&mut Reader::new(&bytes));
    assert!(matches!(found, Err(Stop::Wrong(Violation::TooMany { .. }))));
}

#[test]
fn vector_of_long_texts_is_refused_before_it_is_all_there() {
    let mut bytes = Vec::new();
    for _ in 0..STATUS_BYTES_MAX / STATUS_TEXT_BYTES_MAX + 1 {
        bytes.put_u32(2);
        put_cstring(&mut bytes, &vec![b'a'; STATUS_TEXT_BYTES_MAX]);
    }
    let found = StatusVector::read(&mut Reader::new(&bytes));
    assert!(matches!(found, Err(Stop::Wrong(Violation::TooMany { .. }))));
}

#[test]
fn unknown_tag_is_refused() {
    let bytes = [0, 0, 0, 3, 0, 0, 0, 0];
    let found = StatusVector::read(&mut Reader::new(&bytes));
    assert!(matches!(
        found,
        Err(Stop::Wrong(Violation::Value { value: 3, .. }))
    ));
}

#[test]
fn rows_are_in_order_and_their_states_are_sound() {
    assert!(ROWS.windows(2).all(|pair| pair[0].0 < pair[1].0));
    for row in ROWS {
        assert!(SqlState::new(row.1.as_bytes()).is_some(), "{}", row.0);
    }
}

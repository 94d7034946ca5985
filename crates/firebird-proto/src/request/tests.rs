//! Golden bytes of every request: each word of four bytes is one number, texts stand as they are.

use bytes::BytesMut;

use super::*;
use crate::Misuse;
use crate::handle::{Blob, Database, Statement, Transaction};
use crate::limits::SENT_BYTES_MAX;

const D: Database = Database(1);
const T: Transaction = Transaction(2);
const S: Statement = Statement(3);
const B: Blob = Blob(4);
const ASKED: Items<'static> = Items {
    items: &[21],
    bytes_max: 65_535,
};
const INPUT: Message<'static> = Message {
    blr: b"in",
    row: b"row.",
};

/// A packet as words: numbers below 256 in decimal, others as their bytes.
fn words(packet: &[u8]) -> String {
    let word = |word: &[u8]| match word {
        [0, 0, 0, number] => number.to_string(),
        other => other.escape_ascii().to_string(),
    };
    packet.chunks(4).map(word).collect::<Vec<_>>().join(" ")
}

fn check(write: impl FnOnce(&mut Requests<'_>), expected: &str) {
    check_version(Version::V13, write, expected);
}

fn check_version(version: Version, write: impl FnOnce(&mut Requests<'_>), expected: &str) {
    let mut out = BytesMut::new();
    write(&mut Requests::new(&mut out, version));
    assert_eq!(words(&out), expected);
}

#[test]
fn database_requests_attach_and_detach() {
    check(
        |r| r.attach("test", b"p").unwrap(),
        r"19 0 4 test 1 p\x00\x00\x00",
    );
    check(|r| r.create("t", &[]).unwrap(), r"20 0 1 t\x00\x00\x00 0");
    check(|r| r.detach(D), "21 1");
    check(|r| r.drop_database(D), "81 1");
    check(|r| r.disconnect(), "6");
    check(|r| r.ping(), "93");
    check(
        |r| r.database_info(D, ASKED).unwrap(),
        r"40 1 0 1 \x15\x00\x00\x00 \x00\x00\xff\xff",
    );
}

#[test]
fn cancel_has_its_three_kinds() {
    check(|r| r.cancel(Cancel::Disable), "91 1");
    check(|r| r.cancel(Cancel::Enable), "91 2");
    check(|r| r.cancel(Cancel::Raise), "91 3");
}

#[test]
fn transaction_requests_begin_and_end() {
    let parameters = TransactionParameters::default();
    check(|r| r.transaction(D, &parameters), r"29 1 4 \x03\t\x02\x06");
    check(|r| r.commit(T), "30 2");
    check(|r| r.commit_retaining(T), "50 2");
    check(|r| r.rollback(T), "31 2");
    check(|r| r.rollback_retaining(T), "86 2");
}

#[test]
fn statement_requests_allocate_prepare_and_free() {
    check(|r| r.allocate_statement(D), "62 1");
    check(
        |r| r.prepare(T, Statement::LAST, b"sql", ASKED).unwrap(),
        r"68 2 \x00\x00\xff\xff 3 3 sql\x00 1 \x15\x00\x00\x00 \x00\x00\xff\xff",
    );
    check(
        |r| r.statement_info(S, ASKED).unwrap(),
        r"70 3 0 1 \x15\x00\x00\x00 \x00\x00\xff\xff",
    );
    check(
        |r| r.fetch(S, b"out.", 400).unwrap(),
        r"65 3 4 out. 0 \x00\x00\x01\x90",
    );
    check(|r| r.free_statement(S, Free::Close), "67 3 1");
    check(|r| r.free_statement(S, Free::Drop), "67 3 2");
    check(|r| r.free_statement(S, Free::Unprepare), "67 3 4");
}

#[test]
fn execution_carries_its_message() {
    check(
        |r| r.execute(S, T, Message::default(), 7).unwrap(),
        "63 3 2 0 0 0",
    );
    check(
        |r| r.execute(S, T, INPUT, 7).unwrap(),
        r"63 3 2 2 in\x00\x00 0 1 row.",
    );
    check(
        |r| r.execute2(S, T, INPUT, b"out.", 7).unwrap(),
        r"76 3 2 2 in\x00\x00 0 1 row. 4 out. 0",
    );
    check(
        |r| r.execute_immediate(D, T, b"sql").unwrap(),
        r"64 2 1 3 3 sql\x00 0 0",
    );
}

#[test]
fn timeout_is_sent_to_servers_that_support_it() {
    for version in [Version::V16, Version::V17] {
        check_version(
            version,
            |r| r.execute(S, T, Message::default(), 7).unwrap(),
            "63 3 2 0 0 0 7",
        );
        check_version(
            version,
            |r| r.execute2(S, T, Message::default(), b"", 7).unwrap(),
            "76 3 2 0 0 0 0 0 7",
        );
    }
}

#[test]
fn number_of_the_last_statement_is_not_executed() {
    let mut out = BytesMut::new();
    let mut requests = Requests::new(&mut out, Version::V15);
    let last = Statement::LAST;
    for misuse in [
        requests.execute(last, T, INPUT, 0),
        requests.execute2(last, T, INPUT, b"", 0),
        requests.fetch(last, b"", 1),
    ] {
        assert_eq!(misuse, Err(Misuse::LastStatement));
    }
    assert!(out.is_empty());
}

#[test]
fn blob_is_written_and_read() {
    check(
        |r| r.create_blob(T, &[1]).unwrap(),
        r"57 1 \x01\x00\x00\x00 2 0 0",
    );
    check(|r| r.open_blob(T, 5 << 32 | 6, &[]).unwrap(), "56 0 2 5 6");
    check(|r| r.read_segments(B, 65_535), r"36 4 \x00\x00\xff\xff 0");
    check(
        |r| r.put_segment(B, b"abcde").unwrap(),
        r"37 4 5 5 abcd e\x00\x00\x00",
    );
    check(|r| r.close_blob(B), "39 4");
    check(|r| r.cancel_blob(B), "38 4");
}

#[test]
fn piece_of_a_blob_is_at_most_what_16_bits_count() {
    let mut out = BytesMut::new();
    let mut requests = Requests::new(&mut out, Version::V15);
    let long = vec![0; 65_536];
    let length = 65_536;
    assert_eq!(
        requests.put_segment(B, &long),
        Err(Misuse::SegmentLength { length })
    );
    assert!(out.is_empty());
}

#[test]
fn event_request_carries_its_number() {
    check(|r| r.connect_request(D), "53 1 1 0");
    check(
        |r| r.que_events(D, b"epb.", EventId(9)).unwrap(),
        "48 1 4 epb. 0 0 9",
    );
    check(|r| r.cancel_events(D, EventId(9)), "49 1 9");
}

#[test]
fn text_beyond_the_limit_leaves_nothing_written() {
    let mut out = BytesMut::new();
    let mut requests = Requests::new(&mut out, Version::V15);
    let long = vec![b'x'; SENT_BYTES_MAX + 1];
    for misuse in [
        requests.prepare(T, S, &long, ASKED),
        requests.execute_immediate(D, T, &long),
        requests.attach("t", &long),
        requests.que_events(D, &long, EventId(1)),
    ] {
        assert!(matches!(misuse, Err(Misuse::Length { .. })));
    }
    assert!(out.is_empty());
}

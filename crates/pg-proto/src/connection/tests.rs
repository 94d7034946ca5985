//! Pipelines, shown message by message and played against a server made of words.
//! Requests: `Parse Bind Execute Sync Query` …; `!` marks the message the server rejects.

use bytes::{BufMut, BytesMut};

use super::*;
use crate::backend::{Message, ServerError, tag};
use crate::error::Violation;
use crate::limits::{FRAGMENT_BYTES_MAX, REPLY_BYTES_DEFAULT, REPORT_BYTES_MAX};

/// Appends a message of the server.
fn put(out: &mut BytesMut, tag: u8, body: &[u8]) {
    out.put_u8(tag);
    out.put_u32(u32::try_from(body.len() + 4).unwrap());
    out.put_slice(body);
}

fn put_error(out: &mut BytesMut, severity: &str) {
    let fields = format!("S{severity}\0V{severity}\0C57P01\0Mno\0\0");
    put(out, b'E', fields.as_bytes());
}

fn row(width: usize) -> Vec<u8> {
    let mut row = vec![0, 1];
    row.extend(u32::try_from(width).unwrap().to_be_bytes());
    row.resize(6 + width, b'x');
    row
}

/// The server's answer to the messages in `requests`.
fn serve(requests: &str) -> BytesMut {
    let mut out = BytesMut::new();
    let mut skipping = false;
    for word in requests.split_whitespace() {
        let name = word.trim_end_matches('!');
        match name {
            "Sync" => {
                skipping = false;
                put(&mut out, b'Z', b"I");
            }
            _ if skipping => {}
            _ if word.ends_with('!') => {
                put_error(&mut out, "ERROR");
                skipping = true;
            }
            "Parse" => put(&mut out, b'1', b""),
            "Bind" => put(&mut out, b'2', b""),
            "Close" => put(&mut out, b'3', b""),
            "Execute" => {
                put(&mut out, b'D', &row(3));
                put(&mut out, b'C', b"SELECT 1\0");
            }
            "Empty" => put(&mut out, b'I', b""),
            "Notice" => put(&mut out, b'N', b"SNOTICE\0VNOTICE\0C00000\0Mhm\0\0"),
            "Notify" => put(&mut out, b'A', b"\0\0\0\x07news\0hello\0"),
            "Setting" => put(&mut out, b'S', b"TimeZone\0UTC\0"),
            "CopyIn" => put(&mut out, b'G', &[0, 0, 0]),
            "CopyOut" => put(&mut out, b'H', &[0, 0, 1, 0, 0]),
            "Data" => put(&mut out, b'd', b"1\n"),
            "Long" => put(&mut out, b'D', &row(FRAGMENT_BYTES_MAX)),
            "Huge" => put(&mut out, b'D', &row(REPLY_BYTES_DEFAULT)),
            "Fatal" => put_error(&mut out, "FATAL"),
            "Key" => put(&mut out, b'K', &[0; 8]),
            other => panic!("no such word: {other}"),
        }
    }
    out
}

fn describe(message: &Message<'_>) -> &'static str {
    match message {
        Message::ParseComplete => "Parsed",
        Message::BindComplete => "Bound",
        Message::CloseComplete => "Closed",
        Message::DataRow(_) => "Row",
        Message::CommandComplete(_) => "Complete",
        Message::EmptyQueryResponse => "Empty",
        Message::ErrorResponse(_) => "Error",
        Message::ReadyForQuery(_) => "Ready",
        Message::CopyInResponse(_) => "CopyIn",
        Message::CopyOutResponse(_) => "CopyOut",
        Message::CopyData(_) => "Data",
        _ => "?",
    }
}

fn words(bytes: &[u8]) -> String {
    let words: Vec<_> = Messages::new(bytes)
        .map(|message| describe(&message.unwrap()))
        .collect();
    words.join(" ")
}

fn describe_event(event: Event<usize>) -> String {
    match event {
        Event::Reply(reply) => {
            let said = words(&reply.bytes);
            assert_eq!(reply.rows, said.matches("Row").count());
            assert_eq!(reply.error.is_some(), said.contains("Error"));
            if let Some(at) = reply.error {
                assert_eq!(reply.bytes[at], tag::ERROR_RESPONSE);
            }
            format!("{}: {said}", reply.token)
        }
        Event::Part { token, bytes, .. } => format!("{token}~ {}", words(&bytes)),
        Event::Fragment { token, left, .. } if left > 0 => format!("{token}~ Piece"),
        Event::Fragment { token, .. } => format!("{token}~ Last"),
        Event::End { token, .. } => format!("{token}: End"),
        Event::TooLarge { token, .. } => format!("{token}: TooLarge"),
        Event::CopyIn { token, .. } => format!("{token}~ CopyIn"),
        Event::Notification {
            channel, payload, ..
        } => format!("{channel}={payload}"),
        Event::Notice(_) => "Notice".to_owned(),
        Event::Parameter { name, value } => format!("{name}={value}"),
        Event::Fatal(_) => "Fatal".to_owned(),
    }
}

/// Everything a connection tells of `stream` when it comes in pieces of `step` bytes, and how it ends.
fn play(stream: &[u8], shapes: &[Shape], step: usize) -> (Vec<String>, Option<Violation>) {
    let mut connection = Connection::new(&Session::default(), REPLY_BYTES_DEFAULT);
    for (token, shape) in shapes.iter().enumerate() {
        connection.expect(token, *shape).unwrap();
    }
    let (mut input, mut events) = (BytesMut::new(), Vec::new());
    for piece in stream.chunks(step) {
        input.extend_from_slice(piece);
        loop {
            match connection.poll(&mut input) {
                Ok(Some(event)) => events.push(describe_event(event)),
                Ok(None) => break,
                Err(violation) => return (events, Some(violation)),
            }
        }
    }
    (events, None)
}

/// Parts of the same kind become one, and so do pieces: how many there are depends on where the stream is cut.
fn joined(events: Vec<String>) -> Vec<String> {
    let mut joined: Vec<String> = Vec::new();
    for next in events {
        let Some((whose, words)) = next.split_once("~ ") else {
            joined.push(next);
            continue;
        };
        let kind = words.split(' ').next().unwrap_or_default();
        match joined.last_mut() {
            _ if kind == "Piece" => {}
            Some(last) if *last == format!("{whose}~ Row") && kind == "Row" => {}
            Some(last) if *last == format!("{whose}~ Data") && kind == "Data" => {}
            _ if kind == "Row" || kind == "Data" => joined.push(format!("{whose}~ {kind}")),
            _ => joined.push(next),
        }
    }
    joined
}

#[track_caller]
fn check_shapes(requests: &str, shapes: &[Shape], expected: &str) {
    let stream = serve(requests);
    let (events, violation) = play(&stream, shapes, usize::MAX);
    let events = joined(events).join(" | ");
    assert_eq!((events.as_str(), violation), (expected, None));
    let steps = if stream.len() > FRAGMENT_BYTES_MAX {
        4_093..4_095
    } else {
        1..stream.len()
    };
    for step in steps {
        let (pieces, violation) = play(&stream, shapes, step);
        assert_eq!(
            (joined(pieces).join(" | ").as_str(), violation),
            (expected, None),
            "by {step}"
        );
    }
}

/// Whole answers, one for each Sync.
#[track_caller]
fn check(requests: &str, expected: &str) {
    let shapes = vec![Shape::Whole; requests.matches("Sync").count()];
    check_shapes(requests, &shapes, expected);
}

#[track_caller]
fn check_violation(stream: &[u8], shapes: &[Shape], expected: Violation) {
    for step in [1, 2, 3, usize::MAX] {
        assert_eq!(play(stream, shapes, step).1, Some(expected), "by {step}");
    }
}

#[test]
fn each_sync_gets_its_own_reply() {
    check(
        "Parse Bind Execute Sync Bind Execute Sync",
        "0: Parsed Bound Row Complete Ready | 1: Bound Row Complete Ready",
    );
}

#[test]
fn error_in_a_pipeline_skips_to_the_next_sync() {
    check(
        "Bind! Execute Sync Bind Execute Sync",
        "0: Error Ready | 1: Bound Row Complete Ready",
    );
    check(
        "Bind Execute Bind Execute! Bind Execute Sync",
        "0: Bound Row Complete Bound Error Ready",
    );
}

#[test]
fn asynchronous_message_is_an_event_and_no_part_of_a_reply() {
    check(
        "Notify Bind Notice Execute Setting Sync Notify",
        "news=hello | Notice | TimeZone=UTC | 0: Bound Row Complete Ready | news=hello",
    );
    check_shapes(
        "Notify Bind Notice Execute Setting Sync Notify",
        &[Shape::Streamed],
        "news=hello | 0~ Bound | Notice | 0~ Row | 0~ Complete | TimeZone=UTC | 0: End | news=hello",
    );
}

#[test]
fn streamed_answer_comes_in_parts() {
    check_shapes(
        "Bind Execute Sync CopyOut Data Data Data Sync Execute Sync",
        &[Shape::Streamed, Shape::Fragments, Shape::Whole],
        "0~ Bound | 0~ Row | 0~ Complete | 0: End | 1~ CopyOut | 1~ Data | 1: End | 2: Row Complete Ready",
    );
}

#[test]
fn whole_rows_that_are_there_come_together() {
    let stream = serve("Data Data Data Sync");
    let (events, _) = play(&stream, &[Shape::Streamed], usize::MAX);
    assert_eq!(events, ["0~ Data Data Data", "0: End"]);
}

#[test]
fn long_row_comes_in_fragments_where_they_are_taken() {
    check_shapes(
        "Long Execute Sync Long Sync",
        &[Shape::Fragments, Shape::Streamed],
        "0~ Last | 0~ Row | 0~ Complete | 0: End | 1~ Row | 1: End",
    );
}

#[test]
fn answer_above_the_limit_is_given_up_and_the_next_is_read() {
    for shape in [Shape::Whole, Shape::Streamed] {
        check_shapes(
            "Huge Notice Execute Huge Sync Execute Sync",
            &[shape, Shape::Whole],
            "0: TooLarge | Notice | 0: End | 1: Row Complete Ready",
        );
    }
}

/// An error or notice whose message has so many bytes and is followed by a detail.
fn put_report(out: &mut BytesMut, tag: u8, severity: &str, message: usize) {
    let message = "\u{e9}".repeat(message / 2);
    let fields = format!("S{severity}\0V{severity}\0C22P02\0M{message}\0Dmore\0\0");
    put(out, tag, fields.as_bytes());
}

#[test]
fn report_with_a_long_value_is_shortened_and_what_follows_is_read() {
    // Around the limit, and far beyond that of a description.
    for length in [
        REPORT_BYTES_MAX - 40,
        REPORT_BYTES_MAX - 39,
        REPORT_BYTES_MAX,
        17 << 20,
    ] {
        let mut stream = serve("Parse Bind");
        put_report(&mut stream, b'N', "NOTICE", length);
        put_report(&mut stream, b'E', "ERROR", length);
        put_report(&mut stream, b'N', "NOTICE", length);
        put(&mut stream, b'Z', b"I");
        stream.extend_from_slice(&serve("Execute Sync"));
        for (shape, expected) in [
            (
                Shape::Whole,
                "Notice | Notice | 0: Parsed Bound Error Ready | 1: Row Complete Ready",
            ),
            (
                Shape::Streamed,
                "0~ Parsed | 0~ Bound | Notice | 0~ Error | Notice | 0: End | 1: Row Complete Ready",
            ),
        ] {
            for step in [65_536, 1_000_003, usize::MAX] {
                let (events, violation) = play(&stream, &[shape, Shape::Whole], step);
                assert_eq!((events.join(" | ").as_str(), violation), (expected, None));
            }
        }
    }
}

#[test]
fn shortened_error_keeps_its_code_and_the_beginning_of_its_message() {
    let mut connection = Connection::new(&Session::default(), REPLY_BYTES_DEFAULT);
    connection.expect(0, Shape::Whole).unwrap();
    let mut input = BytesMut::new();
    put_report(&mut input, b'E', "ERROR", 20 << 20);
    put(&mut input, b'Z', b"I");
    let Ok(Some(Event::Reply(reply))) = connection.poll(&mut input) else {
        panic!("no reply");
    };
    assert!(reply.bytes.len() <= REPORT_BYTES_MAX + 6);
    let Some(Ok(Message::ErrorResponse(report))) = reply.messages().next() else {
        panic!("no error");
    };
    let error = ServerError::from(report);
    assert_eq!(error.code.as_str(), "22P02");
    assert!(
        error.message.starts_with("\u{e9}\u{e9}"),
        "{}",
        error.message.len()
    );
    assert!(error.message.len() > REPORT_BYTES_MAX - 100);
    assert_eq!(error.detail, None);
}

#[test]
fn reports_without_end_are_given_up_at_the_limit() {
    let limit = 3 * REPORT_BYTES_MAX;
    let mut connection = Connection::new(&Session::default(), limit);
    connection.expect(0, Shape::Whole).unwrap();
    connection.expect(1, Shape::Whole).unwrap();
    let mut stream = BytesMut::new();
    for _ in 0..5 {
        put_report(&mut stream, b'E', "ERROR", 3 << 20);
    }
    put(&mut stream, b'Z', b"I");
    stream.extend_from_slice(&serve("Execute Sync"));
    let (mut input, mut events) = (BytesMut::new(), Vec::new());
    for piece in stream.chunks(70_001) {
        input.extend_from_slice(piece);
        while let Some(event) = connection.poll(&mut input).unwrap() {
            events.push(describe_event(event));
        }
        assert!(input.len() < limit + REPORT_BYTES_MAX + 70_001);
    }
    assert_eq!(
        events.join(" | "),
        "0: TooLarge | 0: End | 1: Row Complete Ready"
    );
}

#[test]
fn fatal_error_is_kept_for_all_waiting_callers() {
    let mut connection = Connection::new(&Session::default(), REPLY_BYTES_DEFAULT);
    let mut input = serve("Bind Fatal");
    for token in 1..=3 {
        connection.expect(token, Shape::Whole).unwrap();
    }
    assert!(matches!(
        connection.poll(&mut input),
        Ok(Some(Event::Fatal(_)))
    ));
    assert_eq!(connection.poll(&mut input), Ok(None));
    assert_eq!(connection.fatal().unwrap().code.as_str(), "57P01");
    assert_eq!(connection.expect(4, Shape::Whole), Err(Misuse::Ended));
    assert_eq!(connection.end().collect::<Vec<_>>(), [1, 2, 3]);
    check_shapes("Fatal", &[], "Fatal");
}

#[test]
fn unsolicited_message_is_a_violation() {
    check_violation(&serve("Sync"), &[], Violation::Unsolicited(b'Z'));
    check_violation(&serve("Execute"), &[], Violation::Unsolicited(b'D'));
    check_violation(
        &serve("Sync Sync"),
        &[Shape::Whole],
        Violation::Unsolicited(b'Z'),
    );
    check_violation(&serve("Bind!"), &[], Violation::Unsolicited(b'E'));
    for shape in [Shape::Whole, Shape::Streamed, Shape::Fragments] {
        check_violation(&serve("Key"), &[shape], Violation::Unsolicited(b'K'));
    }
}

#[test]
fn copy_in_amid_a_pipeline_is_a_violation() {
    for shape in [Shape::Whole, Shape::Streamed] {
        check_violation(&serve("CopyIn"), &[shape; 2], Violation::CopyInPipeline);
    }
}

#[test]
fn impossible_lengths_are_violations_at_once() {
    let length = |tag, length| Violation::Length { tag, length };
    for shape in [Shape::Whole, Shape::Streamed, Shape::Fragments] {
        check_violation(b"D\0\0\0\x03", &[shape], length(b'D', 3));
        check_violation(b"D\x7f\xff\xff\xff", &[shape], length(b'D', 0x7fff_ffff));
        check_violation(b"D\xff\xff\xff\xff", &[shape], length(b'D', u32::MAX));
        check_violation(b"C\x10\0\0\0", &[shape], length(b'C', 0x1000_0000));
        check_violation(b"Z\0\0\0\x06", &[shape], length(b'Z', 6));
        check_violation(b"\0\0\0\0\x06", &[shape], Violation::UnknownTag(0));
    }
}

#[test]
fn unknown_transaction_status_is_a_violation() {
    let expected = Violation::Value {
        what: "the transaction status",
        value: b'?'.into(),
    };
    check_violation(b"Z\0\0\0\x05?", &[Shape::Whole], expected);
    check_violation(b"Z\0\0\0\x05?", &[Shape::Streamed], expected);
}

#[test]
fn copy_data_are_ended_with_the_sync_that_counts() {
    let mut connection = Connection::new(&Session::default(), REPLY_BYTES_DEFAULT);
    let mut out = BytesMut::new();
    connection
        .request(&mut out)
        .query("COPY t FROM STDIN", 1, Shape::Streamed)
        .unwrap();
    connection.poll(&mut serve("CopyIn")).unwrap();
    assert!(connection.expect(2, Shape::Whole).is_err());
    out.clear();
    connection.copy_done(&mut out).unwrap();
    assert_eq!(&out[..], b"c\0\0\0\x04");
    assert_eq!(
        connection.copy_done(&mut out),
        Err(Misuse::OutOfTurn("copy_done"))
    );
    connection.poll(&mut serve("Sync")).unwrap();

    connection.request(&mut out).sync(2, Shape::Whole).unwrap();
    connection.poll(&mut serve("CopyIn")).unwrap();
    out.clear();
    connection.copy_fail(&mut out, "no").unwrap();
    assert_eq!(&out[..], b"f\0\0\0\x07no\0S\0\0\0\x04");
}

#[test]
fn copy_given_up_before_the_server_requests_data_is_ended() {
    let mut connection = Connection::new(&Session::default(), REPLY_BYTES_DEFAULT);
    let mut out = BytesMut::new();
    let request = connection.request(&mut out);
    request
        .query("COPY t FROM STDIN", 1, Shape::Streamed)
        .unwrap();
    connection.copy_give_up(&mut out, "no").unwrap();
    assert!(out.ends_with(b"f\0\0\0\x07no\0"));
    connection.expect(2, Shape::Whole).unwrap();
    assert_eq!(
        connection.copy_give_up(&mut out, "no"),
        Err(Misuse::OutOfTurn("copy_give_up"))
    );
    let mut input = serve("CopyIn Bind! Sync Execute Sync");
    let mut events = Vec::new();
    while let Some(event) = connection.poll(&mut input).unwrap() {
        events.push(describe_event(event));
    }
    assert_eq!(
        events,
        ["1~ CopyIn", "1~ Error", "1: End", "2: Row Complete Ready"]
    );
}

#[test]
fn request_that_is_not_ended_leaves_nothing() {
    let mut connection = Connection::new(&Session::default(), REPLY_BYTES_DEFAULT);
    let mut out = BytesMut::from(&b"before"[..]);
    let mut request = connection.request(&mut out);
    request.parse("", "SELECT 1", &[]).unwrap();
    drop(request);
    let mut request = connection.request(&mut out);
    request.execute("", 0).unwrap();
    assert!(request.query("SELECT 1", 1, Shape::Whole).is_err());
    assert_eq!((&out[..], connection.awaited()), (&b"before"[..], 0));
    connection.request(&mut out).sync(1, Shape::Whole).unwrap();
    assert_eq!(
        (&out[..], connection.awaited()),
        (&b"beforeS\0\0\0\x04"[..], 1)
    );
}

#[test]
fn settings_follow_the_server() {
    let mut connection = Connection::<u8>::new(&Session::default(), REPLY_BYTES_DEFAULT);
    connection.poll(&mut serve("Setting")).unwrap();
    assert_eq!(connection.parameters().value("TimeZone"), Some("UTC"));
}

#[test]
fn no_more_answers_than_the_limit_are_awaited() {
    let mut connection = Connection::new(&Session::default(), REPLY_BYTES_DEFAULT);
    for token in 0..PIPELINE_MAX {
        connection.expect(token, Shape::Whole).unwrap();
    }
    assert_eq!(
        connection.expect(0, Shape::Whole),
        Err(Misuse::PipelineFull)
    );
}

#[test]
fn answers_are_cut_without_being_copied() {
    let mut connection = Connection::new(&Session::default(), REPLY_BYTES_DEFAULT);
    let mut input = serve("Bind Execute Sync Bind Execute Sync");
    let mut at = input.as_ptr() as usize;
    for token in 0..2 {
        connection.expect(token, Shape::Whole).unwrap();
    }
    for _ in 0..2 {
        let Ok(Some(Event::Reply(reply))) = connection.poll(&mut input) else {
            panic!("both answers are there")
        };
        assert_eq!(reply.bytes.as_ptr() as usize, at);
        at += reply.bytes.len();
    }
}

#[test]
fn reader_knows_how_many_bytes_are_missing() {
    let mut connection = Connection::new(&Session::default(), REPLY_BYTES_DEFAULT);
    connection.expect(1, Shape::Whole).unwrap();
    let mut input = BytesMut::from(&b"D\0\0"[..]);
    connection.poll(&mut input).unwrap();
    assert_eq!(connection.missing(), 2);
    input.put_slice(b"\x10\0");
    connection.poll(&mut input).unwrap();
    assert_eq!(connection.missing(), 0x1000 + 1 - 5);
}

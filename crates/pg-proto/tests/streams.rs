//! What PostgreSQL 15 really sent, replayed: whole, byte by byte and cut in two at every place, it must mean the same.
//! The files in `streams/` are the server's bytes after start-up (`startup_…`: from the first byte on), as read from its
//! socket; the client's nonce was 18 zero bytes. Not a live test. Rule: how a stream is cut changes no event.

use bytes::BytesMut;
use tsumugi_pg_proto::backend::Message;
use tsumugi_pg_proto::limits::REPLY_BYTES_DEFAULT;
use tsumugi_pg_proto::{
    Connection, Encryption, Event, Messages, Progress, Session, Shape, Startup, StartupSettings,
    Violation,
};

macro_rules! stream {
    ($name:literal) => {
        include_bytes!(concat!("streams/", $name))
    };
}

/// A message in a word, or a few.
fn word(message: &Message<'_>) -> String {
    match message {
        Message::ParseComplete => "Parsed".to_owned(),
        Message::BindComplete => "Bound".to_owned(),
        Message::CommandComplete(tag) => format!("[{}]", tag.as_str()),
        Message::CopyData(_) => "Data".to_owned(),
        Message::CopyDone => "Done".to_owned(),
        Message::CopyInResponse(_) => "CopyIn".to_owned(),
        Message::CopyOutResponse(formats) => format!("CopyOut({})", formats.count()),
        Message::DataRow(row) => {
            assert!(row.columns().all(|field| field.is_ok()));
            "Row".to_owned()
        }
        Message::EmptyQueryResponse => "Empty".to_owned(),
        Message::ErrorResponse(report) => {
            format!(
                "Error({})",
                tsumugi_pg_proto::ServerError::from(*report).code
            )
        }
        Message::NoData => "NoData".to_owned(),
        Message::ParameterDescription(parameters) => format!("Parameters({})", parameters.count()),
        Message::PortalSuspended => "Suspended".to_owned(),
        Message::ReadyForQuery(status) => format!("{status:?}"),
        Message::RowDescription(columns) => format!("Columns({})", columns.count()),
        other => format!("{other:?}"),
    }
}

/// The words of whole messages; `Row Row Row` is `Row*`.
fn words(bytes: &[u8], said: &mut Vec<String>) {
    for message in Messages::new(bytes) {
        let word = word(&message.expect("the server is sound"));
        let many = format!("{word}*");
        match said.last_mut() {
            Some(last) if (word == "Row" || word == "Data") && (*last == word || *last == many) => {
                *last = many;
            }
            _ => said.push(word),
        }
    }
}

fn tell(event: Event<usize>, said: &mut Vec<String>) {
    match event {
        Event::Reply(reply) => {
            words(&reply.bytes, said);
            said.push("|".to_owned());
        }
        Event::Part { bytes, .. } => words(&bytes, said),
        Event::CopyIn { .. } => said.push("Wanted".to_owned()),
        Event::End { status, .. } => said.extend([format!("{status:?}"), "|".to_owned()]),
        Event::Notice(notice) => said.push(format!("<{}>", notice.message)),
        Event::Notification { payload, .. } => said.push(format!("<{} bytes>", payload.len())),
        Event::Parameter { name, value } => said.push(format!("<{name}={value}>")),
        Event::Fatal(error) => said.push(format!("Fatal({})", error.code)),
        other => said.push(format!("{other:?}")),
    }
}

fn play<'a>(
    pieces: impl IntoIterator<Item = &'a [u8]>,
    shapes: &[Shape],
) -> (String, Option<Violation>) {
    let mut connection = Connection::new(&Session::default(), REPLY_BYTES_DEFAULT);
    for (token, shape) in shapes.iter().enumerate() {
        connection.expect(token, *shape).expect("there is room");
    }
    let (mut input, mut said) = (BytesMut::new(), Vec::new());
    for piece in pieces {
        input.extend_from_slice(piece);
        loop {
            match connection.poll(&mut input) {
                Ok(Some(event)) => tell(event, &mut said),
                Ok(None) => break,
                Err(violation) => return (said.join(" "), Some(violation)),
            }
        }
    }
    (said.join(" "), None)
}

#[track_caller]
fn check_cuts(stream: &[u8], shapes: &[Shape], expected: &str, end: Option<Violation>) {
    let (events, violation) = play([stream], shapes);
    assert_eq!((events.as_str(), violation), (expected, end));
    assert_eq!(
        play(stream.chunks(1), shapes),
        (events.clone(), violation),
        "byte by byte"
    );
    for at in 0..stream.len() {
        let (first, second) = stream.split_at(at);
        assert_eq!(
            play([first, second], shapes),
            (events.clone(), violation),
            "cut at {at}"
        );
    }
}

#[track_caller]
fn check(stream: &[u8], shape: Shape, answers: usize, expected: &str) {
    check_cuts(stream, &vec![shape; answers], expected, None);
}

#[test]
fn recorded_rows_are_read() {
    let expected =
        "Parsed Bound Columns(3) Row* [SELECT 40] Idle | Parsed Parameters(1) Columns(1) Idle |";
    for shape in [Shape::Whole, Shape::Streamed, Shape::Fragments] {
        check(stream!("rows"), shape, 2, expected);
    }
}

#[test]
fn recorded_errors_in_pipelines_are_read() {
    let expected = "Parsed Bound Columns(1) Row [SELECT 1] Idle | Parsed Error(22012) Idle | Parsed Bound Columns(1) Row [SELECT 1] Idle | \
        Parsed Bound [CREATE TABLE] Parsed Bound [INSERT 0 1] Parsed Error(22012) Idle |";
    check(stream!("errors"), Shape::Whole, 4, expected);
    check(stream!("errors"), Shape::Streamed, 4, expected);
}

#[test]
fn recorded_notices_and_settings_are_read() {
    check(
        stream!("notices"),
        Shape::Whole,
        6,
        "<one> <two> Parsed Bound NoData [DO] Idle | <TimeZone=Asia/Tokyo> Parsed Bound NoData [SET] Idle | \
        Parsed Bound NoData Empty Idle | Parsed Bound NoData [BEGIN] InTransaction | Error(42601) Failed | \
        Parsed Bound NoData [ROLLBACK] Idle |",
    );
}

#[test]
fn recorded_notifications_are_read() {
    check(
        stream!("notifications"),
        Shape::Whole,
        3,
        "Parsed Bound NoData [LISTEN] Idle | <5 bytes> Parsed Bound NoData [NOTIFY] Idle | \
        <300 bytes> Parsed Bound Columns(1) Row [SELECT 1] Idle | <12 bytes>",
    );
}

#[test]
fn recorded_copy_out_is_read() {
    let expected = "Parsed Bound NoData CopyOut(2) Data* Done [COPY 20] Idle | Parsed Bound NoData CopyOut(2) Data* Done [COPY 20] Idle |";
    for shape in [Shape::Whole, Shape::Streamed, Shape::Fragments] {
        check(stream!("copy_out"), shape, 2, expected);
    }
}

#[test]
fn recorded_copy_in_is_read() {
    check(
        stream!("copy_in"),
        Shape::Streamed,
        1,
        "Parsed Bound NoData Wanted [COPY 2] Idle |",
    );
    check(
        stream!("copy_in_error"),
        Shape::Streamed,
        1,
        "Parsed Bound NoData Wanted Error(22P02) Idle |",
    );
    check(
        stream!("copy_in_fail"),
        Shape::Whole,
        1,
        "Wanted Parsed Bound NoData CopyIn Error(57014) Idle |",
    );
    check(
        stream!("copy_in_simple_error"),
        Shape::Streamed,
        1,
        "Wanted Error(22P02) Idle |",
    );
}

#[test]
fn recorded_copy_in_amid_a_pipeline_is_read() {
    let end = Some(Violation::CopyInPipeline);
    check_cuts(stream!("copy_in_pipelined"), &[Shape::Whole; 3], "", end);
}

#[test]
fn recorded_portals_are_read() {
    check(
        stream!("portal"),
        Shape::Streamed,
        1,
        "Parsed Bound Row* Suspended Row* Suspended Row [SELECT 1] Idle |",
    );
}

#[test]
fn recorded_simple_queries_are_read() {
    check(
        stream!("simple"),
        Shape::Whole,
        1,
        "Columns(1) Row [SELECT 1] Columns(1) Row [SELECT 1] Error(22012) Idle |",
    );
}

#[test]
fn recorded_termination_is_read() {
    check(
        stream!("terminated"),
        Shape::Whole,
        3,
        "Parsed Bound Columns(1) Row [SELECT 1] Idle | Fatal(57P01)",
    );
}

/// Opens a connection by what was recorded.
fn open<'a>(user: &str, pieces: impl IntoIterator<Item = &'a [u8]>) -> String {
    let settings = StartupSettings {
        password: Some("pencil".to_owned()),
        encryption: Encryption::Off,
        ..StartupSettings::new(user)
    };
    let mut startup = Startup::new(settings, [0; 18]);
    let (mut input, mut out) = (BytesMut::new(), BytesMut::new());
    startup.begin(&mut out).expect("the settings are sound");
    for piece in pieces {
        input.extend_from_slice(piece);
        match startup.poll(&mut input, &mut out) {
            Ok(None) => {}
            Ok(Some(Progress::Ready(session))) => {
                let version = session
                    .parameters
                    .value("server_version")
                    .unwrap_or_default();
                return format!(
                    "{} {}",
                    version.get(..3).unwrap_or_default(),
                    session.key.is_some()
                );
            }
            Ok(Some(Progress::Encrypt)) => return "Encrypt".to_owned(),
            Err(error) => return error.to_string(),
        }
    }
    "more".to_owned()
}

#[track_caller]
fn check_startup(user: &str, stream: &[u8], expected: &str) {
    assert_eq!(open(user, [stream]), expected);
    assert_eq!(open(user, stream.chunks(1)), expected);
    // Cutting repeats the derivation of SCRAM's key: some places will do.
    for at in (0..stream.len()).step_by(37) {
        let (first, second) = stream.split_at(at);
        assert_eq!(open(user, [first, second]), expected, "cut at {at}");
    }
}

#[test]
fn recorded_start_up_is_read() {
    check_startup("postgres", stream!("startup_trust"), "15. true");
    check_startup("md5user", stream!("startup_md5"), "15. true");
    check_startup("scramuser", stream!("startup_scram"), "15. true");
    check_startup(
        "scramuser",
        stream!("startup_scram_wrong"),
        "password authentication failed for user \"scramuser\" (SQLSTATE 28P01, invalid_password)",
    );
    check_startup(
        "nobody",
        stream!("startup_nobody"),
        "role \"nobody\" does not exist (SQLSTATE 28000, invalid_authorization_specification)",
    );
}

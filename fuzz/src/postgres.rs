//! What a PostgreSQL server sends: messages, answers in a pipeline, start-up. Not values of types.
//! Rule: as in the crate's head; how a stream is cut changes nothing.

use bytes::BytesMut;
use tsumugi_pg_proto::auth::{Binding, NONCE_BYTES, Scram};
use tsumugi_pg_proto::backend::{Message, ServerError};
use tsumugi_pg_proto::connection::Messages;
use tsumugi_pg_proto::{
    Connection, Encryption, Event, Progress, Session, Shape, Startup, StartupSettings,
};

/// So small that answers exceed it.
const REPLY_BYTES_MAX: usize = 256;
const ITERATIONS_MAX: u32 = 4_096;

/// The stream of a connection after start-up. The first byte chooses how answers are handed out, the second where the
/// stream is cut.
pub fn pg_backend(bytes: &[u8]) {
    let [shapes, cut, stream @ ..] = bytes else {
        return;
    };
    messages(stream);
    rows(stream);
    let shapes: Vec<_> = (0..3)
        .map(|at| match (shapes >> (at * 2)) & 3 {
            0 | 3 => Shape::Whole,
            1 => Shape::Streamed,
            _ => Shape::Fragments,
        })
        .collect();
    let (first, second) = stream.split_at(usize::from(*cut).min(stream.len()));
    let whole = played([stream], &shapes);
    assert_eq!(whole, played([first, second], &shapes));
    assert_eq!(whole, played(stream.chunks(1), &shapes));
}

/// Both ways to walk over rows find the same, as far as all messages can be decoded.
fn rows(bytes: &[u8]) {
    let mut messages = Messages::new(bytes);
    let mut rows = std::iter::from_fn(|| messages.next_row());
    for message in Messages::new(bytes).map_while(Result::ok) {
        if let Message::DataRow(row) = message {
            assert_eq!(rows.next(), Some(Ok(row)));
        }
    }
}

/// Decodes every message and walks into it.
fn messages(mut bytes: &[u8]) {
    while let Ok(Some((message, length))) = Message::decode(bytes) {
        assert!((5..=bytes.len()).contains(&length));
        match message {
            Message::DataRow(row) => {
                let read: usize = row
                    .columns()
                    .map_while(Result::ok)
                    .flatten()
                    .map(<[u8]>::len)
                    .sum();
                assert!(read <= length);
            }
            Message::RowDescription(columns) => {
                let names: usize = columns.fields().map(|field| field.name().len()).sum();
                assert!(columns.fields().count() == columns.count() && names <= length * 3);
            }
            Message::ParameterDescription(parameters) => {
                assert_eq!(parameters.types().count(), parameters.count());
            }
            Message::CommandComplete(tag) => assert!(tag.command().len() <= tag.as_str().len()),
            Message::CopyInResponse(formats) => {
                assert_eq!(formats.columns().count(), formats.count())
            }
            Message::ErrorResponse(report) | Message::NoticeResponse(report) => {
                let error = ServerError::from(report);
                assert!(!format!("{error}{error:?}").is_empty());
            }
            other => assert!(!format!("{other:?}").is_empty()),
        }
        bytes = &bytes[length..];
    }
}

/// What a connection reported, with the parts of a streamed answer joined.
#[derive(Debug, PartialEq, Eq)]
enum Observation {
    Event(String),
    Part(usize, u8, Vec<u8>),
}

fn played<'a>(pieces: impl IntoIterator<Item = &'a [u8]>, shapes: &[Shape]) -> Vec<Observation> {
    let mut connection = Connection::new(&Session::default(), REPLY_BYTES_MAX);
    for (token, shape) in shapes.iter().enumerate() {
        assert!(connection.expect(token, *shape).is_ok());
    }
    let (mut input, mut observed) = (BytesMut::new(), Vec::new());
    for piece in pieces {
        input.extend_from_slice(piece);
        loop {
            match connection.poll(&mut input) {
                Ok(Some(event)) => observe(event, &mut observed),
                Ok(None) => break,
                Err(violation) => {
                    observed.push(Observation::Event(violation.to_string()));
                    return observed;
                }
            }
        }
    }
    observed
}

fn observe(event: Event<usize>, observed: &mut Vec<Observation>) {
    let (token, tag, bytes) = match event {
        Event::Part { token, tag, bytes } => (token, tag, bytes),
        Event::Fragment { token, bytes, .. } => (token, 0, bytes),
        Event::Reply(reply) => {
            assert!(reply.bytes.len() <= REPLY_BYTES_MAX + 6);
            assert!(reply.messages().count() <= reply.bytes.len());
            observed.push(Observation::Event(format!("{reply:?}")));
            return;
        }
        other => {
            observed.push(Observation::Event(format!("{other:?}")));
            return;
        }
    };
    match observed.last_mut() {
        Some(Observation::Part(whose, kind, joined)) if (*whose, *kind) == (token, tag) => {
            joined.extend_from_slice(&bytes);
        }
        _ => observed.push(Observation::Part(token, tag, bytes.to_vec())),
    }
}

/// The stream of a connection's start-up, and the same bytes as the two lines of a SCRAM exchange.
pub fn pg_scram(bytes: &[u8]) {
    let lines = bytes.split(|byte| *byte == b'\n');
    let mut scram = Scram::new("pencil", &[0; NONCE_BYTES], Binding::EndPoint(vec![1]));
    for (number, line) in lines.take(2).enumerate() {
        if number == 0 {
            let _ = scram.answer(line, ITERATIONS_MAX);
        } else {
            let _ = scram.finish(line);
        }
    }
    opened([bytes], Encryption::Require);
    let whole = opened([bytes], Encryption::Off);
    assert_eq!(whole, opened(bytes.chunks(1), Encryption::Off));
    let said = String::from_utf8_lossy(bytes).contains("pencil");
    assert!(said || !whole.0.contains("pencil"), "a password is printed");
}

/// How start-up ends, and what was sent.
fn opened<'a>(
    pieces: impl IntoIterator<Item = &'a [u8]>,
    encryption: Encryption,
) -> (String, BytesMut) {
    let settings = StartupSettings {
        password: Some("pencil".to_owned()),
        encryption,
        scram_iterations_max: ITERATIONS_MAX,
        ..StartupSettings::new("me")
    };
    let mut startup = Startup::new(settings, [0; NONCE_BYTES]);
    let (mut input, mut out) = (BytesMut::new(), BytesMut::new());
    assert!(startup.begin(&mut out).is_ok());
    for piece in pieces {
        input.extend_from_slice(piece);
        match startup.poll(&mut input, &mut out) {
            Ok(None) => {}
            Ok(Some(Progress::Encrypt)) => assert!(startup.encrypted(None, &mut out).is_ok()),
            Ok(Some(Progress::Ready(session))) => return (format!("{session:?}"), out),
            Err(error) => return (error.to_string(), out),
        }
    }
    (String::new(), out)
}

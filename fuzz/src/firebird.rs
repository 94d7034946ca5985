//! What a Firebird server sends: answers to a pipeline of requests, a handshake, descriptions of statements, events. Not the ciphers.
//! Rule: as in the crate's head; how a stream is cut changes nothing.

use std::sync::{Arc, LazyLock};

use bytes::BytesMut;
use tsumugi_firebird_proto::describe::{Describe, Progress};
use tsumugi_firebird_proto::events::{self, Events};
use tsumugi_firebird_proto::{
    Column, Connection, Event, Expect, Format, Rows, TextRules, blob, handshake, info,
};

/// Descriptions of statements that are read with the stream's own formats.
const ANSWERS: usize = 4;

/// One column of every type of Firebird 3, as a server described them.
static COLUMNS: LazyLock<Arc<Format>> = LazyLock::new(|| {
    let description = include_bytes!("../corpus/firebird_describe/types");
    let columns = match Describe::new().read(description) {
        Ok(Progress::Done(statement)) => statement.columns,
        other => panic!("the description of the target is sound: {other:?}"),
    };
    Arc::new(form(columns))
});

fn form(columns: Vec<Column>) -> Format {
    match Format::new(columns) {
        Ok(format) => format,
        Err(misuse) => panic!("the columns of the target fit: {misuse}"),
    }
}

/// The stream of an open connection. The first byte chooses what is expected, the second where the stream is cut.
pub fn firebird_answers(bytes: &[u8]) {
    let [shapes, cut, stream @ ..] = bytes else {
        return;
    };
    let (first, second) = stream.split_at(usize::from(*cut).min(stream.len()));
    let whole = played([stream], *shapes);
    assert_eq!(whole, played([first, second], *shapes));
    assert_eq!(whole, played(stream.chunks(1), *shapes));
}

/// What a connection reported, rows of one batch joined.
fn played<'a>(pieces: impl IntoIterator<Item = &'a [u8]>, shapes: u8) -> Vec<String> {
    let mut connection = Connection::new();
    for at in 0..ANSWERS {
        let expect = match (shapes >> (at * 2)) & 3 {
            0 => Expect::Response,
            1 => Expect::Deferred,
            2 => Expect::Sql(Arc::clone(&COLUMNS)),
            _ => Expect::Fetch(Arc::clone(&COLUMNS)),
        };
        assert!(connection.expect(at, expect).is_ok());
    }
    let (mut input, mut events) = (BytesMut::new(), vec![String::new()]);
    for piece in pieces {
        input.extend_from_slice(piece);
        loop {
            match connection.poll(&mut input) {
                Ok(Some(event)) => describe(event, &mut events),
                Ok(None) => {
                    assert!(connection.missing() > 0);
                    break;
                }
                Err(violation) => {
                    events.push(violation.to_string());
                    return events;
                }
            }
        }
    }
    events
}

fn describe(event: Event<usize>, events: &mut Vec<String>) {
    let said = match event {
        Event::Rows { rows, end, .. } => {
            let said = values(&rows);
            events
                .last_mut()
                .into_iter()
                .for_each(|last| *last += &said);
            let Some(end) = end else { return };
            format!("{end:?}")
        }
        Event::Sql { row, outcome, .. } => {
            let row = row.as_ref().map(values);
            format!("{row:?} {outcome:?}")
        }
        Event::Response { outcome, .. } => {
            if let Ok(response) = &outcome {
                data(&response.data);
            }
            format!("{outcome:?}")
        }
    };
    events.extend([said, String::new()]);
}

fn values(rows: &Rows) -> String {
    assert_eq!(rows.iter().count(), rows.len());
    let mut said = String::new();
    for row in rows.iter() {
        assert_eq!(row.fields().count(), row.columns().len());
        for value in row.values(TextRules::default()) {
            said += &format!("{value:?} ");
        }
    }
    said
}

/// What may be in a response, read as each of the things it can be.
fn data(bytes: &bytes::Bytes) {
    let pieces: usize = blob::segments(bytes.clone())
        .map_while(Result::ok)
        .map(|piece| piece.len())
        .sum();
    assert!(pieces <= bytes.len());
    let _ = info::affected(bytes);
    let _ = events::port(bytes);
    for item in info::items(bytes).map_while(Result::ok) {
        if let info::Item::Value { bytes, .. } = item {
            let _ = (info::number(bytes), info::version(bytes));
        }
    }
}

/// The stream of a handshake.
pub fn firebird_handshake(bytes: &[u8]) {
    let whole = shaken([bytes]);
    assert_eq!(whole, shaken(bytes.chunks(1)));
    if let Some((&cut, stream)) = bytes.split_first() {
        let (first, second) = stream.split_at(usize::from(cut).min(stream.len()));
        assert_eq!(shaken([stream]), shaken([first, second]));
    }
}

fn shaken<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<String> {
    let (mut input, mut version, mut events) = (BytesMut::new(), None, Vec::new());
    for piece in pieces {
        input.extend_from_slice(piece);
        loop {
            match handshake::answer(&mut input, version) {
                Ok(Some(answer)) => {
                    if let handshake::Answer::Accept(accept) = &answer {
                        version = Some(accept.version);
                    }
                    events.push(format!("{answer:?}"));
                }
                Ok(None) => break,
                Err(error) => {
                    events.push(error.to_string());
                    return events;
                }
            }
        }
    }
    events
}

/// The description of a statement, whole and after itself, and what is made of its columns.
pub fn firebird_describe(bytes: &[u8]) {
    let mut describe = Describe::new();
    for _ in 0..2 {
        match describe.read(bytes) {
            Ok(Progress::Done(statement)) => {
                for columns in [statement.columns, statement.parameters] {
                    // Each column takes bytes in the description.
                    assert!(columns.len() <= bytes.len());
                    let _ = Format::new(columns);
                }
                return;
            }
            Ok(Progress::More(items)) => assert!(items.len() <= 32),
            Err(_) => return,
        }
    }
}

/// The stream of a connection for events.
pub fn firebird_events(bytes: &[u8]) {
    let found = |pieces: Vec<&[u8]>| {
        let Ok(mut events) = Events::new(["one", "two"]) else {
            return Vec::new();
        };
        let (mut input, mut posted) = (BytesMut::new(), Vec::new());
        for piece in pieces {
            input.extend_from_slice(piece);
            while let Ok(Some(report)) = events::next_report(&mut input) {
                posted.push(format!("{:?}", events.record(&report)));
            }
        }
        posted
    };
    assert_eq!(found(vec![bytes]), found(bytes.chunks(1).collect()));
}

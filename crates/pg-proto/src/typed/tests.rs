//! Statements with types against a server made of messages. Rule: what does not fit is told before a row is read.

use bytes::{BufMut, Bytes};

use super::*;
use crate::connection::Event;
use crate::frontend;
use crate::session::Session;

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![tag];
    bytes.extend(u32::try_from(body.len() + 4).unwrap().to_be_bytes());
    bytes.extend(body);
    bytes
}

/// A RowDescription of these types, named a, b, …
fn columns(types: &[Oid], format: u16) -> Vec<u8> {
    let mut body = u16::try_from(types.len()).unwrap().to_be_bytes().to_vec();
    for (name, oid) in (b'a'..).zip(types) {
        body.extend([name, 0, 0, 0, 0, 0, 0, 0]);
        body.put_u32(*oid);
        body.extend([0, 0, 0xff, 0xff, 0xff, 0xff]);
        body.put_u16(format);
    }
    message(b'T', &body)
}

fn parameters(types: &[Oid]) -> Vec<u8> {
    let mut body = u16::try_from(types.len()).unwrap().to_be_bytes().to_vec();
    types.iter().for_each(|oid| body.put_u32(*oid));
    message(b't', &body)
}

fn row(fields: &[Option<&[u8]>]) -> Vec<u8> {
    let mut body = u16::try_from(fields.len()).unwrap().to_be_bytes().to_vec();
    for field in fields {
        body.put_i32(field.map_or(-1, |bytes| i32::try_from(bytes.len()).unwrap()));
        body.extend(field.unwrap_or_default());
    }
    message(b'D', &body)
}

/// Sends `step` and answers with `said` and a ReadyForQuery.
fn run<S: Step>(step: &S, said: &[Vec<u8>]) -> (Bytes, Reply<u8>) {
    let mut connection = Connection::new(&Session::default(), 1 << 20);
    let mut out = BytesMut::new();
    sync(step, &mut connection, &mut out, 7).unwrap();
    let mut input = BytesMut::from(&[said.concat(), message(b'Z', b"I")].concat()[..]);
    loop {
        match connection.poll(&mut input) {
            Ok(Some(Event::Reply(reply))) => return (out.freeze(), reply),
            Ok(Some(Event::Notice(_))) => {}
            other => panic!("{other:?}"),
        }
    }
}

const INT4: Oid = 23;
const TEXT: Oid = 25;

fn parsed() -> Vec<u8> {
    message(b'1', b"")
}

fn bound() -> Vec<u8> {
    message(b'2', b"")
}

fn complete(tag: &str) -> Vec<u8> {
    message(b'C', format!("{tag}\0").as_bytes())
}

/// What preparing `SELECT` with these parameters and columns says.
#[track_caller]
fn check_mismatch<P: Values, R: for<'r> Row<'r>>(types: &[Oid], described: &[Oid], expected: &str) {
    let step = parse::<P, R>("SELECT");
    let said = [parsed(), parameters(types), columns(described, 0)];
    let (_, reply) = run(&step, &said);
    let error = read(&step, &reply, &builtin).map(drop).unwrap_err();
    assert!(matches!(error, Error::Mismatch(_)));
    assert_eq!(error.to_string(), expected);
}

#[test]
fn two_statements_run_under_one_sync() {
    let select = parse::<(i32,), (i32, Option<String>)>("SELECT a, b FROM t WHERE a = $1");
    let update = parse::<(&str,), ()>("UPDATE t SET b = $1");
    let both = (select.bind((7,)).execute(0), update.bind(("x",)).execute(0));
    let (sent, reply) = run(
        &both,
        &[
            parsed(),
            bound(),
            columns(&[INT4, TEXT], 1),
            row(&[Some(b"\0\0\0\x07"), Some(b"seven")]),
            message(b'N', b"SNOTICE\0\0"),
            row(&[Some(b"\0\0\0\x08"), None]),
            complete("SELECT 2"),
            parsed(),
            bound(),
            message(b'n', b""),
            complete("UPDATE 5"),
        ],
    );
    let mut expected = BytesMut::new();
    frontend::parse(
        &mut expected,
        "",
        "SELECT a, b FROM t WHERE a = $1",
        &[INT4],
    )
    .unwrap();
    assert!(sent.starts_with(&expected));
    assert!(sent.ends_with(b"S\0\0\0\x04"));
    let (selected, updated) = read(&both, &reply, &builtin).unwrap();
    let selected: Vec<_> = selected.map(Result::unwrap).collect();
    assert_eq!(selected, [(7, Some("seven".to_owned())), (8, None)]);
    assert_eq!(updated.affected(), Some(5));
}

#[test]
fn rows_are_read_as_tuples() {
    let select = parse::<(), (i32, Option<String>)>("SELECT a, b FROM t")
        .bind(())
        .execute(0);
    let said = [
        parsed(),
        bound(),
        columns(&[INT4, TEXT], 1),
        row(&[Some(b"\0\0\0\x07"), Some(b"seven")]),
        row(&[Some(b"\0\0\0\x08"), None]),
        complete("SELECT 2"),
    ];
    let (_, reply) = run(&select, &said);
    let rows = read(&select, &reply, &builtin).unwrap();
    assert_eq!(
        (rows.affected(), rows.is_suspended(), rows.size_hint().0),
        (Some(2), false, 2)
    );
    let borrowed: Vec<_> = rows
        .clone()
        .of::<(i64, Option<&str>)>()
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(borrowed, [(7, Some("seven")), (8, None)]);
    let rows: Vec<_> = rows.map(Result::unwrap).collect();
    assert_eq!(rows, [(7, Some("seven".to_owned())), (8, None)]);
}

#[test]
fn null_that_has_no_room_names_its_column() {
    let select = parse::<(), (i32,)>("SELECT a").bind(()).execute(0);
    let said = [
        parsed(),
        bound(),
        columns(&[INT4], 1),
        row(&[None]),
        complete("SELECT 1"),
    ];
    let (_, reply) = run(&select, &said);
    let mut rows = read(&select, &reply, &builtin).unwrap();
    let error = rows.next().unwrap().unwrap_err();
    assert!(
        error.to_string().starts_with("column a: the value is NULL"),
        "{error}"
    );
    assert!(rows.next().is_none());
}

#[test]
fn prepared_statement_is_bound_without_being_described_again() {
    let prepare = parse::<(i32, &str), (i64,)>("SELECT").named("s1");
    let (sent, reply) = run(
        &prepare,
        &[parsed(), parameters(&[INT4, TEXT]), columns(&[INT4], 0)],
    );
    assert!(sent.ends_with(b"D\0\0\0\x08Ss1\0S\0\0\0\x04"));
    let prepared = read(&prepare, &reply, &builtin).unwrap();
    assert_eq!(
        (
            prepared.name(),
            prepared.parameters().len(),
            prepared.columns().len()
        ),
        ("s1", 2, 1)
    );
    let steps = vec![
        prepared.bind((1, "x")).execute(1),
        prepared.bind((2, "y")).execute(1),
    ];
    let said = [bound(), row(&[Some(b"\0\0\0\x01")]), message(b's', b"")].concat();
    let (sent, reply) = run(&steps, &[said.clone(), said]);
    assert!(sent.starts_with(b"B\0\0\0\x21\0s1\0\0\x02\0\x01\0\x01\0\x02\0\0\0\x04\0\0\0\x01\0\0\0\x01x\0\x01\0\x01E"), "{sent:?}");
    for rows in read(&steps, &reply, &builtin).unwrap() {
        assert!(rows.is_suspended());
        assert_eq!(rows.map(Result::unwrap).collect::<Vec<_>>(), [(1,)]);
    }
}

#[test]
fn statement_that_is_not_what_its_types_say_is_refused() {
    check_mismatch::<(i32,), (i32,)>(
        &[],
        &[INT4],
        "the statement has 0 parameters where its type has 1",
    );
    check_mismatch::<(), (i32,)>(
        &[],
        &[INT4, INT4],
        "the statement has 2 columns where its type has 1",
    );
    check_mismatch::<(), ()>(
        &[],
        &[INT4],
        "the statement has 1 columns where its type has 0",
    );
    check_mismatch::<(i32,), ()>(
        &[16],
        &[],
        "parameter $1 is of type bool, which i32 cannot be sent as",
    );
    check_mismatch::<(), (i32, bool)>(
        &[],
        &[INT4, TEXT],
        "column b is of type text, which bool cannot hold",
    );
}

#[test]
fn error_in_any_message_is_returned() {
    let select = parse::<(), (i32,)>("SELECT a").bind(()).execute(0);
    let error = message(b'E', b"SERROR\0C23503\0Mdeferred\0\0");
    let said = [
        parsed(),
        bound(),
        columns(&[INT4], 1),
        complete("SELECT 0"),
        error,
    ];
    let (_, reply) = run(&select, &said);
    let error = read(&select, &reply, &builtin).map(drop).unwrap_err();
    assert!(matches!(error, Error::Server(error) if error.code.as_str() == "23503"));
}

#[test]
fn answers_to_something_else_are_violations() {
    let select = parse::<(), (i32,)>("SELECT a").bind(()).execute(0);
    let sound = [parsed(), bound(), columns(&[INT4], 1), complete("SELECT 0")];
    for left_out in 0..sound.len() {
        let mut said = sound.to_vec();
        said.remove(left_out);
        let (_, reply) = run(&select, &said);
        assert!(matches!(
            read(&select, &reply, &builtin).map(drop),
            Err(Error::Protocol(_))
        ));
    }
}

#[test]
fn value_that_cannot_be_sent_leaves_nothing() {
    let prepare = parse::<(i64,), ()>("SELECT");
    let (_, reply) = run(
        &prepare,
        &[parsed(), parameters(&[INT4]), message(b'n', b"")],
    );
    let prepared = read(&prepare, &reply, &builtin).unwrap();
    let mut connection = Connection::new(&Session::default(), 1 << 20);
    let mut out = BytesMut::new();
    let step = prepared.bind((i64::MAX,)).execute(0);
    assert!(matches!(
        sync(&step, &mut connection, &mut out, 1),
        Err(Error::Parameter { number: 1, .. })
    ));
    assert_eq!((out.len(), connection.awaited()), (0, 0));
}

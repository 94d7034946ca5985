//! Messages to the server, byte by byte, and what is refused. Rule: an error leaves the buffer as it was.

use super::*;
use crate::Error;
use crate::types::{Encoded, Format, Type};

#[track_caller]
fn check(write: impl Fn(&mut BytesMut) -> Result<(), Misuse>, expected: &[u8]) {
    let mut out = BytesMut::from(&b"before"[..]);
    write(&mut out).unwrap();
    assert_eq!(
        out[6..].escape_ascii().to_string(),
        expected.escape_ascii().to_string()
    );
}

#[track_caller]
fn check_refused(write: impl Fn(&mut BytesMut) -> Result<(), Misuse>, expected: Misuse) {
    let mut out = BytesMut::from(&b"before"[..]);
    assert_eq!(write(&mut out), Err(expected));
    assert_eq!(&out[..], b"before");
}

#[test]
fn startup_ssl_and_cancel_requests_have_their_bytes() {
    check(
        |out| startup(out, [("user", "me"), ("database", "db")]),
        b"\0\0\0\x1d\0\x03\0\0user\0me\0database\0db\0\0",
    );
    check(
        |out| {
            ssl_request(out);
            Ok(())
        },
        b"\0\0\0\x08\x04\xd2\x16\x2f",
    );
    check(
        |out| cancel_request(out, 7, b"abcd"),
        b"\0\0\0\x10\x04\xd2\x16\x2e\0\0\0\x07abcd",
    );
}

#[test]
fn password_and_sasl_messages_have_their_bytes() {
    check(|out| password(out, "pw"), b"p\0\0\0\x07pw\0");
    check(
        |out| sasl_initial(out, "M", b"n,,"),
        b"p\0\0\0\x0dM\0\0\0\0\x03n,,",
    );
    check(|out| sasl_response(out, b"c=biws"), b"p\0\0\0\x0ac=biws");
}

#[test]
fn statement_and_portal_messages_create_and_close() {
    check(
        |out| parse(out, "s1", "SELECT $1", &[23]),
        b"P\0\0\0\x17s1\0SELECT $1\0\0\x01\0\0\0\x17",
    );
    check(|out| describe_statement(out, "s1"), b"D\0\0\0\x08Ss1\0");
    check(|out| describe_portal(out, ""), b"D\0\0\0\x06P\0");
    check(|out| close_statement(out, "s1"), b"C\0\0\0\x08Ss1\0");
    check(|out| close_portal(out, "p"), b"C\0\0\0\x07Pp\0");
    check(|out| execute(out, "", 2), b"E\0\0\0\x09\0\0\0\0\x02");
    check(
        |out| execute(out, "", u32::MAX),
        b"E\0\0\0\x09\0\x7f\xff\xff\xff",
    );
    check(|out| query(out, "SELECT 1"), b"Q\0\0\0\x0dSELECT 1\0");
}

#[test]
fn copy_data_are_framed() {
    check(|out| copy_data(out, b"1\n"), b"d\0\0\0\x061\n");
    check(|out| copy_fail(out, "no"), b"f\0\0\0\x07no\0");
}

#[test]
fn values_are_bound_with_their_formats() {
    check(
        |out| {
            let mut writer = BindWriter::begin(out, "", "s1", 3)?;
            writer.bytes(Format::Text, b"abc")?;
            writer.null()?;
            writer.value(|out| {
                out.put_i32(7);
                Ok::<_, Misuse>(Encoded::Value(Format::Binary))
            })?;
            writer.finish(ResultFormats::All(Format::Binary))
        },
        b"B\0\0\0\x29\0s1\0\0\x03\0\0\0\0\0\x01\0\x03\0\0\0\x03abc\xff\xff\xff\xff\0\0\0\x04\0\0\0\x07\0\x01\0\x01",
    );
    check(
        |out| {
            bind(
                out,
                "",
                "",
                Format::Text,
                &[],
                ResultFormats::Each(&[Format::Text, Format::Binary]),
            )
        },
        b"B\0\0\0\x10\0\0\0\0\0\0\0\x02\0\0\0\x01",
    );
}

#[test]
fn bytes_written_before_a_null_are_removed() {
    check(
        |out| {
            let mut writer = BindWriter::begin(out, "", "", 1)?;
            writer.value(|out| {
                out.put_i32(7);
                Ok::<_, Misuse>(Encoded::Null)
            })?;
            writer.finish(ResultFormats::All(Format::Text))
        },
        b"B\0\0\0\x12\0\0\0\x01\0\0\0\x01\xff\xff\xff\xff\0\0",
    );
}

#[test]
fn names_with_nul_are_refused() {
    check_refused(|out| query(out, "SELECT\0 1"), Misuse::Nul("SQL text"));
    check_refused(
        |out| parse(out, "a\0", "", &[]),
        Misuse::Nul("statement's name"),
    );
    check_refused(
        |out| startup(out, [("user", "a\0b")]),
        Misuse::Nul("setting's value"),
    );
    check_refused(
        |out| BindWriter::begin(out, "a\0", "", 0).map(drop),
        Misuse::Nul("portal's name"),
    );
}

#[test]
fn parameters_beyond_the_protocols_count_are_refused() {
    let types = vec![23; PARAMETERS_MAX + 1];
    let expected = Misuse::ParameterCount { count: 65_536 };
    check_refused(|out| parse(out, "", "", &types), expected);
    check_refused(
        |out| BindWriter::begin(out, "", "", 65_536).map(drop),
        expected,
    );
    let values = vec![None; PARAMETERS_MAX];
    let mut out = BytesMut::new();
    bind(
        &mut out,
        "",
        "",
        Format::Text,
        &values,
        ResultFormats::All(Format::Text),
    )
    .unwrap();
    parse(&mut out, "", "", &types[1..]).unwrap();
}

#[test]
fn values_must_be_as_many_as_announced() {
    let count = |expected, given| Misuse::ValueCount { expected, given };
    check_refused(
        |out| BindWriter::begin(out, "", "", 1)?.finish(ResultFormats::All(Format::Text)),
        count(1, 0),
    );
    check_refused(|out| BindWriter::begin(out, "", "", 0)?.null(), count(0, 1));
}

#[test]
fn message_above_the_servers_limit_is_refused() {
    // Zeroed pages that are never touched cost nothing; the check comes before the copy.
    let big = vec![0; MESSAGE_BYTES_MAX];
    check_refused(|out| copy_data(out, &big), Misuse::MessageLength);
    check_refused(
        |out| {
            bind(
                out,
                "",
                "",
                Format::Text,
                &[Some(&big)],
                ResultFormats::All(Format::Text),
            )
        },
        Misuse::MessageLength,
    );
}

#[test]
fn start_up_settings_have_a_limit() {
    let long = "x".repeat(STARTUP_BYTES_MAX);
    check_refused(
        |out| startup(out, [("options", &*long)]),
        Misuse::StartupLength,
    );
}

#[test]
fn values_are_encoded_by_their_types() {
    let encoded = |out: &mut BytesMut| {
        let mut writer = BindWriter::begin(out, "", "", 3)?;
        writer.encode(Type::INT4, &7_i32)?;
        writer.encode(Type::INT4, &None::<i32>)?;
        writer.encode(Type::INT4, &"7")?;
        writer.finish(ResultFormats::All(Format::Text))?;
        Ok::<_, Error>(())
    };
    let mut out = BytesMut::new();
    encoded(&mut out).unwrap();
    let expected = b"B\0\0\0\x23\0\0\0\x03\0\x01\0\0\0\0\0\x03\0\0\0\x04\0\0\0\x07\xff\xff\xff\xff\0\0\0\x017\0\0";
    assert_eq!(&out[..], expected);
}

#[test]
fn value_that_does_not_fit_names_its_parameter() {
    let mut out = BytesMut::from(&b"before"[..]);
    let mut writer = BindWriter::begin(&mut out, "", "", 2).unwrap();
    writer.null().unwrap();
    let error = writer.encode(Type::INT2, &70_000_i32).unwrap_err();
    assert!(error.to_string().starts_with("parameter $2: "), "{error}");
    drop(writer);
    assert_eq!(&out[..], b"before");
}

//! Messages of the server: what they say, and every way of being wrong. Rule: no bytes panic.

use super::*;

fn framed(tag: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![tag];
    bytes.extend(u32::try_from(body.len() + 4).unwrap().to_be_bytes());
    bytes.extend(body);
    bytes
}

/// Decodes the message and every prefix of it.
#[track_caller]
fn check(tag: u8, body: &[u8], expected: impl FnOnce(Message<'_>)) {
    let bytes = framed(tag, body);
    for end in 0..bytes.len() {
        assert_eq!(Message::decode(&bytes[..end]), Ok(None));
    }
    let (message, length) = Message::decode(&bytes).unwrap().unwrap();
    assert_eq!(length, bytes.len());
    expected(message);
}

#[track_caller]
fn check_violation(tag: u8, body: &[u8], expected: Violation) {
    assert_eq!(Message::decode(&framed(tag, body)), Err(expected));
}

fn row(body: &[u8]) -> Vec<Result<Option<Vec<u8>>, Violation>> {
    let bytes = framed(tag::DATA_ROW, body);
    match Message::decode(&bytes) {
        Ok(Some((Message::DataRow(row), _))) => row
            .columns()
            .map(|field| field.map(|bytes| bytes.map(<[u8]>::to_vec)))
            .collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn rows_have_fields_and_nulls() {
    let fields = row(b"\0\x03\0\0\0\x02hi\xff\xff\xff\xff\0\0\0\0");
    assert_eq!(
        fields,
        [Ok(Some(b"hi".to_vec())), Ok(None), Ok(Some(Vec::new()))]
    );
    assert_eq!(row(b"\0\0"), []);
}

#[test]
fn broken_row_ends_with_what_is_wrong() {
    let one = Ok(Some(b"x".to_vec()));
    assert_eq!(
        row(b"\0\x01\xff\xff\xff\xfe"),
        [Err(Violation::FieldLength(-2))]
    );
    assert_eq!(
        row(b"\0\x02\0\0\0\x01x\0\0\0\x09y"),
        [one.clone(), Err(Violation::FieldLength(9))]
    );
    assert_eq!(
        row(b"\0\x01\x7f\xff\xff\xff"),
        [Err(Violation::FieldLength(i32::MAX))]
    );
    assert_eq!(
        row(b"\0\x02\0\0\0\x01x"),
        [one.clone(), Err(Violation::Truncated("field's length"))]
    );
    assert_eq!(
        row(b"\0\x01\0\0\0\x01xy"),
        [one, Err(Violation::Trailing("last field"))]
    );
}

#[test]
fn row_has_as_many_fields_as_described() {
    check(b'D', b"\0\x02\0\0\0\x01x\xff\xff\xff\xff", |message| {
        let Message::DataRow(row) = message else {
            panic!("{message:?}")
        };
        assert!(row.expect(2).is_ok());
        assert_eq!(
            row.expect(3),
            Err(Violation::FieldCount {
                expected: 3,
                found: 2
            })
        );
        assert_eq!(
            (row.column(0), row.column(1)),
            (Ok(Some(&b"x"[..])), Ok(None))
        );
        assert_eq!(
            row.column(2),
            Err(Violation::FieldCount {
                expected: 3,
                found: 2
            })
        );
    });
}

#[test]
fn columns_are_described() {
    let body = b"\0\x01id\0\0\0\x40\0\0\x02\0\0\0\x17\0\x04\xff\xff\xff\xff\0\x01";
    check(b'T', body, |message| {
        let Message::RowDescription(description) = message else {
            panic!("{message:?}")
        };
        let field = description.fields().next().unwrap();
        assert_eq!(
            (field.name().as_ref(), field.table, field.attribute),
            ("id", 16_384, 2)
        );
        assert_eq!(
            (field.type_oid, field.type_size, field.type_modifier),
            (23, 4, -1)
        );
        assert_eq!(
            (field.format, description.count()),
            (crate::types::Format::Binary, 1)
        );
    });
    for end in 2..body.len() {
        assert!(Message::decode(&framed(b'T', &body[..end])).is_err());
    }
    let mut other = body.to_vec();
    other[22] = 9;
    let expected = Violation::Value {
        what: "a format code",
        value: 9,
    };
    check_violation(b'T', &other, expected);
}

#[test]
fn parameters_are_described() {
    check(b't', b"\0\x02\0\0\0\x17\0\0\0\x19", |message| {
        let Message::ParameterDescription(parameters) = message else {
            panic!("{message:?}")
        };
        assert_eq!(parameters.types().collect::<Vec<_>>(), [23, 25]);
    });
    check_violation(
        b't',
        b"\xff\xff\0\0\0\x17",
        Violation::Truncated("parameter types"),
    );
}

#[test]
fn command_tags_are_read_with_their_row_counts() {
    for (text, command, rows) in [
        ("SELECT 5", "SELECT", Some(5)),
        ("INSERT 0 3", "INSERT", Some(3)),
        ("CREATE TABLE", "CREATE TABLE", None),
        ("COPY 18446744073709551615", "COPY", Some(u64::MAX)),
        ("COPY 18446744073709551616", "COPY", None),
        (
            "REFRESH MATERIALIZED VIEW",
            "REFRESH MATERIALIZED VIEW",
            None,
        ),
        ("BEGIN", "BEGIN", None),
        ("", "", None),
    ] {
        check(b'C', format!("{text}\0").as_bytes(), |message| {
            let Message::CommandComplete(tag) = message else {
                panic!("{message:?}")
            };
            assert_eq!(
                (tag.as_str(), tag.command(), tag.rows()),
                (text, command, rows)
            );
        });
    }
}

#[test]
fn errors_keep_their_fields_and_show_no_detail() {
    let body = b"SFEHLER\0VERROR\0C23505\0Mdoppelt\0DKey (id)=(1) exists.\0Hhm\0P7\0p8\0qSELECT\0Wctx\0sS\0tT\0cC\0dD\0nN\0Ff.c\0L9\0Rr\0?x\0\0";
    check(b'E', body, |message| {
        let Message::ErrorResponse(report) = message else {
            panic!("{message:?}")
        };
        let error = ServerError::from(report);
        assert_eq!(
            (error.severity, error.code),
            (Severity::Error, crate::SqlState::UNIQUE_VIOLATION)
        );
        assert_eq!(
            (error.position, error.internal_position, error.line),
            (Some(7), Some(8), Some(9))
        );
        assert_eq!(error.constraint.as_deref(), Some("N"));
        assert_eq!(error.detail.as_deref(), Some("Key (id)=(1) exists."));
        let shown = format!("{error} {error:?} {report:?}");
        assert!(
            shown.contains("doppelt (SQLSTATE 23505, unique_violation)"),
            "{shown}"
        );
        assert!(
            !shown.contains("exists") && !shown.contains("ctx"),
            "{shown}"
        );
    });
    check_violation(b'E', b"SERROR\0", Violation::Truncated("fields"));
    check_violation(b'E', b"SERROR", Violation::Unterminated("report's field"));
    check_violation(b'N', b"\0\0", Violation::Trailing("fields"));
}

#[test]
fn authentication_has_its_methods() {
    let read = |body: &[u8]| match Message::decode(&framed(b'R', body)) {
        Ok(Some((message, _))) => format!("{message:?}"),
        other => format!("{other:?}"),
    };
    assert!(read(b"\0\0\0\0").contains("Ok"));
    assert!(read(b"\0\0\0\x03").contains("CleartextPassword"));
    assert!(read(b"\0\0\0\x05abcd").contains("Md5Password([97, 98, 99, 100])"));
    assert!(read(b"\0\0\0\x07").contains("Other(7)"));
    check(b'R', b"\0\0\0\x0aA\0B\0\0", |message| {
        let Message::Authentication(Authentication::Sasl(names)) = message else {
            panic!()
        };
        assert_eq!(names.iter().collect::<Vec<_>>(), ["A", "B"]);
    });
    check_violation(b'R', b"\0\0\0\0x", Violation::Trailing("method"));
    check_violation(b'R', b"\0\0\0\x05abc", Violation::Truncated("salt"));
    check_violation(b'R', b"\0\0\0\x0aA\0", Violation::Unterminated("mechanism"));
    let many = [b"\0\0\0\x0a".to_vec(), b"A\0".repeat(MANY), vec![0]].concat();
    let max = crate::limits::MECHANISMS_MAX;
    check_violation(
        b'R',
        &many,
        Violation::TooMany {
            what: "mechanisms",
            max,
        },
    );
}

const MANY: usize = 33;

#[test]
fn parameters_key_and_status_of_the_server_are_read() {
    check(b'S', b"TimeZone\0UTC\0", |message| {
        assert_eq!(
            message,
            Message::ParameterStatus {
                name: "TimeZone",
                value: "UTC".into()
            }
        );
    });
    check(b'K', b"\0\0\0\x07abcd", |message| {
        let Message::BackendKeyData(key) = message else {
            panic!("{message:?}")
        };
        assert_eq!((key.process_id, key.secret), (7, &b"abcd"[..]));
        assert!(!format!("{key:?}").contains("97"));
    });
    check(b'A', b"\0\0\0\x07ch\0hello\0", |message| {
        let expected = Notification {
            process_id: 7,
            channel: "ch".into(),
            payload: "hello".into(),
        };
        assert_eq!(message, Message::NotificationResponse(expected));
    });
    check(b'v', b"\0\x03\0\0\0\0\0\x01_pq_.x\0", |message| {
        let Message::NegotiateProtocolVersion(version) = message else {
            panic!("{message:?}")
        };
        assert_eq!((version.minor, version.options), (0, 1));
        assert_eq!(version.names().collect::<Vec<_>>(), ["_pq_.x"]);
    });
    check_violation(
        b'v',
        b"\0\x03\0\0\xff\xff\xff\xff",
        Violation::TooMany {
            what: "unknown options",
            max: crate::limits::PARAMETERS_MAX,
        },
    );
    check_violation(
        b'K',
        b"\0\0\0\x07abc",
        Violation::Truncated("cancel secret"),
    );
    check_violation(
        b'S',
        b"TimeZone\0UTC",
        Violation::Unterminated("setting's value"),
    );
    check_violation(b'S', b"\xff\0UTC\0", Violation::NotUtf8("setting's name"));
    check(b'A', b"\0\0\0\x07ch\0\xff\0", |message| {
        let Message::NotificationResponse(notification) = message else {
            panic!("{message:?}")
        };
        assert_eq!(notification.payload, "\u{fffd}");
    });
}

#[test]
fn copy_responses_are_read_with_their_formats() {
    for tag in [b'G', b'H', b'W'] {
        check(tag, b"\x01\0\x02\0\x01\0\0", |message| {
            let (Message::CopyInResponse(formats)
            | Message::CopyOutResponse(formats)
            | Message::CopyBothResponse(formats)) = message
            else {
                panic!("{message:?}")
            };
            assert_eq!((formats.count(), formats.columns().count()), (2, 2));
        });
        check_violation(
            tag,
            b"\x01\0\x02\0\x01",
            Violation::Truncated("column's format"),
        );
    }
}

#[test]
fn messages_without_content_have_none() {
    for tag in [b'1', b'2', b'3', b'c', b'I', b'n', b's'] {
        check(tag, b"", |_| {});
        check_violation(tag, b"x", Violation::Length { tag, length: 5 });
    }
}

#[test]
fn function_call_response_carries_its_value_or_is_refused() {
    check(b'V', b"\0\0\0\x01x", |message| {
        assert_eq!(message, Message::FunctionCallResponse(Some(b"x")));
    });
    check_violation(b'V', b"\xff\xff\xff\xfe", Violation::FieldLength(-2));
}

#[test]
fn impossible_heads_are_refused_before_their_content_comes() {
    for (bytes, expected) in [
        (
            b"D\0\0\0\x03",
            Violation::Length {
                tag: b'D',
                length: 3,
            },
        ),
        (
            b"D\x7f\xff\xff\xff",
            Violation::Length {
                tag: b'D',
                length: 0x7fff_ffff,
            },
        ),
        (
            b"E\x40\0\0\0",
            Violation::Length {
                tag: b'E',
                length: 0x4000_0000,
            },
        ),
        (
            b"T\x01\0\0\x01",
            Violation::Length {
                tag: b'T',
                length: 0x0100_0001,
            },
        ),
        (
            b"t\0\x08\0\x01",
            Violation::Length {
                tag: b't',
                length: 0x0008_0001,
            },
        ),
        (b"?\0\0\0\x04", Violation::UnknownTag(b'?')),
    ] {
        assert_eq!(Header::scan(bytes), Err(expected));
    }
    assert_eq!(
        Header::scan(b"D\x3f\xff\xff\xff").map(|header| header.unwrap().length),
        Ok(1 << 30)
    );
}

#[test]
fn row_may_have_as_many_columns_as_a_table() {
    const COLUMNS: u16 = 1_600;
    let one = b"id\0\0\0\0\0\0\0\0\0\0\x17\0\x04\xff\xff\xff\xff\0\x01";
    let description = [&COLUMNS.to_be_bytes()[..], &one.repeat(COLUMNS.into())].concat();
    check(b'T', &description, |message| {
        let Message::RowDescription(description) = message else {
            panic!("{message:?}")
        };
        assert_eq!(description.fields().count(), usize::from(COLUMNS));
    });
    let fields = [
        &COLUMNS.to_be_bytes()[..],
        &b"\0\0\0\x01x".repeat(COLUMNS.into()),
    ]
    .concat();
    assert_eq!(row(&fields).len(), usize::from(COLUMNS));
}

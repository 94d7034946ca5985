//! Rows of COPY, written and read back. Rule: how data are cut changes no row.

use super::*;
use crate::backend::DataRow;
use crate::types::Type;

const ROW_BYTES_MAX: usize = 64;

#[track_caller]
fn check_text(fields: &[Option<&str>], expected: &str) {
    let mut out = BytesMut::new();
    text_row(&mut out, fields.iter().copied()).unwrap();
    assert_eq!(str::from_utf8(&out).unwrap(), expected);
    let read: Vec<_> = text_fields(&out)
        .map(|field| field.map(|text| String::from_utf8(text.into_owned()).unwrap()))
        .collect();
    let given: Vec<_> = fields
        .iter()
        .map(|field| field.map(str::to_owned))
        .collect();
    assert_eq!(read, given);
}

/// All rows of `data` fed in pieces, and whether they ended.
fn read(data: &[u8], step: usize) -> Result<(Vec<Bytes>, bool), Violation> {
    let mut reader = BinaryReader::new(ROW_BYTES_MAX);
    let mut rows = Vec::new();
    for piece in data.chunks(step) {
        reader.feed(piece);
        while let Some(row) = reader.row()? {
            rows.push(row);
        }
    }
    Ok((rows, reader.is_ended()))
}

#[track_caller]
fn check_violation(data: &[u8], expected: Violation) {
    for step in [1, 2, usize::MAX] {
        assert_eq!(read(data, step), Err(expected));
    }
}

fn with_header(data: &[u8]) -> Vec<u8> {
    let mut out = BytesMut::new();
    binary_header(&mut out);
    out.put_slice(data);
    out.to_vec()
}

#[test]
fn text_rows_are_escaped() {
    check_text(&[Some("1"), None, Some("")], "1\t\\N\t\n");
    check_text(&[Some(""), Some("")], "\t\n");
    check_text(
        &[Some("a\tb\nc\rd\\e"), Some("\\N")],
        "a\\tb\\nc\\rd\\\\e\t\\\\N\n",
    );
    check_text(&[Some("é")], "é\n");
}

#[test]
fn text_fields_are_read_in_all_spellings() {
    let fields: Vec<_> = text_fields(b"\\b\\f\\v\\q\t\\101\\x41\\x4g\\7\t\\N\t\\").collect();
    let owned = |text: &[u8]| Some(Cow::Owned(text.to_vec()));
    assert_eq!(
        fields,
        [
            owned(b"\x08\x0c\x0bq"),
            owned(b"AA\x04g\x07"),
            None,
            owned(b"\\")
        ]
    );
}

#[test]
fn text_with_nul_is_refused() {
    let mut out = BytesMut::from(&b"before"[..]);
    assert_eq!(
        text_row(&mut out, [Some("a"), Some("\0")]),
        Err(Misuse::Nul("COPY field"))
    );
    assert_eq!(&out[..], b"before");
}

#[test]
fn binary_rows_are_read_back_however_they_are_cut() {
    let mut out = BytesMut::new();
    binary_header(&mut out);
    let types = [TypeRef::from(Type::INT4), TypeRef::from(Type::TEXT)];
    binary_row(&mut out, &types, &[&7_i32, &"seven"]).unwrap();
    binary_row(&mut out, &types, &[&None::<i32>, &""]).unwrap();
    binary_row(&mut out, &[], &[]).unwrap();
    binary_trailer(&mut out);
    for step in 1..=out.len() {
        let (rows, ended) = read(&out, step).unwrap();
        let rows: Vec<Vec<_>> = rows
            .iter()
            .map(|row| {
                DataRow::new(row)
                    .unwrap()
                    .columns()
                    .map(Result::unwrap)
                    .collect()
            })
            .collect();
        let expected: [&[Option<&[u8]>]; 3] = [
            &[Some(b"\0\0\0\x07"), Some(b"seven")],
            &[None, Some(b"")],
            &[],
        ];
        assert_eq!(
            (rows.as_slice(), ended),
            (expected.map(<[_]>::to_vec).as_slice(), true)
        );
    }
}

#[test]
fn binary_rows_take_no_text_and_no_other_count() {
    let mut out = BytesMut::from(&b"before"[..]);
    for (types, values) in [
        (&[TypeRef::from(Type::INT4)][..], &[&"7" as &dyn Encode][..]),
        (
            &[TypeRef::from(Type::INT2)][..],
            &[&70_000_i32 as &dyn Encode][..],
        ),
        (&[][..], &[&7_i32 as &dyn Encode][..]),
    ] {
        assert!(binary_row(&mut out, types, values).is_err());
        assert_eq!(&out[..], b"before");
    }
}

#[test]
fn input_copy_never_writes_is_a_violation() {
    let value = |what, value| Violation::Value { what, value };
    check_violation(b"PGCOPX", value("the signature of COPY data", 0));
    let flags = b"PGCOPY\n\xff\r\n\0\0\x01\0\0\0\0\0\0";
    check_violation(flags, value("the flags of COPY data", 1 << 16));
    check_violation(
        &with_header(b"\0\x01\xff\xff\xff\xfe"),
        Violation::FieldLength(-2),
    );
    let count = value("the number of fields of a COPY row", 0x8000);
    check_violation(&with_header(b"\x80\0"), count);
    let max = ROW_BYTES_MAX;
    let long = Violation::TooMany {
        what: "bytes of one COPY row",
        max,
    };
    check_violation(&with_header(b"\0\x01\x7f\xff\xff\xff"), long);
    check_violation(
        &with_header(b"\xff\xff\0"),
        Violation::Trailing("COPY trailer"),
    );
}

//! Bytes that no server sends: nothing panics, nothing takes more room than the bytes justify.

use bytes::BytesMut;
use tsumugi_pg_proto::types::json::{self, Style};
use tsumugi_pg_proto::types::print::print;
use tsumugi_pg_proto::types::{
    Decode, DecodeError, Encode, EncodeError, Kind, Type, TypeRef, Value,
};

use crate::recordings::{Vector, vectors};

/// Reads the bytes in every way there is. Whatever is read can be written, and is then read as the same.
fn try_all(ty: &Type, bytes: &[u8]) {
    let mut out = Vec::new();
    let _ = print(ty, bytes, &mut out);
    out.clear();
    let _ = json::write(ty, bytes, &Style::default(), &mut out);
    let _ = Value::from_text(ty, bytes);
    if let Ok(value) = Value::from_binary(ty, bytes) {
        let mut written = BytesMut::new();
        match value.encode(ty, &mut written) {
            Ok(_) => {}
            // The one thing that is read and not written.
            Err(EncodeError::Nul) => return,
            Err(error) => panic!("{} {value:?}: {error}", ty.name()),
        }
        let again = Value::from_binary(ty, &written).unwrap();
        // NaN is not equal to itself; its bytes are.
        assert_eq!(format!("{again:?}"), format!("{value:?}"), "{}", ty.name());
    }
}

#[test]
fn every_prefix_is_an_error_or_a_value() {
    for Vector { ty, binary, .. } in vectors() {
        for end in 0..binary.len() {
            try_all(&ty, &binary[..end]);
        }
        let mut longer = binary.clone();
        longer.push(0);
        try_all(&ty, &longer);
    }
}

#[test]
fn changed_bytes_are_an_error_or_a_value() {
    let dice = tsumugi_testkit::Dice::new(1);
    for Vector { ty, binary, text } in vectors() {
        for bytes in [binary, text.into_bytes()] {
            for _ in 0..40 {
                let mut changed = bytes.clone();
                for _ in 0..=dice.below(3) {
                    if changed.is_empty() {
                        break;
                    }
                    let at = dice.place(changed.len());
                    match dice.below(4) {
                        0 => changed[at] = 0xff,
                        1 => changed[at] ^= 1 << dice.below(8),
                        2 => changed[at] = 0,
                        _ => {
                            changed.remove(at);
                        }
                    }
                }
                try_all(&ty, &changed);
            }
        }
    }
}

fn check(ty: &Type, bytes: &[u8], expected: DecodeError) {
    assert_eq!(Value::from_binary(ty, bytes), Err(expected.clone()));
    let mut out = Vec::new();
    assert_eq!(print(ty, bytes, &mut out), Err(expected));
}

#[test]
fn count_beyond_the_bytes_is_an_error() {
    let mut array = [1_i32, 0, 23, i32::MAX, 0].map(i32::to_be_bytes).concat();
    check(Type::INT4_ARRAY, &array, DecodeError::Truncated);
    array[..4].copy_from_slice(&6_i32.to_be_bytes());
    let invalid = DecodeError::Invalid { what: "array" };
    check(Type::INT4_ARRAY, &array, DecodeError::Truncated);
    let huge = [6_i32, 0, 23].iter().chain([i32::MAX; 12].iter());
    let huge: Vec<u8> = huge.flat_map(|number| number.to_be_bytes()).collect();
    check(Type::INT4_ARRAY, &huge, invalid.clone());
    let negative = [1_i32, 0, 23, -1, 1].map(i32::to_be_bytes).concat();
    check(Type::INT4_ARRAY, &negative, invalid.clone());
    let beyond = [1_i32, 0, 23, 2, i32::MAX, -1, -1].map(i32::to_be_bytes);
    check(Type::INT4_ARRAY, &beyond.concat(), invalid.clone());
    let seven = [7_i32, 0, 23].map(i32::to_be_bytes).concat();
    check(Type::INT4_ARRAY, &seven, invalid.clone());
    let other = [1_i32, 0, 25, 1, 1, -1].map(i32::to_be_bytes).concat();
    check(Type::INT4_ARRAY, &other, invalid);
    let hstore = Type::new(16_400, "hstore", Kind::Simple);
    check(&hstore, &i32::MAX.to_be_bytes(), DecodeError::Truncated);
    check(
        &hstore,
        &[0, 0, 0, 1, 0, 0, 0, 9, b'a', 0, 0, 0],
        DecodeError::Truncated,
    );
    check(
        Type::RECORD,
        &i32::MAX.to_be_bytes(),
        DecodeError::Truncated,
    );
    check(
        Type::INT4_MULTIRANGE,
        &i32::MAX.to_be_bytes(),
        DecodeError::Truncated,
    );
    check(
        Type::POLYGON,
        &i32::MAX.to_be_bytes(),
        DecodeError::Truncated,
    );
    check(
        Type::VARBIT,
        &i32::MAX.to_be_bytes(),
        DecodeError::Truncated,
    );
}

#[test]
fn bytes_that_are_no_value_of_their_type_are_an_error() {
    let invalid = |what| DecodeError::Invalid { what };
    check(Type::JSONB, b"\x02{}", invalid("value of format version 1"));
    check(Type::JSONB, b"", DecodeError::Truncated);
    check(Type::BOOL, b"\x02", invalid("bool"));
    check(Type::TEXT, b"\xff", invalid("UTF-8 text"));
    check(Type::INT4, b"\0\0\0\0\0", DecodeError::Trailing);
    check(
        Type::NUMERIC,
        &[0, 1, 0, 0, 0, 0, 0, 0, 0x27, 0x10],
        invalid("numeric"),
    );
    check(Type::DATE, &(i32::MAX - 1).to_be_bytes(), invalid("date"));
    check(
        Type::TIMESTAMPTZ,
        &(i64::MIN + 1).to_be_bytes(),
        invalid("timestamp"),
    );
    check(Type::TIME, &(-1_i64).to_be_bytes(), invalid("time"));
    check(Type::INET, &[2, 33, 0, 4, 1, 2, 3, 4], invalid("inet"));
    check(Type::BIT, &[0, 0, 0, 1, 0xff], invalid("bit string"));
    check(Type::TSVECTOR, b"", DecodeError::UnknownType { oid: 3614 });
}

#[test]
fn nesting_has_a_limit() {
    let mut ty = TypeRef::from(Type::INT4);
    let mut bytes = 7_i32.to_be_bytes().to_vec();
    for oid in 20_000..20_040 {
        let head = [1_i32, 0, i32::try_from(ty.oid()).unwrap(), 1, 1];
        let mut outer = head.map(i32::to_be_bytes).concat();
        outer.extend(i32::try_from(bytes.len()).unwrap().to_be_bytes());
        outer.extend(bytes);
        bytes = outer;
        ty = Type::new(oid, "deep", Kind::Array(ty)).into();
    }
    check(&ty, &bytes, DecodeError::TooDeep);
    // A record names its fields' types itself, so its bytes alone decide how deep it goes.
    let mut record = vec![0, 0, 0, 0];
    for _ in 0..10_000 {
        let mut outer = [1_i32, 2_249].map(i32::to_be_bytes).concat();
        outer.extend(i32::try_from(record.len()).unwrap().to_be_bytes());
        outer.extend(record);
        record = outer;
    }
    check(Type::RECORD, &record, DecodeError::TooDeep);
}

//! Rust's own types as values, and where they do not fit.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;

use bytes::BytesMut;
use tsumugi_pg_proto::types::{
    Array, Bits, Column, Date, Decode, DecodeError, Encode, EncodeError, Encoded, Field, Format,
    Interval, Kind, Numeric, Range, Time, Timestamp, TimestampTz, Type, Uuid, Value,
};

/// What a value becomes: its bytes in binary, or its text.
fn sent<T: Encode>(value: T, ty: &Type) -> Result<(Format, Vec<u8>), EncodeError> {
    let mut out = BytesMut::from(&b"kept"[..]);
    let encoded = value.encode(ty, &mut out);
    assert_eq!(&out[..4], b"kept");
    if encoded.is_err() {
        assert_eq!(out.len(), 4, "a failed value leaves nothing");
    }
    Ok((encoded?.format(), out[4..].to_vec()))
}

/// The value goes to the server and comes back.
fn returns<T>(value: T, ty: &Type)
where
    T: Encode + PartialEq + std::fmt::Debug + for<'a> Decode<'a>,
{
    assert!(<T as Encode>::accepts(ty) && <T as Decode>::accepts(ty));
    let (format, bytes) = sent(&value, ty).unwrap();
    assert_eq!(T::decode_as(format, ty, Some(&bytes)), Ok(value));
}

#[test]
fn rust_types_go_and_come_back() {
    returns(true, Type::BOOL);
    returns(-5_i8, Type::CHAR);
    returns(i16::MIN, Type::INT2);
    returns(i32::MAX, Type::INT4);
    returns(i64::MIN, Type::INT8);
    returns(u32::MAX, Type::OID);
    returns(u64::MAX, Type::XID8);
    returns(1.5_f32, Type::FLOAT4);
    returns(f64::MIN_POSITIVE, Type::FLOAT8);
    returns(String::from("é"), Type::TEXT);
    returns(String::from("{}"), Type::JSONB);
    returns(vec![0_u8, 255], Type::BYTEA);
    returns(Uuid([7; 16]), Type::UUID);
    returns(Date::from_ymd(2024, 2, 29).unwrap(), Type::DATE);
    returns(Time::from_hms_micro(24, 0, 0, 0).unwrap(), Type::TIME);
    returns(Timestamp::NEG_INFINITY, Type::TIMESTAMP);
    returns(TimestampTz::from_unix_micros(0).unwrap(), Type::TIMESTAMPTZ);
    returns(
        Interval {
            months: 1,
            days: -1,
            micros: 1,
        },
        Type::INTERVAL,
    );
    returns(
        Bits::from_bools(&[true, false, true]).unwrap(),
        Type::VARBIT,
    );
    returns("1.500".parse::<Numeric>().unwrap(), Type::NUMERIC);
    returns(vec![Some(1), None, Some(3)], Type::INT4_ARRAY);
    returns(Vec::<String>::new(), Type::TEXT_ARRAY);
    returns(
        vec![String::from("a\"b"), String::from("NULL")],
        Type::TEXT_ARRAY,
    );
    returns(
        Range::Between(Bound::Included(1), Bound::Unbounded),
        Type::INT4_RANGE,
    );
    returns(Range::<i32>::Empty, Type::INT4_RANGE);
    returns(Some(1_i32), Type::INT4);
}

#[test]
fn maps_are_sent_and_read_as_hstore() {
    let hstore = Type::new(50_001, "hstore", Kind::Simple);
    let map = [("a", Some("1")), ("b", None)]
        .map(|(key, value)| (key.to_owned(), value.map(str::to_owned)));
    returns(BTreeMap::from(map.clone()), &hstore);
    returns(HashMap::from(map), &hstore);
    assert!(!<BTreeMap<String, Option<String>> as Encode>::accepts(
        Type::TEXT
    ));
}

#[test]
fn parameters_of_several_types_make_one_list() {
    let values: [&dyn Encode; 3] = [&1_i32, &"two", &None::<bool>];
    let types = [Type::INT4, Type::TEXT, Type::BOOL];
    let mut out = BytesMut::new();
    for (value, ty) in values.iter().zip(types) {
        value.encode(ty, &mut out).unwrap();
    }
    assert_eq!(out, &b"\0\0\0\x01two"[..]);
}

#[test]
fn null_needs_an_option() {
    assert_eq!(
        i32::decode(Type::INT4, None),
        Err(DecodeError::UnexpectedNull)
    );
    assert_eq!(Option::<i32>::decode(Type::INT4, None), Ok(None));
    assert_eq!(Value::decode(Type::INT4, None), Ok(Value::Null));
    assert_eq!(String::decode(Type::TEXT, Some(b"")), Ok(String::new()));
    let array = sent(vec![None::<i32>], Type::INT4_ARRAY).unwrap().1;
    let read = Vec::<i32>::decode(Type::INT4_ARRAY, Some(&array));
    assert_eq!(read, Err(DecodeError::UnexpectedNull));
    let mut out = BytesMut::new();
    assert_eq!(None::<i32>.encode(Type::INT4, &mut out), Ok(Encoded::Null));
}

#[test]
fn integers_widen_when_read() {
    assert_eq!(i64::decode(Type::INT2, Some(&[0xff, 0xff])), Ok(-1));
    assert_eq!(i64::decode(Type::OID, Some(&[0xff; 4])), Ok(4_294_967_295));
    assert!(matches!(
        i32::decode(Type::INT8, Some(&[0; 8])),
        Err(DecodeError::Mismatch { oid: 20, .. })
    ));
}

#[test]
fn integers_are_sent_exactly_or_not_at_all() {
    let out_of_range = |name: &str| {
        Err(EncodeError::OutOfRange {
            name: name.to_owned(),
        })
    };
    let binary = |bytes: &[u8]| Ok((Format::Binary, bytes.to_vec()));
    assert_eq!(sent(7_i64, Type::INT2), binary(&[0, 7]));
    assert_eq!(sent(32_768_i64, Type::INT2), out_of_range("int2"));
    assert_eq!(sent(-1_i64, Type::OID), out_of_range("oid"));
    assert_eq!(
        sent(1_i64 << 53, Type::FLOAT8),
        binary(&9_007_199_254_740_992_f64.to_be_bytes())
    );
    assert_eq!(
        sent((1_i64 << 53) + 1, Type::FLOAT8),
        out_of_range("float8")
    );
    assert_eq!(
        sent(-12_340_000_i64, Type::NUMERIC),
        binary(&[0, 1, 0, 1, 0x40, 0, 0, 0, 4, 0xd2])
            .or(sent("-12340000".parse::<Numeric>().unwrap(), Type::NUMERIC))
    );
    assert_eq!(
        sent(5_i64, Type::REGCLASS),
        Ok((Format::Text, b"5".to_vec()))
    );
    assert!(matches!(
        sent(5_i64, Type::TEXT),
        Err(EncodeError::Mismatch { .. })
    ));
    assert_eq!(sent(1e300_f64, Type::FLOAT4), out_of_range("float4"));
}

#[test]
fn integers_as_numeric_are_the_numeric_of_their_digits() {
    for number in [0, 1, -1, 9_999, 10_000, 12_340_000, i64::MAX, i64::MIN] {
        let numeric = Numeric::from(number);
        assert_eq!(Ok(numeric.clone()), number.to_string().parse());
        assert_eq!(numeric.to_string(), number.to_string());
        assert_eq!(i64::try_from(&numeric), Ok(number));
    }
}

#[test]
fn numerics_keep_every_digit() {
    fn check(text: &str, expected: &str) {
        let numeric: Numeric = text.parse().unwrap();
        assert_eq!(numeric.to_string(), expected);
        let (_, bytes) = sent(&numeric, Type::NUMERIC).unwrap();
        assert_eq!(Numeric::decode(Type::NUMERIC, Some(&bytes)), Ok(numeric));
    }
    check("1.500", "1.500");
    check("-0.00", "0.00");
    check("1e29", "100000000000000000000000000000");
    check("1.5E-3", "0.0015");
    check("+.5", "0.5");
    check("5.", "5");
    check("000123.4560", "123.4560");
    let longest = format!("{}.{}", "9".repeat(131_072), "7".repeat(16_383));
    check(&longest, &longest);
    for refused in [
        "",
        ".",
        "-",
        "1e",
        "abc",
        "1 ",
        "1e131072",
        "1e-16384",
        "1e999999999999",
        "0x1",
    ] {
        assert!(refused.parse::<Numeric>().is_err(), "{refused}");
    }
    assert!("1".repeat(131_073).parse::<Numeric>().is_err());
    let half: Numeric = "0.5".parse().unwrap();
    assert!(i64::try_from(&half).is_err());
    assert!(i64::try_from(&"1e30".parse::<Numeric>().unwrap()).is_err());
    assert_eq!(i64::try_from(&"12.000".parse::<Numeric>().unwrap()), Ok(12));
    assert_eq!(half.to_f64(), 0.5);
    assert_eq!(Numeric::from(0.1).to_string(), "0.1");
    assert_eq!(Numeric::from(f64::NAN), Numeric::NAN);
}

#[test]
fn text_with_nul_is_refused() {
    assert_eq!(sent("a\0b", Type::TEXT), Err(EncodeError::Nul));
    assert_eq!(sent("a\0b", Type::DATE), Err(EncodeError::Nul));
    assert_eq!(
        sent(vec!["a", "\0"], Type::TEXT_ARRAY),
        Err(EncodeError::Nul)
    );
    assert_eq!(
        sent("a\0b", Type::BYTEA),
        Ok((Format::Binary, b"a\0b".to_vec()))
    );
}

#[test]
fn string_for_another_type_goes_as_text() {
    let text = |text: &str| Ok((Format::Text, text.as_bytes().to_vec()));
    assert_eq!(sent("2024-01-01", Type::TIMESTAMP), text("2024-01-01"));
    assert_eq!(
        sent(vec![Some("today"), None, Some("a\"b")], Type::DATE_ARRAY),
        text(r#"{today,NULL,"a\"b"}"#)
    );
    let range = Range::Between(Bound::Included("2024-01-01"), Bound::Excluded("a b"));
    assert_eq!(sent(range, Type::DATE_RANGE), text(r#"[2024-01-01,"a b")"#));
    let mixed = Array::list(vec![Value::from("1"), Value::from(2_i32), Value::Null]);
    assert_eq!(
        sent(Value::from(mixed), Type::INT4_ARRAY),
        text("{1,2,NULL}")
    );
    let pair = Type::new(
        50_000,
        "pair",
        Kind::Composite(vec![
            Field {
                name: "a".into(),
                ty: Type::INT4.into(),
            },
            Field {
                name: "b".into(),
                ty: Type::DATE.into(),
            },
        ]),
    );
    let column = |value: Value| Column {
        name: String::new(),
        oid: 0,
        value,
    };
    let row = vec![column(Value::Null), column(Value::from("1 May 2024"))];
    assert_eq!(
        sent(Value::Composite(row), &pair),
        text(r#"(,"1 May 2024")"#)
    );
}

#[test]
fn arrays_of_several_dimensions_are_no_list() {
    let read = Vec::<i32>::decode_text(Type::INT4_ARRAY, Some(b"{{1},{2}}"));
    assert_eq!(read, Err(DecodeError::OutOfRange { rust: "Vec" }));
    let read = Vec::<&str>::decode_text(Type::TEXT_ARRAY, Some(br#"{a,"b c",NULL}"#));
    assert_eq!(read, Err(DecodeError::UnexpectedNull));
    let read = Vec::<Option<&str>>::decode_text(Type::TEXT_ARRAY, Some(br#"{a,"b c",NULL}"#));
    assert_eq!(read, Ok(vec![Some("a"), Some("b c"), None]));
    for refused in [
        "",
        "{",
        "{1",
        "{1,}",
        "{{1},2}",
        "{{1},{2,3}}",
        "{1}x",
        "[0:1]{1}",
        "{{{{{{{1}}}}}}}",
        "{{},{}}",
    ] {
        let read = Value::from_text(Type::INT4_ARRAY, refused.as_bytes());
        assert!(read.is_err(), "{refused} {read:?}");
    }
}

#[test]
fn dates_out_of_range_are_refused() {
    for refused in [
        "0000-01-01",
        "2023-02-29",
        "4715-01-01 BC",
        "5874898-01-01",
        "2024-13-01",
        "2024-1-1",
        "x",
        "",
    ] {
        assert!(refused.parse::<Date>().is_err(), "{refused}");
    }
    for refused in [
        "294277-01-01 00:00:00",
        "4715-12-31 00:00:00 BC",
        "2024-01-01",
        "2024-01-01 25:00:00",
    ] {
        assert!(refused.parse::<Timestamp>().is_err(), "{refused}");
    }
    let moved: TimestampTz = "2000-01-01 00:00:00.000001+14:30".parse().unwrap();
    assert_eq!(moved.to_string(), "1999-12-31 09:30:00.000001+00");
    assert_eq!(moved, "1999-12-31T09:30:00.000001Z".parse().unwrap());
    for days in [i32::MIN + 1, i32::MAX - 1] {
        assert!(!Date::from_days(days).to_string().is_empty());
    }
    for micros in [i64::MIN + 1, i64::MAX - 1] {
        assert!(!Timestamp::from_micros(micros).to_string().is_empty());
        assert_eq!(
            TimestampTz::from_micros(micros).unix_micros().is_some(),
            micros < 0
        );
    }
}

#[test]
fn every_day_of_four_centuries_has_its_date() {
    let mut date = (1_999, 12, 31);
    for days in 0..146_097 {
        let next = Date::from_days(days).ymd().unwrap();
        assert!(next > date, "{next:?} follows {date:?}");
        assert_eq!(
            Date::from_ymd(next.0, next.1, next.2),
            Some(Date::from_days(days))
        );
        date = next;
    }
    assert_eq!(date, (2_399, 12, 31));
}

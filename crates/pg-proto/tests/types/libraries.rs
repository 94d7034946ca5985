//! Values of other libraries' types.

use bytes::BytesMut;
use tsumugi_pg_proto::types::{
    Date, Decode, DecodeError, Encode, Time, Timestamp, TimestampTz, Type, Uuid,
};

#[test]
fn json_converts_to_and_from_a_tree() {
    let tree = serde_json::json!({"a": [1, null, "x"]});
    for ty in [Type::JSON, Type::JSONB] {
        let mut out = BytesMut::new();
        tree.encode(ty, &mut out).unwrap();
        assert_eq!(serde_json::Value::from_binary(ty, &out), Ok(tree.clone()));
    }
    let read = serde_json::Value::from_binary(Type::JSONB, b"\x01{");
    assert_eq!(read, Err(DecodeError::Invalid { what: "JSON" }));
}

#[test]
fn dates_and_times_go_over_and_come_back() {
    fn check<Ours, Theirs>(text: &str)
    where
        Ours: std::str::FromStr + Copy + PartialEq + std::fmt::Debug + TryFrom<Theirs>,
        Theirs: TryFrom<Ours>,
    {
        let ours: Ours = text.parse().ok().unwrap();
        let theirs = Theirs::try_from(ours).ok().unwrap();
        assert_eq!(Ours::try_from(theirs).ok(), Some(ours));
    }
    check::<Date, time::Date>("2024-02-29");
    check::<Date, time::Date>("0044-03-15 BC");
    check::<Time, time::Time>("23:59:59.999999");
    check::<Timestamp, time::PrimitiveDateTime>("1000-01-01 00:00:00.000001");
    check::<TimestampTz, time::OffsetDateTime>("1999-12-31 09:30:00.000001+00");
}

#[test]
fn value_beyond_the_other_librarys_range_is_an_error() {
    assert!(time::Date::try_from(Date::INFINITY).is_err());
    assert!(time::Date::try_from("10000-01-01".parse::<Date>().unwrap()).is_err());
    assert!(time::Time::try_from("24:00:00".parse::<Time>().unwrap()).is_err());
    assert!(time::OffsetDateTime::try_from(TimestampTz::NEG_INFINITY).is_err());
}

#[test]
fn uuids_are_the_same_bytes() {
    let ours = Uuid([7; 16]);
    assert_eq!(Uuid::from(uuid::Uuid::from(ours)), ours);
}

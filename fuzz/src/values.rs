//! What a PostgreSQL server sends as one value of one type, in binary and in text format. Not messages.
//! Rule: as in the crate's head; whatever can be read can be written, and is then read as the same.

use std::sync::{Arc, LazyLock};

use bytes::BytesMut;
use tsumugi_pg_proto::types::json::{self, Style};
use tsumugi_pg_proto::types::print::print;
use tsumugi_pg_proto::types::{
    Decode, Encode, EncodeError, Encoded, Field, Format, Kind, Type, TypeRef, Value,
};

/// The types, so that two bytes choose one: each kind that there is, each form of bytes.
static TYPES: LazyLock<Vec<TypeRef>> = LazyLock::new(|| {
    let field = |name: &str, ty: TypeRef| Field {
        name: name.to_owned(),
        ty,
    };
    let made = |oid, name: &'static str, kind| TypeRef::from(Arc::new(Type::new(oid, name, kind)));
    let hstore = made(50_000, "hstore", Kind::Simple);
    let ltree = made(50_001, "ltree", Kind::Simple);
    let domain = made(50_002, "positive", Kind::Domain(Type::INT4.into()));
    let labels = made(50_003, "mood", Kind::Enum(vec!["sad".to_owned()]));
    let row = made(
        50_004,
        "person",
        Kind::Composite(vec![
            field("name", Type::TEXT.into()),
            field("age", domain.clone()),
            field("tags", Type::TEXT_ARRAY.into()),
            field("at", Type::TIMESTAMPTZ.into()),
        ]),
    );
    let rows = made(50_005, "_person", Kind::Array(row.clone()));
    let range = made(50_006, "textrange", Kind::Range(Type::TEXT.into()));
    let builtin = (0..10_000).filter_map(Type::from_oid).map(TypeRef::from);
    builtin
        .chain([hstore, ltree, domain, labels, row, rows, range])
        .collect()
});

/// A value: two bytes choose its type (most significant first), the rest is read as that type in both formats.
pub fn pg_value(bytes: &[u8]) {
    let [high, low, value @ ..] = bytes else {
        return;
    };
    let index = usize::from(u16::from_be_bytes([*high, *low]));
    let Some(ty) = TYPES.get(index % TYPES.len()) else {
        return;
    };
    if ty.format() == Format::Text {
        assert!(Value::from_binary(ty, value).is_err());
    }
    let mut text = Vec::new();
    let printed = print(ty, value, &mut text);
    let mut written = Vec::new();
    if json::write(ty, value, &Style::default(), &mut written).is_ok() {
        assert!(std::str::from_utf8(&written).is_ok());
        assert!(!written.contains(&b'\n'));
    }
    if let Ok(read) = Value::from_binary(ty, value) {
        assert!(printed.is_ok() && std::str::from_utf8(&text).is_ok());
        returns(ty, &read);
        // The text that is printed is text that can be read.
        assert!(Value::from_text(ty, &text).is_ok());
    }
    if let Ok(read) = Value::from_text(ty, value) {
        returns(ty, &read);
    }
}

/// Writes the value and reads it again.
fn returns(ty: &Type, value: &Value) {
    let mut bytes = BytesMut::new();
    let again = match value.encode(ty, &mut bytes) {
        Ok(Encoded::Value(Format::Binary)) => Value::from_binary(ty, &bytes),
        Ok(Encoded::Value(Format::Text)) => Value::from_text(ty, &bytes),
        Ok(Encoded::Null) => Ok(Value::Null),
        // The one thing that is read and not written.
        Err(error) => {
            assert_eq!(error, EncodeError::Nul);
            return;
        }
    };
    // NaN is not equal to itself; what is printed of it is.
    assert_eq!(
        format!("{:?}", again.as_ref().ok()),
        format!("{:?}", Some(value))
    );
}

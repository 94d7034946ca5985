//! Values recorded from PostgreSQL 15 with `COPY (SELECT value) TO STDOUT`, in binary and in text format.

use bytes::BytesMut;
use tsumugi_pg_proto::types::json::{self, NumericStyle, Style};
use tsumugi_pg_proto::types::print::print;
use tsumugi_pg_proto::types::{Decode, Encode, Encoded, Field, Format, Kind, Type, TypeRef, Value};

/// A recorded value.
pub struct Vector {
    pub ty: TypeRef,
    pub binary: Vec<u8>,
    pub text: String,
}

pub fn vectors() -> Vec<Vector> {
    let file = include_str!("vectors.tsv");
    let catalogue = Catalogue::of(file);
    file.lines()
        .filter(|line| !line.starts_with(['#', '!']))
        .map(|line| {
            let parts: Vec<&str> = line.splitn(3, '\t').collect();
            Vector {
                ty: catalogue.named(parts[0]),
                binary: unhex(parts[1]),
                text: uncopied(parts[2]),
            }
        })
        .collect()
}

/// The types that the recording database made, with the numbers it gave them.
struct Catalogue(Vec<(String, u32)>);

impl Catalogue {
    fn of(file: &str) -> Self {
        let lines = file.lines().filter_map(|line| line.strip_prefix("!\t"));
        Self(
            lines
                .map(|line| {
                    let (name, oid) = line.split_once('\t').unwrap();
                    (name.to_owned(), oid.parse().unwrap())
                })
                .collect(),
        )
    }

    fn made(&self, name: &str, kind: Kind) -> TypeRef {
        let (_, oid) = self.0.iter().find(|(made, _)| made == name).unwrap();
        Type::new(*oid, name.to_owned(), kind).into()
    }

    fn named(&self, name: &str) -> TypeRef {
        let field = |name: &str, ty| Field {
            name: name.to_owned(),
            ty,
        };
        let below = |name: &str| self.named(name);
        let kind = match name {
            "hstore" | "ltree" | "lquery" | "ltxtquery" | "citext" => Kind::Simple,
            "mood" => Kind::Enum(vec!["sad".into(), "ok".into(), "happy".into()]),
            "positive" => Kind::Domain(Type::INT4.into()),
            "score" => Kind::Domain(below("positive")),
            "notes" => Kind::Domain(Type::TEXT_ARRAY.into()),
            "person" => Kind::Composite(vec![
                field("name", Type::TEXT.into()),
                field("age", Type::INT4.into()),
                field("feels", below("mood")),
                field("tags", Type::TEXT_ARRAY.into()),
            ]),
            "team" => Kind::Composite(vec![
                field("lead", below("person")),
                field("members", below("_person")),
                field("best score", below("score")),
            ]),
            "nothing" => Kind::Composite(Vec::new()),
            "floatrange" => Kind::Range(Type::FLOAT8.into()),
            "textrange" => Kind::Range(Type::TEXT.into()),
            "personrange" => Kind::Range(below("person")),
            _ => return self.array_or_builtin(name),
        };
        self.made(name, kind)
    }

    fn array_or_builtin(&self, name: &str) -> TypeRef {
        if let Some(oid) = (0..10_000).find(|oid| is_named(*oid, name)) {
            return Type::from_oid(oid).unwrap().into();
        }
        let element = name
            .strip_prefix('_')
            .unwrap_or_else(|| panic!("no type {name}"));
        self.made(name, Kind::Array(self.named(element)))
    }
}

fn is_named(oid: u32, name: &str) -> bool {
    Type::from_oid(oid).is_some_and(|ty| ty.name() == name)
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len() / 2)
        .map(|index| u8::from_str_radix(&text[index * 2..index * 2 + 2], 16).unwrap())
        .collect()
}

/// Undoes COPY's escapes.
fn uncopied(text: &str) -> String {
    let mut plain = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        plain.push(match character {
            '\\' => match characters.next().unwrap() {
                't' => '\t',
                'n' => '\n',
                'r' => '\r',
                other => other,
            },
            other => other,
        });
    }
    plain
}

fn printed(vector: &Vector) -> String {
    let mut out = Vec::new();
    print(&vector.ty, &vector.binary, &mut out)
        .unwrap_or_else(|error| panic!("{} {}: {error}", vector.ty.name(), vector.text));
    String::from_utf8(out).unwrap()
}

#[test]
fn value_prints_as_the_server_prints_it() {
    for vector in vectors() {
        assert_eq!(printed(&vector), vector.text, "{}", vector.ty.name());
    }
}

#[test]
fn value_is_written_as_it_was_read() {
    for Vector { ty, binary, text } in vectors() {
        let value = Value::from_binary(&ty, &binary).unwrap();
        let mut out = BytesMut::from(&b"before"[..]);
        let encoded = value.encode(&ty, &mut out).unwrap();
        let expected = (Encoded::Value(Format::Binary), &binary[..]);
        assert_eq!(
            (encoded, &out[6..]),
            expected,
            "{} {text} {value:?}",
            ty.name()
        );
    }
}

#[test]
fn value_read_from_text_is_the_one_read_from_binary() {
    for Vector { ty, binary, text } in vectors() {
        let value = Value::from_text(&ty, text.as_bytes())
            .unwrap_or_else(|error| panic!("{} {text}: {error}", ty.name()));
        let mut out = BytesMut::new();
        let encoded = value.encode(&ty, &mut out).unwrap();
        if encoded == Encoded::Value(Format::Text) {
            // Rows, ranges and hstore stay the text they are.
            assert_eq!(out, text.as_bytes(), "{}", ty.name());
        } else {
            assert_eq!(out, binary, "{} {text} {value:?}", ty.name());
        }
    }
}

#[test]
fn string_sent_to_any_type_is_its_text_or_its_bytes() {
    for Vector { ty, text, .. } in vectors() {
        let mut out = BytesMut::new();
        match text.as_str().encode(&ty, &mut out).unwrap() {
            Encoded::Value(Format::Text) => assert_eq!(out, text.as_bytes()),
            // Texts, JSON and bytea: the text is the value, after a version byte for some.
            Encoded::Value(Format::Binary) => assert!(out.ends_with(text.as_bytes())),
            Encoded::Null => panic!("{} {text}", ty.name()),
        }
    }
}

#[test]
fn every_value_is_json() {
    for style in [
        Style::default(),
        Style {
            numeric: NumericStyle::Number,
        },
    ] {
        for Vector { ty, binary, text } in vectors() {
            let mut out = Vec::new();
            json::write(&ty, &binary, &style, &mut out).unwrap();
            let parsed: Result<serde_json::Value, _> = serde_json::from_slice(&out);
            let out = String::from_utf8(out).unwrap();
            // A number beyond a float's range is JSON that this reader does not take.
            let too_large = style.numeric == NumericStyle::Number && out.len() > 300;
            assert!(parsed.is_ok() || too_large, "{} {text}: {out}", ty.name());
            assert!(!out.contains('\n'), "{} {text}: {out}", ty.name());
        }
    }
}

#[test]
fn json_of_text_is_json_of_binary_but_for_what_has_parts() {
    let style = Style::default();
    for Vector { ty, binary, text } in vectors() {
        let (mut from_binary, mut from_text) = (Vec::new(), Vec::new());
        json::write(&ty, &binary, &style, &mut from_binary).unwrap();
        json::write_text(&ty, text.as_bytes(), &style, &mut from_text).unwrap();
        if from_text != from_binary {
            let mut string = Vec::new();
            tsumugi_values::json::write_string(&text, &mut string);
            assert_eq!(from_text, string, "{}", ty.name());
            let parts = text.starts_with(['(', '{']) || text.contains("=>") || text.is_empty();
            assert!(parts, "{} {text}", ty.name());
        }
    }
}

#[test]
fn every_recorded_type_is_asked_for_in_binary() {
    for Vector { ty, .. } in vectors() {
        assert_eq!(ty.format(), Format::Binary, "{}", ty.name());
    }
    for ty in [
        Type::TSVECTOR,
        Type::REGCLASS,
        Type::XML_ARRAY,
        &Type::unknown(99_999),
    ] {
        assert_eq!(ty.format(), Format::Text, "{}", ty.name());
    }
}

/// The JSON of the recorded value of this type with this text.
fn check(name: &str, text: &str, expected: &str) {
    let vector = vectors()
        .into_iter()
        .find(|vector| vector.ty.name() == name && vector.text == text)
        .unwrap_or_else(|| panic!("no {name} {text} was recorded"));
    let mut out = Vec::new();
    json::write(&vector.ty, &vector.binary, &Style::default(), &mut out).unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), expected);
}

#[test]
fn table_of_json_holds_for_single_values() {
    check("bool", "t", "true");
    check("int8", "-9223372036854775808", "-9223372036854775808");
    check("xid8", "18446744073709551615", "18446744073709551615");
    check(
        "numeric",
        "1234567890.0123456789",
        r#""1234567890.0123456789""#,
    );
    check("numeric", "NaN", r#""NaN""#);
    check("float8", "NaN", "null");
    check("float8", "Infinity", "null");
    check("float8", "0.1", "0.1");
    check("text", "a\tb\nc\\d\"e", r#""a\tb\nc\\d\"e""#);
    check(
        "json",
        "{\"a\" : 1.00,\n \"b\":[true,\"x\"]}",
        r#"{"a" : 1.00,  "b":[true,"x"]}"#,
    );
    check(
        "jsonb",
        r#"{"a": 1.00, "b": [true, "x"]}"#,
        r#"{"a": 1.00, "b": [true, "x"]}"#,
    );
    check("bytea", r"\xdeadbeef", r#""3q2+7w==""#);
    check("date", "0001-12-31 BC", r#""0001-12-31 BC""#);
    check(
        "timestamp",
        "2024-01-02 03:04:05.000006",
        r#""2024-01-02T03:04:05.000006""#,
    );
    check("timestamp", "infinity", r#""infinity""#);
    check(
        "timestamptz",
        "2024-01-02 03:04:05.000006+00",
        r#""2024-01-02T03:04:05.000006Z""#,
    );
    check(
        "timestamptz",
        "0044-03-15 12:00:00+00 BC",
        r#""0044-03-15T12:00:00Z BC""#,
    );
}

#[test]
fn table_of_json_holds_for_what_is_made_of_parts() {
    check("interval", "1 mon -1 days", r#""1 mon -1 days""#);
    check("int4range", "[1,5)", r#""[1,5)""#);
    check(
        "textrange",
        r#"["a""b","c,d"]"#,
        r#""[\"a\"\"b\",\"c,d\"]""#,
    );
    check("point", "(1.5,-2.5)", r#""(1.5,-2.5)""#);
    check(
        "_int4",
        "{{{1,2},{3,4}},{{5,6},{7,NULL}}}",
        "[[[1,2],[3,4]],[[5,6],[7,null]]]",
    );
    check("_int4", "[0:2]={1,2,3}", "[1,2,3]");
    check("_int4", "{}", "[]");
    check(
        "person",
        r#"(ann,30,happy,"{x,""y z""}")"#,
        r#"{"name":"ann","age":30,"feels":"happy","tags":["x","y z"]}"#,
    );
    check(
        "person",
        "(,,,)",
        r#"{"name":null,"age":null,"feels":null,"tags":null}"#,
    );
    check(
        "record",
        "(1,a,,1.50)",
        r#"{"f1":1,"f2":"a","f3":null,"f4":"1.50"}"#,
    );
    check("record", "()", "{}");
    check("score", "50", "50");
    check(
        "ltree",
        "Top.Science.Astronomy",
        r#""Top.Science.Astronomy""#,
    );
    check("void", "", "null");
}

//! Values of the author's types as rows to be inserted, through serde. Pure.
//! Rule: what a column cannot hold exactly is an error, not another value.

use serde::Serialize;
use tsumugi_sql::{Name, Record};

use super::node::{Node, node};
use crate::error::{Error, Result};

/// A struct or a map as columns with their values. A field of bytes is bound as bytes, one that is another list as a list, one that is a
/// map as JSON. Numbers that are not finite are refused.
pub fn to_record(row: &impl Serialize) -> Result<Record> {
    let wrong = |reason: String| Error::Usage(format!("this is no row: {reason}").into());
    let Node::Structure(fields) = node(row).map_err(|error| wrong(error.0))? else {
        return Err(wrong("it is neither a struct nor a map".to_owned()));
    };
    let mut record = Record::new();
    for (name, node) in fields {
        let value = node
            .into_value()
            .map_err(|error| wrong(format!("{name}: {}", error.0)))?;
        record = record.set(Name::exact(&name), value);
    }
    Ok(record)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use tsumugi_sql::Value;

    use super::*;

    #[derive(Serialize)]
    struct Row {
        id: u64,
        name: Option<&'static str>,
        tags: Vec<i32>,
    }

    fn row(id: u64) -> Row {
        Row {
            id,
            name: None,
            tags: vec![1, 2],
        }
    }

    #[test]
    fn struct_is_a_row_of_its_fields() {
        let expected = Record::new()
            .set("id", 7)
            .set("name", Value::Null)
            .set("tags", Value::List(vec![1.into(), 2.into()]));
        assert_eq!(to_record(&row(7)).unwrap(), expected);
    }

    fn check(field: impl Serialize, expected: Value) {
        let record = to_record(&HashMap::from([("field", field)])).unwrap();
        assert_eq!(record, Record::new().set("field", expected));
    }

    #[test]
    fn bytes_are_bytes_and_other_lists_are_lists() {
        check(vec![0_u8, 255], Value::Blob(vec![0, 255]));
        check([7_u8; 2], Value::Blob(vec![7, 7]));
        check(Some(Vec::<u8>::new()), Value::Blob(Vec::new()));
        check(Vec::<i32>::new(), Value::List(Vec::new()));
        check(3_u8, Value::Integer(3));
        check((1_u8, "a"), Value::List(vec![1.into(), "a".into()]));
    }

    #[test]
    fn structures_are_json() {
        #[derive(Serialize)]
        enum Shape {
            Point,
            Circle { radius: f64, bytes: Vec<u8> },
        }
        let circle = Shape::Circle {
            radius: 1.5,
            bytes: vec![1, 2],
        };
        let json = r#"{"Circle":{"bytes":[1,2],"radius":1.5}}"#;
        check(circle, Value::Json(json.to_owned()));
        check(Shape::Point, "Point".into());
        let numbered = HashMap::from([(1, u64::MAX)]);
        check(numbered, Value::Json(format!("{{\"1\":{}}}", u64::MAX)));
    }

    fn check_refusal(row: impl Serialize, reason: &str) {
        let error = to_record(&row).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }

    #[test]
    fn value_that_is_no_row_is_refused() {
        check_refusal(7, "neither a struct nor a map");
        check_refusal(row(u64::MAX), "id: 18446744073709551615");
        check_refusal(HashMap::from([("ratio", f64::NAN)]), "ratio: NaN");
        check_refusal(HashMap::from([("ratio", [f32::INFINITY])]), "ratio: inf");
        let nested = HashMap::from([("ratio", HashMap::from([("of", f64::NAN)]))]);
        check_refusal(nested, "of: NaN");
    }
}

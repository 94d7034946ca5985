//! Values of the author's types as rows to be inserted, through serde. Pure.
//! Rule: what a column cannot hold exactly is an error, not another value.

use serde::Serialize;
use tsumugi_sql::{Name, Record, Value};

use crate::error::{Error, Result};

/// A struct or a map as columns with their values. A field that is a list is bound as a list, one that is a map as JSON.
pub fn to_record(row: &impl Serialize) -> Result<Record> {
    let wrong = |reason: String| Error::Usage(format!("this is no row: {reason}").into());
    let json = serde_json::to_value(row).map_err(|error| wrong(error.to_string()))?;
    let serde_json::Value::Object(fields) = json else {
        return Err(wrong("it is neither a struct nor a map".to_owned()));
    };
    let mut record = Record::new();
    for (name, json) in fields {
        let value = bound(json).map_err(|reason| wrong(format!("{name}: {reason}")))?;
        record = record.set(Name::exact(&name), value);
    }
    Ok(record)
}

fn bound(json: serde_json::Value) -> Result<Value, String> {
    use serde_json::Value as Json;
    Ok(match json {
        Json::Null => Value::Null,
        Json::Bool(boolean) => Value::Boolean(boolean),
        Json::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(integer), _) => Value::Integer(integer),
            (None, Some(real)) if number.is_f64() => Value::Real(real),
            _ => return Err(format!("{number} does not fit 64 bits with a sign")),
        },
        Json::String(text) => Value::Text(text),
        Json::Array(list) => Value::List(list.into_iter().map(bound).collect::<Result<_, _>>()?),
        Json::Object(_) => Value::Json(json.to_string()),
    })
}

#[cfg(test)]
mod tests {
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
    fn a_struct_is_a_row_of_its_fields() {
        let expected = Record::new()
            .set("id", 7)
            .set("name", Value::Null)
            .set("tags", Value::List(vec![1.into(), 2.into()]));
        assert_eq!(to_record(&row(7)).unwrap(), expected);
    }

    #[test]
    fn what_is_no_row_is_refused() {
        let refused = |error: Error| error.to_string();
        assert!(refused(to_record(&7).unwrap_err()).contains("neither a struct nor a map"));
        assert!(
            refused(to_record(&row(u64::MAX)).unwrap_err()).contains("id: 18446744073709551615")
        );
    }
}

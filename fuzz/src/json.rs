//! JSON of a client, beside serde_json's opinion of it. Numbers are compared only in that they are numbers: the last bit of a float is
//! not promised there.
//! What serde_json takes, ours takes and means the same; what ours takes beyond that are halves of surrogate pairs and numbers out of range.

use serde_json::{Map, Value};
use tsumugi_http::json::{Error, JsonEvent, Parser};

const DEPTH_MAX: usize = 16;

/// A text, perhaps of JSON.
pub fn json(bytes: &[u8]) {
    let theirs = serde_json::from_slice::<Value>(bytes);
    match (read(bytes), theirs) {
        (Ok(ours), Ok(theirs)) => assert_eq!(ours, without_numbers(theirs)),
        (Err(error), Ok(theirs)) => {
            let limited = matches!(error, Error::TooDeep(_) | Error::TooManyDigits(_));
            assert!(limited, "{error}: {theirs}");
        }
        (Ok(_), Err(error)) => {
            let text = error.to_string();
            let beyond = ["number out of range", "surrogate", "hex escape"];
            assert!(beyond.iter().any(|words| text.contains(words)), "{text}");
        }
        (Err(_), Err(_)) => {}
    }
}

fn read(bytes: &[u8]) -> Result<Value, Error> {
    let mut parser = Parser::new(bytes, DEPTH_MAX)?;
    let mut values = Vec::new();
    while let Some(event) = parser.event()? {
        values.push(value(&mut parser, event)?);
    }
    assert_eq!(values.len(), 1, "a text is one value");
    Ok(values.remove(0))
}

fn value(parser: &mut Parser<'_>, event: JsonEvent<'_>) -> Result<Value, Error> {
    Ok(match event {
        JsonEvent::Null => Value::Null,
        JsonEvent::Boolean(value) => Value::Bool(value),
        JsonEvent::Integer(_) | JsonEvent::Float(_) => number(),
        JsonEvent::Text(text) => Value::String(text.into_owned()),
        JsonEvent::Array => {
            let mut array = Vec::new();
            loop {
                match some(parser.event()?) {
                    JsonEvent::End => break Value::Array(array),
                    event => array.push(value(parser, event)?),
                }
            }
        }
        JsonEvent::Object => {
            let mut object = Map::new();
            loop {
                match some(parser.event()?) {
                    JsonEvent::End => break Value::Object(object),
                    JsonEvent::Name(name) => {
                        let event = some(parser.event()?);
                        object.insert(name.into_owned(), value(parser, event)?);
                    }
                    event => panic!("{event:?} instead of a name"),
                }
            }
        }
        event @ (JsonEvent::Name(_) | JsonEvent::End) => panic!("{event:?} instead of a value"),
    })
}

fn some<T>(event: Option<T>) -> T {
    event.expect("a text ends only when nothing is open")
}

fn number() -> Value {
    Value::from(0)
}

fn without_numbers(value: Value) -> Value {
    match value {
        Value::Number(_) => number(),
        Value::Array(array) => array.into_iter().map(without_numbers).collect(),
        Value::Object(object) => {
            let members = object.into_iter();
            let members = members.map(|(name, value)| (name, without_numbers(value)));
            Value::Object(members.collect())
        }
        plain => plain,
    }
}

//! JSON of a client, beside serde_json's opinion of it. Numbers are compared only in that they are numbers: the last bit of a float is
//! not promised there.
//! What serde_json takes, ours takes and means the same; what ours takes beyond that are halves of surrogate pairs and numbers out of range.

use serde_json::{Map, Value};
use tsumugi_http::json::{Error, Event, Parser};

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

fn value(parser: &mut Parser<'_>, event: Event<'_>) -> Result<Value, Error> {
    Ok(match event {
        Event::Null => Value::Null,
        Event::Boolean(value) => Value::Bool(value),
        Event::Integer(_) | Event::Float(_) => number(),
        Event::Text(text) => Value::String(text.into_owned()),
        Event::Array => {
            let mut array = Vec::new();
            loop {
                match some(parser.event()?) {
                    Event::End => break Value::Array(array),
                    event => array.push(value(parser, event)?),
                }
            }
        }
        Event::Object => {
            let mut object = Map::new();
            loop {
                match some(parser.event()?) {
                    Event::End => break Value::Object(object),
                    Event::Name(name) => {
                        let event = some(parser.event()?);
                        object.insert(name.into_owned(), value(parser, event)?);
                    }
                    event => panic!("{event:?} instead of a name"),
                }
            }
        }
        event @ (Event::Name(_) | Event::End) => panic!("{event:?} instead of a value"),
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

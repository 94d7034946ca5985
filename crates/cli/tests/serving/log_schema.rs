//! The lines of both logs in JSON are what `docs/log.schema.json` says of them. Not a validator of every schema: it knows what that one uses.

use std::fs;
use std::io::{BufReader, Read as _};
use std::process::{Command, Stdio};

use serde_json::{Map, Value, json};

use crate::rig::{Served, folder, get};

const APP: &str = r#"
get("/seen/:id", id: Integer) do |id|
  log.warn "seen\n\"it\"", id: id, ratio: 0.5, gone: nil, list: [1, "a"], odd: 0.0 / 0, "two words": true
  "ok"
end
get("/bad") { raise "wrong" }
"#;

fn schema() -> Value {
    serde_json::from_str(include_str!("../../../../docs/log.schema.json")).unwrap()
}

/// What is wrong with a value by a schema of types, constants, properties and alternatives of this document.
fn faults(document: &Value, schema: &Value, value: &Value, path: &str) -> Vec<String> {
    let mut faults = Vec::new();
    for (word, rule) in schema.as_object().unwrap() {
        match word.as_str() {
            "$schema"
            | "$id"
            | "$defs"
            | "title"
            | "description"
            | "format"
            | "required"
            | "additionalProperties" => {}
            "$ref" => {
                let name = rule.as_str().unwrap().strip_prefix('#').unwrap();
                let definition = document.pointer(name).unwrap();
                faults.extend(self::faults(document, definition, value, path));
            }
            "oneOf" => {
                let rules = rule.as_array().unwrap();
                let each: Vec<Vec<String>> = rules
                    .iter()
                    .map(|rule| self::faults(document, rule, value, path))
                    .collect();
                if each.iter().filter(|faults| faults.is_empty()).count() != 1 {
                    faults.push(format!("{path}: not one of them: {each:?}"));
                }
            }
            "type" => {
                let types = match rule {
                    Value::Array(types) => types.clone(),
                    one => vec![one.clone()],
                };
                if !types.iter().any(|one| is_of(one.as_str().unwrap(), value)) {
                    faults.push(format!("{path}: {value} is no {rule}"));
                }
            }
            "enum" => {
                if !rule.as_array().unwrap().contains(value) {
                    faults.push(format!("{path}: {value} is none of {rule}"));
                }
            }
            "properties" => {
                let Some(object) = value.as_object() else {
                    continue;
                };
                faults.extend(faults_of_properties(document, schema, object, path));
            }
            other => panic!("the schema has a word that this test does not know: {other}"),
        }
    }
    faults
}

fn faults_of_properties(
    document: &Value,
    schema: &Value,
    object: &Map<String, Value>,
    path: &str,
) -> Vec<String> {
    let properties = schema["properties"].as_object().unwrap();
    let mut faults: Vec<String> = schema["required"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|name| !object.contains_key(name.as_str().unwrap()))
        .map(|name| format!("{path}: {name} is missing"))
        .collect();
    for (name, value) in object {
        match properties.get(name) {
            Some(rule) => faults.extend(self::faults(
                document,
                rule,
                value,
                &format!("{path}/{name}"),
            )),
            None if schema["additionalProperties"] == Value::Bool(false) => {
                faults.push(format!("{path}: {name} is not in the schema"));
            }
            None => {}
        }
    }
    faults
}

fn is_of(kind: &str, value: &Value) -> bool {
    match kind {
        "object" => value.is_object(),
        "string" => value.is_string(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "null" => value.is_null(),
        other => panic!("a type that this test does not know: {other}"),
    }
}

#[test]
fn every_line_of_both_logs_is_as_the_schema_says() {
    let folder = folder(&[("app.rb", APP.as_bytes())]);
    let mut child = Command::new(env!("CARGO_BIN_EXE_tsumugi"))
        .args(["serve", "app.rb", "--workers", "1"])
        .args(["--listen", "127.0.0.1:0", "--access-log", "access.log"])
        .current_dir(folder.path())
        .env("TSUMUGI_LOG", "info,tsumugi_db=debug")
        .env("TSUMUGI_LOG_FORMAT", "json")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let log = BufReader::new(child.stderr.take().unwrap());
    let mut served = Served { child, log, folder };
    let address = served.word_after("listening on http://");
    let address = address.split('"').next().unwrap();
    assert_eq!(get(address, "/seen/7").status(), 200);
    assert_eq!(get(address, "/bad").status(), 500);
    assert_eq!(get(address, "/missing").status(), 404);
    served.signal("-TERM");
    assert_eq!(served.child.wait().unwrap().code(), Some(0));

    let mut text = String::new();
    served.log.read_to_string(&mut text).unwrap();
    let parsed = |text: &str| -> Vec<Value> {
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    let events = parsed(&text);
    let requests = parsed(&fs::read_to_string(served.path("access.log")).unwrap());
    assert_eq!(requests.len(), 3);
    let said = |wanted: &str| {
        let said = |event: &&Value| event["message"].as_str().unwrap().contains(wanted);
        events.iter().find(said).unwrap()
    };
    let seen = said("seen");
    assert_eq!(seen["message"], "seen\n\"it\"");
    assert_eq!(seen["level"], "WARN");
    let fields = json!({
        "id": 7, "ratio": 0.5, "gone": null, "list": [1, "a"], "odd": null, "two words": true,
    });
    assert_eq!(seen["fields"], fields);
    assert_eq!(seen["request_id"], requests[0]["id"]);
    assert_eq!(seen["trace_id"], requests[0]["trace_id"]);
    assert_eq!(said("wrong")["level"], "ERROR");

    let schema = schema();
    for line in events.iter().chain(&requests) {
        let faults = faults(&schema, &schema, line, "");
        assert!(faults.is_empty(), "{line}: {faults:?}");
    }
    let mut wrong = requests[0].clone();
    wrong["status"] = "200".into();
    assert!(!faults(&schema, &schema, &wrong, "").is_empty());
}

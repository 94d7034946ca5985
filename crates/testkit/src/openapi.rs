//! Whether a document of OpenAPI 3.1 keeps the rules that its readers rely on: what has to be there, unique names, parameters of paths, references.
//! Not a validator of JSON Schema: of schemas the types and the bounds are looked at.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

const METHODS: [&str; 8] = [
    "get", "put", "post", "delete", "options", "head", "patch", "trace",
];

/// The document, when it keeps the rules. Panics with the first place where it does not.
#[track_caller]
pub fn read(text: &str) -> Value {
    let document: Value =
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}:\n{text}"));
    let checked = check(&document);
    checked.unwrap_or_else(|broken| panic!("{broken}:\n{text}"));
    document
}

fn check(document: &Value) -> Result<(), String> {
    let version = text(document, "openapi")?;
    ensure(version.starts_with("3.1."), || {
        format!("openapi is {version}")
    })?;
    let info = document.get("info").ok_or("there is no info")?;
    text(info, "title")?;
    text(info, "version")?;
    let mut ids = BTreeSet::new();
    for (path, item) in object(document.get("paths"), "paths")? {
        ensure(path.starts_with('/'), || format!("path {path}"))?;
        let item = object(Some(item), path)?;
        for (method, operation) in item {
            let place = format!("{method} {path}");
            ensure(METHODS.contains(&method.as_str()), || place.clone())?;
            let id = text(operation, "operationId")?;
            ensure(ids.insert(id.to_owned()), || {
                format!("{place}: {id} is there twice")
            })?;
            check_operation(path, operation).map_err(|broken| format!("{place}: {broken}"))?;
        }
    }
    for name in object(document.pointer("/components/schemas"), "schemas")
        .into_iter()
        .flatten()
    {
        schema(name.1)?;
    }
    references(document, document)
}

fn check_operation(path: &str, operation: &Value) -> Result<(), String> {
    let mut captures: BTreeSet<&str> = path
        .split('/')
        .filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'))
        .collect();
    let mut known = BTreeSet::new();
    for parameter in operation
        .get("parameters")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        let (name, place) = (text(parameter, "name")?, text(parameter, "in")?);
        ensure(known.insert((name, place)), || {
            format!("{name} in {place} is there twice")
        })?;
        match place {
            "path" => {
                ensure(captures.remove(name), || format!("no capture {name}"))?;
                let is_required = parameter.get("required") == Some(&Value::Bool(true));
                ensure(is_required, || format!("capture {name} is not required"))?;
            }
            "query" | "header" | "cookie" => {}
            _ => return Err(format!("{name} is in {place}")),
        }
        schema(
            parameter
                .get("schema")
                .ok_or("a parameter without schema")?,
        )?;
    }
    ensure(captures.is_empty(), || {
        format!("{captures:?} are no parameters")
    })?;
    if let Some(body) = operation.get("requestBody") {
        let content = object(body.get("content"), "content")?;
        ensure(!content.is_empty(), || "a body without content".to_owned())?;
        for (media_type, content) in content {
            ensure(media_type.contains('/'), || media_type.clone())?;
            schema(content.get("schema").ok_or("content without schema")?)?;
        }
    }
    let responses = object(operation.get("responses"), "responses")?;
    ensure(!responses.is_empty(), || "no response".to_owned())?;
    for (status, response) in responses {
        let is_status = status.len() == 3 && status.parse::<u16>().is_ok();
        ensure(is_status, || format!("status {status}"))?;
        text(response, "description")?;
    }
    Ok(())
}

/// The types and bounds of a schema, and of those in it.
fn schema(schema: &Value) -> Result<(), String> {
    const TYPES: [&str; 7] = [
        "string", "integer", "number", "boolean", "array", "object", "null",
    ];
    let fields = object(Some(schema), "a schema")?;
    if let Some(kind) = fields.get("type") {
        let is_type = |kind: &Value| kind.as_str().is_some_and(|kind| TYPES.contains(&kind));
        let are_types = match kind {
            Value::Array(kinds) => kinds.len() > 1 && kinds.iter().all(is_type),
            one => is_type(one),
        };
        ensure(are_types, || format!("type {kind}"))?;
    }
    for (least, most) in [
        ("minimum", "maximum"),
        ("minLength", "maxLength"),
        ("minItems", "maxItems"),
    ] {
        let bound = |name: &str| fields.get(name).and_then(Value::as_f64);
        if let (Some(min), Some(max)) = (bound(least), bound(most)) {
            ensure(min <= max, || format!("{least} {min} and {most} {max}"))?;
        }
    }
    if let Some(items) = fields.get("items") {
        self::schema(items)?;
    }
    let none = Map::new();
    let properties = match fields.get("properties") {
        Some(properties) => object(Some(properties), "properties")?,
        None => &none,
    };
    for (_, property) in properties {
        self::schema(property)?;
    }
    for name in fields
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        let is_there = name
            .as_str()
            .is_some_and(|name| properties.contains_key(name));
        ensure(is_there, || format!("{name} is required and no property"))?;
    }
    Ok(())
}

/// Every reference has what it refers to.
fn references(value: &Value, document: &Value) -> Result<(), String> {
    match value {
        Value::Object(fields) => fields.iter().try_for_each(|(name, inner)| {
            match inner.as_str().filter(|_| name == "$ref") {
                Some(target) => {
                    let found = target
                        .strip_prefix('#')
                        .and_then(|path| document.pointer(path));
                    ensure(found.is_some(), || format!("{target} is not there"))
                }
                None => references(inner, document),
            }
        }),
        Value::Array(items) => items.iter().try_for_each(|item| references(item, document)),
        _ => Ok(()),
    }
}

fn ensure(holds: bool, broken: impl FnOnce() -> String) -> Result<(), String> {
    match holds {
        true => Ok(()),
        false => Err(broken()),
    }
}

fn text<'v>(value: &'v Value, name: &str) -> Result<&'v str, String> {
    let found = value.get(name).and_then(Value::as_str);
    found.ok_or_else(|| format!("there is no {name}"))
}

fn object<'v>(value: Option<&'v Value>, name: &str) -> Result<&'v Map<String, Value>, String> {
    let found = value.and_then(Value::as_object);
    found.ok_or_else(|| format!("{name} is no object"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken(path: &str, operation: &str) -> String {
        let text = format!(
            "{{\"openapi\":\"3.1.0\",\"info\":{{\"title\":\"a\",\"version\":\"0\"}},\"paths\":{{\"{path}\":{{\"get\":{operation}}}}}}}"
        );
        check(&serde_json::from_str(&text).unwrap()).unwrap_err()
    }

    #[test]
    fn broken_documents_are_refused() {
        let responses = r#""responses":{"200":{"description":"OK"}}"#;
        for (path, operation, expected) in [
            (
                "/a",
                r#"{"operationId":"a"}"#.to_owned(),
                "responses is no object",
            ),
            (
                "/{id}",
                format!(r#"{{"operationId":"a",{responses}}}"#),
                "are no parameters",
            ),
            (
                "/a",
                format!(
                    r##"{{"operationId":"a",{responses},"requestBody":{{"content":{{"a/b":{{"schema":{{"$ref":"#/none"}}}}}}}}}}"##
                ),
                "#/none is not there",
            ),
            (
                "/a",
                format!(
                    r#"{{"operationId":"a",{responses},"parameters":[{{"name":"q","in":"query","schema":{{}}}},{{"name":"q","in":"query","schema":{{}}}}]}}"#
                ),
                "is there twice",
            ),
        ] {
            let found = broken(path, &operation);
            assert!(found.contains(expected), "{found}");
        }
    }
}

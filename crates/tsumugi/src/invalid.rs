//! What of a request does not fit its shape, with the messages and with what was sent: for an answer in JSON, or for a form that is shown again.
//! Rule: messages are in the client's language already; what was sent is never logged.

use bytes::Bytes;
use http::{HeaderValue, StatusCode, header::CONTENT_TYPE};
use serde_json::Value as Json;
use tsumugi_http::HttpResponse;
use tsumugi_shapes::FormFields;

/// Messages by the paths of their fields. As an answer it is 422 with `{"errors":{"items[0].price":["must be at least 1"]}}`.
#[derive(Clone)]
pub struct Invalid {
    errors: Vec<(Box<str>, Vec<String>)>,
    input: Input,
}

/// What the client sent.
#[derive(Clone)]
pub(crate) enum Input {
    Json(Json),
    Form(FormFields<Json>),
}

impl Invalid {
    pub(crate) fn new(errors: Vec<(Box<str>, Vec<String>)>, input: Input) -> Invalid {
        Invalid { errors, input }
    }

    /// The messages of a field: `invalid.errors("items[0].price")`.
    pub fn errors(&self, path: &str) -> &[String] {
        let found = self.errors.iter().find(|(known, _)| **known == *path);
        found.map_or(&[], |(_, messages)| messages)
    }

    /// All messages by their paths, in the order of the shape.
    pub fn all(&self) -> &[(Box<str>, Vec<String>)] {
        &self.errors
    }

    /// What was sent as this field, as text: for the inputs of a form that is shown again.
    pub fn value(&self, path: &str) -> Option<String> {
        let found = match &self.input {
            Input::Form(fields) => fields.first(path),
            Input::Json(json) => json.pointer(&pointer(path)),
        };
        match found? {
            Json::String(text) => Some(text.clone()),
            Json::Null | Json::Array(_) | Json::Object(_) => None,
            other => Some(other.to_string()),
        }
    }

    pub(crate) fn response(&self) -> HttpResponse {
        let by_path = self.errors.iter().map(|(path, messages)| {
            let messages = messages.iter().cloned().map(Json::String);
            (path.to_string(), Json::Array(messages.collect()))
        });
        let errors = Json::Object(by_path.collect());
        let body = serde_json::json!({ "errors": errors }).to_string();
        HttpResponse::new(StatusCode::UNPROCESSABLE_ENTITY, Bytes::from(body))
            .with(CONTENT_TYPE, HeaderValue::from_static("application/json"))
    }
}

/// `items[0].price` as the pointer `/items/0/price` (RFC 6901). Names of fields have none of its signs but `~` and `/`.
fn pointer(path: &str) -> String {
    let escaped = path.replace('~', "~0").replace('/', "~1");
    let steps = escaped.replace('[', ".").replace(']', "");
    format!("/{}", steps.replace('.', "/"))
}

impl std::fmt::Display for Invalid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (i, (path, messages)) in self.errors.iter().enumerate() {
            let comma = if i > 0 { "; " } else { "" };
            write!(f, "{comma}{path} {}", messages.join(", "))?;
        }
        Ok(())
    }
}

impl std::fmt::Debug for Invalid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let paths = self.errors.iter().map(|(path, _)| path);
        f.debug_tuple("Invalid")
            .field(&paths.collect::<Vec<_>>())
            .finish()
    }
}

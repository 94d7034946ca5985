//! What a session holds: values of JSON by name, in the order in which they were set. Knows no cookie and no store.
//! Rule: a value stays the text that was set, whatever the other values become, so that neither language changes what the other wrote.

use tsumugi_http::json::{Error, JsonEvent, Parser};
use tsumugi_http::session::TOKEN;

/// Values of JSON by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionContent(Vec<(String, String)>);

impl SessionContent {
    /// Reads an object.
    ///
    /// # Errors
    /// The bytes are no JSON. Anything but an object is an empty content.
    pub fn parse(json: &[u8]) -> Result<SessionContent, Error> {
        let mut content = SessionContent::default();
        let mut parser = Parser::new(json, usize::MAX)?;
        let (mut depth, mut name, mut start) = (0_usize, None, 0);
        while let Some(event) = parser.event()? {
            match event {
                JsonEvent::Name(text) if depth == 1 => {
                    name = Some(text.into_owned());
                    start = parser.position();
                    continue;
                }
                JsonEvent::Object | JsonEvent::Array => depth += 1,
                JsonEvent::End => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 1
                && let Some(name) = name.take()
            {
                let value = json.get(start..parser.position()).unwrap_or_default();
                let value = String::from_utf8_lossy(value.trim_ascii()).into_owned();
                content.0.push((name, value));
            }
        }
        Ok(content)
    }

    /// The JSON of a value.
    pub fn get(&self, name: &str) -> Option<&str> {
        let mut values = self.0.iter();
        let found = values.find(|(other, _)| other == name);
        found.map(|(_, json)| json.as_str())
    }

    /// Sets a value, which is one of JSON. A token that is there stays, or forms that show it would be too old.
    pub fn set(&mut self, name: &str, json: String) {
        match self.0.iter_mut().find(|(other, _)| other == name) {
            Some((name, _)) if name == TOKEN => {}
            Some((_, there)) => *there = json,
            None => self.0.push((name.to_owned(), json)),
        }
    }

    /// Sets all values of another one.
    pub fn merge(&mut self, values: &SessionContent) {
        for (name, json) in &values.0 {
            self.set(name, json.clone());
        }
    }

    /// Removes a value.
    pub fn remove(&mut self, name: &str) {
        self.0.retain(|(other, _)| other != name);
    }

    /// Whether there is no value but the token of forms.
    pub fn is_blank(&self) -> bool {
        self.0.iter().all(|(name, _)| name == TOKEN)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The object.
    pub fn to_json(&self) -> Vec<u8> {
        let mut json = vec![b'{'];
        for (place, (name, value)) in self.0.iter().enumerate() {
            if place > 0 {
                json.push(b',');
            }
            tsumugi_values::json::write_string(name, &mut json);
            json.push(b':');
            json.extend_from_slice(value.as_bytes());
        }
        json.push(b'}');
        json
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_their_text_and_order_when_others_change() {
        let text = r#" {"b": 12345678901234567890123 , "a":{"x":[1,{"y":"}"}]},"é\n":1.50} "#;
        let mut content = SessionContent::parse(text.as_bytes()).unwrap();
        assert_eq!(content.get("é\n"), Some("1.50"));
        content.set("b", "null".to_owned());
        content.remove("é\n");
        content.set("c", "[]".to_owned());
        let expected = r#"{"b":null,"a":{"x":[1,{"y":"}"}]},"c":[]}"#;
        assert_eq!(content.to_json(), expected.as_bytes());
        assert_eq!(SessionContent::parse(expected.as_bytes()), Ok(content));
    }

    #[test]
    fn text_that_is_no_object_is_refused_or_empty() {
        assert!(SessionContent::parse(b"{\"a\":").is_err());
        assert!(SessionContent::parse(b"").is_err());
        assert_eq!(SessionContent::parse(b"[1]"), Ok(SessionContent::default()));
        assert_eq!(SessionContent::default().to_json(), b"{}");
    }

    #[test]
    fn token_that_is_there_is_not_replaced() {
        let mut content = SessionContent::default();
        content.set(TOKEN, "\"one\"".to_owned());
        content.set(TOKEN, "\"two\"".to_owned());
        assert_eq!(content.get(TOKEN), Some("\"one\""));
        assert!(content.is_blank() && !content.is_empty());
    }
}

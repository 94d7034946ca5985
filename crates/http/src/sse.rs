//! Server-sent events as text (WHATWG HTML, section 9.2). Knows no connection and no body.
//! Rule: a text of the application cannot add a line of its own to an event.

/// The content type of a stream of events.
pub const MEDIA_TYPE: &str = "text/event-stream";

/// The `cache-control` of a stream of events: it is of one moment, so nobody keeps it.
pub const CACHE_CONTROL: &str = "no-store";

/// One event. Its data may have several lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// What it is about.
    pub name: Option<String>,
    /// What a client that comes back sends as `Last-Event-ID`.
    pub id: Option<String>,
    /// How long a client that lost the connection waits before it comes back, in milliseconds.
    pub reconnect_ms: Option<u64>,
    /// What it says.
    pub data: String,
}

/// A field that is one line has a line break or NUL.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: of an event has a line break or NUL")]
pub struct EventError {
    /// `event`, which is the name, or `id`.
    pub field: &'static str,
}

impl Event {
    /// The event as it is sent.
    ///
    /// # Errors
    /// [`EventError`] when name or id are no single line.
    pub fn encode(&self) -> Result<String, EventError> {
        let mut text = String::new();
        for (field, value) in [("event", &self.name), ("id", &self.id)] {
            let Some(value) = value else { continue };
            text.push_str(&line(field, value)?);
        }
        if let Some(reconnect_ms) = self.reconnect_ms {
            text.push_str(&format!("retry: {reconnect_ms}\n"));
        }
        add_lines("data", &self.data, &mut text);
        Ok(text)
    }
}

/// Lines that clients ignore, so that proxies keep an idle stream open.
pub fn comment(lines: &str) -> String {
    let mut text = String::new();
    add_lines("", lines, &mut text);
    text
}

/// An id alone: a client sends it as `Last-Event-ID` when it comes back, and is given no event.
///
/// # Errors
/// [`EventError`] when it is no single line.
pub fn position(id: &str) -> Result<String, EventError> {
    Ok(line("id", id)? + "\n")
}

fn line(field: &'static str, value: &str) -> Result<String, EventError> {
    if value.contains(['\n', '\r', '\0']) {
        return Err(EventError { field });
    }
    Ok(format!("{field}: {value}\n"))
}

/// What a client is told that shall come back so many milliseconds after the stream has ended.
pub fn reconnect(after_ms: u64) -> String {
    format!("retry: {after_ms}\n\n")
}

/// A lone carriage return ends a line too.
fn add_lines(field: &str, value: &str, text: &mut String) {
    let value = value.replace("\r\n", "\n").replace('\r', "\n");
    for line in value.split('\n') {
        text.push_str(&format!("{field}: {line}\n"));
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_of_several_lines_is_one_event() {
        let event = Event {
            name: Some("news".to_owned()),
            id: Some("7".to_owned()),
            reconnect_ms: Some(500),
            data: "a\r\nb\rc".to_owned(),
        };
        let expected = "event: news\nid: 7\nretry: 500\ndata: a\ndata: b\ndata: c\n\n";
        assert_eq!(event.encode().unwrap(), expected);
    }

    #[test]
    fn name_or_id_with_a_line_break_is_refused() {
        let name = Event {
            name: Some("a\ndata: b".to_owned()),
            ..Event::default()
        };
        assert_eq!(name.encode(), Err(EventError { field: "event" }));
        let id = Event {
            id: Some("\0".to_owned()),
            ..Event::default()
        };
        assert_eq!(id.encode(), Err(EventError { field: "id" }));
    }

    #[test]
    fn hint_to_come_back_is_no_event() {
        assert_eq!(reconnect(250), "retry: 250\n\n");
        assert_eq!(position("7").as_deref(), Ok("id: 7\n\n"));
        assert!(position("7\n").is_err());
    }

    #[test]
    fn every_line_of_a_comment_is_one() {
        assert_eq!(comment("x\ndata: y"), ": x\n: data: y\n\n");
        assert_eq!(comment(""), ": \n\n");
    }
}

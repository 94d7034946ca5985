//! Responses whose bodies a function writes while they are sent: pieces, and server-sent events. Knows no connection.
//! Rule: a text of the application cannot add a line of its own to an event.

use bytes::Bytes;

use crate::error::{Error, Result};
use crate::local::Local;
use crate::response::{IntoResponse, Response};
use crate::streaming::Output;

/// A body that a function writes: `StreamResponse::new("text/plain", async |out| { … })`. An error in it breaks the response off.
pub struct StreamResponse(Response);

impl StreamResponse {
    /// The function is called once the response has begun.
    pub fn new<F>(content_type: &'static str, write: F) -> StreamResponse
    where
        F: AsyncFnOnce(&mut Output) -> Result<()> + 'static,
    {
        let producer = move |mut output: Output| -> Local<Result<()>> {
            Box::pin(async move {
                write(&mut output).await?;
                output.finish();
                Ok(())
            })
        };
        StreamResponse(Response::produced(content_type, Box::new(producer)))
    }
}

impl IntoResponse for StreamResponse {
    fn into_response(self) -> Response {
        self.0
    }
}

/// Server-sent events (WHATWG HTML, section 9.2): `Sse::new(async |events| { … })`.
pub struct Sse(Response);

/// Where events go.
#[derive(Debug)]
pub struct Events<'o>(&'o mut Output);

/// One event. Its data may have several lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// What it is about.
    pub name: Option<String>,
    /// What a client that comes back sends as `Last-Event-ID`.
    pub id: Option<String>,
    /// What it says.
    pub data: String,
}

impl Sse {
    /// The function sends events until it returns or the client goes.
    pub fn new<F>(send: F) -> Sse
    where
        F: AsyncFnOnce(&mut Events<'_>) -> Result<()> + 'static,
    {
        let StreamResponse(response) =
            StreamResponse::new("text/event-stream", async move |output: &mut Output| {
                send(&mut Events(output)).await
            });
        let no_store = http::HeaderValue::from_static("no-store");
        Sse(response.with(http::header::CACHE_CONTROL, no_store))
    }
}

impl IntoResponse for Sse {
    fn into_response(self) -> Response {
        self.0
    }
}

impl Events<'_> {
    /// Sends an event without a name.
    pub async fn send(&mut self, data: impl Into<String>) -> Result<()> {
        let data = data.into();
        self.send_event(Event {
            data,
            ..Event::default()
        })
        .await
    }

    /// Sends an event.
    pub async fn send_event(&mut self, event: Event) -> Result<()> {
        self.0.write(event.text()?).await
    }

    /// Sends a line that clients ignore, so that whoever stands between keeps the connection.
    pub async fn keep_alive(&mut self) -> Result<()> {
        self.0.write(Bytes::from_static(b":\n\n")).await
    }
}

impl Event {
    fn text(&self) -> Result<String> {
        let mut text = String::new();
        for (field, value) in [("event", &self.name), ("id", &self.id)] {
            let Some(value) = value else { continue };
            if value.contains(['\n', '\r', '\0']) {
                let reason = "the name or id of an event has a line break or NUL";
                return Err(Error::Usage(reason.into()));
            }
            text.push_str(&format!("{field}: {value}\n"));
        }
        // A lone CR ends a line too.
        let data = self.data.replace("\r\n", "\n").replace('\r', "\n");
        for line in data.split('\n') {
            text.push_str(&format!("data: {line}\n"));
        }
        text.push('\n');
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_of_several_lines_is_one_event() {
        let event = Event {
            name: Some("news".to_owned()),
            id: Some("7".to_owned()),
            data: "a\r\nb\rc".to_owned(),
        };
        let expected = "event: news\nid: 7\ndata: a\ndata: b\ndata: c\n\n";
        assert_eq!(event.text().unwrap(), expected);
    }

    #[test]
    fn name_cannot_add_a_field() {
        let event = Event {
            name: Some("a\ndata: b".to_owned()),
            ..Event::default()
        };
        assert!(matches!(event.text(), Err(Error::Usage(_))));
    }
}

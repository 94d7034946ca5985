//! Responses whose bodies a function writes while they are sent: pieces, and server-sent events. Knows no connection.
//! How an event is written is `tsumugi_http::sse`'s. Rule: the function is called once the response has begun.

use http::header::TRAILER;
use tsumugi_cluster::{FollowEvent, KeptChannel};
use tsumugi_http::sse;
pub use tsumugi_http::sse::Event;
use tsumugi_http::trailers::announcement;
use tsumugi_worker::LocalTask;

use crate::error::{Error, Result};
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
        let producer = move |mut output: Output| -> LocalTask<Result<()>> {
            Box::pin(async move {
                write(&mut output).await?;
                output.finish();
                Ok(())
            })
        };
        StreamResponse(Response::produced(content_type, Box::new(producer)))
    }

    /// Announces fields that the function sends behind the body: `.trailers(["x-checksum"])`, and in it `out.trailer("x-checksum", &sum)?`. A name
    /// that cannot stand there makes 500.
    #[must_use]
    pub fn trailers<'n>(mut self, names: impl IntoIterator<Item = &'n str>) -> StreamResponse {
        match announcement(names) {
            Ok(Some(value)) => {
                self.0.headers.insert(TRAILER, value);
            }
            Ok(None) => {}
            Err(error) => {
                tracing::error!("a handler announces trailers that it cannot send: {error}");
                self.0 = tsumugi_http::HttpResponse::internal_error().into();
            }
        }
        self
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

impl Sse {
    /// The function sends events until it returns or the client goes.
    pub fn new<F>(send: F) -> Sse
    where
        F: AsyncFnOnce(&mut Events<'_>) -> Result<()> + 'static,
    {
        let StreamResponse(response) =
            StreamResponse::new(sse::MEDIA_TYPE, async move |output: &mut Output| {
                send(&mut Events(output)).await
            });
        let no_store = http::HeaderValue::from_static(sse::CACHE_CONTROL);
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
        let text = event.encode();
        let text = text.map_err(|error| Error::Usage(error.to_string().into()))?;
        self.0.write(text).await
    }

    /// Sends a line that clients ignore, so that proxies keep an idle stream open.
    pub async fn keep_alive(&mut self) -> Result<()> {
        self.0.write(sse::comment("")).await
    }

    /// Sends the messages of a channel that keeps them, as events whose ids are their numbers, until the client goes: those after the message with this
    /// number, or those that are published from now on. Where messages are gone that the client has not seen, an event called `missed` says so.
    ///
    /// ```
    /// use tsumugi::prelude::*;
    ///
    /// struct App { chat: KeptChannel }
    ///
    /// async fn chat(app: State<App>, LastEventId(last): LastEventId) -> Sse {
    ///     let chat = app.chat.clone();
    ///     Sse::new(async move |events| events.follow(&chat, last).await)
    /// }
    /// ```
    pub async fn follow(&mut self, channel: &KeptChannel, after: Option<i64>) -> Result<()> {
        let mut follower = channel.follow(after).await?;
        if after.is_none() {
            // A client that has seen nothing yet comes back to here.
            let position = sse::position(&follower.position().to_string());
            let position = position.map_err(|error| Error::Usage(error.to_string().into()))?;
            self.0.write(position).await?;
        }
        loop {
            let event = match follower.next().await {
                FollowEvent::Message { id, text } => Event {
                    id: Some(id.to_string()),
                    data: text.to_string(),
                    ..Event::default()
                },
                // With an id, so that a client that comes back does not miss them again.
                _ => Event {
                    name: Some("missed".to_owned()),
                    id: Some(follower.position().to_string()),
                    data: "messages are missing".to_owned(),
                    ..Event::default()
                },
            };
            self.send_event(event).await?;
        }
    }
}

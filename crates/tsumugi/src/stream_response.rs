//! Responses whose bodies a function writes while they are sent: pieces, and server-sent events. Knows no connection.
//! How an event is written is `tsumugi_http::sse`'s. Rule: the function is called once the response has begun.

use tsumugi_http::sse;
pub use tsumugi_http::sse::Event;

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
}

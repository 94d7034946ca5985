//! One call on a connection: a request of HTTP/2, its answer, and what they say about the call. Knows no database.
//! What certainly was not begun may be tried again; everything else is the caller's to decide.

use bytes::Bytes;
use h2::client::ResponseFuture;
use h2::{Reason, RecvStream, SendStream};
use http::{HeaderMap, Request, StatusCode};
use prost::{DecodeError, Message};

use super::channel::OpenChannel;
use crate::code::GrpcCode;
use crate::error::{Error, Result};
use crate::frame::MessageReader;

/// Why a call failed, before it is known whether to try again.
pub(crate) enum CallFailure {
    /// The server has not begun it.
    NotBegun(h2::Error),
    /// It may have taken place.
    Broken(h2::Error),
    /// The answer says so.
    Told(Error),
}

impl From<Error> for CallFailure {
    fn from(error: Error) -> CallFailure {
        CallFailure::Told(error)
    }
}

impl From<h2::Error> for CallFailure {
    fn from(error: h2::Error) -> CallFailure {
        // A stream that was refused, or that came after a server had said where it ends (RFC 9113 section 6.8).
        match error.reason() {
            Some(Reason::REFUSED_STREAM) => CallFailure::NotBegun(error),
            Some(Reason::NO_ERROR) if error.is_go_away() && error.is_remote() => {
                CallFailure::NotBegun(error)
            }
            _ => CallFailure::Broken(error),
        }
    }
}

impl CallFailure {
    /// Whether the whole connection is of no more use, not only this call.
    pub(crate) fn is_of_connection(&self) -> bool {
        match self {
            CallFailure::NotBegun(error) | CallFailure::Broken(error) => !error.is_reset(),
            CallFailure::Told(_) => false,
        }
    }
}

/// Begins a call.
pub(crate) async fn begin(
    opened: &OpenChannel,
    request: Request<()>,
) -> Result<(ResponseFuture, SendStream<Bytes>), CallFailure> {
    // Waits while the server's limit of calls at a time is reached.
    let sender = opened.sender.clone().ready().await;
    let mut sender = sender.map_err(CallFailure::NotBegun)?;
    sender
        .send_request(request, false)
        .map_err(CallFailure::NotBegun)
}

/// The beginning of an answer.
pub(crate) async fn body(response: ResponseFuture) -> Result<RecvStream, CallFailure> {
    let response = response.await?;
    if response.headers().contains_key("grpc-status") {
        verdict(response.headers())?;
    }
    if response.status() != StatusCode::OK {
        let text = format!("HTTP status {}", response.status());
        return Err(Error::Protocol(text).into());
    }
    Ok(response.into_body())
}

/// The next message of an answer; `None` at its end, when the call went well.
pub(crate) async fn next(
    body: &mut RecvStream,
    messages: &mut MessageReader,
) -> Result<Option<Bytes>, CallFailure> {
    loop {
        if let Some(message) = messages.next()? {
            return Ok(Some(message));
        }
        match body.data().await {
            Some(piece) => {
                let piece = piece?;
                // It is counted by the limit of messages from here on.
                body.flow_control().release_capacity(piece.len())?;
                messages.push(piece);
            }
            None => {
                let trailers = body.trailers().await?;
                verdict(&trailers.unwrap_or_default())?;
                if messages.is_broken_off() {
                    return Err(
                        Error::Protocol("the answer ends within a message".to_owned()).into(),
                    );
                }
                return Ok(None);
            }
        }
    }
}

/// The one message of an answer.
pub(super) async fn attempt(
    opened: &OpenChannel,
    request: Request<()>,
    payload: Bytes,
    message_bytes_max: usize,
) -> Result<Bytes, CallFailure> {
    let (answer, mut stream) = begin(opened, request).await?;
    stream.send_data(payload, true)?;
    let mut body = body(answer).await?;
    let mut messages = MessageReader::new(message_bytes_max);
    let Some(message) = next(&mut body, &mut messages).await? else {
        return Err(Error::Protocol("the answer holds no message".to_owned()).into());
    };
    // The status at the end counts, whatever came before.
    match next(&mut body, &mut messages).await? {
        None => Ok(message),
        Some(_) => Err(Error::Protocol("the answer holds a second message".to_owned()).into()),
    }
}

/// The answer that a message is.
pub(super) fn answer<R: Message + Default>(message: Bytes) -> Result<R> {
    R::decode(message).map_err(undecodable)
}

fn undecodable(error: DecodeError) -> Error {
    Error::Protocol(error.to_string())
}

/// gRPC's own status, which ends every answer.
fn verdict(metadata: &HeaderMap) -> Result<()> {
    let code = metadata
        .get("grpc-status")
        .map(|code| GrpcCode::of_bytes(code.as_bytes()));
    match code {
        Some(GrpcCode::Ok) => Ok(()),
        Some(code) => {
            let message = metadata
                .get("grpc-message")
                .map_or_else(String::new, |text| decoded(text.as_bytes()));
            Err(Error::Refused { code, message })
        }
        // An answer that went on without a status is checked at its end; there, none is a fault.
        None => Err(Error::Protocol("the answer has no grpc-status".to_owned())),
    }
}

/// A text with `%XX` for bytes that metadata cannot carry.
fn decoded(text: &[u8]) -> String {
    percent_encoding::percent_decode(text)
        .decode_utf8_lossy()
        .into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_refusals_are_decoded() {
        for (text, expected) in [
            ("plain", "plain"),
            ("100%25 %E7%B4%A1", "100% 紡"),
            ("%zz %2", "%zz %2"),
        ] {
            assert_eq!(decoded(text.as_bytes()), expected);
        }
    }
}

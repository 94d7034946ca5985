//! The client's end of a WebSocket whose handshake is done: for tests and for clients in the same process. Opens no connection.
//! Rule: it waits for each message and answers pings meanwhile; nothing of it runs by itself.

use bytes::Bytes;
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, duplex};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{self, protocol::Role},
};

use super::{
    frame_gate::FrameGate,
    message::{Close, Message},
};
use crate::{
    error::{Error, Result},
    limits::{TRIAL_SOCKET_BYTES, WEBSOCKET_READ_BYTES},
    switch::{Switch, Upgraded},
};

/// The client's end.
#[derive(Debug)]
pub struct WebSocketClient<I> {
    stream: WebSocketStream<FrameGate<I>>,
}

impl WebSocketClient<DuplexStream> {
    /// The client of a conversation in the same process, and the conversation itself, which has to run meanwhile.
    pub async fn in_process(switch: Switch) -> (Self, impl Future<Output = ()>) {
        let (ours, theirs) = duplex(TRIAL_SOCKET_BYTES);
        let talking = switch.run(Upgraded::new(theirs, Bytes::new()));
        (WebSocketClient::over(ours).await, talking)
    }
}

impl<I: AsyncRead + AsyncWrite + Unpin> WebSocketClient<I> {
    /// Over a connection that has been switched.
    pub async fn over(io: I) -> WebSocketClient<I> {
        let config = tungstenite::protocol::WebSocketConfig::default()
            .read_buffer_size(WEBSOCKET_READ_BYTES)
            .write_buffer_size(0);
        let gate = FrameGate::new(io);
        let stream = WebSocketStream::from_raw_socket(gate, Role::Client, Some(config)).await;
        WebSocketClient { stream }
    }

    /// Sends a message; waits while the server is slow.
    pub async fn send(&mut self, message: impl Into<Message>) -> Result<()> {
        let sent = self.stream.send(message.into().into()).await;
        sent.map_err(|_| Error::Closed)
    }

    /// The next message, or why the server closed: with 1006 when it did not say. A frame whose length is not in the fewest bytes is answered by closing
    /// with 1002, which is the reason then.
    pub async fn receive(&mut self) -> Result<Message, Close> {
        loop {
            match self.stream.next().await {
                Some(Ok(tungstenite::Message::Text(text))) => {
                    return Ok(Message::Text(text.as_str().to_owned()));
                }
                Some(Ok(tungstenite::Message::Binary(bytes))) => return Ok(Message::Binary(bytes)),
                Some(Ok(tungstenite::Message::Close(frame))) => {
                    let _ = self.stream.flush().await; // the answer to it
                    return Err(frame.into());
                }
                Some(Ok(_)) => {}
                Some(Err(tungstenite::Error::Io(error))) => match error.downcast::<Error>() {
                    Ok(Error::Malformed(what)) => {
                        let close = Close::new(Close::PROTOCOL, what);
                        let _ = self.stream.close(Some(close.clone().into())).await;
                        return Err(close);
                    }
                    _ => return Err(Close::new(Close::GONE, "")),
                },
                Some(Err(_)) | None => return Err(Close::new(Close::GONE, "")),
            }
        }
    }

    /// Says the end and waits until the server has said it too.
    ///
    /// # Errors
    /// See [`WebSocket::close`](super::WebSocket::close).
    pub async fn close(mut self, code: u16, reason: &str) -> Result<()> {
        let close = Close::checked(code, reason)?;
        let said = self.stream.close(Some(close.into())).await;
        said.map_err(|_| Error::Closed)?;
        while let Some(Ok(_)) = self.stream.next().await {}
        Ok(())
    }
}

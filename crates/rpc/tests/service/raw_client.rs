//! HTTP/2 without our client: bytes as a test writes them, to see what comes back. Not a test itself.

use std::net::SocketAddr;

use bytes::Bytes;
use h2::client::{Builder, SendRequest};
use h2::{RecvStream, SendStream};
use http::Request;
use tokio::net::TcpStream;

/// What a call was answered.
#[derive(Debug, PartialEq, Eq)]
pub struct RawReply {
    /// `grpc-status`; -1 when there is none.
    pub code: i32,
    pub message: String,
    /// The messages, without their prefixes.
    pub messages: Vec<Vec<u8>>,
}

pub struct RawClient {
    sender: SendRequest<Bytes>,
}

impl RawClient {
    pub async fn connect(address: SocketAddr) -> RawClient {
        RawClient::with_window(address, 1 << 20).await
    }

    pub async fn with_window(address: SocketAddr, window: u32) -> RawClient {
        let stream = TcpStream::connect(address).await.unwrap();
        let mut builder = Builder::new();
        builder.initial_window_size(window);
        let (sender, connection) = builder.handshake(stream).await.unwrap();
        drop(tokio::task::spawn_local(
            async move { drop(connection.await) },
        ));
        RawClient { sender }
    }

    /// Begins a call of the service.
    pub async fn begin(
        &self,
        path: &str,
    ) -> Result<(h2::client::ResponseFuture, SendStream<Bytes>), h2::Error> {
        let request = Request::post(format!("http://localhost{path}"))
            .header("content-type", "application/grpc")
            .header("te", "trailers");
        self.send(request.body(()).unwrap()).await
    }

    pub async fn send(
        &self,
        request: Request<()>,
    ) -> Result<(h2::client::ResponseFuture, SendStream<Bytes>), h2::Error> {
        let mut sender = self.sender.clone().ready().await?;
        sender.send_request(request, false)
    }

    /// A call with these messages, to its end.
    pub async fn call(&self, name: &str, messages: &[Vec<u8>]) -> RawReply {
        self.call_at(&format!("/tkrzw_rpc.DBMService/{name}"), messages)
            .await
    }

    pub async fn call_at(&self, path: &str, messages: &[Vec<u8>]) -> RawReply {
        let (response, mut body) = self.begin(path).await.unwrap();
        let framed: Vec<u8> = messages.iter().flat_map(|message| frame(message)).collect();
        body.send_data(framed.into(), true).unwrap();
        raw_reply(response).await
    }
}

/// A message as it goes over the wire.
pub fn frame(message: &[u8]) -> Vec<u8> {
    let mut framed = vec![0];
    framed.extend((message.len() as u32).to_be_bytes());
    framed.extend(message);
    framed
}

/// Reads an answer to its end.
pub async fn raw_reply(response: h2::client::ResponseFuture) -> RawReply {
    let (head, mut body) = response.await.unwrap().into_parts();
    let bytes = rest(&mut body).await;
    let trailers = body.trailers().await.unwrap().unwrap_or_default();
    let metadata = if head.headers.contains_key("grpc-status") {
        &head.headers
    } else {
        &trailers
    };
    let text = |name: &str| {
        metadata
            .get(name)
            .map(|value| value.to_str().unwrap().to_owned())
    };
    let mut messages = Vec::new();
    let mut left = &bytes[..];
    while let Some((prefix, tail)) = left.split_first_chunk::<5>() {
        let length = u32::from_be_bytes(prefix[1..].try_into().unwrap()) as usize;
        messages.push(tail[..length].to_vec());
        left = &tail[length..];
    }
    RawReply {
        code: text("grpc-status").map_or(-1, |code| code.parse().unwrap()),
        message: text("grpc-message").unwrap_or_default(),
        messages,
    }
}

async fn rest(body: &mut RecvStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    while let Some(piece) = body.data().await {
        let Ok(piece) = piece else { break };
        body.flow_control().release_capacity(piece.len()).unwrap();
        bytes.extend_from_slice(&piece);
    }
    bytes
}

fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

/// A number in a field; negative ones take ten bytes.
pub fn n(field: u64, number: i64) -> Vec<u8> {
    [varint(field << 3), varint(number as u64)].concat()
}

/// Bytes, a text or a message in a field.
pub fn b(field: u64, bytes: impl AsRef<[u8]>) -> Vec<u8> {
    let bytes = bytes.as_ref();
    [
        varint(field << 3 | 2),
        varint(bytes.len() as u64),
        bytes.to_vec(),
    ]
    .concat()
}

/// A double in a field.
pub fn d(field: u64, number: f64) -> Vec<u8> {
    [varint(field << 3 | 1), number.to_le_bytes().to_vec()].concat()
}

//! One request at a time in each way that the profiles speak, and its whole answer. Judges nothing.
//! Rule: what goes over HTTP/2 or TLS is hyper's; what is about bytes of HTTP/1.1 (fragments, WebSockets) is in `socket.rs`.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, Version};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::task::{LocalSet, spawn_local};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::limits::ANSWER_MS_MAX;
use crate::load::{LoadProtocol, configuration};

/// Where a request goes, and what is spoken there.
#[derive(Clone, Copy, Debug)]
pub struct ArenaPort {
    /// Where.
    pub address: SocketAddr,
    /// The protocol.
    pub http2: bool,
    /// Within TLS.
    pub tls: bool,
}

/// A request.
#[derive(Debug, Default)]
pub struct ArenaCall<'a> {
    /// The method.
    pub method: Method,
    /// Path and query.
    pub path: &'a str,
    /// Fields besides the host.
    pub fields: &'a [(&'static str, &'static str)],
    /// The body.
    pub body: Vec<u8>,
}

/// An answer.
#[derive(Debug)]
pub struct ArenaReply {
    /// The status.
    pub status: u16,
    /// The version it came in.
    pub version: Version,
    /// The fields.
    pub fields: HeaderMap,
    /// The body as it was sent.
    pub body: Bytes,
}

impl ArenaReply {
    /// A field, or nothing.
    pub fn field(&self, name: &str) -> &str {
        let value = self.fields.get(name);
        value
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// Sends requests, each on a connection of its own.
pub struct ArenaClient(Runtime);

impl ArenaClient {
    /// One that runs on the calling thread.
    pub fn new() -> Result<ArenaClient> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        Ok(ArenaClient(runtime))
    }

    /// Sends a request and waits for the whole answer.
    pub fn call(&self, port: ArenaPort, call: &ArenaCall<'_>) -> Result<ArenaReply> {
        let limit = Duration::from_millis(ANSWER_MS_MAX);
        LocalSet::new()
            .block_on(&self.0, async {
                timeout(limit, exchange(port, call)).await
            })
            .with_context(|| format!("no answer within {ANSWER_MS_MAX} ms"))?
            .with_context(|| format!("{} {}", call.method, call.path))
    }

    /// GET.
    pub fn get(&self, port: ArenaPort, path: &str) -> Result<ArenaReply> {
        let call = ArenaCall {
            path,
            ..ArenaCall::default()
        };
        self.call(port, &call)
    }

    /// What the server agrees on with a client that knows these protocols.
    pub fn agree(&self, address: SocketAddr, protocols: &[&str]) -> Result<Option<String>> {
        let mut config = configuration(LoadProtocol::Http1)?;
        let names = protocols.iter().map(|name| name.as_bytes().to_vec());
        config.alpn_protocols = names.collect();
        self.0.block_on(async {
            let stream = TcpStream::connect(address).await?;
            let name = ServerName::from(address.ip());
            let connector = TlsConnector::from(Arc::new(config));
            let stream = connector.connect(name, stream).await.context("TLS")?;
            let agreed = stream.get_ref().1.alpn_protocol();
            Ok(agreed.map(|name| String::from_utf8_lossy(name).into_owned()))
        })
    }
}

async fn exchange(port: ArenaPort, call: &ArenaCall<'_>) -> Result<ArenaReply> {
    let stream = TcpStream::connect(port.address)
        .await
        .with_context(|| format!("cannot connect to {}", port.address))?;
    stream.set_nodelay(true)?;
    if !port.tls {
        return converse(stream, port, call).await;
    }
    let protocol = match port.http2 {
        true => LoadProtocol::Http2 { streams: 1 },
        false => LoadProtocol::Http1,
    };
    let connector = TlsConnector::from(Arc::new(configuration(protocol)?));
    let name = ServerName::from(port.address.ip());
    let stream = connector.connect(name, stream).await.context("TLS")?;
    converse(stream, port, call).await
}

async fn converse<S>(stream: S, port: ArenaPort, call: &ArenaCall<'_>) -> Result<ArenaReply>
where
    S: AsyncRead + AsyncWrite + Unpin + 'static,
{
    let scheme = if port.tls { "https" } else { "http" };
    let target = match port.http2 {
        true => format!("{scheme}://{}{}", port.address, call.path),
        false => call.path.to_owned(),
    };
    let mut request = Request::builder().method(call.method.clone()).uri(target);
    if !port.http2 {
        request = request.header(http::header::HOST, port.address.to_string());
    }
    for (name, value) in call.fields {
        request = request.header(*name, *value);
    }
    let request = request.body(Full::new(Bytes::from(call.body.clone())))?;
    let io = TokioIo::new(stream);
    // A sender that is dropped ends its connection, so each is there until the body is.
    if port.http2 {
        let (mut sender, connection) = http2::handshake(Local, io).await?;
        spawn_local(async move { drop(connection.await) });
        return whole(sender.send_request(request).await?).await;
    }
    let (mut sender, connection) = http1::handshake(io).await?;
    spawn_local(async move { drop(connection.await) });
    whole(sender.send_request(request).await?).await
}

async fn whole(response: Response<Incoming>) -> Result<ArenaReply> {
    let (head, body) = response.into_parts();
    Ok(ArenaReply {
        status: head.status.as_u16(),
        version: head.version,
        fields: head.headers,
        body: body.collect().await?.to_bytes(),
    })
}

/// Starts hyper's tasks on the calling thread.
#[derive(Clone, Copy)]
struct Local;

impl<F: Future + 'static> hyper::rt::Executor<F> for Local {
    fn execute(&self, future: F) {
        spawn_local(async move { drop(future.await) });
    }
}

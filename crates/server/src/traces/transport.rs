//! One message to a collector, over gRPC or over HTTP/1.1. Knows no trace.
//! Rule: a message is sent once and waited for within its time; an answer is read up to a limit; headers of the user's are in no error.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result, anyhow, bail};
use bytes::Bytes;
use http::header::{CONTENT_TYPE, HOST, HeaderValue, USER_AGENT};
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use prost::Message as _;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio_rustls::TlsConnector;
use tsumugi_http::{OutgoingHttp, OutgoingStream};
use tsumugi_rpc::ClientLimits;
use tsumugi_rpc::client::{GrpcAnswer, GrpcClient, GrpcFailure, GrpcMessage, RpcTarget, Tls};

use super::messages::{ExportRequest, ExportResponse};
use super::settings::{CollectorProtocol, CollectorSettings};
use crate::limits::COLLECTOR_ANSWER_BYTES_MAX;

/// Where the authorities of most systems are.
const AUTHORITIES: &str = "/etc/ssl/certs/ca-certificates.crt";

const EXPORT: &str = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";

/// A way to a collector.
pub(super) enum Transport {
    Grpc(Box<GrpcClient>),
    Http(Option<TlsConnector>),
}

impl Transport {
    /// Reads what TLS needs. Blocks.
    pub fn open(settings: &CollectorSettings) -> Result<Transport> {
        let authorities = settings.certificates.clone();
        let authorities = authorities.unwrap_or_else(|| PathBuf::from(AUTHORITIES));
        match settings.protocol {
            CollectorProtocol::Grpc => {
                let tls = settings.is_secure.then(|| Tls::read(&authorities, None));
                let tls = tls
                    .transpose()
                    .context("cannot use TLS for the collector")?;
                let (host, port) = (host(settings).to_owned(), port(settings));
                let target = match settings.is_secure {
                    true => RpcTarget::Tls { host, port },
                    false => RpcTarget::Tcp { host, port },
                };
                let limits = ClientLimits {
                    message_bytes_max: COLLECTOR_ANSWER_BYTES_MAX,
                    ..ClientLimits::default()
                };
                let client = GrpcClient::new(target, tls, limits);
                Ok(Transport::Grpc(Box::new(client)))
            }
            CollectorProtocol::Http => {
                let connector = settings.is_secure.then(|| connector(&authorities));
                let connector = connector.transpose();
                let connector = connector.context("cannot use TLS for the collector")?;
                Ok(Transport::Http(connector))
            }
        }
    }

    /// Sends a message. Gives how many spans the collector did not take.
    pub async fn send(&self, settings: &CollectorSettings, message: &ExportRequest) -> Result<u64> {
        let answer: ExportResponse = match self {
            Transport::Grpc(client) => {
                let message = GrpcMessage::of(message);
                let called = client.call(EXPORT, &settings.headers, &message, settings.timeout);
                let answer = called.await.and_then(GrpcAnswer::read);
                answer.map_err(failure)?
            }
            Transport::Http(connector) => {
                let posted = post(connector.as_ref(), settings, message);
                let posted = tokio::time::timeout(settings.timeout, posted).await;
                posted.map_err(|_| no_answer(settings))??
            }
        };
        let partial = answer.partial_success.unwrap_or_default();
        Ok(u64::try_from(partial.rejected_spans).unwrap_or(0))
    }
}

fn no_answer(settings: &CollectorSettings) -> anyhow::Error {
    anyhow!("no answer within {} ms", settings.timeout.as_millis())
}

fn failure(failure: GrpcFailure) -> anyhow::Error {
    match failure {
        GrpcFailure::NotBegun(text) => anyhow!("cannot be reached: {text}"),
        GrpcFailure::Lost(text) => anyhow!("the connection was lost: {text}"),
        GrpcFailure::Deadline => anyhow!("no answer in time"),
        GrpcFailure::Status { code, message } => anyhow!("answered {code:?}: {message}"),
        GrpcFailure::Answer(error) => anyhow!("its answer cannot be read: {error}"),
    }
}

/// A host without the brackets of an IPv6 address.
fn host(settings: &CollectorSettings) -> &str {
    let host = settings.authority.host();
    let inner = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    inner.unwrap_or(host)
}

fn port(settings: &CollectorSettings) -> u16 {
    let usual = match (settings.protocol, settings.is_secure) {
        (CollectorProtocol::Grpc, _) => 4317,
        (CollectorProtocol::Http, true) => 443,
        (CollectorProtocol::Http, false) => 80,
    };
    settings.authority.port_u16().unwrap_or(usual)
}

fn connector(authorities: &Path) -> Result<TlsConnector> {
    let roots = tsumugi_http::read_authorities(authorities)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

async fn post(
    connector: Option<&TlsConnector>,
    settings: &CollectorSettings,
    message: &ExportRequest,
) -> Result<ExportResponse> {
    let found = tokio::net::lookup_host((host(settings), port(settings))).await;
    let found: Vec<SocketAddr> = found.context("cannot be reached")?.collect();
    let tls = match connector {
        None => None,
        Some(connector) => {
            let name = ServerName::try_from(host(settings).to_owned());
            let name = name.context("no certificate can be for this host name")?;
            Some((connector, name))
        }
    };
    // The other half is for what is asked of it.
    let stream = OutgoingStream::open(&found, settings.timeout / 2, tls).await;
    let stream = stream.context("cannot be reached")?;
    exchange(stream, settings, message).await
}

async fn exchange(
    stream: OutgoingStream,
    settings: &CollectorSettings,
    message: &ExportRequest,
) -> Result<ExportResponse> {
    let begun = stream.http1(None).await.context("no HTTP connection")?;
    let OutgoingHttp {
        mut sender,
        connection,
    } = begun;
    let mut request = Request::new(Full::new(Bytes::from(message.encode_to_vec())));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = settings.path.parse().context("the path of the endpoint")?;
    let headers = request.headers_mut();
    headers.extend(settings.headers.clone());
    headers.insert(HOST, HeaderValue::from_str(settings.authority.as_str())?);
    headers.insert(
        CONTENT_TYPE,
        HeaderValue::from_static("application/x-protobuf"),
    );
    let agent = concat!("tsumugi/", env!("CARGO_PKG_VERSION"));
    headers.insert(USER_AGENT, HeaderValue::from_static(agent));
    let answered = async {
        let response = sender.send_request(request).await.context("not answered")?;
        let status = response.status();
        let body = Limited::new(response.into_body(), COLLECTOR_ANSWER_BYTES_MAX);
        let body = body.collect().await;
        let body = body.map_err(|error| anyhow!("its answer cannot be read: {error}"))?;
        if status != StatusCode::OK {
            bail!("answered {status}");
        }
        // A collector may answer nothing, or in another form.
        Ok(ExportResponse::decode(body.to_bytes()).unwrap_or_default())
    };
    let exchanged = OutgoingHttp::run(connection, answered).await;
    exchanged.context("the connection failed")?
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    /// What comes of a collector over HTTP that answers so many bytes and waits for the client to leave, or leaves at once.
    async fn send_to_one_that_answers(version: &str, bytes: usize) -> Result<u64> {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let endpoint = format!("http://{}", listener.local_addr()?);
        let settings = CollectorSettings::read(&|name| {
            (name == "OTEL_EXPORTER_OTLP_ENDPOINT").then(|| endpoint.clone())
        });
        let settings = settings?.context("there is an endpoint")?;
        let collector = async {
            let (mut stream, _) = listener.accept().await?;
            let mut head = [0; 4_096];
            let _ = stream.read(&mut head).await?;
            let head = format!("{version} 200 OK\r\ncontent-length: {bytes}\r\n\r\n");
            let answer = [head.into_bytes(), vec![0; bytes]].concat();
            // Whoever has enough leaves.
            let _ = stream.write_all(&answer).await;
            if version == "HTTP/1.1" {
                let _ = stream.read(&mut [0]).await;
            }
            anyhow::Ok(())
        };
        let transport = Transport::open(&settings)?;
        let message = ExportRequest::default();
        let (sent, collector) = tokio::join!(transport.send(&settings, &message), collector);
        collector?;
        sent
    }

    #[tokio::test]
    async fn answer_of_one_byte_more_than_the_limit_is_an_error() {
        let fits = send_to_one_that_answers("HTTP/1.1", COLLECTOR_ANSWER_BYTES_MAX).await;
        assert_eq!(fits.unwrap(), 0);
        let more = send_to_one_that_answers("HTTP/1.1", COLLECTOR_ANSWER_BYTES_MAX + 1).await;
        let error = more.unwrap_err().to_string();
        assert!(error.contains("its answer cannot be read"), "{error}");
    }

    #[tokio::test]
    async fn answer_of_a_collector_that_closes_the_connection_with_it_counts() {
        for bytes in [0, 100] {
            let sent = send_to_one_that_answers("HTTP/1.0", bytes).await;
            assert_eq!(sent.unwrap(), 0);
        }
    }
}

//! One question to the directory over HTTPS, on a connection of its own. Knows no ACME.
//! Rule: each question has its time and each answer its bytes; only https is spoken.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use http::header::HOST;
use http::uri::{PathAndQuery, Scheme};
use http::{HeaderValue, Request, Uri};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use instant_acme::{BodyWrapper, BytesResponse, HttpClient};
use rustls::ClientConfig;
use rustls::crypto::ring;
use rustls::pki_types::ServerName;
use tokio::net::lookup_host;
use tokio_rustls::TlsConnector;
use tsumugi_http::{OutgoingHttp, OutgoingStream};

use crate::error::Error;
use crate::limits::{ACME_ANSWER_BYTES_MAX, ANSWER_MAX, CONNECT_MAX};

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A way to directories. Cheap to clone.
#[derive(Clone)]
pub(crate) struct AcmeTransport(TlsConnector);

impl AcmeTransport {
    /// Reads the authorities by which servers are checked: those of this file, else those of the system. Blocks.
    pub fn open(authority: Option<&Path>) -> Result<AcmeTransport, Error> {
        let roots = match authority {
            Some(path) => tsumugi_http::read_authorities(path).map_err(|error| error.to_string()),
            None => tsumugi_http::system_authorities()
                .map_err(|error| format!("{error}, or give --acme-ca")),
        };
        let roots = roots.map_err(Error::Authorities)?;
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| Error::Authorities(error.to_string()))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(AcmeTransport(TlsConnector::from(Arc::new(config))))
    }
}

impl HttpClient for AcmeTransport {
    fn request(
        &self,
        request: Request<BodyWrapper<Bytes>>,
    ) -> Pin<Box<dyn Future<Output = Result<BytesResponse, instant_acme::Error>> + Send>> {
        let connector = self.0.clone();
        Box::pin(async move {
            let asked = tokio::time::timeout(ANSWER_MAX, ask(connector, request));
            match asked.await {
                Ok(answer) => answer.map_err(instant_acme::Error::Other),
                Err(_) => {
                    let reason = format!("no answer within {} s", ANSWER_MAX.as_secs());
                    Err(instant_acme::Error::Other(reason.into()))
                }
            }
        })
    }
}

async fn ask(
    connector: TlsConnector,
    mut request: Request<BodyWrapper<Bytes>>,
) -> Result<BytesResponse, BoxError> {
    let uri = request.uri().clone();
    let authority = match uri.authority() {
        Some(authority) if uri.scheme() == Some(&Scheme::HTTPS) => authority.clone(),
        _ => return Err(format!("{uri} is no URL of https").into()),
    };
    let host = authority.host().trim_matches(['[', ']']).to_owned();
    let port = authority.port_u16().unwrap_or(443);
    let found: Vec<SocketAddr> = lookup_host((&*host, port)).await?.collect();
    let tls = (&connector, ServerName::try_from(host)?);
    let stream = OutgoingStream::open(&found, CONNECT_MAX, Some(tls)).await;
    let stream = stream.map_err(with_advice)?;
    let path = uri.path_and_query().cloned();
    let path = path.unwrap_or_else(|| PathAndQuery::from_static("/"));
    *request.uri_mut() = Uri::from(path);
    let host = HeaderValue::from_str(authority.as_str())?;
    request.headers_mut().insert(HOST, host);
    let (head, body) = request.into_parts();
    let body = Full::new(body.collect().await?.to_bytes());
    let request = Request::from_parts(head, body);
    let OutgoingHttp {
        mut sender,
        connection,
    } = stream.http1(None).await?;
    let answered = async {
        let (parts, body) = sender.send_request(request).await?.into_parts();
        let body = read(body, ACME_ANSWER_BYTES_MAX).await?;
        Ok::<_, BoxError>(BytesResponse {
            parts,
            body: Box::new(body),
        })
    };
    OutgoingHttp::run(connection, answered).await?
}

/// A certificate that is not taken may be of an authority that is not known here.
fn with_advice(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::InvalidData => {
            let advice =
                "--acme-ca names the authority of a directory that the system does not know";
            io::Error::new(error.kind(), format!("{error}; {advice}"))
        }
        _ => error,
    }
}

/// A whole body of at most so many bytes.
async fn read<B>(body: B, bytes_max: usize) -> Result<Bytes, BoxError>
where
    B: hyper::body::Body,
    B::Error: Into<BoxError>,
{
    match Limited::new(body, bytes_max).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => {
            Err(format!("its answer is larger than ACME_ANSWER_BYTES_MAX ({bytes_max})").into())
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::Full;

    use super::*;

    #[tokio::test(flavor = "current_thread")]
    async fn answer_of_one_byte_beyond_the_limit_is_refused_by_its_name() {
        let answer = async |bytes: usize| {
            let body = Full::new(Bytes::from(vec![b'x'; bytes]));
            read(body, ACME_ANSWER_BYTES_MAX).await
        };
        let whole = answer(ACME_ANSWER_BYTES_MAX).await.unwrap();
        assert_eq!(whole.len(), ACME_ANSWER_BYTES_MAX);
        let error = answer(ACME_ANSWER_BYTES_MAX + 1).await.unwrap_err();
        assert!(
            error.to_string().contains("ACME_ANSWER_BYTES_MAX"),
            "{error}"
        );
    }
}

//! What a port without TLS does before the application: answers challenges of ACME, sends clients to https. Knows no route.
//! Rule: only what came in the clear is sent on, and a client is sent to the host that it asked for.

use http::header::LOCATION;
use http::{HeaderValue, StatusCode};
use tsumugi_http::{HttpResponse, Request, RequestScheme, host_without_port};
use tsumugi_worker::WorkerHandle;

use crate::acme::CertificateSupply;

/// What requests of a connection meet before the application. The default leaves all to the application.
#[derive(Clone, Debug, Default)]
pub(crate) struct PlainPort {
    /// What answers challenges, where the certificate comes by ACME.
    pub acme: Option<CertificateSupply>,
    /// The port of https to which clients are sent, if they are.
    pub redirect: Option<u16>,
}

impl PlainPort {
    /// Whether a request may be answered here.
    pub fn answers(&self) -> bool {
        self.acme.is_some() || self.redirect.is_some()
    }

    /// The answer, if it is not the application's.
    pub async fn answer(&self, request: &Request, worker: &WorkerHandle) -> Option<HttpResponse> {
        if let Some(acme) = &self.acme
            && let Some(answer) = acme.answer(request, worker).await
        {
            return Some(answer);
        }
        let port = self.redirect?;
        (request.scheme == RequestScheme::Http).then(|| sent_on(request, port))
    }
}

/// 308, which has a client repeat its request as it was (RFC 9110 section 15.4.9).
fn sent_on(request: &Request, port: u16) -> HttpResponse {
    let host = request.host().and_then(host_without_port);
    let Some(host) = host else {
        let reason = "this address is for https, and the request names no host to go on at";
        return HttpResponse::refusal(StatusCode::BAD_REQUEST, reason);
    };
    let path = request.uri.path_and_query();
    let path = path.map_or("/", |path| path.as_str());
    let port = match port {
        443 => String::new(),
        port => format!(":{port}"),
    };
    match HeaderValue::try_from(format!("https://{host}{port}{path}")) {
        Ok(location) => {
            let response = HttpResponse::text(StatusCode::PERMANENT_REDIRECT, "over https\n");
            response.with(LOCATION, location)
        }
        Err(_) => HttpResponse::refusal(StatusCode::BAD_REQUEST, "malformed target"),
    }
}

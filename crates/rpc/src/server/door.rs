//! Where a call enters: who may, which service it is for, what it costs. Knows tokens, paths and limits, not what a call does.
//! Every refusal is gRPC's own kind of answer, but to what is no gRPC at all.

use std::cell::RefCell;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Method as Verb, Request, Response, StatusCode};
use hyper::body::Incoming;
use tonic::body::Body;
use tonic::codegen::Service as _;
use tonic::{Code, Status};

use super::budget::Claim;
use super::calls::Calls;
use super::inbound::{Bounds, Inbound};
use super::lane::Lane;
use super::outbound::{Outbound, Progress};
use super::side::Side;
use super::token::Tokens;
use crate::method::{Method, SERVICE};
use crate::proto::dbm_service_server::DbmServiceServer;

/// The entrance of one connection.
pub(crate) struct Door {
    pub calls: RefCell<DbmServiceServer<Calls>>,
    pub lane: Arc<Lane>,
    pub side: Arc<Side>,
    pub bounds: Bounds,
    /// Who enters shows one of these; none are asked of whom the system has let in already.
    pub tokens: Option<Arc<Tokens>>,
}

/// Counts a call for as long as it is being answered, however that ends.
struct Active<'a>(&'a Lane);

impl<'a> Active<'a> {
    fn begin(lane: &'a Lane) -> Active<'a> {
        lane.figures.call_begun();
        Active(lane)
    }
}

impl Drop for Active<'_> {
    fn drop(&mut self) {
        self.0.figures.call_ended();
    }
}

impl Door {
    /// Answers one call.
    pub(crate) async fn answer(
        &self,
        request: Request<Incoming>,
        progress: Arc<Progress>,
    ) -> Response<Outbound> {
        let begun = Instant::now();
        let _active = Active::begin(&self.lane);
        let method = Method::of_path(request.uri().path());
        let mut response = match self.admit(&request) {
            Ok(()) => self.route(request).await,
            Err(refusal) => *refusal,
        };
        if let Some(code) = refusal(&response) {
            self.lane.figures.refused(code);
        }
        self.lane.figures.answered(method, begun.elapsed());
        let claim = response.extensions_mut().remove::<Arc<Claim>>();
        response.map(|body| Outbound::new(body, progress, claim))
    }

    fn admit(&self, request: &Request<Incoming>) -> Result<(), Box<Response<Body>>> {
        if request.method() != Verb::POST {
            return Err(plain(StatusCode::METHOD_NOT_ALLOWED));
        }
        let media_type = request.headers().get(CONTENT_TYPE);
        if !media_type.is_some_and(is_grpc) {
            return Err(plain(StatusCode::UNSUPPORTED_MEDIA_TYPE));
        }
        // Who looks after the server's health is no client, and learns nothing but that it serves.
        if let Some(tokens) = &self.tokens
            && !Side::is_health(request.uri().path())
        {
            tokens
                .admit(request.headers())
                .map_err(|status| Box::new(status.into_http()))?;
        }
        Ok(())
    }

    async fn route(&self, request: Request<Incoming>) -> Response<Body> {
        // Until the call is answered, who waits pays for the message that is held.
        let kept = Arc::new(Mutex::new(Claim::default()));
        let keeps = Arc::downgrade(&kept);
        let request = request.map(|body| Inbound::new(body, self.bounds.clone(), keeps));
        let answer = if request.uri().path().starts_with(SERVICE) {
            // The call takes what it needs and leaves the service to the next one.
            let answer = self.calls.borrow_mut().call(request);
            answer.await
        } else {
            self.side.answer(request, self.lane.drain()).await
        };
        match answer {
            Ok(response) => response,
            Err(never) => match never {},
        }
    }
}

/// gRPC's code of an answer that is nothing else.
fn refusal(response: &Response<Body>) -> Option<Code> {
    let status = response.headers().get(Status::GRPC_STATUS)?;
    Some(Code::from_bytes(status.as_bytes())).filter(|code| *code != Code::Ok)
}

fn is_grpc(media_type: &HeaderValue) -> bool {
    let rest = media_type.as_bytes().strip_prefix(b"application/grpc");
    matches!(rest, Some([] | [b'+' | b';', ..]))
}

fn plain(status: StatusCode) -> Box<Response<Body>> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    Box::new(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(media_type: &str, expected: bool) {
        let value = HeaderValue::from_str(media_type).unwrap();
        assert_eq!(is_grpc(&value), expected, "{media_type}");
    }

    #[test]
    fn only_grpc_is_taken() {
        check("application/grpc", true);
        check("application/grpc+proto", true);
        check("application/grpc; charset=utf-8", true);
        check("application/grpc-web", false);
        check("application/json", false);
    }
}

//! Where a call enters: whether it is admitted, which service it is for, what it costs. Knows tokens, paths and limits, not what a call does.
//! Every refusal is gRPC's own kind of answer, but to what is no gRPC at all.

use std::cell::RefCell;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Instant;

use h2::RecvStream;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use http::request::Parts;
use http::{Method as Verb, Request, Response, StatusCode};
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::Service as _;

use super::calls::Calls;
use super::health_and_reflection::HealthAndReflection;
use super::inbound::{BodyBounds, Inbound, RetainedBytes};
use super::lane::ServiceLane;
use super::outbound::CallReply;
use super::token::Tokens;
use super::unary;
use crate::method::{Method, OWN_SERVICE, SERVICE};
use crate::own_proto::store_service_server::StoreServiceServer;
use crate::proto::dbm_service_server::DbmServiceServer;

/// The entrance of one connection.
pub(crate) struct CallGate {
    pub calls: Calls,
    /// The generated service, for streams.
    pub streams: RefCell<DbmServiceServer<Calls>>,
    /// The same of our own service.
    pub own_streams: RefCell<StoreServiceServer<Calls>>,
    pub lane: Arc<ServiceLane>,
    pub side: Arc<HealthAndReflection>,
    pub bounds: BodyBounds,
    /// Who enters shows one of these; none are asked of whom the system has let in already.
    pub tokens: Option<Arc<Tokens>>,
}

/// Counts a call for as long as it is being answered, however that ends.
struct Active<'a>(&'a ServiceLane);

impl<'a> Active<'a> {
    fn begin(lane: &'a ServiceLane) -> Active<'a> {
        lane.figures.call_begun();
        Active(lane)
    }
}

impl Drop for Active<'_> {
    fn drop(&mut self) {
        self.0.figures.call_ended();
    }
}

impl CallGate {
    /// Answers one call.
    pub(crate) async fn answer(&self, request: Request<RecvStream>) -> CallReply {
        let begun = Instant::now();
        let _active = Active::begin(&self.lane);
        let (head, body) = request.into_parts();
        let method = Method::of_path(head.uri.path());
        let reply = match self.refusal(&head) {
            None => self.route(method, head, body).await,
            Some(refusal) => refusal,
        };
        if let Some(code) = reply.refusal() {
            self.lane.figures.refused(code);
        }
        self.lane.figures.answered(method, begun.elapsed());
        reply
    }

    /// Why a call is not let in.
    fn refusal(&self, head: &Parts) -> Option<CallReply> {
        if head.method != Verb::POST {
            return Some(CallReply::Http(StatusCode::METHOD_NOT_ALLOWED));
        }
        let media_type = head.headers.get(CONTENT_TYPE);
        if !media_type.is_some_and(is_grpc) {
            return Some(CallReply::Http(StatusCode::UNSUPPORTED_MEDIA_TYPE));
        }
        // Who looks after the server's health is no client, and learns nothing but that it serves.
        let tokens = self
            .tokens
            .as_ref()
            .filter(|_| !HealthAndReflection::is_health(head.uri.path()))?;
        tokens.admit(&head.headers).err().map(CallReply::Refused)
    }

    async fn route(&self, method: Method, head: Parts, body: RecvStream) -> CallReply {
        if unary::has(method) {
            return match self.one(method, &head.headers, body).await {
                Ok(reply) => reply,
                Err(status) => CallReply::Refused(status),
            };
        }
        let inbound = Inbound::new(body, self.bounds.clone(), RetainedBytes::Nothing);
        let request = Request::from_parts(head, inbound);
        let answer: Result<Response<Body>, Infallible> =
            if request.uri().path().starts_with(SERVICE) {
                // The call takes what it needs and leaves the service to the next one.
                let answer = self.streams.borrow_mut().call(request);
                answer.await
            } else if request.uri().path().starts_with(OWN_SERVICE) {
                let answer = self.own_streams.borrow_mut().call(request);
                answer.await
            } else {
                self.side.answer(request, self.lane.drain()).await
            };
        match answer {
            Ok(response) => CallReply::Other(Box::new(response)),
            Err(never) => match never {},
        }
    }

    /// A call of one message.
    async fn one(
        &self,
        method: Method,
        headers: &HeaderMap,
        body: RecvStream,
    ) -> Result<CallReply, Status> {
        if let Some(encoding) = headers.get("grpc-encoding")
            && encoding != "identity"
        {
            return Err(Status::unimplemented(
                "messages are not compressed here; send them as they are",
            ));
        }
        // Until the call is answered, who waits pays for the message that is held.
        let mut inbound = Inbound::new(body, self.bounds.clone(), RetainedBytes::Largest);
        let message = inbound.message().await?;
        unary::answer(&self.calls, method, message).await
    }
}

fn is_grpc(media_type: &HeaderValue) -> bool {
    let rest = media_type.as_bytes().strip_prefix(b"application/grpc");
    matches!(rest, Some([] | [b'+' | b';', ..]))
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

//! The services beside the databases: health and reflection, as tonic's crates serve them. Knows no database.
//! Both kinds of reflection are there, because older tools only know the first. Streams end with the server: a client does not end a Watch.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body::Frame;
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::Service as _;
use tonic::server::NamedService as _;
use tonic_health::ServingStatus;
use tonic_health::pb::health_server::HealthServer;
use tonic_health::server::{HealthReporter, HealthService};
use tonic_reflection::server::Builder;

use super::calls::Calls;
use super::inbound::Inbound;
use super::lane::ending;
use crate::error::{Error, Result};
use crate::own_proto::store_service_server::StoreServiceServer;
use crate::proto::dbm_service_server::DbmServiceServer;

/// What describes the services to clients, as protobuf's FileDescriptorSet.
const DESCRIPTOR: &[u8] = include_bytes!("../../generated/services.bin");

type Answer = Box<dyn Fn(Request<Inbound>) -> AnswerFuture + Send + Sync>;
type AnswerFuture = tonic::codegen::BoxFuture<Response<Body>, Infallible>;

/// Health and reflection of one server.
pub(crate) struct HealthAndReflection {
    reporter: HealthReporter,
    reflection: Answer,
    old_reflection: Answer,
}

const HEALTH: &str = "/grpc.health.v1.Health/";

impl HealthAndReflection {
    pub(crate) fn new() -> Result<HealthAndReflection> {
        let describe = || {
            Builder::configure()
                .register_encoded_file_descriptor_set(DESCRIPTOR)
                .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        };
        let refused = |error: tonic_reflection::server::Error| Error::Descriptor(error.to_string());
        let (new, old) = (
            describe().build_v1().map_err(refused)?,
            describe().build_v1alpha().map_err(refused)?,
        );
        Ok(HealthAndReflection {
            reporter: HealthReporter::new(),
            reflection: Box::new(move |request| new.clone().call(request)),
            old_reflection: Box::new(move |request| old.clone().call(request)),
        })
    }

    /// Reports the server's health to its watchers.
    pub(crate) async fn set_serving(&self, status: ServingStatus) {
        let services = [
            DbmServiceServer::<Calls>::NAME,
            StoreServiceServer::<Calls>::NAME,
        ];
        for name in [""].into_iter().chain(services) {
            self.reporter.set_service_status(name, status).await;
        }
    }

    pub(crate) fn is_health(path: &str) -> bool {
        path.starts_with(HEALTH)
    }

    /// Answers what is not for a database. An answer that has nothing to tell when `drain` resolves ends then.
    pub(crate) async fn answer(
        &self,
        request: Request<Inbound>,
        drain: impl Future<Output = ()> + Send + 'static,
    ) -> Result<Response<Body>, Infallible> {
        let drain: Drain = Box::pin(drain);
        let answer = self.dispatch(request).await?;
        Ok(answer.map(|body| {
            Body::new(Ending {
                body,
                drain: Some(drain),
            })
        }))
    }

    async fn dispatch(&self, request: Request<Inbound>) -> Result<Response<Body>, Infallible> {
        let path = request.uri().path();
        if Self::is_health(path) {
            let service = HealthService::from_health_reporter(self.reporter.clone());
            HealthServer::new(service).call(request).await
        } else if path.starts_with("/grpc.reflection.v1.") {
            (self.reflection)(request).await
        } else if path.starts_with("/grpc.reflection.v1alpha.") {
            (self.old_reflection)(request).await
        } else {
            Ok(Status::unimplemented("there is no such service here").into_http())
        }
    }
}

type Drain = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A body that ends with the server.
struct Ending {
    body: Body,
    /// Nothing once it has ended the body.
    drain: Option<Drain>,
}

impl http_body::Body for Ending {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let this = self.get_mut();
        let Some(drain) = &mut this.drain else {
            return Poll::Ready(None);
        };
        // What there is to send is sent first.
        if let Poll::Ready(frame) = Pin::new(&mut this.body).poll_frame(context) {
            return Poll::Ready(frame);
        }
        ready!(drain.as_mut().poll(context));
        this.drain = None;
        let mut trailers = HeaderMap::new();
        let ended = ending().add_header(&mut trailers);
        Poll::Ready(Some(ended.map(|()| Frame::trailers(trailers))))
    }

    fn is_end_stream(&self) -> bool {
        self.drain.is_none() || self.body.is_end_stream()
    }

    fn size_hint(&self) -> http_body::SizeHint {
        self.body.size_hint()
    }
}

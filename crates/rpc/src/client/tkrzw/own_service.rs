//! Whether the server has the service of our own beside the protocol's, as its reflection says. Asked once a connection, before the first
//! call of that service. Rule: a server that does not show it is sent none of its calls.

use std::time::Duration;

use super::inner::ClientInner;
use crate::client::call::answer;
use crate::code::GrpcCode;
use crate::error::{Error, Result};
use crate::frame;
use crate::method::{Method, OWN_SERVICE};

/// Where reflection is.
pub(super) const REFLECTION: &str = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";

/// The question, as `grpc.reflection.v1` has it: of its kinds the one that is asked.
#[derive(Clone, PartialEq, prost::Message)]
struct ReflectionRequest {
    #[prost(string, optional, tag = "7")]
    list_services: Option<String>,
}

/// The answer: of its kinds those that may follow that question.
#[derive(Clone, PartialEq, prost::Message)]
struct ReflectionResponse {
    #[prost(message, optional, tag = "6")]
    list_services_response: Option<ServiceList>,
    #[prost(message, optional, tag = "7")]
    error_response: Option<ReflectionError>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct ServiceList {
    #[prost(message, repeated, tag = "1")]
    service: Vec<ListedService>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct ListedService {
    #[prost(string, tag = "1")]
    name: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct ReflectionError {
    #[prost(string, tag = "2")]
    error_message: String,
}

/// The name of the service, as reflection has it.
fn name() -> &'static str {
    OWN_SERVICE.trim_matches('/')
}

impl ClientInner {
    /// Sees to it that the server has a call of our own.
    ///
    /// # Errors
    /// [`Error::Unsupported`] when it does not.
    pub(super) async fn require(&self, method: Method) -> Result<()> {
        let opened = self.link.open().await?;
        if self.own_service_at.get() == Some(opened.number) {
            return Ok(());
        }
        let request = ReflectionRequest {
            list_services: Some(String::new()),
        };
        let (uri, body) = (self.reflection.clone(), frame::one(&request));
        let asked = self.ask(uri, body, Duration::ZERO).await;
        let (message, number) = match asked {
            Ok(answered) => answered,
            Err(Error::Refused {
                code: GrpcCode::Unimplemented,
                ..
            }) => {
                return Err(self.unsupported(method, "it has no reflection".to_owned()));
            }
            Err(error) => return Err(error),
        };
        let answer: ReflectionResponse = answer(message)?;
        let services = answer.list_services_response.unwrap_or_default().service;
        match answer.error_response {
            _ if services.iter().any(|service| service.name == name()) => {
                self.own_service_at.set(Some(number));
                Ok(())
            }
            Some(error) => {
                let reason = format!("its reflection says `{}`", error.error_message);
                Err(self.unsupported(method, reason))
            }
            None => {
                let reason = format!("its reflection does not show {}", name());
                Err(self.unsupported(method, reason))
            }
        }
    }

    /// The error of a call of our own: a server that took the place of another one meanwhile may lack it.
    pub(super) fn own_error(&self, method: Method, error: Error) -> Error {
        match error {
            Error::Refused {
                code: GrpcCode::Unimplemented,
                message,
            } => self.unsupported(method, format!("it says `{message}`")),
            error => error,
        }
    }

    fn unsupported(&self, method: Method, reason: String) -> Error {
        Error::Unsupported {
            target: self.link.target.to_string(),
            call: format!("{}/{}", name(), method.name()),
            reason,
        }
    }
}

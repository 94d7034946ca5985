//! Whether the server has the service of our own beside the protocol's, as its reflection says. Asked once a connection, before the first
//! call of that service. Rule: a server that does not show it is sent none of its calls.

use std::time::Duration;

use tonic::Code;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;
use tonic_reflection::pb::v1::{ServerReflectionRequest, ServerReflectionResponse};

use super::{ClientInner, answer};
use crate::error::{Error, Result};
use crate::frame;
use crate::method::{Method, OWN_SERVICE};

/// Where reflection is.
pub(super) const REFLECTION: &str = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";

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
        let request = ServerReflectionRequest {
            host: String::new(),
            message_request: Some(MessageRequest::ListServices(String::new())),
        };
        let (uri, body) = (self.reflection.clone(), frame::one(&request));
        let asked = self.ask(uri, body, Duration::ZERO).await;
        let (message, number) = match asked {
            Ok(answered) => answered,
            Err(Error::Refused {
                code: Code::Unimplemented,
                ..
            }) => {
                return Err(self.unsupported(method, "it has no reflection".to_owned()));
            }
            Err(error) => return Err(error),
        };
        let answer: ServerReflectionResponse = answer(message)?;
        match answer.message_response {
            Some(MessageResponse::ListServicesResponse(list))
                if list.service.iter().any(|service| service.name == name()) =>
            {
                self.own_service_at.set(Some(number));
                Ok(())
            }
            Some(MessageResponse::ErrorResponse(error)) => {
                let reason = format!("its reflection says `{}`", error.error_message);
                Err(self.unsupported(method, reason))
            }
            _ => {
                let reason = format!("its reflection does not show {}", name());
                Err(self.unsupported(method, reason))
            }
        }
    }

    /// The error of a call of our own: a server that took the place of another one meanwhile may lack it.
    pub(super) fn own_error(&self, method: Method, error: Error) -> Error {
        match error {
            Error::Refused {
                code: Code::Unimplemented,
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

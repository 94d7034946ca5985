//! Why an endpoint of the dashboard has no answer: a status and a text for people. Knows no endpoint.

use http::StatusCode;
use serde_json::{Value, json};

/// What an endpoint answers.
pub(crate) type ApiResult = Result<Value, ApiError>;

/// Why there is no answer.
#[derive(Clone, Debug)]
pub(crate) struct ApiError {
    pub status: StatusCode,
    pub text: String,
}

impl ApiError {
    pub fn new(status: StatusCode, text: impl Into<String>) -> ApiError {
        let text = text.into();
        ApiError { status, text }
    }

    /// 400: the caller has to send something else.
    pub fn bad_request(text: impl Into<String>) -> ApiError {
        ApiError::new(StatusCode::BAD_REQUEST, text)
    }

    /// 404: it is not there, or no longer.
    pub fn not_found(text: impl Into<String>) -> ApiError {
        ApiError::new(StatusCode::NOT_FOUND, text)
    }

    /// 503: no worker has answered.
    pub fn unavailable(text: impl Into<String>) -> ApiError {
        ApiError::new(StatusCode::SERVICE_UNAVAILABLE, text)
    }

    pub fn into_value(self) -> Value {
        json!({ "error": self.text })
    }
}

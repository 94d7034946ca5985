//! How the dashboard asks workers. Knows no answer.

use std::time::Duration;

use super::Dashboard;
use super::api::{ApiError, ApiResult};
use super::question::AdminQuestion;
use crate::limits::DASHBOARD_ANSWER_MS_MAX;

impl Dashboard {
    /// Asks one worker after another until one has an answer.
    pub async fn ask_any(&self, question: AdminQuestion) -> ApiResult {
        let limit = Duration::from_millis(DASHBOARD_ANSWER_MS_MAX);
        self.ask_any_within(question, limit).await
    }

    /// The same, where each may take this long.
    pub async fn ask_any_within(&self, question: AdminQuestion, limit: Duration) -> ApiResult {
        for sender in self.registry.questions() {
            match sender.ask(question.clone(), limit).await {
                Some(Ok(value)) => return Ok(value),
                Some(Err(text)) => return Err(ApiError::bad_request(text)),
                None => {}
            }
        }
        Err(ApiError::unavailable("no worker has an answer to this"))
    }
}

//! Questions that only an application on its worker can answer, asked from the admin thread. Knows no answer.
//! Rule: a worker that is stuck costs the asker a limit of time and nothing else, and at most `QUESTIONS_MAX` wait for one worker.

use std::time::Duration;

use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use crate::limits::DASHBOARD_QUESTIONS_MAX;

/// What an application is asked. `None` as an answer: not mine, ask another worker.
#[non_exhaustive]
#[derive(Clone, Debug)]
pub enum AdminQuestion {
    /// What there is under a name of the dashboard, with the parameters of the request.
    Named {
        /// The endpoint.
        name: &'static str,
        /// Its parameters, an object.
        parameters: Value,
    },
}

/// What an application answers: nothing where the question is not for it, an error as a text for people.
pub type QuestionAnswer = Option<Result<Value, String>>;

type Asked = (AdminQuestion, oneshot::Sender<QuestionAnswer>);

/// Where a worker is asked.
#[derive(Clone, Debug)]
pub(crate) struct QuestionSender(mpsc::Sender<Asked>);

/// Where a worker finds what it is asked.
#[derive(Debug)]
pub(crate) struct QuestionReceiver(mpsc::Receiver<Asked>);

pub(crate) fn questions() -> (QuestionSender, QuestionReceiver) {
    let (sender, receiver) = mpsc::channel(DASHBOARD_QUESTIONS_MAX);
    (QuestionSender(sender), QuestionReceiver(receiver))
}

impl QuestionReceiver {
    pub async fn next(&mut self) -> Option<(AdminQuestion, oneshot::Sender<QuestionAnswer>)> {
        self.0.recv().await
    }
}

impl QuestionSender {
    /// The worker's answer; none from one that is stuck, busy with other questions or has none.
    pub(super) async fn ask(&self, question: AdminQuestion, limit: Duration) -> QuestionAnswer {
        let (sender, answer) = oneshot::channel();
        self.0.try_send((question, sender)).ok()?;
        timeout(limit, answer).await.ok()?.ok()?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn question_beyond_the_limit_is_not_asked() {
        let (sender, _receiver) = questions();
        let question = AdminQuestion::Named {
            name: "x",
            parameters: Value::Null,
        };
        for _ in 0..DASHBOARD_QUESTIONS_MAX {
            let (answer, _) = oneshot::channel();
            sender.0.try_send((question.clone(), answer)).unwrap();
        }
        let (answer, _) = oneshot::channel();
        assert!(sender.0.try_send((question, answer)).is_err());
    }
}

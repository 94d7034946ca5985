//! Questions that only an application on its worker can answer, asked from the admin thread; and since when a worker has taken none. Knows no answer.
//! Rule: a worker that is stuck keeps nobody waiting who asks another one, and at most `DASHBOARD_QUESTIONS_MAX` wait for one worker.

use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::sync::{Notify, mpsc, oneshot};

use crate::limits::{DASHBOARD_QUESTIONS_MAX, DASHBOARD_SILENCE_MS};

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

/// What an application answers: nothing where the question is not for it.
pub type QuestionAnswer = Option<Result<Value, QuestionError>>;

/// Why an application has no value, as a text for people.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuestionError {
    /// What the question names is not there, or no longer.
    Absent(String),
    /// The question makes no sense, or what was asked for failed.
    Refused(String),
}

#[derive(Debug)]
enum WorkerMessage {
    /// Only whether the worker takes it.
    Call,
    Question(AdminQuestion, oneshot::Sender<QuestionAnswer>),
}

/// Whether a worker takes what it is sent.
#[derive(Debug, Default)]
struct WorkerPresence {
    /// When something was sent behind which nothing has been taken.
    called_at: Mutex<Option<Instant>>,
    taken: Notify,
}

impl WorkerPresence {
    fn called_at(&self) -> MutexGuard<'_, Option<Instant>> {
        self.called_at
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn confirm(&self) {
        self.called_at().take();
        self.taken.notify_waiters();
    }
}

/// Where a worker is asked.
#[derive(Clone, Debug)]
pub(crate) struct QuestionSender {
    worker: usize,
    messages: mpsc::Sender<WorkerMessage>,
    presence: Arc<WorkerPresence>,
}

/// Where a worker finds what it is asked.
#[derive(Debug)]
pub(crate) struct QuestionReceiver {
    messages: mpsc::Receiver<WorkerMessage>,
    presence: Arc<WorkerPresence>,
}

pub(crate) fn questions(worker: usize) -> (QuestionSender, QuestionReceiver) {
    let (sender, messages) = mpsc::channel(DASHBOARD_QUESTIONS_MAX);
    let presence = Arc::<WorkerPresence>::default();
    let sender = QuestionSender {
        worker,
        messages: sender,
        presence: Arc::clone(&presence),
    };
    (sender, QuestionReceiver { messages, presence })
}

impl QuestionReceiver {
    pub async fn next(&mut self) -> Option<(AdminQuestion, oneshot::Sender<QuestionAnswer>)> {
        loop {
            let message = self.messages.recv().await?;
            self.presence.confirm();
            if let WorkerMessage::Question(question, answer) = message {
                return Some((question, answer));
            }
        }
    }
}

impl Drop for QuestionReceiver {
    /// A worker that has ended takes nothing, and keeps nobody waiting.
    fn drop(&mut self) {
        self.messages.close();
        self.presence.confirm();
    }
}

impl QuestionSender {
    /// The number of the worker.
    pub fn worker(&self) -> usize {
        self.worker
    }

    /// Has the worker show that it is there. Costs nothing while it was called before and has not taken that.
    pub fn call(&self) {
        let mut called_at = self.presence.called_at();
        // One that has ended takes nothing, and is not silent either.
        if called_at.is_none() && !self.messages.is_closed() {
            *called_at = Some(Instant::now());
            // Where there is no room the worker is asked already, and shows that it is there with what it takes.
            let _ = self.messages.try_send(WorkerMessage::Call);
        }
    }

    /// Since when the worker has taken nothing, where that is longer than `DASHBOARD_SILENCE_MS`.
    pub fn silent_since(&self) -> Option<Instant> {
        let called_at = *self.presence.called_at();
        let silence = Duration::from_millis(DASHBOARD_SILENCE_MS);
        called_at.filter(|called_at| called_at.elapsed() >= silence)
    }

    /// Resolves once the worker takes what it is sent.
    pub(super) async fn present(&self) {
        self.call();
        loop {
            let mut taken = pin!(self.presence.taken.notified());
            // Before the look, so that nothing is missed behind it.
            taken.as_mut().enable();
            if self.presence.called_at().is_none() {
                return;
            }
            taken.await;
        }
    }

    /// The worker's answer; none from one that is busy with other questions or has none.
    pub(super) async fn ask(&self, question: AdminQuestion) -> QuestionAnswer {
        let (sender, answer) = oneshot::channel();
        let message = WorkerMessage::Question(question, sender);
        self.messages.try_send(message).ok()?;
        answer.await.ok()?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn worker_that_ends_after_it_was_called_is_waited_for_no_longer() {
        let (sender, receiver) = questions(0);
        let waiting = tokio::spawn({
            let sender = sender.clone();
            async move { sender.present().await }
        });
        while sender.presence.called_at().is_none() {
            tokio::task::yield_now().await;
        }
        drop(receiver);
        let limit = Duration::from_secs(60);
        tokio::time::timeout(limit, waiting).await.unwrap().unwrap();
        assert!(sender.presence.called_at().is_none());
        // Nor after it has ended.
        tokio::time::timeout(limit, sender.present()).await.unwrap();
        assert_eq!(sender.silent_since(), None);
    }

    #[tokio::test]
    async fn question_beyond_the_limit_is_not_asked() {
        let (sender, mut receiver) = questions(0);
        let question = || AdminQuestion::Named {
            name: "x",
            parameters: Value::Null,
        };
        for _ in 0..DASHBOARD_QUESTIONS_MAX {
            let (answer, _) = oneshot::channel();
            let message = WorkerMessage::Question(question(), answer);
            sender.messages.try_send(message).unwrap();
        }
        assert!(sender.ask(question()).await.is_none());
        // The worker shows with any of them that it is there.
        sender.call();
        assert!(sender.presence.called_at().is_some());
        receiver.next().await.unwrap();
        assert!(sender.presence.called_at().is_none());
    }
}

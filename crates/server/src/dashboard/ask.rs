//! How the dashboard asks workers, and what it says of those that do not answer. Knows no answer.
//! Rule: all workers are called at once and one that is there is asked, so that those that are stuck cost one limit of time together. What
//! changes something is asked of one worker only.

use std::collections::BTreeSet;
use std::pin::{Pin, pin};
use std::time::{Duration, SystemTime};

use futures_util::stream::{FuturesUnordered, StreamExt as _};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

use super::Dashboard;
use super::api::{ApiError, ApiResult};
use super::question::{AdminQuestion, QuestionAnswer, QuestionError, QuestionSender};
use crate::limits::{DASHBOARD_ANSWER_MS_MAX, DASHBOARD_NEXT_WORKER_MS};
use crate::unix_time::unix_ms;

impl Dashboard {
    /// Asks for what changes nothing. Another worker is asked too where one has no answer or takes its time.
    pub async fn ask_any(&self, question: AdminQuestion) -> ApiResult {
        let limit = Duration::from_millis(DASHBOARD_ANSWER_MS_MAX);
        let next_after = Some(Duration::from_millis(DASHBOARD_NEXT_WORKER_MS));
        ask(&self.registry.questions(), &question, limit, next_after).await
    }

    /// Asks for what changes something: another worker is asked only when one has said that it is not for it.
    pub async fn ask_one(&self, question: AdminQuestion) -> ApiResult {
        let limit = Duration::from_millis(DASHBOARD_ANSWER_MS_MAX);
        self.ask_one_within(question, limit).await
    }

    /// The same, where it may take this long.
    pub async fn ask_one_within(&self, question: AdminQuestion, limit: Duration) -> ApiResult {
        ask(&self.registry.questions(), &question, limit, None).await
    }

    /// Has all workers show that they are there; whoever asks next sees which are not.
    pub fn call_workers(&self) {
        for worker in self.registry.questions() {
            worker.call();
        }
    }

    /// The workers that have not shown that they are there, and since when.
    pub fn silent_workers(&self) -> Vec<Value> {
        let now = SystemTime::now();
        let silent = |worker: &QuestionSender| {
            let silent_for = worker.silent_since()?.elapsed();
            let since = now.checked_sub(silent_for).unwrap_or(now);
            Some(json!({ "worker": worker.worker(), "since_at": unix_ms(since) }))
        };
        self.registry
            .questions()
            .iter()
            .filter_map(silent)
            .collect()
    }
}

async fn ask(
    workers: &[QuestionSender],
    question: &AdminQuestion,
    limit: Duration,
    next_after: Option<Duration>,
) -> ApiResult {
    let mut unanswered = workers.iter().map(QuestionSender::worker).collect();
    let asking = first_answer(workers, question, next_after, &mut unanswered);
    match timeout(limit, asking).await {
        Ok(Some(Ok(value))) => Ok(value),
        Ok(Some(Err(QuestionError::Absent(text)))) => Err(ApiError::not_found(text)),
        Ok(Some(Err(QuestionError::Refused(text)))) => Err(ApiError::bad_request(text)),
        Ok(None) => Err(ApiError::unavailable("no worker has an answer to this")),
        Err(_) => {
            let numbers: Vec<String> = unanswered.iter().map(usize::to_string).collect();
            let text = format!(
                "no answer within {} ms; workers that are stuck or at something else: {}",
                limit.as_millis(),
                numbers.join(", ")
            );
            Err(ApiError::unavailable(text))
        }
    }
}

/// The answer of the worker of this number.
type Asked = Pin<Box<dyn Future<Output = (usize, QuestionAnswer)>>>;

/// The first answer of a worker. The next one that is there is asked when one has none, or after `next_after`.
async fn first_answer(
    workers: &[QuestionSender],
    question: &AdminQuestion,
    next_after: Option<Duration>,
    unanswered: &mut BTreeSet<usize>,
) -> QuestionAnswer {
    let present = |worker: &'_ QuestionSender| {
        let worker = worker.clone();
        async move {
            worker.present().await;
            worker
        }
    };
    let mut present: FuturesUnordered<_> = workers.iter().map(present).collect();
    let mut asked: FuturesUnordered<Asked> = FuturesUnordered::new();
    let mut is_next_due = true;
    let mut next_due = pin!(sleep(Duration::ZERO));
    loop {
        tokio::select! {
            Some((worker, answer)) = asked.next(), if !asked.is_empty() => {
                unanswered.remove(&worker);
                if answer.is_some() {
                    return answer;
                }
                is_next_due = true;
            }
            Some(worker) = present.next(), if is_next_due && !present.is_empty() => {
                let question = question.clone();
                asked.push(Box::pin(async move { (worker.worker(), worker.ask(question).await) }));
                is_next_due = false;
                if let Some(after) = next_after {
                    next_due.as_mut().reset(Instant::now() + after);
                }
            }
            () = next_due.as_mut(), if !is_next_due && next_after.is_some() && !present.is_empty() => {
                is_next_due = true;
            }
            else => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use tokio::sync::Notify;
    use tokio::task::LocalSet;

    use super::super::question::{QuestionReceiver, questions};
    use super::*;

    /// Longer than a test may take.
    const LONG: Duration = Duration::from_secs(600);

    const QUESTION: AdminQuestion = AdminQuestion::Named {
        name: "x",
        parameters: Value::Null,
    };

    /// A worker that answers this.
    async fn answer(mut asked: QuestionReceiver, value: QuestionAnswer) {
        while let Some((_, answer)) = asked.next().await {
            let _ = answer.send(value.clone());
        }
    }

    /// A worker that takes what it is asked and keeps it.
    async fn delay(mut asked: QuestionReceiver, is_asked: Rc<Notify>) {
        let mut open = Vec::new();
        while let Some(question) = asked.next().await {
            open.push(question);
            is_asked.notify_one();
        }
    }

    #[tokio::test]
    async fn worker_that_is_there_answers_beside_those_that_are_stuck() {
        let (senders, mut receivers): (Vec<_>, Vec<_>) = (0..3).map(questions).unzip();
        let local = LocalSet::new();
        local.spawn_local(answer(receivers.remove(1), Some(Ok(json!(7)))));
        let answered = local.run_until(ask(&senders, &QUESTION, LONG, None));
        assert_eq!(answered.await.unwrap(), 7);
    }

    #[tokio::test]
    async fn workers_that_are_all_stuck_are_named_after_one_limit() {
        let (senders, _stuck): (Vec<_>, Vec<_>) = (0..3).map(questions).unzip();
        let limit = Duration::from_millis(20);
        let error = ask(&senders, &QUESTION, limit, None).await.unwrap_err();
        assert!(error.text.ends_with("0, 1, 2"), "{}", error.text);
    }

    #[tokio::test]
    async fn next_worker_is_asked_where_one_has_no_answer() {
        let (senders, mut receivers): (Vec<_>, Vec<_>) = (0..2).map(questions).unzip();
        let local = LocalSet::new();
        local.spawn_local(answer(receivers.remove(0), None));
        local.spawn_local(answer(receivers.remove(0), Some(Ok(json!(7)))));
        let answered = local.run_until(ask(&senders, &QUESTION, LONG, None));
        assert_eq!(answered.await.unwrap(), 7);
        let (senders, mut receivers): (Vec<_>, Vec<_>) = (0..1).map(questions).unzip();
        local.spawn_local(answer(receivers.remove(0), None));
        let answered = local.run_until(ask(&senders, &QUESTION, LONG, None));
        assert_eq!(
            answered.await.unwrap_err().text,
            "no worker has an answer to this"
        );
    }

    #[tokio::test]
    async fn next_worker_is_asked_beside_a_slow_one_only_for_what_changes_nothing() {
        for next_after in [Some(Duration::from_millis(1)), None] {
            let (senders, mut receivers): (Vec<_>, Vec<_>) = (0..2).map(questions).unzip();
            let local = LocalSet::new();
            let is_asked = Rc::new(Notify::new());
            local.spawn_local(delay(receivers.remove(0), Rc::clone(&is_asked)));
            let other = receivers.remove(0);
            local.spawn_local(async move {
                // It is there only when the slow one has the question.
                is_asked.notified().await;
                answer(other, Some(Ok(json!(7)))).await;
            });
            let limit = match next_after {
                Some(_) => LONG,
                None => Duration::from_millis(200),
            };
            let asked = ask(&senders, &QUESTION, limit, next_after);
            let answered = local.run_until(asked).await;
            match next_after {
                Some(_) => assert_eq!(answered.unwrap(), 7),
                None => {
                    let text = answered.unwrap_err().text;
                    assert!(text.ends_with(": 0, 1"), "{text}");
                }
            }
        }
    }
}

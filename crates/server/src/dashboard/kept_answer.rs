//! An answer that costs its database much and is given to all who ask within a time. Knows no question.
//! Rule: it is asked for by one at a time and no more often than that, whatever becomes of who asks; an answer from before a change is not kept.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::api_error::{ApiError, ApiResult};

/// The last answer to a question.
#[derive(Debug)]
pub(crate) struct KeptAnswer {
    kept_for: Duration,
    /// Held by who asks. Others wait for the answer.
    asking: tokio::sync::Mutex<()>,
    state: Mutex<AnswerState>,
}

#[derive(Debug, Default)]
struct AnswerState {
    /// When it was asked for. An error is kept as well: the question may have cost as much.
    last: Option<(Instant, ApiResult)>,
    /// How often something was changed.
    changes: u64,
}

impl KeptAnswer {
    pub fn new(kept_for: Duration) -> KeptAnswer {
        KeptAnswer {
            kept_for,
            asking: tokio::sync::Mutex::default(),
            state: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, AnswerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The last answer, or where it is too old what this gives.
    pub async fn get(&self, ask: impl Future<Output = ApiResult>) -> ApiResult {
        let _asking = self.asking.lock().await;
        let begun = Instant::now();
        let changes = {
            let mut state = self.state();
            if let Some((asked_at, answer)) = &state.last
                && asked_at.elapsed() < self.kept_for
            {
                return answer.clone();
            }
            // Where whoever asks goes before the answer comes, its database is still at work.
            let gone = ApiError::unavailable("whoever asked for this has gone: ask again soon");
            state.last = Some((begun, Err(gone)));
            state.changes
        };
        let answer = ask.await;
        let mut state = self.state();
        if state.changes == changes {
            state.last = Some((begun, answer.clone()));
        }
        answer
    }

    /// What it is about has been changed.
    pub fn forget(&self) {
        let mut state = self.state();
        state.changes = state.changes.wrapping_add(1);
        state.last = None;
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use futures_util::FutureExt as _;
    use serde_json::json;

    use super::*;

    /// Asks, and gives the answer and how often was asked until now.
    async fn ask(kept: &KeptAnswer, asked: &Cell<u64>) -> u64 {
        let answer = kept.get(async {
            asked.set(asked.get() + 1);
            Ok(json!(asked.get()))
        });
        answer
            .await
            .ok()
            .and_then(|answer| answer.as_u64())
            .unwrap()
    }

    #[tokio::test]
    async fn jobs_are_counted_once_however_many_ask_until_the_answer_is_old_or_something_changes() {
        let (kept, asked) = (KeptAnswer::new(Duration::from_secs(600)), Cell::new(0));
        for _ in 0..10 {
            assert_eq!(ask(&kept, &asked).await, 1);
        }
        kept.forget();
        assert_eq!(ask(&kept, &asked).await, 2);
        // An answer that was asked for before a change is not kept.
        kept.forget();
        let changing = kept.get(async {
            kept.forget();
            Ok(json!("old"))
        });
        assert_eq!(changing.await.ok(), Some(json!("old")));
        assert_eq!(ask(&kept, &asked).await, 3);
        let brief = KeptAnswer::new(Duration::ZERO);
        assert_eq!(ask(&brief, &asked).await, 4);
        assert_eq!(ask(&brief, &asked).await, 5);
    }

    /// What is answered where an answer would be at once.
    fn text(kept: &KeptAnswer) -> Option<String> {
        let answer = kept.get(async { Ok(json!("asked")) }).now_or_never()?;
        Some(answer.map_or_else(|error| error.text, |answer| answer.to_string()))
    }

    #[tokio::test]
    async fn error_is_kept_as_an_answer_is() {
        let kept = KeptAnswer::new(Duration::from_secs(600));
        let failed = kept.get(async { Err(ApiError::unavailable("no worker")) });
        assert!(failed.await.is_err());
        assert_eq!(text(&kept).unwrap(), "no worker");
        kept.forget();
        assert_eq!(text(&kept).unwrap(), "\"asked\"");
    }

    #[tokio::test]
    async fn all_who_ask_wait_for_the_one_question_that_is_under_way() {
        let (kept, asked) = (KeptAnswer::new(Duration::from_secs(600)), Cell::new(0));
        let slow = |asked: &Cell<u64>| {
            asked.set(asked.get() + 1);
            tokio::task::yield_now().map(|()| Ok(json!(1)))
        };
        let all = (0..5).map(|_| kept.get(async { slow(&asked).await }));
        let answers = futures_util::future::join_all(all).await;
        assert!(answers.iter().all(|answer| *answer.as_ref().unwrap() == 1));
        assert_eq!(asked.get(), 1);
    }

    #[tokio::test]
    async fn question_whose_asker_has_gone_is_not_asked_again_at_once() {
        let kept = KeptAnswer::new(Duration::from_secs(600));
        let asked = kept.get(std::future::pending()).now_or_never();
        assert!(asked.is_none());
        let text = text(&kept).unwrap();
        assert!(text.contains("ask again soon"), "{text}");
    }
}

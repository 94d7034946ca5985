//! An answer that costs its database much and is given to all who ask within a time. Knows no question.
//! Rule: an error is not kept, and neither is an answer from before something was changed.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

/// The last answer to a question.
#[derive(Debug)]
pub(crate) struct KeptAnswer {
    kept_for: Duration,
    state: Mutex<AnswerState>,
}

#[derive(Debug, Default)]
struct AnswerState {
    /// When it was asked for.
    last: Option<(Instant, Value)>,
    /// How often something was changed.
    changes: u64,
}

impl KeptAnswer {
    pub fn new(kept_for: Duration) -> KeptAnswer {
        KeptAnswer {
            kept_for,
            state: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, AnswerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The last answer, or where it is too old what this gives.
    pub async fn get<E>(&self, ask: impl Future<Output = Result<Value, E>>) -> Result<Value, E> {
        let (begun, changes) = {
            let state = self.state();
            if let Some((asked_at, answer)) = &state.last
                && asked_at.elapsed() < self.kept_for
            {
                return Ok(answer.clone());
            }
            (Instant::now(), state.changes)
        };
        let answer = ask.await?;
        let mut state = self.state();
        if state.changes == changes {
            state.last = Some((begun, answer.clone()));
        }
        Ok(answer)
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

    use serde_json::json;

    use super::super::api::ApiError;
    use super::*;

    /// Asks, and gives the answer and how often was asked until now.
    async fn ask(kept: &KeptAnswer, asked: &Cell<u64>) -> u64 {
        let answer = kept.get(async {
            asked.set(asked.get() + 1);
            Ok::<_, ApiError>(json!(asked.get()))
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
            Ok::<_, ApiError>(json!("old"))
        });
        assert_eq!(changing.await.ok(), Some(json!("old")));
        assert_eq!(ask(&kept, &asked).await, 3);
        let brief = KeptAnswer::new(Duration::ZERO);
        assert_eq!(ask(&brief, &asked).await, 4);
        assert_eq!(ask(&brief, &asked).await, 5);
    }

    #[tokio::test]
    async fn error_is_not_kept() {
        let (kept, asked) = (KeptAnswer::new(Duration::from_secs(600)), Cell::new(0));
        let failed = kept.get(async { Err(ApiError::unavailable("no worker")) });
        assert!(failed.await.is_err());
        assert_eq!(ask(&kept, &asked).await, 1);
    }
}

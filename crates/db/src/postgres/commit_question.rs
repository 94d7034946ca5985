//! The question what has become of a commit: the server that is primary now is asked, again and again until it is known or the time is over, and so a
//! promotion is waited for. Which of its answers count, the driver says. Rule: it is asked by nothing but the transaction's number, so that it can go
//! on when its caller has left.
//!
//! It is asked on a connection beside the pool's, which may be taken, or go to a standby. For callers there are as many of them at most as the pool has
//! connections, because each transaction had one that is lost; for the log alone [`LATE_INQUIRIES_MAX`].

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};
use tsumugi_pg::{Connection, Connector, Error as Driver, ServerIdentity, XactId, XactVerdict};

use crate::limits::{INQUIRY_PAUSE_MAX, INQUIRY_PAUSE_MIN, LATE_INQUIRIES_MAX, LATE_INQUIRY_MAX};

/// What has become of a commit.
#[derive(Clone, Copy, Debug)]
pub(super) enum CommitOutcome {
    Committed,
    RolledBack,
}

/// What servers say of a commit.
pub(super) enum Finding {
    Known(CommitOutcome),
    /// None can say it, and why.
    Unknowable(String),
    /// None has said it in time, and why.
    Undecided(String),
}

/// What a primary is asked.
pub(super) struct CommitQuestion {
    pub(super) primary: Connector,
    pub(super) id: XactId,
    /// The server that gave the number.
    pub(super) server: Rc<ServerIdentity>,
    /// How long one answer is waited for, that of the standbys too.
    pub(super) patience: Duration,
}

impl CommitQuestion {
    /// Asks until it is known, or known that it cannot be, or the time is over.
    pub(super) async fn find_out(&self, until: Instant) -> Finding {
        let mut pause = INQUIRY_PAUSE_MIN;
        let mut kept = None;
        let mut reason = "no primary answered within acquire_timeout".to_owned();
        loop {
            let answer_by = until.min(Instant::now() + self.patience);
            match timeout_at(answer_by, self.ask(kept.take())).await {
                Ok(Ok((XactVerdict::Committed, connection))) => {
                    match timeout_at(answer_by, connection.await_standbys()).await {
                        Ok(Ok(())) => return Finding::Known(CommitOutcome::Committed),
                        // Another server may be primary, which has not got it.
                        Ok(Err(Driver::Lost { .. })) => {}
                        Ok(Err(error)) => {
                            return Finding::Unknowable(format!("{UNCONFIRMED}: {error}"));
                        }
                        Err(_) => return Finding::Unknowable(UNCONFIRMED.to_owned()),
                    }
                }
                Ok(Ok((XactVerdict::RolledBack, _))) => {
                    return Finding::Known(CommitOutcome::RolledBack);
                }
                Ok(Ok((XactVerdict::Unknown(why), _))) => {
                    return Finding::Unknowable(why.to_owned());
                }
                Ok(Ok((XactVerdict::InProgress, connection))) => {
                    reason = "it was still in progress after acquire_timeout".to_owned();
                    kept = Some(connection);
                }
                Ok(Ok((XactVerdict::Elsewhere(why), _))) => reason = why.to_owned(),
                Ok(Err(error)) => reason = error.to_string(),
                Err(_) => {}
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Finding::Undecided(reason);
            }
            sleep(pause.min(left)).await;
            pause = INQUIRY_PAUSE_MAX.min(pause * 2);
        }
    }

    /// Asks once, on a connection that is there already or a new one.
    async fn ask(&self, kept: Option<Connection>) -> tsumugi_pg::Result<(XactVerdict, Connection)> {
        let connection = match kept.filter(Connection::is_open) {
            Some(connection) => connection,
            None => Connection::open(&self.primary).await?,
        };
        let verdict = connection.xact_status(self.id, &self.server).await?;
        Ok((verdict, connection))
    }
}

/// Why what a primary has committed does not count. A failover would lose it.
const UNCONFIRMED: &str =
    "the primary has committed it, and no synchronous standby has confirmed that";

/// How many questions go on although their callers have been answered that it is not known.
#[derive(Default)]
pub(super) struct LateInquiries(Rc<Cell<usize>>);

/// One of them, for as long as it lasts.
struct LateInquiry(Rc<Cell<usize>>);

impl LateInquiries {
    /// Goes on with a question, so that the log says what has become of the commit. It needs neither the pool nor the caller.
    pub(super) fn begin(&self, question: CommitQuestion, route: Option<&str>) {
        let xid = question.id.number;
        let Some(counted) = self.count() else {
            tracing::warn!(target: "tsumugi_db", xid, route, "late_inquiries_max is reached ({LATE_INQUIRIES_MAX}): it is not asked further");
            return;
        };
        let route = route.map(str::to_owned);
        tokio::task::spawn_local(async move {
            let found = question.find_out(Instant::now() + LATE_INQUIRY_MAX).await;
            let route = route.as_deref();
            let what = match found {
                Finding::Known(CommitOutcome::Committed) => "it was committed".to_owned(),
                Finding::Known(CommitOutcome::RolledBack) => "it was rolled back".to_owned(),
                Finding::Unknowable(why) | Finding::Undecided(why) => {
                    format!("that is still not known: {why}")
                }
            };
            tracing::warn!(target: "tsumugi_db", xid, route, "a transaction of which it was not known whether it was committed: {what}");
            drop(counted);
        });
    }

    /// None where there are as many as there may be.
    fn count(&self) -> Option<LateInquiry> {
        let running = self.0.get();
        if running >= LATE_INQUIRIES_MAX {
            return None;
        }
        self.0.set(running + 1);
        Some(LateInquiry(Rc::clone(&self.0)))
    }
}

impl Drop for LateInquiry {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_inquiry_beyond_the_limit_is_not_begun_until_another_ends() {
        let inquiries = LateInquiries::default();
        let mut running: Vec<_> = (0..LATE_INQUIRIES_MAX)
            .map(|_| inquiries.count().unwrap())
            .collect();
        assert!(inquiries.count().is_none());
        running.pop();
        running.push(inquiries.count().unwrap());
        assert!(inquiries.count().is_none());
    }
}

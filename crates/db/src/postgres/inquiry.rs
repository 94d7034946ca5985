//! What has become of a transaction whose COMMIT was sent and not answered: the server that is primary now is asked, and a promotion is waited for
//! within `acquire_timeout`. Which of its answers count, the driver says.
//! Rule: nothing is run again here, and what no server can say is an error that says so.
//!
//! It is asked on a connection beside the pool's, which may be taken, or go to a standby. There are as many of them at most as the pool has
//! connections, because the transaction had one that is lost.

use tokio::time::{Instant, sleep, timeout_at};
use tsumugi_pg::{Connection, Error as Driver, ServerIdentity, XactId, XactVerdict};

use super::backend::Inner;
use super::link::Session;
use crate::error::{Error, Result};
use crate::limits::{INQUIRY_PAUSE_MAX, INQUIRY_PAUSE_MIN};
use crate::server::Fault;

/// What the connection of a transaction knows of it, also when it is lost.
pub(crate) struct CommitInquiry(Connection);

/// What has become of a commit.
#[derive(Clone, Copy, Debug)]
enum CommitOutcome {
    Committed,
    RolledBack,
}

impl CommitInquiry {
    /// Made before the COMMIT, whose connection goes back to the pool.
    pub(super) fn of(session: &Session) -> CommitInquiry {
        CommitInquiry(session.connection.clone())
    }

    /// What has become of the transaction; `fault` is why its COMMIT was not answered.
    pub(super) async fn resolve(self, pool: &Inner, fault: Fault<Driver>) -> Result<()> {
        // At once: where the connection lives on, another transaction may begin there.
        let CommitInquiry(connection) = self;
        let (id, server) = (connection.xact_id(), connection.server_identity());
        let has_only_read = connection.has_only_read();
        drop(connection);
        let is_unreplicated = matches!(fault, Fault::Driver(Driver::Unreplicated));
        let lost = pool.error("COMMIT", fault).into_reason();
        let xid = id.map(|id| id.number);
        let unknown = |why: &str| {
            tracing::warn!(target: "tsumugi_db", xid, "it is not known whether a transaction was committed: {why}");
            Error::CommitUnknown {
                xid,
                reason: why.to_owned(),
            }
        };
        if is_unreplicated {
            return Err(unknown(&lost));
        }
        if has_only_read {
            return Ok(());
        }
        let (Some(id), Some(server)) = (id, server) else {
            let why = "the server had not said which transaction it was";
            return Err(unknown(&format!("{lost}; {why}")));
        };
        match find_out(pool, id, &server).await {
            Ok(outcome) => {
                tracing::warn!(target: "tsumugi_db", xid, ?outcome, "the answer to a commit did not come, and the server was asked: {lost}");
                match outcome {
                    CommitOutcome::Committed => Ok(()),
                    CommitOutcome::RolledBack => Err(Error::LostUncommitted { reason: lost }),
                }
            }
            Err(why) => Err(unknown(&format!("{lost}; {why}"))),
        }
    }
}

/// Asks until it is known, or why it cannot be known.
async fn find_out(
    pool: &Inner,
    id: XactId,
    server: &ServerIdentity,
) -> Result<CommitOutcome, String> {
    let until = Instant::now() + pool.options.acquire_timeout;
    let mut pause = INQUIRY_PAUSE_MIN;
    let mut kept = None;
    let mut reason = "no primary answered within acquire_timeout".to_owned();
    loop {
        let asked = ask(pool, kept.take(), id, server);
        let Ok(asked) = timeout_at(until, asked).await else {
            return Err(reason);
        };
        match asked {
            Ok((XactVerdict::Committed, connection)) => {
                match timeout_at(until, connection.await_standbys()).await {
                    Ok(Ok(())) => return Ok(CommitOutcome::Committed),
                    // Another server may be primary, which has not got it.
                    Ok(Err(Driver::Lost { .. })) => {}
                    Ok(Err(error)) => return Err(format!("{UNCONFIRMED}: {error}")),
                    Err(_) => return Err(UNCONFIRMED.to_owned()),
                }
            }
            Ok((XactVerdict::RolledBack, _)) => return Ok(CommitOutcome::RolledBack),
            Ok((XactVerdict::Unknown(why), _)) => return Err(why.to_owned()),
            Ok((XactVerdict::InProgress, connection)) => {
                reason = "it was still in progress after acquire_timeout".to_owned();
                kept = Some(connection);
            }
            Ok((XactVerdict::Elsewhere(why), _)) => reason = why.to_owned(),
            Err(error) => reason = error.to_string(),
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(reason);
        }
        sleep(pause.min(left)).await;
        pause = INQUIRY_PAUSE_MAX.min(pause * 2);
    }
}

/// Why what a primary has committed does not count. A failover would lose it.
const UNCONFIRMED: &str =
    "the primary has committed it, and no synchronous standby has confirmed that";

/// Asks once, on a connection that is there already or a new one.
async fn ask(
    pool: &Inner,
    kept: Option<Connection>,
    id: XactId,
    server: &ServerIdentity,
) -> tsumugi_pg::Result<(XactVerdict, Connection)> {
    let connection = match kept.filter(Connection::is_open) {
        Some(connection) => connection,
        None => Connection::open(&pool.backend.primary).await?,
    };
    let verdict = connection.xact_status(id, server).await?;
    Ok((verdict, connection))
}

//! What has become of a transaction whose COMMIT was not answered, as another connection learns it. Waits for nothing and repeats nothing.
//! Rule: a server's word on a number counts only where that number cannot be another transaction's.
//!
//! A number is given out again where a server has lost the log in which it was first used: by a crash before that was written, or because
//! another server was promoted that had not received it. So "committed" counts only on a server that has run on without a crash, or on one that
//! has recovered, after the crash or at its promotion, at least as far in the log as the transaction had written when its number became known.
//! "Aborted" counts on every server that writes this timeline or a later one: had the transaction been committed in what lives on there, its
//! number would say so and could not have been given out again. That is so too where a standby was promoted that had not received the commit:
//! the old primary may have committed it, and what it had beyond the standby is gone. What this cannot see: a transaction whose number became
//! known by a write to a temporary or unlogged table has nothing in the log by then, and two crashes one after the other before it is asked.

use futures_util::future::{FutureExt as _, LocalBoxFuture};
use tsumugi_pg_proto::sqlstate::SqlState;

use crate::connection::Connection;
use crate::error::{Error, Result};
use crate::rows::Rows;
use crate::xact::{IDENTITY, ServerIdentity, XactFunctions, XactId, texts};

/// What a server says of a transaction of another connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum XactVerdict {
    /// It was committed.
    Committed,
    /// Nothing of it was kept, and nothing will be.
    RolledBack,
    /// It is not over here. Ask again.
    InProgress,
    /// This server cannot say it and another one may, or this one later; and why.
    Elsewhere(&'static str),
    /// It cannot be said any more, and why.
    Unknown(&'static str),
}

/// What a number stands for on a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NumberStatus {
    /// Committed, and over.
    Committed,
    Aborted,
    /// It runs, or waits for its standbys; or a standby was asked, which cannot know.
    InProgress,
    /// It was not given out yet.
    Unused,
    /// So old that it is forgotten.
    Forgotten,
}

impl Connection {
    /// Asks this server what has become of a transaction that `server` gave this number, once its own connection is lost.
    ///
    /// # Errors
    /// As [`Connection::query`].
    pub fn xact_status<'a>(
        &'a self,
        id: XactId,
        server: &'a ServerIdentity,
    ) -> LocalBoxFuture<'a, Result<XactVerdict>> {
        async move {
            let version = self.parameter("server_version").unwrap_or_default();
            let Some(functions) = XactFunctions::of(&version) else {
                return Ok(XactVerdict::Unknown(TOO_OLD));
            };
            let Some(found) = self.ask_who_it_is().await? else {
                return Ok(XactVerdict::Unknown(
                    "the server does not say which one it is",
                ));
            };
            if let Some(verdict) = judge_server(&found, server) {
                return Ok(verdict);
            }
            let status = self.number_status(&functions.status_of(id.number)).await?;
            Ok(judge(status, id, &found, server))
        }
        .boxed_local()
    }

    /// Waits until the synchronous standbys have all that this server has committed, at the level that this session asks for. At once where the server
    /// has none. A server that has recovered from a crash, or was made to stop waiting, shows what they have not got.
    ///
    /// # Errors
    /// As [`Connection::query`]; [`Error::Unreplicated`].
    pub fn await_standbys(&self) -> LocalBoxFuture<'_, Result<()>> {
        async move { self.script_rows(STANDBYS_BARRIER).await.map(drop) }.boxed_local()
    }

    async fn ask_who_it_is(&self) -> Result<Option<ServerIdentity>> {
        let results = self.script_rows(IDENTITY).await?;
        let row = results.first().map(Rows::first).transpose()?;
        Ok(row
            .flatten()
            .and_then(|row| ServerIdentity::read(row.raw())))
    }

    async fn number_status(&self, sql: &str) -> Result<NumberStatus> {
        let results = match self.script_rows(sql).await {
            Ok(results) => results,
            Err(Error::Server(error)) if error.code == SqlState::INVALID_PARAMETER_VALUE => {
                return Ok(NumberStatus::Unused);
            }
            Err(error) => return Err(error),
        };
        let row = results.first().map(Rows::first).transpose()?;
        let Some(row) = row.flatten() else {
            return Ok(NumberStatus::Forgotten);
        };
        let mut fields = texts(row.raw());
        let (status, is_visible) = (fields.next().flatten(), fields.next().flatten());
        Ok(match (status, is_visible) {
            (Some("committed"), Some("t")) => NumberStatus::Committed,
            (Some("committed" | "in progress" | "standby"), _) => NumberStatus::InProgress,
            (Some("aborted"), _) => NumberStatus::Aborted,
            _ => NumberStatus::Forgotten,
        })
    }
}

/// A commit waits for the standbys where it has something for them: here a message for logical decoding, which nobody reads.
const STANDBYS_BARRIER: &str = "SELECT CASE WHEN pg_catalog.current_setting('synchronous_standby_names') <> '' \
     THEN pg_catalog.pg_logical_emit_message(true, 'tsumugi', '') END";

const TOO_OLD: &str = "the server is older than PostgreSQL 10 or keeps no such record";

/// Why it is not to be asked there, if that is so.
fn judge_server(found: &ServerIdentity, before: &ServerIdentity) -> Option<XactVerdict> {
    if found.system != before.system {
        return Some(XactVerdict::Unknown("another cluster answers there now"));
    }
    let Some(known) = before.timeline else {
        return Some(XactVerdict::Unknown("its server did not say its timeline"));
    };
    match found.timeline {
        None => Some(XactVerdict::Elsewhere(
            "only a standby answers, and none is promoted",
        )),
        Some(timeline) if timeline < known => Some(XactVerdict::Elsewhere(
            "only a server of an earlier timeline answers",
        )),
        Some(_) => None,
    }
}

fn judge(
    status: NumberStatus,
    id: XactId,
    found: &ServerIdentity,
    before: &ServerIdentity,
) -> XactVerdict {
    match status {
        NumberStatus::Aborted | NumberStatus::Unused => XactVerdict::RolledBack,
        NumberStatus::InProgress => XactVerdict::InProgress,
        NumberStatus::Forgotten => {
            XactVerdict::Unknown("it is so long ago that the server has forgotten it")
        }
        NumberStatus::Committed
            if found.goes_on_from(before) || has_recovered(id, found, before) =>
        {
            XactVerdict::Committed
        }
        NumberStatus::Committed => XactVerdict::Unknown(
            "the server that answers had not received it all when it took over or recovered, so that another transaction may have its number",
        ),
    }
}

/// Whether the last recovery of a server, after a crash or when it was promoted, went through what the transaction had written when its number became
/// known. It is compared on one timeline and the next: behind two promotions the same places of the log may be another history.
fn has_recovered(id: XactId, found: &ServerIdentity, before: &ServerIdentity) -> bool {
    let is_next = match (before.timeline, found.timeline) {
        (Some(before), Some(found)) => found == before || found == before.saturating_add(1),
        _ => false,
    };
    is_next && found.replayed.is_some_and(|replayed| replayed >= id.lsn)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: XactId = XactId {
        number: 700,
        lsn: 1_000,
    };

    /// One that was started at `started`, writes this timeline, and recovered up to `replayed` before.
    fn server(started: u32, timeline: Option<u32>, replayed: Option<u64>) -> ServerIdentity {
        ServerIdentity {
            system: "7".to_owned(),
            timeline,
            started: started.to_string(),
            replayed,
            processes: vec![started + 1, started + 2],
        }
    }

    #[track_caller]
    fn check(status: NumberStatus, found: &ServerIdentity, expected: &str) {
        let before = server(10, Some(3), None);
        let verdict = judge_server(found, &before);
        let verdict = verdict.unwrap_or_else(|| judge(status, ID, found, &before));
        let verdict = match verdict {
            XactVerdict::Committed => "committed",
            XactVerdict::RolledBack => "rolled back",
            XactVerdict::InProgress => "in progress",
            XactVerdict::Elsewhere(_) => "elsewhere",
            XactVerdict::Unknown(_) => "unknown",
        };
        assert_eq!(verdict, expected, "{status:?} on {found:?}");
    }

    const ALL: [NumberStatus; 5] = [
        NumberStatus::Committed,
        NumberStatus::Aborted,
        NumberStatus::InProgress,
        NumberStatus::Unused,
        NumberStatus::Forgotten,
    ];

    #[test]
    fn server_that_has_run_on_is_believed() {
        let same = server(10, Some(3), None);
        check(NumberStatus::Committed, &same, "committed");
        check(NumberStatus::Aborted, &same, "rolled back");
        check(NumberStatus::InProgress, &same, "in progress");
        check(NumberStatus::Forgotten, &same, "unknown");
    }

    #[test]
    fn number_of_a_server_that_crashed_is_its_own_where_the_log_was_recovered() {
        for (replayed, expected) in [
            (Some(1_000), "committed"),
            (Some(5_000), "committed"),
            (Some(999), "unknown"),
            (None, "unknown"),
        ] {
            let mut crashed = server(10, Some(3), replayed);
            crashed.processes = vec![50, 51];
            check(NumberStatus::Committed, &crashed, expected);
            check(NumberStatus::Aborted, &crashed, "rolled back");
            check(NumberStatus::Unused, &crashed, "rolled back");
            check(NumberStatus::InProgress, &crashed, "in progress");
            check(
                NumberStatus::Committed,
                &server(40, Some(3), replayed),
                expected,
            );
        }
    }

    #[test]
    fn number_of_a_promoted_standby_is_its_own_where_it_had_received_the_log() {
        for (timeline, replayed, expected) in [
            (4, Some(1_000), "committed"),
            (4, Some(999), "unknown"),
            (4, None, "unknown"),
            (5, Some(9_000), "unknown"),
        ] {
            let promoted = server(40, Some(timeline), replayed);
            check(NumberStatus::Committed, &promoted, expected);
            // What the lost primary may have had is in no database that lives on.
            check(NumberStatus::Aborted, &promoted, "rolled back");
            check(NumberStatus::Unused, &promoted, "rolled back");
        }
    }

    #[test]
    fn standby_and_server_of_an_earlier_timeline_are_not_asked() {
        for status in ALL {
            check(status, &server(40, None, Some(9_000)), "elsewhere");
            check(status, &server(40, Some(2), Some(9_000)), "elsewhere");
        }
    }

    #[test]
    fn another_cluster_says_nothing() {
        for status in ALL {
            let mut other = server(10, Some(3), None);
            other.system = "8".to_owned();
            check(status, &other, "unknown");
        }
    }
}

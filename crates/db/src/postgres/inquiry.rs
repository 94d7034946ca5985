//! What has become of a transaction whose COMMIT was sent and not answered, as its caller is answered: by what its connection knew, and by the server
//! that is primary now, within `acquire_timeout`.
//! Rule: nothing is run again here, and what no server can say is an error that says so. Where the time was too short it is asked further for the log,
//! and the backend of the lost connection is told to stop: it may wait for a standby that is gone.

use std::cell::OnceCell;
use std::rc::Rc;
use std::sync::Arc;

use tokio::time::Instant;
use tsumugi_pg::{CertainEnd, Connection, Error as Driver, XactId};

use super::backend::Inner;
use super::commit_question::{CommitOutcome, CommitQuestion, Finding};
use super::failure::statement_had_failed;
use super::link::Session;
use crate::error::{Error, Result};
use crate::route_scope;
use crate::server::{CommitSubject, Fault};

/// What the connection of a transaction knows of it, also when it is lost. Clones are about the same commit.
#[derive(Clone)]
pub(crate) struct CommitInquiry(Rc<Subject>);

struct Subject {
    connection: Connection,
    /// For what the transaction was.
    route: Option<Arc<str>>,
    /// Its number as it was when its COMMIT was not answered: the connection may have another transaction since then.
    id: OnceCell<Option<XactId>>,
}

impl Subject {
    fn id(&self) -> Option<XactId> {
        let noted = self.id.get().copied();
        noted.unwrap_or_else(|| self.connection.xact_id())
    }
}

impl CommitSubject for CommitInquiry {
    fn xid(&self) -> Option<u64> {
        self.0.id().map(|id| id.number)
    }
}

impl CommitInquiry {
    /// Made before the COMMIT, whose connection goes back to the pool.
    pub(super) fn of(session: &Session) -> CommitInquiry {
        CommitInquiry(Rc::new(Subject {
            connection: session.connection.clone(),
            route: route_scope::current(),
            id: OnceCell::new(),
        }))
    }

    /// What has become of the transaction; `fault` is why its COMMIT was not answered.
    pub(super) async fn resolve(self, pool: &Inner, fault: Fault<Driver>) -> Result<()> {
        let Subject {
            connection,
            route,
            id,
        } = &*self.0;
        // At once: where the connection lives on, another transaction may begin there.
        let id = *id.get_or_init(|| connection.xact_id());
        let (server, end) = (connection.server_identity(), connection.certain_end());
        let is_unreplicated = matches!(fault, Fault::Driver(Driver::Unreplicated));
        let lost = pool.error("COMMIT", fault).into_reason();
        let (xid, route) = (id.map(|id| id.number), route.as_deref());
        let unknown = |why: &str| {
            tracing::warn!(target: "tsumugi_db", xid, route, "it is not known whether a transaction was committed: {why}");
            Error::CommitUnknown {
                xid,
                reason: why.to_owned(),
            }
        };
        if is_unreplicated {
            return Err(unknown(&lost));
        }
        match end {
            Some(CertainEnd::Committed) => return Ok(()),
            Some(CertainEnd::RolledBack) => return Err(statement_had_failed()),
            None => {}
        }
        let (Some(id), Some(server)) = (id, server) else {
            connection.stop_lost_commit();
            let why = "the server had not said which transaction it was";
            return Err(unknown(&format!("{lost}; {why}")));
        };
        let patience = pool.options.acquire_timeout;
        let question = CommitQuestion {
            primary: pool.backend.primary.clone(),
            id,
            server,
            patience,
        };
        let found = question.find_out(Instant::now() + patience).await;
        if let Finding::Known(outcome) = &found {
            tracing::warn!(target: "tsumugi_db", xid, route, ?outcome, "the answer to a commit did not come, and the server was asked: {lost}");
        }
        match found {
            Finding::Known(CommitOutcome::Committed) => Ok(()),
            Finding::Known(CommitOutcome::RolledBack) => {
                Err(Error::LostUncommitted { reason: lost })
            }
            Finding::Unknowable(why) => Err(unknown(&format!("{lost}; {why}"))),
            Finding::Undecided(why) => {
                connection.stop_lost_commit();
                let error = unknown(&format!("{lost}; {why}"));
                pool.backend.late_inquiries.begin(question, route);
                Err(error)
            }
        }
    }
}

//! What a connection knows of the transaction that it has begun: the number that the server gives to one that writes, and which server that is.
//! Data only: nothing here asks. Rule: a number belongs to the transaction that was begun last, and is forgotten when the next one begins.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use tsumugi_pg_proto::backend::{DataRow, TransactionStatus};
use tsumugi_pg_proto::connection::StatementName;

/// A transaction as its cluster counts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct XactId {
    /// Its number with the epoch, an `xid8`.
    pub number: u64,
    /// A place in the write-ahead log behind what it had written when its number became known.
    pub lsn: u64,
}

impl XactId {
    /// From the row that answers [`XactFunctions::question`]; none while the transaction has no number.
    pub(crate) fn read(row: DataRow<'_>) -> Option<XactId> {
        let mut fields = texts(row);
        let number = fields.next()??.parse().ok()?;
        let lsn = lsn(fields.next()??)?;
        Some(XactId { number, lsn })
    }
}

/// An end of a transaction that no loss of its connection changes once its COMMIT is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CertainEnd {
    /// It has only read, and none of its statements has failed: there is nothing to be kept or undone.
    Committed,
    /// A statement in it had failed: COMMIT rolls it back.
    RolledBack,
}

/// Which server a connection reaches, and since when that has run without a crash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerIdentity {
    /// What a cluster and all of its physical copies share.
    pub system: String,
    /// The timeline that it writes; none while it only replays one.
    pub timeline: Option<u32>,
    /// When its first process was started.
    pub started: String,
    /// How far it replayed the write-ahead log when it recovered last; none where it was started without that.
    pub replayed: Option<u64>,
    /// Processes of its own, all of which end in a crash.
    pub processes: Vec<u32>,
}

impl ServerIdentity {
    /// From the row that answers [`IDENTITY`].
    pub(crate) fn read(row: DataRow<'_>) -> Option<ServerIdentity> {
        let mut fields = texts(row);
        let system = fields.next()??.to_owned();
        let timeline = fields.next()?;
        let started = fields.next()??.to_owned();
        let replayed = fields.next()?;
        let processes = fields.next()?.unwrap_or_default();
        Some(ServerIdentity {
            system,
            timeline: timeline.and_then(|digits| u32::from_str_radix(digits, 16).ok()),
            started,
            replayed: replayed.and_then(lsn),
            processes: processes
                .split(',')
                .filter_map(|process| process.parse().ok())
                .collect(),
        })
    }

    /// Whether it has run since `before` without a crash or a restart. A container may give its processes the same numbers when it is started
    /// again, and a crash leaves the first process alone: so both count.
    pub(crate) fn goes_on_from(&self, before: &ServerIdentity) -> bool {
        let mut processes = self.processes.iter();
        self.started == before.started
            && processes.any(|process| before.processes.contains(process))
    }
}

/// Asks which server it is. Any role may ask so, unless an administrator has revoked it.
pub(crate) const IDENTITY: &str = "SELECT c.system_identifier, \
     CASE WHEN pg_catalog.pg_is_in_recovery() THEN NULL \
     ELSE pg_catalog.substr(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_insert_lsn()), 1, 8) END, \
     pg_catalog.date_part('epoch', pg_catalog.pg_postmaster_start_time()), \
     pg_catalog.pg_last_wal_replay_lsn(), \
     (SELECT pg_catalog.string_agg(a.pid::pg_catalog.text, ',') FROM pg_catalog.pg_stat_activity a WHERE a.usesysid IS NULL) \
     FROM pg_catalog.pg_control_system() c";

/// What a server calls its functions about the numbers of transactions.
#[derive(Debug)]
pub(crate) struct XactFunctions {
    /// Asks for the number of the transaction that is open and for a place in the log. Both are NULL while it has no number; there is none on a
    /// standby, where the place could not be asked for.
    pub(crate) question: &'static str,
    status: &'static str,
    ty: &'static str,
    is_visible: &'static str,
    snapshot: &'static str,
}

static SINCE_13: XactFunctions = XactFunctions {
    question: "SELECT pg_catalog.pg_current_xact_id_if_assigned(), \
         CASE WHEN pg_catalog.pg_current_xact_id_if_assigned() IS NOT NULL THEN pg_catalog.pg_current_wal_insert_lsn() END",
    status: "pg_xact_status",
    ty: "xid8",
    is_visible: "pg_visible_in_snapshot",
    snapshot: "pg_current_snapshot",
};

static SINCE_10: XactFunctions = XactFunctions {
    question: "SELECT pg_catalog.txid_current_if_assigned(), \
         CASE WHEN pg_catalog.txid_current_if_assigned() IS NOT NULL THEN pg_catalog.pg_current_wal_insert_lsn() END",
    status: "txid_status",
    ty: "int8",
    is_visible: "txid_visible_in_snapshot",
    snapshot: "txid_current_snapshot",
};

impl XactFunctions {
    /// Those of a server that says it is of this version, such as `15.14 (Debian 15.14-0+deb12u1)`; none where there are none.
    pub(crate) fn of(version: &str) -> Option<&'static XactFunctions> {
        let digits = version
            .split(|letter: char| !letter.is_ascii_digit())
            .next();
        match digits?.parse().ok()? {
            13..=u32::MAX => Some(&SINCE_13),
            10..13 => Some(&SINCE_10),
            0..10 => None,
        }
    }

    /// Asks what has become of a transaction, and whether a snapshot of now sees it. Older servers say that one is committed which still waits for
    /// its standbys; no snapshot sees it before that is over. A standby, to which something in between may have sent it, says only that.
    pub(crate) fn status_of(&self, number: u64) -> String {
        let XactFunctions {
            question: _,
            status,
            ty,
            is_visible,
            snapshot,
        } = self;
        let number = format!("'{number}'::pg_catalog.{ty}");
        format!(
            "SELECT CASE WHEN pg_catalog.pg_is_in_recovery() THEN 'standby' ELSE pg_catalog.{status}({number}) END, \
             pg_catalog.{is_visible}({number}, pg_catalog.{snapshot}())"
        )
    }
}

/// The fields of a row in text format. What is NULL or cannot be read is none.
pub(crate) fn texts(row: DataRow<'_>) -> impl Iterator<Item = Option<&str>> {
    row.columns().map(|field| {
        let bytes = field.ok().flatten()?;
        std::str::from_utf8(bytes).ok()
    })
}

/// A place in the write-ahead log, such as `16/B374D848`.
pub(crate) fn lsn(text: &str) -> Option<u64> {
    let (high, low) = text.split_once('/')?;
    let half = |digits| u32::from_str_radix(digits, 16).map(u64::from).ok();
    Some(half(high)? << 32 | half(low)?)
}

/// Whether the numbers of transactions can be asked for on a connection.
#[derive(Clone, Copy, Debug, Default)]
enum XactSupport {
    #[default]
    Unknown,
    Missing,
    Present(&'static XactFunctions),
}

/// What is known of the transaction that was begun last on a connection.
#[derive(Default)]
pub(crate) struct Xact {
    support: Cell<XactSupport>,
    /// The question as the session knows it; none where it is sent each time.
    statement: Cell<Option<StatementName>>,
    identity: RefCell<Option<Rc<ServerIdentity>>>,
    /// It was begun, and no end of it was sent.
    is_followed: Cell<bool>,
    is_read_only: Cell<bool>,
    /// All of its statements only read.
    only_reads: Cell<bool>,
    /// It may have got a number by something behind which the question could not be put.
    is_unasked: Cell<bool>,
    id: Cell<Option<XactId>>,
    /// Its state when its COMMIT was written; none before, and where that was not known.
    at_commit: Cell<Option<TransactionStatus>>,
}

impl Xact {
    /// A transaction begins that the server lets write nothing, and of which no statement turns out to be wrong at the commit.
    pub(crate) fn begin_read_only(&self) {
        self.begin();
        self.is_read_only.set(true);
    }

    /// A transaction begins.
    pub(crate) fn begin(&self) {
        self.is_followed.set(true);
        self.is_read_only.set(false);
        self.only_reads.set(true);
        self.is_unasked.set(false);
        self.id.set(None);
        self.at_commit.set(None);
    }

    /// Its end is sent.
    pub(crate) fn end(&self) {
        self.is_followed.set(false);
    }

    /// What is open is not what was begun last: a text has ended that and begun another.
    pub(crate) fn forget(&self) {
        self.end();
        self.is_read_only.set(false);
        self.id.set(None);
    }

    pub(crate) fn is_followed(&self) -> bool {
        self.is_followed.get()
    }

    pub(crate) fn id(&self) -> Option<XactId> {
        self.id.get()
    }

    /// The question was answered.
    pub(crate) fn note_answer(&self, id: Option<XactId>) {
        self.is_unasked.set(false);
        if id.is_some() {
            self.id.set(id);
        }
    }

    /// There may be something to commit.
    pub(crate) fn note_write(&self) {
        self.only_reads.set(false);
    }

    /// Whether all of its statements only read, as far as their texts show it.
    pub(crate) fn only_reads(&self) -> bool {
        self.only_reads.get()
    }

    /// There may be something to commit, and it was not asked for a number.
    pub(crate) fn note_unasked(&self) {
        self.note_write();
        self.is_unasked
            .set(self.functions().is_some() && self.id.get().is_none());
    }

    pub(crate) fn is_unasked(&self) -> bool {
        self.is_followed.get() && self.is_unasked.get()
    }

    /// Whether the server lets it write nothing, and its statements do nothing else that a commit brings about.
    pub(crate) fn has_only_read(&self) -> bool {
        self.is_read_only.get() && self.only_reads.get()
    }

    /// Its COMMIT is written, and finds it in this state, if that is known.
    pub(crate) fn note_commit(&self, status: Option<TransactionStatus>) {
        self.at_commit.set(status);
    }

    pub(crate) fn certain_end(&self) -> Option<CertainEnd> {
        match self.at_commit.get()? {
            TransactionStatus::Failed => Some(CertainEnd::RolledBack),
            TransactionStatus::InTransaction => {
                self.has_only_read().then_some(CertainEnd::Committed)
            }
            TransactionStatus::Idle => None,
        }
    }

    pub(crate) fn functions(&self) -> Option<&'static XactFunctions> {
        match self.support.get() {
            XactSupport::Present(functions) => Some(functions),
            XactSupport::Unknown | XactSupport::Missing => None,
        }
    }

    /// Whether the server is to be asked who it is before a transaction begins.
    pub(crate) fn needs_identity(&self) -> bool {
        matches!(self.support.get(), XactSupport::Unknown)
    }

    /// What came of asking for numbers; none where that failed, and it is not asked again.
    pub(crate) fn note_functions(&self, functions: Option<&'static XactFunctions>) {
        self.support
            .set(functions.map_or(XactSupport::Missing, XactSupport::Present));
    }

    pub(crate) fn identity(&self) -> Option<Rc<ServerIdentity>> {
        self.identity.borrow().clone()
    }

    pub(crate) fn note_identity(&self, identity: ServerIdentity) {
        self.identity.replace(Some(Rc::new(identity)));
    }

    pub(crate) fn statement(&self) -> Option<StatementName> {
        self.statement.get()
    }

    pub(crate) fn set_statement(&self, name: Option<StatementName>) {
        self.statement.set(name);
    }

    /// The session has forgotten everything.
    pub(crate) fn forget_session(&self) {
        self.statement.set(None);
        self.support.set(XactSupport::Unknown);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_follow_the_version() {
        let check = |version: &str, expected: Option<&str>| {
            let found = XactFunctions::of(version).map(|functions| functions.status);
            assert_eq!(found, expected, "{version}");
        };
        check("9.6.24", None);
        check("10.23", Some("txid_status"));
        check("12beta1", Some("txid_status"));
        check("13.0", Some("pg_xact_status"));
        check("15.14 (Debian 15.14-0+deb12u1)", Some("pg_xact_status"));
        check("18devel", Some("pg_xact_status"));
        check("", None);
        check("CockroachDB", None);
    }

    #[test]
    fn place_in_the_log_is_read_from_its_two_halves() {
        assert_eq!(lsn("16/B374D848"), Some(0x16_B374_D848));
        assert_eq!(lsn("0/0"), Some(0));
        for text in ["", "16", "16/", "/1", "1/2/3", "g/1", "1/1ffffffff"] {
            assert_eq!(lsn(text), None, "{text}");
        }
    }

    #[test]
    fn server_goes_on_while_its_start_and_one_of_its_processes_are_the_same() {
        let server = |started: &str, processes: &[u32]| ServerIdentity {
            system: "1".to_owned(),
            timeline: Some(1),
            started: started.to_owned(),
            replayed: None,
            processes: processes.to_vec(),
        };
        let before = server("5.25", &[10, 11, 12]);
        assert!(server("5.25", &[12, 30]).goes_on_from(&before));
        assert!(!server("5.25", &[30, 31, 32]).goes_on_from(&before));
        assert!(!server("9.5", &[10, 11, 12]).goes_on_from(&before));
        assert!(!server("5.25", &[]).goes_on_from(&server("5.25", &[])));
    }
}

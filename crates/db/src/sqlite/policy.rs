//! Which statements may run on a pooled connection. SQLite asks while it prepares a statement, so that nothing has
//! happened yet. Not access control: a caller that may send SQL may read and change everything.
//! Rule: no statement leaves a connection other than the next user expects it.

use rusqlite::hooks::{AuthAction, Authorization};

use super::watch;

/// Who prepares the statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Policy {
    /// This crate.
    #[default]
    Internal,
    /// A caller, on a reader.
    Reader,
    /// A caller, on the writer or in a transaction.
    Writer,
    /// A caller's script outside a transaction, after which the connection is put right.
    Script,
}

/// Why a statement was not prepared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It belongs on the writer.
    NeedsWriter,
    /// It would change the connection, and this is what to do instead.
    Usage(&'static str),
}

const TRANSACTIONS: &str = "BEGIN, COMMIT, ROLLBACK and SAVEPOINT would change a shared connection: use a transaction and its savepoints";
const ATTACH: &str = "ATTACH and DETACH would change one connection of several: connect to the other database instead";
const TEMPORARY: &str = "temporary tables, views and triggers would exist on one connection of several: use ordinary ones";
const SETTINGS: &str =
    "this PRAGMA would change one connection of several: settings belong in the database URL";

/// These only look something up, although they take an argument.
const LOOKUPS: &[&str] = &[
    "table_info",
    "table_xinfo",
    "table_list",
    "index_list",
    "index_info",
    "index_xinfo",
    "foreign_key_list",
    "foreign_key_check",
    "integrity_check",
    "quick_check",
];

/// These change the file, or end with the transaction, so they belong on the writer.
const WRITES: &[&str] = &[
    "user_version",
    "application_id",
    "auto_vacuum",
    "incremental_vacuum",
    "optimize",
    "wal_checkpoint",
    "defer_foreign_keys",
];

/// Scripts switch these while they rebuild tables.
const SCRIPT_SETTINGS: &[&str] = &["foreign_keys", "legacy_alter_table"];

/// Decides about one part of the statement that is being prepared on this thread.
pub(super) fn authorize(action: AuthAction<'_>) -> Authorization {
    let Some(refusal) = refusal(watch::policy(), action) else {
        return Authorization::Allow;
    };
    watch::refuse(refusal);
    Authorization::Deny
}

fn refusal(policy: Policy, action: AuthAction<'_>) -> Option<Refusal> {
    if policy == Policy::Internal {
        return None;
    }
    match action {
        AuthAction::Transaction { .. } | AuthAction::Savepoint { .. }
            if policy != Policy::Script =>
        {
            Some(Refusal::Usage(TRANSACTIONS))
        }
        AuthAction::Attach { .. } | AuthAction::Detach { .. } => Some(Refusal::Usage(ATTACH)),
        AuthAction::CreateTempTable { .. }
        | AuthAction::CreateTempView { .. }
        | AuthAction::CreateTempTrigger { .. }
        | AuthAction::CreateTempIndex { .. } => Some(Refusal::Usage(TEMPORARY)),
        AuthAction::Pragma {
            pragma_name,
            pragma_value,
        } => pragma(policy, pragma_name, pragma_value),
        _ => None,
    }
}

fn pragma(policy: Policy, name: &str, value: Option<&str>) -> Option<Refusal> {
    let is_in = |names: &[&str]| names.iter().any(|other| other.eq_ignore_ascii_case(name));
    if is_in(WRITES) {
        return (policy == Policy::Reader).then_some(Refusal::NeedsWriter);
    }
    let is_allowed =
        value.is_none() || is_in(LOOKUPS) || (policy == Policy::Script && is_in(SCRIPT_SETTINGS));
    (!is_allowed).then_some(Refusal::Usage(SETTINGS))
}

/// The kind of a statement, as far as its first word tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leading {
    /// Nothing but space, comments and semicolons.
    Nothing,
    /// Usually only reads.
    Read,
    /// `INSERT` or `REPLACE`.
    Insert,
    /// `WITH`: it may read or insert.
    With,
    /// `VACUUM`, which attaches a database and begins a transaction behind the scenes.
    Vacuum,
    /// Anything else.
    Other,
}

/// Reads the first word. What it says is only a guess where to try first; SQLite decides.
pub(super) fn leading(sql: &str) -> Leading {
    let mut rest = sql;
    loop {
        rest = rest
            .trim_start_matches(|c: char| c.is_ascii_whitespace() || c == ';' || c == '\u{feff}');
        if let Some(comment) = rest.strip_prefix("--") {
            rest = comment.split_once('\n').map_or("", |(_, after)| after);
        } else if let Some(comment) = rest.strip_prefix("/*") {
            rest = comment.split_once("*/").map_or("", |(_, after)| after);
        } else {
            break;
        }
    }
    let end = rest
        .find(|c: char| !c.is_ascii_alphabetic())
        .unwrap_or(rest.len());
    let word = &rest[..end];
    let is = |words: &[&str]| words.iter().any(|other| other.eq_ignore_ascii_case(word));
    match word {
        "" if rest.is_empty() => Leading::Nothing,
        _ if is(&["select", "values", "explain", "pragma"]) => Leading::Read,
        _ if is(&["insert", "replace"]) => Leading::Insert,
        _ if is(&["with"]) => Leading::With,
        _ if is(&["vacuum"]) => Leading::Vacuum,
        _ => Leading::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(sql: &str, expected: Leading) {
        assert_eq!(leading(sql), expected, "{sql:?}");
    }

    #[test]
    fn first_word_is_found_behind_space_and_comments() {
        check("select 1", Leading::Read);
        check("  -- note\n /* a */ VALUES(1)", Leading::Read);
        check("\u{feff}Insert into t", Leading::Insert);
        check("with x as (select 1) delete from t", Leading::With);
        check("vacuum", Leading::Vacuum);
        check("delete from t", Leading::Other);
        check("selection", Leading::Other);
        check("日本", Leading::Other);
        check(" ; -- only", Leading::Nothing);
        check("/* open", Leading::Nothing);
        check("", Leading::Nothing);
    }

    #[test]
    fn pragmas_are_looked_up_written_or_refused() {
        let pragma = |policy, name, value| pragma(policy, name, value);
        assert_eq!(pragma(Policy::Reader, "foreign_keys", None), None);
        assert_eq!(pragma(Policy::Reader, "TABLE_INFO", Some("users")), None);
        assert_eq!(
            pragma(Policy::Reader, "user_version", Some("3")),
            Some(Refusal::NeedsWriter)
        );
        assert_eq!(pragma(Policy::Writer, "user_version", Some("3")), None);
        assert_eq!(
            pragma(Policy::Writer, "foreign_keys", Some("off")),
            Some(Refusal::Usage(SETTINGS))
        );
        assert_eq!(pragma(Policy::Script, "foreign_keys", Some("off")), None);
        assert_eq!(
            pragma(Policy::Script, "query_only", Some("on")),
            Some(Refusal::Usage(SETTINGS))
        );
    }
}

//! One database of a test: its name, its URL, what is in it; and which database may have such beside it. Connects to nothing.
//! Rule: a name of this form, with the number of a run in it, is never given to anything that may not be removed.

use crate::error::{Error, Result};
use crate::rows::Rows;

/// How the names of all databases of tests begin.
pub(super) const PREFIX: &str = "tsumugi_test_";

/// What stands in place of a test's number in the name of what is copied for all.
pub(super) const TEMPLATE: &str = "template";

/// Whether a database of this name was made for a test.
pub(crate) fn is_test_database(name: &str) -> bool {
    run_of(name).is_some()
}

/// The run that has made a database of this name, without a folder: `tsumugi_test_HOME_RUN_NUMBER` on PostgreSQL, `tsumugi_test_RUN_NUMBER` in SQLite's
/// memory, with `.fdb` behind it on Firebird. RUN has eight digits, to the base of 16.
pub(super) fn run_of(name: &str) -> Option<u32> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let rest = name.strip_prefix(PREFIX)?;
    let rest = rest.strip_suffix(".fdb").unwrap_or(rest);
    let parts: Vec<&str> = rest.split('_').collect();
    let (run, last) = match parts[..] {
        [run, last] => (run, last),
        [home, run, last] if is_number(home) => (run, last),
        _ => return None,
    };
    let is_run = run.len() == 8 && run.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_made = is_run && (is_number(last) || last == TEMPLATE);
    is_made.then(|| u32::from_str_radix(run, 16).ok()).flatten()
}

/// A database of one test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestDatabase {
    pub(super) url: String,
    pub(super) name: String,
    pub(super) contents: TestContents,
}

/// What is in a database when a test gets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestContents {
    /// Nothing: it is migrated by who wants it so.
    Nothing,
    /// What is in the template.
    Template,
}

impl TestDatabase {
    /// Its URL, with the options of the one that was named. It may have a password.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// What is in it.
    pub fn contents(&self) -> TestContents {
        self.contents
    }
}

/// The texts of the first column, without the blanks that a fixed length puts behind them.
pub(super) fn texts(rows: &Rows) -> Vec<String> {
    let texts = rows.iter().map(|row| row.value(0));
    let texts = texts.filter_map(|value| Some(value?.as_text()?.trim_end().to_owned()));
    texts.collect()
}

/// Logs that a database of a run that was killed cannot be removed. The next run tries again.
pub(super) fn warn_of_stale(name: &str, error: &Error) {
    tracing::warn!(target: "tsumugi_db", "the database {name} of a run of tests that was killed stays: {error}");
}

/// Refuses a database with tables; `place` says which one it is.
pub(super) fn refuse(place: &str, tables: &[String]) -> Result<()> {
    let Some((first, rest)) = tables.split_first() else {
        return Ok(());
    };
    let more = match rest.len() {
        0 => "",
        _ => ", …",
    };
    Err(Error::usage(format!(
        "DATABASE_URL names {place}, which has tables that no test has made ({first}{more}): tests get databases of their own, made beside the one that is named, which has to be empty. \
         Name an empty database in DATABASE_URL, or none: then tests run on SQLite"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_is_read_from_the_names_of_its_databases_only() {
        assert_eq!(run_of("tsumugi_test_16384_0000002a_7"), Some(42));
        assert_eq!(
            run_of("tsumugi_test_16384_7fffffff_template"),
            Some(0x7fff_ffff)
        );
        assert_eq!(run_of("tsumugi_test_0000002a_7.fdb"), Some(42));
        for other in [
            "app",
            "tsumugi_test_",
            "tsumugi_test_shop",
            "tsumugi_test_1_x_1",
            "tsumugi_test_shop_0000002a_1",
            "tsumugi_test_0000002a_shop",
            "tsumugi_test_16384_2a_7",
            "tsumugi_test_16384_+000002a_7",
            "tsumugi_test_0000002a_7/../../shop.fdb",
            "../tsumugi_test_0000002a_7.fdb",
            "test_1_2_3",
        ] {
            assert!(!is_test_database(other), "{other}");
        }
    }

    #[test]
    fn database_with_tables_is_refused_with_what_to_do() {
        assert!(refuse("a database", &[]).is_ok());
        let tables = ["users", "orders"].map(str::to_owned);
        let error = refuse("the PostgreSQL database shop", &tables).unwrap_err();
        let text = error.to_string();
        for part in [
            "the PostgreSQL database shop",
            "(users, …)",
            "an empty database",
            "or none",
        ] {
            assert!(text.contains(part), "{text}");
        }
        let error = refuse("it", &tables[..1]).unwrap_err().to_string();
        assert!(error.contains("(users)"), "{error}");
    }
}

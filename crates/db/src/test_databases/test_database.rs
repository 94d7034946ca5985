//! One database of a test: its name, its URL, what is in it; and which database may have such beside it. Connects to nothing.
//! Rule: a name that begins as these do is never given to anything that may not be removed.

use crate::error::{Error, Result};

/// How the names of all databases of tests begin.
pub(super) const PREFIX: &str = "tsumugi_test_";

/// Whether a database of this name was made for a test.
pub(crate) fn is_test_database(name: &str) -> bool {
    name.starts_with(PREFIX)
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

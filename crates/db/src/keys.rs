//! The primary keys of tables, which a database is asked for once. Rule: what is known is forgotten when tables have changed, by whoever
//! changes them or finds that a statement was not understood.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use tsumugi_sql::Name;
use tsumugi_sql::schema::Description;

use crate::error::{Error, Result};
use crate::limits::PRIMARY_KEYS_MAX;

/// The primary key of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PrimaryKey {
    columns: Vec<Name>,
    is_number: bool,
}

impl PrimaryKey {
    /// Its columns; none if the table has no key.
    pub fn columns(&self) -> &[Name] {
        &self.columns
    }

    /// Whether it is one column of whole numbers.
    pub fn is_number(&self) -> bool {
        self.is_number
    }
}

impl From<&Description> for PrimaryKey {
    fn from(found: &Description) -> PrimaryKey {
        let columns = found.primary_key().iter();
        PrimaryKey {
            columns: columns.map(|column| Name::exact(column)).collect(),
            is_number: found.is_numbered(),
        }
    }
}

/// The keys that were met so far.
#[derive(Debug, Default)]
pub struct PrimaryKeys(RefCell<HashMap<Box<str>, Rc<PrimaryKey>>>);

impl PrimaryKeys {
    /// The key of a table, which `describe` is asked for unless it is known. Of a table that is not there it is none, and not known.
    pub async fn find(
        &self,
        table: &Name,
        describe: impl Future<Output = Result<Option<Description>>>,
    ) -> Result<Rc<PrimaryKey>> {
        if let Some(key) = self.0.borrow().get(table.as_str()) {
            return Ok(Rc::clone(key));
        }
        let Some(found) = describe.await? else {
            return Ok(Rc::default());
        };
        let key = Rc::new(PrimaryKey::from(&found));
        let mut known = self.0.borrow_mut();
        if known.len() >= PRIMARY_KEYS_MAX {
            known.clear();
        }
        known.insert(table.as_str().into(), Rc::clone(&key));
        Ok(key)
    }

    /// Tables have been made, changed or dropped.
    pub fn forget_all(&self) {
        self.0.borrow_mut().clear();
    }

    /// A statement about the table failed: where it was not understood, the table may have been changed. SQLite understands a statement
    /// that it knows already, and says only when it runs that a column has gone.
    pub fn failed(&self, table: &Name, error: &Error) {
        if matches!(error, Error::Syntax { .. } | Error::Database { .. }) {
            self.0.borrow_mut().remove(table.as_str());
        }
    }
}

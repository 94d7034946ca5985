//! A statement that is put together from pieces with the values that they bind, in the SQL of one database. Knows no table.
//! Rule: now is the server's where all processes have one server clock that counts from 1970, and else that of this machine, bound.

use std::time::{SystemTime, UNIX_EPOCH};

use tsumugi_db::{Family, Value};

/// Milliseconds since 1970 by the clock of this machine.
pub(crate) fn unix_millis() -> i64 {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH);
    crate::kind::millis(elapsed.unwrap_or_default())
}

/// Constant within a statement, so that an index can be used for what it is compared with.
const POSTGRES_NOW: &str = "((extract(epoch from statement_timestamp()) * 1000)::bigint + ?)";

/// A statement.
#[derive(Debug)]
pub(crate) struct Sql {
    family: Family,
    pub text: String,
    pub values: Vec<Value>,
}

impl Sql {
    pub fn new(family: Family, text: &str) -> Sql {
        Sql {
            family,
            text: text.to_owned(),
            values: Vec::new(),
        }
    }

    pub fn family(&self) -> Family {
        self.family
    }

    pub fn add(mut self, text: &str) -> Sql {
        self.text.push_str(text);
        self
    }

    pub fn bind(mut self, value: impl Into<Value>) -> Sql {
        self.text.push('?');
        self.values.push(value.into());
        self
    }

    /// So many milliseconds from now.
    pub fn now_plus(mut self, millis: i64) -> Sql {
        if self.family == Family::Postgres {
            self.text.push_str(POSTGRES_NOW);
            self.values.push(millis.into());
            return self;
        }
        let now = unix_millis().saturating_add(millis);
        if self.family == Family::Firebird {
            // It asks what a value is that stands by itself.
            return self.add("cast(").bind(now).add(" as bigint)");
        }
        self.bind(now)
    }

    pub fn now(self) -> Sql {
        self.now_plus(0)
    }

    /// `(?, ?, …)`.
    pub fn list<'a>(mut self, values: impl IntoIterator<Item = &'a str>) -> Sql {
        let mut separator = "(";
        for value in values {
            self = self.add(separator).bind(value);
            separator = ", ";
        }
        self.add(")")
    }
}

//! A statement ready to be sent, and the aggregates that a query can be asked for directly. Sends none.
//! Rule: a statement has exactly as many binds as placeholders, in the same order.

use crate::dialect::Dialect;
use crate::error::Result;
use crate::value::Value;
use crate::write::Writer;

/// SQL in a dialect, and the values for its placeholders from the left.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// The text, as the database takes it: `?` or `$1` for a bound value.
    pub sql: String,
    /// The values.
    pub binds: Vec<Value>,
}

impl Statement {
    /// SQL as it stands, with a `?` for each value, as the dialect writes placeholders. `??` is the operator `?`.
    /// Fails if there are more or fewer values than placeholders, or a literal or comment has no end.
    pub fn raw(sql: &str, values: Vec<Value>, dialect: &Dialect) -> Result<Self> {
        let mut writer = Writer::new(dialect);
        writer.raw_text(sql, &values)?;
        writer.finish_raw()
    }
}

/// One number about many rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aggregate {
    /// How many have a value.
    Count,
    /// The sum.
    Sum,
    /// The average, a double.
    Avg,
    /// The smallest.
    Min,
    /// The greatest.
    Max,
}

impl Aggregate {
    pub(crate) fn function(self) -> &'static str {
        match self {
            Aggregate::Count => "count",
            Aggregate::Sum => "sum",
            Aggregate::Avg => "avg",
            Aggregate::Min => "min",
            Aggregate::Max => "max",
        }
    }
}

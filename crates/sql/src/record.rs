//! Columns with what goes into them: one row to insert, or what an update sets. Not a row of a result.
//! Rule: columns keep the order they were given in; a column given twice is refused when the statement is made.

use crate::expr::{Expr, TreeSize, tree_size};
use crate::name::Name;

/// Columns and their values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record(Vec<(Name, Expr)>);

impl Record {
    /// One with no column.
    pub fn new() -> Self {
        Self::default()
    }

    /// One column more.
    #[must_use]
    pub fn set(mut self, column: impl Into<Name>, value: impl Into<Expr>) -> Self {
        self.0.push((column.into(), value.into()));
        self
    }

    /// The columns and their values.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Name, &Expr)> {
        self.0.iter().map(|(name, value)| (name, value))
    }

    /// Whether it has no column.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value of a column.
    pub(crate) fn of(&self, column: &Name) -> Option<&Expr> {
        self.iter()
            .find_map(|(name, value)| (name == column).then_some(value))
    }

    pub(crate) fn extend(&mut self, other: Record) {
        self.0.extend(other.0);
    }

    pub(crate) fn push(&mut self, column: Name, value: Expr) {
        self.0.push((column, value));
    }

    /// Of all its values.
    pub(crate) fn size(&self) -> TreeSize {
        tree_size(self.0.iter().map(|(_, value)| value))
    }
}

impl<N: Into<Name>, V: Into<Expr>> FromIterator<(N, V)> for Record {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(pairs: I) -> Self {
        let pairs = pairs.into_iter();
        Self(pairs.map(|(n, v)| (n.into(), v.into())).collect())
    }
}

impl<N: Into<Name>, V: Into<Expr>, const M: usize> From<[(N, V); M]> for Record {
    fn from(pairs: [(N, V); M]) -> Self {
        pairs.into_iter().collect()
    }
}

/// Columns and values of any types: `record! { "name" => "an", "age" => 3 }`.
#[macro_export]
macro_rules! record {
    ($($column:expr => $value:expr),* $(,)?) => {
        $crate::Record::new()$(.set($column, $value))*
    };
}

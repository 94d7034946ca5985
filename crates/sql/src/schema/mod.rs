//! Tables as values: columns, keys, indexes, what to change about them, and what a database says of one that is there.
//! Not migrations: in which order and whether statements run is decided elsewhere. Rule: what a column means is said once, here;
//! how each database says it is in `kinds.rs`.

mod alter;
mod catalog;
mod column;
mod commands;
mod create;
mod describe;
mod kinds;
mod known_table;
mod literal;
mod restore;

pub use alter::{Alteration, AlterationSql, Rebuild, alter, drop_table};
pub use catalog::{Catalog, CatalogRows};
pub use column::{
    Column, Kind, OnDelete, big_integer, binary, boolean, char, column, date, datetime, decimal,
    double, enumeration, float, foreign, increments, integer, json, medium_integer, small_integer,
    string, text, time, timestamp, uuid,
};
pub use describe::Description;
pub use kinds::{KindName, limits_length};

use crate::name::Name;
use column::Foreign;

/// A table that is wanted.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    pub(crate) name: Name,
    pub(crate) columns: Vec<Column>,
    pub(crate) primary: Vec<Name>,
    pub(crate) indexes: Vec<Index>,
    pub(crate) comment: Option<String>,
}

/// Columns that are looked up together.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Index {
    pub(crate) columns: Vec<Name>,
    pub(crate) keys: Keys,
}

/// Whether two rows may have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Keys {
    Unique,
    Any,
}

impl Index {
    fn new<N: Into<Name>>(columns: impl IntoIterator<Item = N>, keys: Keys) -> Self {
        let columns = columns.into_iter().map(Into::into).collect();
        Self { columns, keys }
    }

    /// What its name ends in.
    fn word(&self) -> &'static str {
        match self.keys {
            Keys::Unique => "unique",
            Keys::Any => "index",
        }
    }
}

impl Table {
    /// A table without columns.
    pub fn new(name: impl Into<Name>) -> Self {
        Self {
            name: name.into(),
            columns: Vec::new(),
            primary: Vec::new(),
            indexes: Vec::new(),
            comment: None,
        }
    }

    /// One column more.
    #[must_use]
    pub fn column(mut self, column: Column) -> Self {
        self.columns.push(column);
        self
    }

    /// Several columns more.
    #[must_use]
    pub fn columns(mut self, columns: impl IntoIterator<Item = Column>) -> Self {
        self.columns.extend(columns);
        self
    }

    /// `created_at` and `updated_at`, points in time, both now if nothing is said.
    #[must_use]
    pub fn timestamps(self) -> Self {
        self.column(timestamp("created_at").default_now())
            .column(timestamp("updated_at").default_now())
    }

    /// `deleted_at`, a point in time, NULL as long as the row is not deleted.
    #[must_use]
    pub fn soft_delete(self) -> Self {
        self.column(timestamp("deleted_at").nullable())
    }

    /// The primary key, of one or several columns.
    #[must_use]
    pub fn primary<N: Into<Name>>(mut self, columns: impl IntoIterator<Item = N>) -> Self {
        self.primary = columns.into_iter().map(Into::into).collect();
        self
    }

    /// No two rows have the same of these columns together.
    #[must_use]
    pub fn unique<N: Into<Name>>(mut self, columns: impl IntoIterator<Item = N>) -> Self {
        self.indexes.push(Index::new(columns, Keys::Unique));
        self
    }

    /// Rows are looked up by these columns together.
    #[must_use]
    pub fn index<N: Into<Name>>(mut self, columns: impl IntoIterator<Item = N>) -> Self {
        self.indexes.push(Index::new(columns, Keys::Any));
        self
    }

    /// A comment for readers of the schema. SQLite keeps none.
    #[must_use]
    pub fn comment(mut self, text: impl Into<String>) -> Self {
        self.comment = Some(text.into());
        self
    }

    /// The table's name as it was given, with its schema if it has one.
    pub fn name(&self) -> &str {
        self.name.as_str()
    }

    /// The columns of the primary key, said of the table or of a column.
    pub(crate) fn primary_key(&self) -> Vec<&Name> {
        if !self.primary.is_empty() {
            return self.primary.iter().collect();
        }
        let of_columns = self.columns.iter().filter(|column| column.is_primary());
        of_columns.map(|column| &column.name).collect()
    }

    /// The indexes, said of the table or of a column.
    pub(crate) fn all_indexes(&self) -> Vec<Index> {
        let of_columns = self.columns.iter().filter_map(Column::own_index);
        of_columns.chain(self.indexes.iter().cloned()).collect()
    }

    /// The columns that refer to another table.
    pub(crate) fn foreign_keys(&self) -> impl Iterator<Item = (&Column, &Foreign)> {
        let columns = self.columns.iter();
        columns.filter_map(|column| Some((column, column.foreign.as_ref()?)))
    }
}

//! Results: rows as the database gave them, undecoded, and their columns. A value is decoded when it is read.
//! Rule: what a caller sees of a row is the same whichever driver it came from.

pub(crate) mod packed;
pub(crate) mod typed;

use std::fmt;
use std::sync::Arc;

use tsumugi_values::json;

use crate::postgres;
use crate::value::ValueRef;

use packed::{PackedRow, PackedRows, Packer};
use typed::DeclaredType;

/// The names of a result's columns, shared by all results of the same statement.
///
/// Two columns may have the same name. By position both are there; by name the last one wins, in
/// [`Columns::find`] as in JSON objects, which is what building a Ruby Hash from the pairs gives.
#[derive(Debug, PartialEq)]
pub struct Columns {
    names: Box<[Box<str>]>,
    /// `"name":` ready for JSON, or none where a later column of the same name hides this one.
    keys: Box<[Option<Box<[u8]>>]>,
    /// What they hold, where the database's own types do not say it all.
    types: Box<[DeclaredType]>,
}

impl Columns {
    /// Columns with these names, in this order.
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> Columns {
        let names: Box<[Box<str>]> = names.into_iter().map(Box::from).collect();
        let key = |index: usize| {
            let name = &names[index];
            let hidden = names.iter().skip(index + 1).any(|later| later == name);
            (!hidden).then(|| {
                let mut key = Vec::with_capacity(name.len() + 3);
                json::write_string(name, &mut key);
                key.push(b':');
                key.into_boxed_slice()
            })
        };
        let keys = (0..names.len()).map(key).collect();
        let types = Box::default();
        Columns { names, keys, types }
    }

    /// The same, where the types that were declared say more than the database's own.
    pub(crate) fn declared(mut self, types: impl IntoIterator<Item = DeclaredType>) -> Columns {
        self.types = types.into_iter().collect();
        self
    }

    /// Whether these are their names, and this is what they hold.
    pub(crate) fn are<'a>(
        &self,
        names: impl Iterator<Item = &'a str>,
        types: impl Iterator<Item = DeclaredType>,
    ) -> bool {
        self.names().eq(names) && self.types.iter().copied().eq(types)
    }

    /// What the column at `index` holds, as far as it was declared.
    pub(crate) fn declared_type(&self, index: usize) -> DeclaredType {
        self.types
            .get(index)
            .copied()
            .unwrap_or(DeclaredType::Plain)
    }

    /// How many columns there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether the statement gives no rows at all.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The name of the column at `index`.
    pub fn name(&self, index: usize) -> Option<&str> {
        self.names.get(index).map(|name| &**name)
    }

    /// The names in order.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.names.iter().map(|name| &**name)
    }

    /// The position of the last column called `name`.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.names.iter().rposition(|other| &**other == name)
    }

    pub(crate) fn keys(&self) -> &[Option<Box<[u8]>>] {
        &self.keys
    }
}

/// The rows of a result, or of one batch of a stream.
#[derive(Clone)]
pub struct Rows(RowsRepr);

/// How each driver keeps its rows.
#[derive(Clone)]
enum RowsRepr {
    Packed(PackedRows),
    Postgres(postgres::Rows),
    #[cfg(feature = "firebird")]
    Firebird(crate::firebird::Rows),
}

/// Does the same with rows in whichever form; with `=>`, what comes of it is of that variant too.
macro_rules! on_rows {
    ($of:ident, $it:expr, $inner:ident => $call:expr) => {
        match $it {
            $of::Packed($inner) => $call,
            $of::Postgres($inner) => $call,
            #[cfg(feature = "firebird")]
            $of::Firebird($inner) => $call,
        }
    };
    ($of:ident => $to:ident, $it:expr, $inner:ident => $call:expr) => {
        match $it {
            $of::Packed($inner) => $to::Packed($call),
            $of::Postgres($inner) => $to::Postgres($call),
            #[cfg(feature = "firebird")]
            $of::Firebird($inner) => $to::Firebird($call),
        }
    };
}

macro_rules! from {
    ($($rows:ty => $variant:ident),*) => {
        $(impl From<$rows> for Rows {
            fn from(rows: $rows) -> Self {
                Rows(RowsRepr::$variant(rows))
            }
        })*
    };
}

from!(PackedRows => Packed, postgres::Rows => Postgres);
#[cfg(feature = "firebird")]
from!(crate::firebird::Rows => Firebird);

impl Rows {
    /// No rows of no columns.
    pub(crate) fn none() -> Rows {
        Rows::from(Packer::default().finish(Arc::new(Columns::new([]))))
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        on_rows!(RowsRepr, &self.0, rows => rows.len())
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The columns, also when there is no row.
    pub fn columns(&self) -> &Arc<Columns> {
        on_rows!(RowsRepr, &self.0, rows => rows.columns())
    }

    /// Bytes that the rows take.
    pub fn packed_bytes(&self) -> usize {
        on_rows!(RowsRepr, &self.0, rows => rows.bytes())
    }

    /// The first so many of the rows.
    #[must_use]
    pub fn truncated(mut self, len: usize) -> Rows {
        on_rows!(RowsRepr, &mut self.0, rows => rows.truncate(len));
        self
    }

    /// The row at `index`, counted from 0.
    pub fn row(&self, index: usize) -> Option<Row<'_>> {
        let row = on_rows!(RowsRepr => RowRef, &self.0, rows => rows.row(index)?);
        Some(Row(row))
    }

    /// The first row.
    pub fn first(&self) -> Option<Row<'_>> {
        self.row(0)
    }

    /// The rows in order.
    pub fn iter(&self) -> impl Iterator<Item = Row<'_>> {
        let rows = match &self.0 {
            RowsRepr::Packed(rows) => Walk::Packed(rows.iter().map(RowRef::Packed)),
            RowsRepr::Postgres(rows) => Walk::Postgres(rows.iter().map(RowRef::Postgres)),
            #[cfg(feature = "firebird")]
            RowsRepr::Firebird(rows) => Walk::Firebird(rows.iter().map(RowRef::Firebird)),
        };
        rows.map(Row)
    }
}

impl fmt::Debug for Rows {
    /// Sizes and column names only: row data does not belong in logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rows")
            .field("columns", &self.columns().names)
            .field("len", &self.len())
            .field("packed_bytes", &self.packed_bytes())
            .finish()
    }
}

/// One row of [`Rows`].
#[derive(Clone, Copy)]
pub struct Row<'a>(pub(crate) RowRef<'a>);

/// A row where its driver keeps it.
#[derive(Clone, Copy)]
pub(crate) enum RowRef<'a> {
    Packed(PackedRow<'a>),
    Postgres(postgres::Row<'a>),
    #[cfg(feature = "firebird")]
    Firebird(crate::firebird::Row<'a>),
}

impl<'a> Row<'a> {
    /// The columns.
    pub fn columns(&self) -> &'a Columns {
        on_rows!(RowRef, self.0, row => row.columns())
    }

    /// The value in the column at `index`. The cells before it are skipped one by one; to read them all, use [`Row::values`].
    pub fn value(&self, index: usize) -> Option<ValueRef<'a>> {
        self.values().nth(index)
    }

    /// The value in the last column called `name`.
    pub fn find(&self, name: &str) -> Option<ValueRef<'a>> {
        self.value(self.columns().find(name)?)
    }

    /// The values in column order.
    pub fn values(&self) -> impl Iterator<Item = ValueRef<'a>> + use<'a> {
        on_rows!(RowRef => Walk, self.0, row => row.values())
    }
}

macro_rules! walk {
    ($($variant:ident),*) => {
        /// An iterator of one of the drivers, without a box.
        enum Walk<$($variant),*> {
            $($variant($variant)),*
        }

        impl<T, $($variant: Iterator<Item = T>),*> Iterator for Walk<$($variant),*> {
            type Item = T;

            #[inline]
            fn next(&mut self) -> Option<T> {
                on_rows!(Walk, self, values => values.next())
            }
        }
    };
}

#[cfg(feature = "firebird")]
walk!(Packed, Postgres, Firebird);
#[cfg(not(feature = "firebird"))]
walk!(Packed, Postgres);

impl fmt::Debug for Row<'_> {
    /// Column names only: row data does not belong in logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Row")
            .field("columns", &self.columns().names)
            .finish_non_exhaustive()
    }
}

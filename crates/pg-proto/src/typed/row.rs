//! Rows as tuples, read where they lie. Not single fields: see [`Decode`].
//! Rule: a row that is not what was described is an error, never a shorter tuple.

use std::borrow::Cow;
use std::iter::FusedIterator;
use std::marker::PhantomData;
use std::slice;

use crate::backend::{Columns, DataRow, Message};
use crate::connection::Messages;
use crate::error::{Error, Mismatch, Result, Violation};
use crate::types::{Decode, Format, TypeRef};

/// One column of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// The column's name in the result.
    pub name: String,
    /// The column's type.
    pub ty: TypeRef,
    /// How its values come.
    pub format: Format,
}

/// A tuple of fields, from none to sixteen. Fields may borrow from the reply.
pub trait Row<'a>: Sized {
    /// How many there are.
    const COUNT: usize;

    /// Whether all fields can be read from these columns.
    ///
    /// # Errors
    /// [`Mismatch`].
    fn check(columns: &[Column]) -> Result<(), Mismatch>;

    /// Reads a row with these columns.
    ///
    /// # Errors
    /// [`Error::Column`], [`Error::Protocol`].
    fn read(columns: &[Column], row: DataRow<'a>) -> Result<Self>;
}

fn check<'a, F: Decode<'a>>(column: Option<&Column>) -> Result<(), Mismatch> {
    match column {
        Some(column) if !F::accepts(&column.ty) => Err(Mismatch::ColumnType {
            column: column.name.clone(),
            name: column.ty.name().to_owned(),
            rust: std::any::type_name::<F>(),
        }),
        _ => Ok(()),
    }
}

#[inline]
fn field<'a, F: Decode<'a>>(
    columns: &mut slice::Iter<'_, Column>,
    fields: &mut Columns<'a>,
) -> Result<F> {
    let (Some(column), Some(bytes)) = (columns.next(), fields.next()) else {
        return Err(Violation::Truncated("row").into());
    };
    F::decode_as(column.format, &column.ty, bytes?).map_err(|cause| Error::Column {
        name: column.name.clone(),
        cause,
    })
}

macro_rules! row {
    ($($field:ident)*) => {
        impl<'a, $($field: Decode<'a>),*> Row<'a> for ($($field,)*) {
            const COUNT: usize = <[&str]>::len(&[$(stringify!($field)),*]);

            fn check(columns: &[Column]) -> Result<(), Mismatch> {
                let (expected, found) = (Self::COUNT, columns.len());
                if found != expected {
                    return Err(Mismatch::ColumnCount { expected, found });
                }
                let mut columns = columns.iter();
                $(check::<$field>(columns.next())?;)*
                let _ = &mut columns;
                Ok(())
            }

            #[inline]
            #[allow(clippy::unused_unit, reason = "the tuple of no fields")]
            fn read(columns: &[Column], row: DataRow<'a>) -> Result<Self> {
                let mut fields = row.expect(Self::COUNT)?.columns();
                let mut columns = columns.iter();
                let read = ($(field::<$field>(&mut columns, &mut fields)?,)*);
                let _ = &mut columns;
                match fields.next() {
                    Some(Err(violation)) => Err(violation.into()),
                    _ => Ok(read),
                }
            }
        }
    };
}

tuples!(row A B C D E F G H I J K L M N O P);

/// The rows of one statement, read one by one.
#[derive(Debug, Clone)]
pub struct Rows<'a, R> {
    messages: Messages<'a>,
    /// How many rows there are still to come.
    pub(super) left: usize,
    columns: Cow<'a, [Column]>,
    pub(super) affected: Option<u64>,
    pub(super) suspended: bool,
    row: PhantomData<fn() -> R>,
}

impl<'a, R> Rows<'a, R> {
    pub(super) fn new(messages: Messages<'a>, columns: Cow<'a, [Column]>) -> Self {
        Self {
            messages,
            left: 0,
            columns,
            affected: None,
            suspended: false,
            row: PhantomData,
        }
    }

    /// The columns.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// How many rows the statement returned or changed, if it counts any.
    pub fn affected(&self) -> Option<u64> {
        self.affected
    }

    /// Whether the limit of Execute ended the rows; there may be more.
    pub fn is_suspended(&self) -> bool {
        self.suspended
    }

    /// The same rows as tuples of another type, such as one that borrows its texts.
    ///
    /// # Errors
    /// [`Error::Mismatch`].
    pub fn of<S: Row<'a>>(self) -> Result<Rows<'a, S>> {
        S::check(&self.columns)?;
        Ok(Rows {
            messages: self.messages,
            left: self.left,
            columns: self.columns,
            affected: self.affected,
            suspended: self.suspended,
            row: PhantomData,
        })
    }
}

impl<'a, R: Row<'a>> Iterator for Rows<'a, R> {
    type Item = Result<R>;

    #[inline]
    fn next(&mut self) -> Option<Result<R>> {
        self.left = self.left.checked_sub(1)?;
        match self.messages.next()? {
            Ok(Message::DataRow(row)) => Some(R::read(&self.columns, row)),
            Ok(_) => None,
            Err(violation) => Some(Err(violation.into())),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<'a, R: Row<'a>> FusedIterator for Rows<'a, R> {}

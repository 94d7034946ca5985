//! Single commands on a table, as the SQL of one database. Decides not which are needed: an alteration does.
//! Rule: each is one statement.

use super::Index;
use super::column::Column;
use super::kinds::Check;
use crate::dialect::{Dialect, Support};
use crate::error::Result;
use crate::name::Name;
use crate::write::{Writer, one};

/// `alter table …` with what follows.
pub(super) fn altered(
    table: &Name,
    dialect: &Dialect,
    write: impl FnOnce(&mut Writer<'_>) -> Result<()>,
) -> Result<String> {
    one(dialect, |writer| {
        writer.text("alter table ");
        writer.table(table)?;
        writer.text(" ");
        write(writer)
    })
}

/// `what` follows the name of the column in the statement.
pub(super) fn alter_column(
    table: &Name,
    column: &Column,
    what: &str,
    dialect: &Dialect,
) -> Result<String> {
    altered(table, dialect, |writer| {
        writer.text("alter column ");
        writer.bare_name(&column.name)?;
        writer.text(what);
        Ok(())
    })
}

pub(super) fn add_check(
    table: &Name,
    column: &Column,
    check: &Check,
    dialect: &Dialect,
) -> Result<String> {
    altered(table, dialect, |writer| {
        writer.text("add ");
        writer.named_check(table, &column.name, check)
    })
}

pub(super) fn drop_index(table: &Name, index: &Index, dialect: &Dialect) -> Result<String> {
    one(dialect, |writer| {
        writer.text("drop index ");
        // An index is in the schema of its table.
        let parts: Vec<&str> = table.parts().collect();
        for schema in parts.iter().rev().skip(1).rev() {
            if dialect.schemas == Support::Unsupported {
                return writer.unsupported("schemas");
            }
            writer.part(schema)?;
            writer.text(".");
        }
        writer.index_name(table, index)
    })
}

//! Tables and their parts as statements: `create table`, indexes, comments. Rule: everything that has a name gets the same name in
//! every database, made of the table, the columns and what it is, as long as the database's names may be.

use super::column::{Column, Default, Foreign, Kind, Nulls};
use super::kinds::Check;
use super::{Index, Keys, Table, literal};
use crate::dialect::{Dialect, Family};
use crate::error::{Result, exceeded, usage};
use crate::limits::COLUMNS_MAX;
use crate::name::Name;
use crate::write::{Writer, one};

impl Table {
    /// The statements that make it, one after the other.
    pub fn create(&self, dialect: &Dialect) -> Result<Vec<String>> {
        let mut statements = vec![self.create_as(&self.name, dialect)?];
        for index in self.all_indexes() {
            statements.push(index.create(&self.name, dialect)?);
        }
        statements.extend(comment_on(self.comment.as_ref(), dialect, |writer| {
            writer.text("table ");
            writer.table(&self.name)
        })?);
        for column in &self.columns {
            statements.extend(column.comment_on(&self.name, dialect)?);
        }
        Ok(statements)
    }

    /// `create table` alone, under another name.
    pub(super) fn create_as(&self, name: &Name, dialect: &Dialect) -> Result<String> {
        self.check()?;
        one(dialect, |writer| {
            writer.text("create table ");
            writer.table(name)?;
            writer.text(" (");
            writer.list(&self.columns, |writer, column| {
                writer.column_definition(&self.name, column)
            })?;
            let primary = self.primary_key();
            if !primary.is_empty() && !self.has_inline_primary(dialect) {
                writer.text(", primary key ");
                writer.columns(primary)?;
            }
            for (column, foreign) in self.foreign_keys() {
                writer.text(", ");
                writer.foreign_key(&self.name, column, foreign)?;
            }
            writer.text(")");
            Ok(())
        })
    }

    /// Whether the type of a column says already that it is the primary key.
    fn has_inline_primary(&self, dialect: &Dialect) -> bool {
        let increments = |column: &Column| column.kind == Kind::Increments;
        dialect.family == Family::Sqlite && self.columns.iter().any(increments)
    }

    /// Refuses what no database could make of it.
    fn check(&self) -> Result<()> {
        let table = self.name.as_str();
        if self.columns.is_empty() {
            return usage(format!("the table {table} has no column"));
        }
        if self.columns.len() > COLUMNS_MAX {
            return exceeded("COLUMNS_MAX", COLUMNS_MAX);
        }
        let names = || self.columns.iter().map(|column| &column.name);
        for (index, name) in names().enumerate() {
            if names().take(index).any(|other| other == name) {
                let name = name.as_str();
                return usage(format!("the table {table} has two columns {name}"));
            }
        }
        let primary = self.primary_key();
        let increments = self
            .columns
            .iter()
            .filter(|column| column.kind == Kind::Increments);
        let increments: Vec<&Name> = increments.map(|column| &column.name).collect();
        if !increments.is_empty() && (increments.len() > 1 || primary != increments) {
            return usage(format!(
                "increments is the primary key of {table}, alone: make the other columns unique together"
            ));
        }
        let indexes = self.all_indexes();
        let used = primary
            .into_iter()
            .chain(indexes.iter().flat_map(|index| &index.columns));
        for name in used {
            if !names().any(|column| column == name) {
                let name = name.as_str();
                return usage(format!(
                    "a key of {table} is of {name}, which is no column of it"
                ));
            }
        }
        Ok(())
    }
}

impl Column {
    pub(super) fn comment_on(&self, table: &Name, dialect: &Dialect) -> Result<Option<String>> {
        comment_on(self.comment.as_ref(), dialect, |writer| {
            writer.text("column ");
            writer.table(table)?;
            writer.text(".");
            writer.bare_name(&self.name)
        })
    }

    /// Whether the default is a value.
    pub(super) fn has_constant_default(&self) -> bool {
        matches!(self.default, Some(Default::Value(_)))
    }

    /// The default as an expression.
    pub(super) fn default_text(&self, dialect: &Dialect) -> Result<Option<String>> {
        Ok(match &self.default {
            None => None,
            Some(Default::Value(value)) => Some(literal::value(value, dialect)?),
            Some(Default::Now) => Some(self.kind.now(dialect)?.0.to_owned()),
            Some(Default::Raw(sql)) => Some(one(dialect, |writer| writer.raw_text(sql, &[]))?),
        })
    }
}

/// The comment on what `name` writes, if there is one and the database keeps it.
fn comment_on(
    comment: Option<&String>,
    dialect: &Dialect,
    name: impl FnOnce(&mut Writer<'_>) -> Result<()>,
) -> Result<Option<String>> {
    let Some(comment) = comment.filter(|_| dialect.family != Family::Sqlite) else {
        return Ok(None);
    };
    let comment = literal::text(comment)?;
    let statement = one(dialect, |writer| {
        writer.text("comment on ");
        name(writer)?;
        writer.text(" is ");
        writer.text(&comment);
        Ok(())
    })?;
    Ok(Some(statement))
}

impl Index {
    pub(super) fn create(&self, table: &Name, dialect: &Dialect) -> Result<String> {
        if self.columns.is_empty() {
            return usage("an index has at least one column");
        }
        one(dialect, |writer| {
            writer.text(match self.keys {
                Keys::Unique => "create unique index ",
                Keys::Any => "create index ",
            });
            writer.index_name(table, self)?;
            writer.text(" on ");
            writer.table(table)?;
            writer.text(" ");
            writer.columns(&self.columns)
        })
    }
}

impl Writer<'_> {
    /// A name made of the table, the columns and what it is: `users_email_unique`.
    pub(super) fn made_name(&mut self, table: &Name, columns: &[&Name], word: &str) -> Result<()> {
        let name = Self::made(table, columns, word, self.dialect);
        self.part(&name)
    }

    /// The same as text.
    pub(super) fn made(table: &Name, columns: &[&Name], word: &str, dialect: &Dialect) -> String {
        let mut name = table.last().to_owned();
        for column in columns {
            name.push('_');
            name.push_str(column.last());
        }
        name.push('_');
        name.push_str(word);
        let max = dialect.name_bytes_max;
        if name.len() > max {
            // Two long names that begin the same must not become one.
            let sum = format!("_{:08x}", sum(&name));
            let mut end = max.saturating_sub(sum.len());
            while !name.is_char_boundary(end) {
                end -= 1;
            }
            name.truncate(end);
            name.push_str(&sum);
        }
        name
    }

    pub(super) fn index_name(&mut self, table: &Name, index: &Index) -> Result<()> {
        let columns: Vec<&Name> = index.columns.iter().collect();
        self.made_name(table, &columns, index.word())
    }

    /// A column of a new table, or one that is added.
    pub(super) fn column_definition(&mut self, table: &Name, column: &Column) -> Result<()> {
        let dialect = self.dialect;
        self.bare_name(&column.name)?;
        self.text(" ");
        self.text(&column.kind.written(dialect)?);
        if column.kind == Kind::Increments && dialect.family != Family::Sqlite {
            self.text(" generated by default as identity");
        }
        if let Some(default) = column.default_text(dialect)? {
            self.text(" default ");
            // Firebird takes no expressions, the others take them in parentheses.
            let bare = dialect.family == Family::Firebird || column.has_constant_default();
            self.text(if bare { "" } else { "(" });
            self.text(&default);
            self.text(if bare { "" } else { ")" });
        }
        if column.nulls == Nulls::Refused || column.is_primary() {
            self.text(" not null");
        }
        if column.kind == Kind::Increments && dialect.family == Family::Sqlite {
            self.text(" primary key autoincrement");
        }
        for check in column.checks(dialect)? {
            self.text(" ");
            self.named_check(table, &column.name, &check)?;
        }
        Ok(())
    }

    /// The constraint that a check of a column is.
    pub(super) fn named_check(&mut self, table: &Name, column: &Name, check: &Check) -> Result<()> {
        self.text("constraint ");
        self.made_name(table, &[column], check.word)?;
        self.text(" check (");
        self.text(&check.condition);
        self.text(")");
        Ok(())
    }

    pub(super) fn foreign_key(
        &mut self,
        table: &Name,
        column: &Column,
        foreign: &Foreign,
    ) -> Result<()> {
        self.text("constraint ");
        self.made_name(table, &[&column.name], "foreign")?;
        self.text(" foreign key ");
        self.columns([&column.name])?;
        self.references(column, foreign)
    }

    pub(super) fn references(&mut self, column: &Column, foreign: &Foreign) -> Result<()> {
        let Some(other) = &foreign.table else {
            let name = column.name.as_str();
            return usage(format!("give the table that {name} refers to, with on"));
        };
        self.text(" references ");
        self.table(other)?;
        self.text(" ");
        self.columns([&foreign.column])?;
        let action = foreign.on_delete.written(self.dialect);
        if action != "no action" {
            self.text(" on delete ");
            self.text(action);
        }
        Ok(())
    }
}

/// A short number for a long name (FNV-1a), the same in every process and version.
fn sum(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |sum, byte| {
        (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

//! What depends on the columns of a table of Firebird, as an alteration goes on step by step, and what has to be dropped before a column is
//! changed or dropped. Other databases do that themselves, or make the table anew. Rule: what is dropped has the name that the catalog
//! knows, which may not be the one that would be given now.

use super::Index;
use super::column::{Column, Nulls};
use super::commands::{add_check, alter_column, altered, drop_index};
use super::describe::Description;
use crate::dialect::Dialect;
use crate::error::Result;
use crate::name::Name;
use crate::write::{Writer, one};

pub(super) struct KnownTable {
    columns: Vec<KnownColumn>,
    indexes: Vec<TableObject>,
    /// Constraints that refer to other tables.
    foreign: Vec<TableObject>,
    checks: Vec<TableObject>,
}

struct KnownColumn {
    name: String,
    kind: String,
    nullable: bool,
    has_default: bool,
}

/// Something with a name, and the columns it is of.
struct TableObject {
    name: String,
    /// `unique` or `index`, of indexes.
    kind: String,
    columns: Vec<String>,
}

impl TableObject {
    fn of(name: &str, kind: &str, columns: &[String]) -> TableObject {
        TableObject {
            name: name.to_owned(),
            kind: kind.to_owned(),
            columns: columns.to_vec(),
        }
    }
}

impl KnownTable {
    pub(super) fn of(found: &Description) -> KnownTable {
        let columns = found.columns.iter().map(|column| KnownColumn {
            name: column.name.clone(),
            kind: column.kind.clone(),
            nullable: column.nullable == "yes",
            has_default: column.default.is_some(),
        });
        let indexes = found.indexes.iter();
        let one = |(column, name): (&String, &String)| {
            TableObject::of(name, "", std::slice::from_ref(column))
        };
        KnownTable {
            columns: columns.collect(),
            indexes: indexes
                .map(|((kind, columns), name)| TableObject::of(name, kind, columns))
                .collect(),
            foreign: found.foreign_names.iter().map(one).collect(),
            checks: found
                .checked
                .iter()
                .map(|(name, column)| one((column, name)))
                .collect(),
        }
    }

    pub(super) fn add(&mut self, table: &Name, column: &Column, dialect: &Dialect) {
        let name = column.name.as_str().to_owned();
        let made = |word| Writer::made(table, &[&column.name], word, dialect);
        if column.foreign.is_some() {
            let foreign = TableObject::of(&made("foreign"), "", std::slice::from_ref(&name));
            self.foreign.push(foreign);
        }
        if let Some(index) = column.own_index() {
            self.add_index(table, &index, dialect);
        }
        for check in column.checks(dialect).unwrap_or_default() {
            let check = TableObject::of(&made(check.word), "", std::slice::from_ref(&name));
            self.checks.push(check);
        }
        self.columns.push(KnownColumn {
            name,
            kind: column.kind.shown(dialect).unwrap_or_default(),
            nullable: column.nulls == Nulls::Taken,
            has_default: column.default.is_some(),
        });
    }

    pub(super) fn add_index(&mut self, table: &Name, index: &Index, dialect: &Dialect) {
        let columns: Vec<&Name> = index.columns.iter().collect();
        let name = Writer::made(table, &columns, index.word(), dialect);
        let columns: Vec<String> = columns
            .iter()
            .map(|name| name.as_str().to_owned())
            .collect();
        self.indexes
            .push(TableObject::of(&name, index.word(), &columns));
    }

    pub(super) fn rename(&mut self, from: &Name, to: &Name) {
        let names = self.columns.iter_mut().map(|column| &mut column.name);
        let made = self.indexes.iter_mut().chain(&mut self.foreign);
        let made = made.chain(&mut self.checks);
        let names = names.chain(made.flat_map(|made| &mut made.columns));
        for name in names.filter(|name| *name == from.as_str()) {
            *name = to.as_str().to_owned();
        }
    }

    /// What has to go before the column.
    pub(super) fn drop_column(
        &mut self,
        table: &Name,
        column: &Name,
        dialect: &Dialect,
    ) -> Result<Vec<String>> {
        let mut statements = self.drop_checks(table, column, dialect)?;
        let of = |made: &mut TableObject| made.columns.iter().any(|name| name == column.as_str());
        for foreign in self.foreign.extract_if(.., of) {
            statements.push(drop_constraint(table, &foreign.name, dialect)?);
        }
        for index in self.indexes.extract_if(.., of) {
            statements.push(drop_named(&index.name, dialect)?);
        }
        self.columns.retain(|is| is.name != column.as_str());
        Ok(statements)
    }

    pub(super) fn drop_index(
        &mut self,
        table: &Name,
        index: &Index,
        dialect: &Dialect,
    ) -> Result<String> {
        let columns: Vec<&str> = index.columns.iter().map(Name::as_str).collect();
        let place = self
            .indexes
            .iter()
            .position(|made| made.kind == index.word() && made.columns == columns);
        match place {
            Some(place) => drop_named(&self.indexes.swap_remove(place).name, dialect),
            None => drop_index(table, index, dialect),
        }
    }

    /// Type, nullability, default and checks.
    pub(super) fn change(
        &mut self,
        table: &Name,
        column: &Column,
        dialect: &Dialect,
    ) -> Result<Vec<String>> {
        let kind = column.kind.shown(dialect)?;
        let mut statements = self.drop_checks(table, &column.name, dialect)?;
        let is = self
            .columns
            .iter_mut()
            .find(|is| is.name == column.name.as_str());
        let part = |what: &str| alter_column(table, column, what, dialect);
        let (nullable, had_default) = is
            .as_ref()
            .map_or((true, false), |is| (is.nullable, is.has_default));
        if is.as_ref().is_none_or(|is| is.kind != kind) {
            if let Some(is) = &is {
                check_change(&is.kind, &kind, dialect)?;
            }
            statements.push(part(&format!(" type {}", column.kind.written(dialect)?))?);
        }
        match column.default_text(dialect)? {
            Some(default) => statements.push(part(&format!(" set default {default}"))?),
            None if had_default => statements.push(part(" drop default")?),
            None => {}
        }
        match column.nulls {
            Nulls::Refused if nullable => statements.push(part(" set not null")?),
            Nulls::Taken if !nullable => statements.push(part(" drop not null")?),
            Nulls::Refused | Nulls::Taken => {}
        }
        for check in column.checks(dialect)? {
            statements.push(add_check(table, column, &check, dialect)?);
            let name = Writer::made(table, &[&column.name], check.word, dialect);
            let columns = [column.name.as_str().to_owned()];
            self.checks.push(TableObject::of(&name, "", &columns));
        }
        if let Some(is) = is {
            is.kind = kind;
            is.nullable = column.nulls == Nulls::Taken;
            is.has_default = column.default.is_some();
        }
        statements.extend(column.comment_on(table, dialect)?);
        Ok(statements)
    }

    fn drop_checks(
        &mut self,
        table: &Name,
        column: &Name,
        dialect: &Dialect,
    ) -> Result<Vec<String>> {
        let of = |made: &mut TableObject| made.columns.iter().any(|name| name == column.as_str());
        let checks = self.checks.extract_if(.., of);
        checks
            .map(|check| drop_constraint(table, &check.name, dialect))
            .collect()
    }
}

fn drop_constraint(table: &Name, name: &str, dialect: &Dialect) -> Result<String> {
    altered(table, dialect, |writer| {
        writer.text("drop constraint ");
        writer.part(name)
    })
}

fn drop_named(name: &str, dialect: &Dialect) -> Result<String> {
    one(dialect, |writer| {
        writer.text("drop index ");
        writer.part(name)
    })
}

/// Refuses what Firebird cannot make of what is stored.
fn check_change(is: &str, wanted: &str, dialect: &Dialect) -> Result<()> {
    let writer = Writer::new(dialect);
    if is.starts_with("blob") || wanted.starts_with("blob") {
        return writer
            .unsupported("change of a column from or to text, json or binary: add another column");
    }
    let characters = |kind: &str| -> Option<u32> {
        let size = kind
            .strip_prefix("varchar(")
            .or(kind.strip_prefix("char("))?;
        size.strip_suffix(')')?.parse().ok()
    };
    match (characters(is), characters(wanted)) {
        (Some(is), Some(wanted)) if wanted < is => {
            writer.unsupported("change of a column to a shorter text: add another column")
        }
        _ => Ok(()),
    }
}

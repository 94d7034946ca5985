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
    indexes: Vec<KnownIndex>,
    /// Names of the constraints that refer to other tables, each with its column.
    foreign: Vec<(String, String)>,
    /// Names of the checks, each with its column.
    checks: Vec<(String, String)>,
}

struct KnownColumn {
    name: String,
    kind: String,
    nullable: bool,
    has_default: bool,
}

struct KnownIndex {
    name: String,
    /// `unique` or `index`.
    kind: String,
    columns: Vec<String>,
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
        let indexes = indexes.map(|((kind, columns), name)| KnownIndex {
            name: name.clone(),
            kind: kind.clone(),
            columns: columns.clone(),
        });
        let foreign = found.foreign_names.iter();
        KnownTable {
            columns: columns.collect(),
            indexes: indexes.collect(),
            foreign: foreign
                .map(|(column, name)| (name.clone(), column.clone()))
                .collect(),
            checks: found.checked.clone().into_iter().collect(),
        }
    }

    pub(super) fn add(&mut self, table: &Name, column: &Column, dialect: &Dialect) {
        let name = column.name.as_str().to_owned();
        let made = |word| Writer::made(table, &[&column.name], word, dialect);
        if column.foreign.is_some() {
            self.foreign.push((made("foreign"), name.clone()));
        }
        if let Some(index) = column.own_index() {
            self.add_index(table, &index, dialect);
        }
        for check in column.checks(dialect).unwrap_or_default() {
            self.checks.push((made(check.word), name.clone()));
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
        self.indexes.push(KnownIndex {
            name: Writer::made(table, &columns, index.word(), dialect),
            kind: index.word().to_owned(),
            columns: columns
                .into_iter()
                .map(|name| name.as_str().to_owned())
                .collect(),
        });
    }

    pub(super) fn rename(&mut self, from: &Name, to: &Name) {
        let names = self.columns.iter_mut().map(|column| &mut column.name);
        let indexes = self.indexes.iter_mut();
        let names = names.chain(indexes.flat_map(|index| &mut index.columns));
        let constraints = self.foreign.iter_mut().chain(&mut self.checks);
        let names = names.chain(constraints.map(|(_, column)| column));
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
        let of = |(_, of): &mut (String, String)| of == column.as_str();
        for (name, _) in self.foreign.extract_if(.., of) {
            statements.push(drop_constraint(table, &name, dialect)?);
        }
        let of = |index: &mut KnownIndex| index.columns.iter().any(|name| name == column.as_str());
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
            self.checks.push((name, column.name.as_str().to_owned()));
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
        let of = |(_, of): &mut (String, String)| of == column.as_str();
        let checks = self.checks.extract_if(.., of);
        checks
            .map(|(name, _)| drop_constraint(table, &name, dialect))
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

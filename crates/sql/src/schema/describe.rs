//! What a database says of a table that is there, and whether it is the one that is wanted. Which questions it was asked is in
//! `catalog.rs`. Rule: of an order, a name of an index or a comment nothing is said; everything else that differs is a difference.

use std::collections::{BTreeMap, BTreeSet};

use super::catalog::{CatalogRows, said};
use super::column::{Column, Default, Kind, Nulls};
use super::{Table, literal, restore};
use crate::dialect::{Dialect, Family};
use crate::error::{Error, Result};
use crate::name::Name;
use crate::scan::{self, Kind as Piece};
use crate::value::Value;

/// What is there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Description {
    pub(super) columns: Vec<CatalogColumn>,
    pub(super) primary: Vec<String>,
    is_numbered: bool,
    /// By column: table, column there, what happens on delete.
    pub(super) foreign_keys: BTreeMap<String, (String, Option<String>, String)>,
    /// By name: the texts in it.
    pub(super) checks: BTreeMap<String, Vec<String>>,
    /// By kind, which is `unique`, `index` or `partial`, and columns: the name of the index.
    pub(super) indexes: BTreeMap<(String, Vec<String>), String>,
    /// By column: the name of the constraint that refers.
    pub(super) foreign_names: BTreeMap<String, String>,
    /// By name, of Firebird's: the column that a check begins with.
    pub(super) checked: BTreeMap<String, String>,
    /// What else there is, of which nothing more is known.
    pub(super) others: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CatalogColumn {
    pub(super) name: String,
    pub(super) kind: String,
    pub(super) nullable: String,
    pub(super) default: Option<String>,
    pub(super) given: String,
}

impl Description {
    /// What the answers say; nothing if there is no such table.
    pub fn read(rows: &CatalogRows, dialect: &Dialect) -> Option<Self> {
        if rows.columns.is_empty() {
            return None;
        }
        let mut description = Self::default();
        let named = |row: &[Option<String>], index| named(row, index, dialect);
        description.columns = rows
            .columns
            .iter()
            .map(|row| CatalogColumn::read(row, dialect))
            .collect();
        let same = |one: &Vec<_>, next: &Vec<_>| one.first() == next.first();
        for key in rows.keys.chunk_by(same) {
            let columns: Vec<String> = key.iter().map(|row| named(row, 2)).collect();
            match key.first().map(|row| text(row, 1)) {
                Some(kind) if kind == "primary" => description.primary = columns,
                Some(kind) => {
                    let name = key.first().map(|row| named(row, 0)).unwrap_or_default();
                    description.indexes.insert((kind, columns), name);
                }
                None => {}
            }
        }
        for row in &rows.foreign_keys {
            let column = row.get(3).cloned().flatten().map(|_| named(row, 3));
            let other = (named(row, 2), column, text(row, 4));
            description
                .foreign_names
                .insert(named(row, 1), named(row, 0));
            description.foreign_keys.insert(named(row, 1), other);
        }
        let keys = rows.foreign_keys.chunk_by(same);
        let wide = keys.filter(|key| key.len() > 1);
        let others = &mut description.others;
        others.extend(wide.map(|_| "a foreign key of several columns".to_owned()));
        for row in &rows.checks {
            match row.first().cloned().flatten() {
                Some(name) if row.get(1).is_none_or(Option::is_none) => {
                    description.others.push(name)
                }
                Some(name) => {
                    let sql = text(row, 1);
                    if dialect.family == Family::Firebird {
                        let column = checked_column(&sql, dialect);
                        description.checked.insert(named(row, 0), column);
                    }
                    description.checks.insert(name, texts(&sql, dialect));
                }
                None => {
                    let sql = text(row, 1);
                    description
                        .others
                        .extend(restore::unknown_word(&sql, dialect));
                    description.checks.extend(named_checks(&sql, dialect));
                }
            }
        }
        description.is_numbered = description.has_number(dialect);
        Some(description)
    }

    /// The names of the columns of the primary key.
    pub fn primary_key(&self) -> &[String] {
        &self.primary
    }

    /// Whether the primary key is one column of whole numbers.
    pub fn is_numbered(&self) -> bool {
        self.is_numbered
    }

    fn has_number(&self, dialect: &Dialect) -> bool {
        let [key] = self.primary.as_slice() else {
            return false;
        };
        let mut columns = self.columns.iter();
        let kind = columns.find(|column| column.name == *key);
        kind.is_some_and(|column| match dialect.family {
            // That is its rule for columns of whole numbers: `int8`, `bigint unsigned` and `integer(11)` are such.
            Family::Sqlite => column.kind.contains("int"),
            Family::Postgres | Family::Firebird => {
                matches!(column.kind.as_str(), "integer" | "bigint" | "smallint")
            }
        })
    }
}

impl CatalogColumn {
    fn read(row: &[Option<String>], dialect: &Dialect) -> Self {
        let default = row.get(3).and_then(Option::as_deref);
        Self {
            name: named(row, 0, dialect),
            kind: text(row, 1),
            nullable: text(row, 2),
            default: default.and_then(|sql| default_of(sql, dialect)),
            given: text(row, 4),
        }
    }
}

/// A name as the builder says it.
fn named(row: &[Option<String>], index: usize, dialect: &Dialect) -> String {
    match dialect.family {
        Family::Firebird => said(&text(row, index)).into_owned(),
        Family::Sqlite | Family::Postgres => text(row, index),
    }
}

fn text(row: &[Option<String>], index: usize) -> String {
    row.get(index).cloned().flatten().unwrap_or_default()
}

/// A default without what only says that it is one; none where NULL was said, which is the same.
fn default_of(sql: &str, dialect: &Dialect) -> Option<String> {
    let mut sql = sql.trim();
    if dialect.family == Family::Firebird {
        // It keeps the words as they were written: `default 5`.
        let word = sql
            .get(..7)
            .is_some_and(|word| word.eq_ignore_ascii_case("default"));
        sql = sql.get(7..).filter(|_| word).unwrap_or(sql);
    }
    let sql = trimmed(sql);
    (!sql.eq_ignore_ascii_case("null")).then(|| sql.to_owned())
}

/// An expression without parentheses around all of it.
fn trimmed(sql: &str) -> &str {
    let sql = sql.trim();
    match sql
        .strip_prefix('(')
        .and_then(|rest| rest.strip_suffix(')'))
    {
        Some(inner) if !inner.contains(['(', ')']) => trimmed(inner),
        _ => sql,
    }
}

/// The texts among an SQL's pieces.
fn texts(sql: &str, dialect: &Dialect) -> Vec<String> {
    let quoted = scan::pieces(sql, dialect.lexicon).filter(|piece| piece.text.starts_with('\''));
    quoted.map(|piece| literal::content(piece.text)).collect()
}

/// The column that a check of ours begins with: `check (age >= 0)`.
fn checked_column(sql: &str, dialect: &Dialect) -> String {
    let word = |text: &str| text.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '"');
    let mut words = scan::pieces(sql, dialect.lexicon).filter(|piece| word(piece.text));
    let column = words.nth(1).map_or("", |piece| piece.text);
    said(column.trim_matches('"')).into_owned()
}

/// The checks that have a name in `create table …`, each with the texts in it.
fn named_checks(sql: &str, dialect: &Dialect) -> BTreeMap<String, Vec<String>> {
    let (mut checks, mut name, mut depth) = (BTreeMap::new(), None, 0_i32);
    let mut within: Option<(String, i32)> = None;
    let mut after_constraint = false;
    for piece in scan::pieces(sql, dialect.lexicon) {
        if piece.kind == Piece::Comment || piece.text.trim().is_empty() {
            continue;
        }
        if after_constraint {
            name = Some(piece.text.trim_matches(['`', '"']).replace("``", "`"));
            after_constraint = false;
            continue;
        }
        if piece.kind == Piece::Quoted {
            if let Some((check, _)) = within.as_ref().filter(|_| piece.text.starts_with('\'')) {
                let texts: &mut Vec<String> = checks.entry(check.clone()).or_default();
                texts.push(literal::content(piece.text));
            }
            continue;
        }
        match piece.text.to_ascii_lowercase().as_str() {
            "constraint" => after_constraint = true,
            "check" => {
                within = name.take().map(|name| (name, depth));
                if let Some((check, _)) = &within {
                    checks.entry(check.clone()).or_default();
                }
            }
            code => {
                let count = |of: char| i32::try_from(code.matches(of).count()).unwrap_or(i32::MAX);
                depth = depth.saturating_add(count('(')).saturating_sub(count(')'));
                if within.as_ref().is_some_and(|(_, outer)| depth <= *outer) {
                    within = None;
                }
            }
        }
    }
    checks
}

impl Table {
    /// Whether what is there is this table. Fails with the first difference.
    pub fn compare(&self, found: &Description, dialect: &Dialect) -> Result<()> {
        for column in &self.columns {
            self.compare_column(column, found, dialect)?;
        }
        let wanted = |name: &str| {
            let mut names = self.columns.iter().map(|column| column.name.as_str());
            names.any(|column| column == name)
        };
        let mut names = found.columns.iter().map(|column| column.name.as_str());
        if let Some(extra) = names.find(|name| !wanted(name)) {
            return self.differs(format!("there is a column {extra}, and none is wanted"));
        }
        let primary: Vec<&str> = self.primary_key().into_iter().map(Name::as_str).collect();
        if found.primary != primary {
            return self.differs(format!(
                "its primary key is ({}), and ({}) is wanted",
                found.primary.join(", "),
                primary.join(", ")
            ));
        }
        self.compare_indexes(found)?;
        self.compare_foreign_keys(found, dialect)?;
        self.compare_checks(found, dialect)
    }

    fn differs<T>(&self, difference: String) -> Result<T> {
        let table = self.name.as_str().to_owned();
        Err(Error::Different { table, difference })
    }

    fn compare_column(
        &self,
        column: &Column,
        found: &Description,
        dialect: &Dialect,
    ) -> Result<()> {
        let name = column.name.as_str();
        let Some(is) = found.columns.iter().find(|column| column.name == name) else {
            return self.differs(format!("there is no column {name}"));
        };
        let kind = column.kind.shown(dialect)?;
        if is.kind != kind {
            return self.differs(format!(
                "the column {name} is {}, and {kind} is wanted",
                is.kind
            ));
        }
        let nullable = column.nulls == Nulls::Taken && !column.is_primary();
        if (is.nullable == "yes") != nullable {
            let (one, other) = if nullable {
                ("must not", "may")
            } else {
                ("may", "must not")
            };
            return self.differs(format!(
                "the column {name} {one} be NULL, and it {other} be is wanted"
            ));
        }
        if (is.given == "yes") != (column.kind == Kind::Increments) {
            return self.differs(format!("the column {name} gets its numbers otherwise"));
        }
        if !same_default(column, is.default.as_deref(), dialect)? {
            let is = is.default.as_deref().unwrap_or("none");
            let wanted = column.default_text(dialect)?;
            let wanted = wanted.as_deref().unwrap_or("none");
            return self.differs(format!(
                "the default of the column {name} is {is}, and {wanted} is wanted"
            ));
        }
        Ok(())
    }

    fn compare_indexes(&self, found: &Description) -> Result<()> {
        let wanted: BTreeSet<(String, Vec<String>)> = self
            .all_indexes()
            .into_iter()
            .map(|index| {
                let columns = index.columns.iter().map(|name| name.as_str().to_owned());
                (index.word().to_owned(), columns.collect())
            })
            .collect();
        let shown = |(kind, columns): &(String, Vec<String>)| match kind.as_str() {
            "index" => format!("index on ({})", columns.join(", ")),
            kind => format!("{kind} index on ({})", columns.join(", ")),
        };
        let is_missing = |index: &&(String, Vec<String>)| !found.indexes.contains_key(*index);
        if let Some(missing) = wanted.iter().find(is_missing) {
            return self.differs(format!("there is no {}", shown(missing)));
        }
        if let Some(extra) = found.indexes.keys().find(|index| !wanted.contains(*index)) {
            return self.differs(format!(
                "there is {}, and none is wanted",
                article(&shown(extra))
            ));
        }
        Ok(())
    }

    fn compare_foreign_keys(&self, found: &Description, dialect: &Dialect) -> Result<()> {
        let shown = |(table, column, on_delete): &(String, Option<String>, String)| {
            let column = column.as_deref().unwrap_or("its primary key");
            format!("{table} ({column}) on delete {on_delete}")
        };
        for (column, foreign) in self.foreign_keys() {
            let name = column.name.as_str();
            let other = foreign.table.as_ref().map(|table| table.last().to_owned());
            let wanted = (
                other.unwrap_or_default(),
                Some(foreign.column.as_str().to_owned()),
                foreign.on_delete.written(dialect).to_owned(),
            );
            match found.foreign_keys.get(name) {
                Some(is) if *is == wanted => {}
                is => {
                    let is = is.map_or("nothing".to_owned(), shown);
                    return self.differs(format!(
                        "the column {name} refers to {is}, and {} is wanted",
                        shown(&wanted)
                    ));
                }
            }
        }
        let wanted = |name: &String| {
            let mut names = self.foreign_keys().map(|(column, _)| column.name.as_str());
            names.any(|column| column == name)
        };
        if let Some((name, is)) = found.foreign_keys.iter().find(|(name, _)| !wanted(name)) {
            return self.differs(format!(
                "the column {name} refers to {}, and nothing is wanted",
                shown(is)
            ));
        }
        Ok(())
    }

    /// A check keeps its name when its table or column gets another: what counts is what is checked.
    fn compare_checks(&self, found: &Description, dialect: &Dialect) -> Result<()> {
        let mut wanted = Vec::new();
        for column in &self.columns {
            for check in column.checks(dialect)? {
                wanted.push(texts(&check.condition, dialect));
            }
        }
        let mut is: Vec<Vec<String>> = found.checks.values().cloned().collect();
        is.sort();
        wanted.sort();
        if is == wanted {
            return Ok(());
        }
        self.differs(format!(
            "it has {} checks with the texts {is:?}, and {} with {wanted:?} are wanted",
            is.len(),
            wanted.len()
        ))
    }
}

/// With `a` or `an` before it.
fn article(noun: &str) -> String {
    let article = if noun.starts_with('i') { "an" } else { "a" };
    format!("{article} {noun}")
}

/// Whether the catalog's default is the one that is wanted. One that was said as SQL may come back in other words.
fn same_default(column: &Column, is: Option<&str>, dialect: &Dialect) -> Result<bool> {
    let wanted = match &column.default {
        None | Some(Default::Value(Value::Null)) => return Ok(is.is_none()),
        Some(Default::Raw(_) | Default::Value(Value::Json(_))) => return Ok(is.is_some()),
        Some(Default::Now) => return Ok(is == Some(trimmed(column.kind.now(dialect)?.1))),
        Some(Default::Value(value)) => literal::content(&literal::value(value, dialect)?),
    };
    let Some(is) = is.map(literal::content) else {
        return Ok(false);
    };
    let number = |text: &str| text.parse::<f64>().ok();
    Ok(is == wanted
        || number(&is)
            .zip(number(&wanted))
            .is_some_and(|(is, wanted)| is == wanted))
}

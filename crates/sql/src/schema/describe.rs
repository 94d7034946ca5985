//! What a database says of a table that is there, and whether it is the one that is wanted. Which questions to ask is here, asking
//! is not. Rule: of an order, a name of an index or a comment nothing is said; everything else that differs is a difference.

use std::collections::{BTreeMap, BTreeSet};

use super::column::{Column, Default, Kind, Nulls};
use super::{Keys, Table, literal, restore};
use crate::dialect::{Dialect, Family};
use crate::error::{Error, Result};
use crate::name::Name;
use crate::scan::{self, Kind as Piece};
use crate::statement::Statement;
use crate::value::Value;
use crate::write::Writer;

/// Questions to a database's catalog about one table. Each answers rows of text and NULL only.
#[derive(Clone, Debug, PartialEq)]
pub struct Catalog {
    /// Name, type, `yes` if it may be NULL, default, `yes` if the database gives the numbers. No row: there is no such table.
    pub columns: Statement,
    /// Name of the index, `primary`, `unique`, `index` or `partial`, column; of one index in order.
    pub keys: Statement,
    /// Which, column, table, column there, what happens when it is deleted.
    pub foreign_keys: Statement,
    /// Name or NULL, SQL with checks in it; NULL if the name says what else there is, such as a trigger.
    pub checks: Statement,
}

/// The answers, each value as text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CatalogRows {
    /// Of [`Catalog::columns`].
    pub columns: Vec<Vec<Option<String>>>,
    /// Of [`Catalog::keys`].
    pub keys: Vec<Vec<Option<String>>>,
    /// Of [`Catalog::foreign_keys`].
    pub foreign_keys: Vec<Vec<Option<String>>>,
    /// Of [`Catalog::checks`].
    pub checks: Vec<Vec<Option<String>>>,
}

/// What is there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Description {
    pub(super) columns: Vec<Described>,
    pub(super) primary: Vec<String>,
    /// `unique`, `index` or `partial`, and the columns.
    pub(super) indexes: BTreeSet<(String, Vec<String>)>,
    /// By column: table, column there, what happens on delete.
    pub(super) foreign_keys: BTreeMap<String, (String, Option<String>, String)>,
    /// By name: the texts in it.
    pub(super) checks: BTreeMap<String, Vec<String>>,
    /// What else there is, of which nothing more is known.
    pub(super) others: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Described {
    pub(super) name: String,
    pub(super) kind: String,
    pub(super) nullable: String,
    pub(super) default: Option<String>,
    pub(super) given: String,
}

impl Catalog {
    /// About this table. Firebird's catalog is not read.
    pub fn of(table: impl Into<Name>, dialect: &Dialect) -> Result<Self> {
        let table = table.into();
        let bound = match dialect.family {
            Family::Sqlite => table.last().to_owned(),
            Family::Postgres => {
                let mut writer = Writer::new(dialect);
                writer.table(&table)?;
                writer.finish()?.sql
            }
            Family::Firebird => {
                return Writer::new(dialect).unsupported("description of a table here");
            }
        };
        let texts = match dialect.family {
            Family::Sqlite => SQLITE,
            Family::Postgres | Family::Firebird => POSTGRES,
        };
        let [columns, keys, foreign_keys, checks] = texts.map(|sql| Statement {
            sql: sql.to_owned(),
            binds: vec![Value::Text(bound.clone())],
        });
        Ok(Self {
            columns,
            keys,
            foreign_keys,
            checks,
        })
    }
}

const SQLITE: [&str; 4] = [
    "select name, lower(type), iif(\"notnull\", 'no', 'yes'), dflt_value, iif(pk = 1 and exists (select 1 from sqlite_schema s where s.type = 'table' and s.name = ?1 and s.sql like '%autoincrement%'), 'yes', 'no') from pragma_table_info(?1) order by cid",
    "select name, kind, field from (select '' as name, 'primary' as kind, name as field, pk as place from pragma_table_info(?1) where pk > 0 union all select i.name, iif(i.partial, 'partial', iif(i.\"unique\", 'unique', 'index')), x.name, x.seqno from pragma_index_list(?1) i join pragma_index_info(i.name) x where i.origin <> 'pk') order by name, place",
    "select id || '', \"from\", \"table\", \"to\", lower(on_delete) from pragma_foreign_key_list(?1) order by id, seq",
    "select null, sql from sqlite_schema where type = 'table' and name = ?1 union all select 'the trigger ' || name, null from sqlite_schema where type = 'trigger' and tbl_name = ?1",
];

const POSTGRES: [&str; 4] = [
    "select a.attname::text, format_type(a.atttypid, a.atttypmod), case when a.attnotnull then 'no' else 'yes' end, pg_get_expr(d.adbin, d.adrelid), case when a.attidentity <> '' then 'yes' else 'no' end from pg_attribute a left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum where a.attrelid = to_regclass($1::text) and a.attnum > 0 and not a.attisdropped order by a.attnum",
    "select c.relname::text, case when i.indisprimary then 'primary' when i.indpred is not null then 'partial' when i.indisunique then 'unique' else 'index' end, a.attname::text from pg_index i join pg_class c on c.oid = i.indexrelid cross join lateral unnest(i.indkey::int2[]) with ordinality k(number, place) left join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.number and k.number > 0 where i.indrelid = to_regclass($1::text) and k.place <= i.indnkeyatts order by c.relname, k.place",
    "select c.conname::text, a.attname::text, f.relname::text, b.attname::text, case c.confdeltype when 'r' then 'restrict' when 'c' then 'cascade' when 'n' then 'set null' when 'd' then 'set default' else 'no action' end from pg_constraint c join pg_class f on f.oid = c.confrelid cross join lateral unnest(c.conkey, c.confkey) with ordinality k(own, other, place) join pg_attribute a on a.attrelid = c.conrelid and a.attnum = k.own join pg_attribute b on b.attrelid = c.confrelid and b.attnum = k.other where c.contype = 'f' and c.conrelid = to_regclass($1::text) order by c.conname, k.place",
    "select c.conname::text, pg_get_constraintdef(c.oid) from pg_constraint c where c.contype = 'c' and c.conrelid = to_regclass($1::text) order by c.conname",
];

impl Description {
    /// What the answers say; nothing if there is no such table.
    pub fn read(rows: &CatalogRows, dialect: &Dialect) -> Option<Self> {
        if rows.columns.is_empty() {
            return None;
        }
        let mut description = Self::default();
        for row in &rows.columns {
            description.columns.push(Described {
                name: text(row, 0),
                kind: text(row, 1),
                nullable: text(row, 2),
                default: row
                    .get(3)
                    .cloned()
                    .flatten()
                    .map(|sql| trimmed(&sql).to_owned())
                    // Said or not, it is the same.
                    .filter(|sql| !sql.eq_ignore_ascii_case("null")),
                given: text(row, 4),
            });
        }
        for key in rows.keys.chunk_by(|one, next| one.first() == next.first()) {
            let columns: Vec<String> = key.iter().map(|row| text(row, 2)).collect();
            match key.first().map(|row| text(row, 1)) {
                Some(kind) if kind == "primary" => description.primary = columns,
                Some(kind) => drop(description.indexes.insert((kind, columns))),
                None => {}
            }
        }
        for row in &rows.foreign_keys {
            let other = (text(row, 2), row.get(3).cloned().flatten(), text(row, 4));
            description.foreign_keys.insert(text(row, 1), other);
        }
        for key in rows
            .foreign_keys
            .chunk_by(|one, next| one.first() == next.first())
        {
            if key.len() > 1 {
                let others = &mut description.others;
                others.push("a foreign key of several columns".to_owned());
            }
        }
        for row in &rows.checks {
            match row.first().cloned().flatten() {
                Some(name) if row.get(1).is_none_or(Option::is_none) => {
                    description.others.push(name)
                }
                Some(name) => drop(
                    description
                        .checks
                        .insert(name, texts(&text(row, 1), dialect)),
                ),
                None => {
                    let sql = text(row, 1);
                    description
                        .others
                        .extend(restore::unknown_word(&sql, dialect));
                    description.checks.extend(named_checks(&sql, dialect));
                }
            }
        }
        Some(description)
    }

    /// The names of the columns of the primary key.
    pub fn primary_key(&self) -> &[String] {
        &self.primary
    }
}

fn text(row: &[Option<String>], index: usize) -> String {
    row.get(index).cloned().flatten().unwrap_or_default()
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
        self.compare_foreign_keys(found)?;
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
                let kind = match index.keys {
                    Keys::Unique => "unique",
                    Keys::Any => "index",
                };
                let columns = index.columns.iter().map(|name| name.as_str().to_owned());
                (kind.to_owned(), columns.collect())
            })
            .collect();
        let shown = |(kind, columns): &(String, Vec<String>)| match kind.as_str() {
            "index" => format!("index on ({})", columns.join(", ")),
            kind => format!("{kind} index on ({})", columns.join(", ")),
        };
        if let Some(missing) = wanted.difference(&found.indexes).next() {
            return self.differs(format!("there is no {}", shown(missing)));
        }
        if let Some(extra) = found.indexes.difference(&wanted).next() {
            return self.differs(format!(
                "there is {}, and none is wanted",
                article(&shown(extra))
            ));
        }
        Ok(())
    }

    fn compare_foreign_keys(&self, found: &Description) -> Result<()> {
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
                foreign.on_delete.words().to_owned(),
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

//! A table as a value again, from what SQLite says of one that was made here: what is needed to make it anew. Not for tables that
//! another program made. Rule: what cannot be said as a value is an error that names it, because making the table anew would lose it.

use super::column::{Column, Default, Foreign, Kind, Nulls, OnDelete, Sign, column};
use super::describe::{CatalogColumn, Description};
use super::kinds::KindName;
use super::{Index, Keys, Table, literal};
use crate::dialect::{Dialect, Family};
use crate::error::{Result, usage};
use crate::name::Name;
use crate::scan;
use crate::value::Value;
use crate::write::Writer;

/// The words that a statement of ours has outside quotes, but types.
const WORDS: &str = "action autoincrement cascade check collate constraint create date decimal default delete false foreign in key length no not null \
    on primary references restrict set strftime table time true x";

/// What shows that a table was not made here, or not here alone: a word that we do not write.
pub(super) fn unknown_word(sql: &str, dialect: &Dialect) -> Option<String> {
    let words = scan::words(sql, dialect.lexicon);
    let mut words = words.map(|(word, _)| word.to_ascii_lowercase());
    let is_own = |word: &str| WORDS.split(' ').any(|own| own == word);
    let ours = |word: &String| is_own(word) || KindName::declared(word).is_some();
    let unknown = words.find(|word| !ours(word));
    unknown.map(|word| format!("the word {word} in its definition"))
}

/// The kind with this type. The values of an enum are in its check.
fn kind_of(shown: &str) -> Option<Kind> {
    let (word, sizes) = match shown
        .strip_suffix(')')
        .and_then(|shown| shown.split_once('('))
    {
        Some((word, sizes)) => (word, sizes),
        None => (shown, ""),
    };
    Some(match KindName::declared(word)? {
        KindName::Increments => Kind::Increments,
        KindName::SmallInteger => Kind::SmallInteger,
        KindName::MediumInteger => Kind::MediumInteger,
        KindName::Integer => Kind::Integer,
        KindName::BigInteger => Kind::BigInteger,
        KindName::Decimal => {
            let (precision, scale) = sizes.split_once(',')?;
            let (precision, scale) = (precision.parse().ok()?, scale.parse().ok()?);
            Kind::Decimal { precision, scale }
        }
        KindName::Double => Kind::Double,
        KindName::Float => Kind::Float,
        KindName::Uuid => Kind::Uuid,
        KindName::Char => Kind::Char(sizes.parse().ok()?),
        KindName::String => Kind::String(sizes.parse().ok()?),
        KindName::Text => Kind::Text,
        KindName::Date => Kind::Date,
        KindName::DateTime => Kind::DateTime,
        KindName::Time => Kind::Time,
        KindName::Timestamp => Kind::Timestamp,
        KindName::Binary => Kind::Binary,
        KindName::Boolean => Kind::Boolean,
        KindName::Enum => Kind::Enum(Vec::new()),
        KindName::Json => Kind::Json,
    })
}

impl Description {
    /// The table as a value, for [`Alteration::statements`](super::Alteration::statements) on SQLite. Fails on what the builder
    /// does not make; then say yourself what the table is.
    pub fn table(&self, name: impl Into<Name>, dialect: &Dialect) -> Result<Table> {
        if dialect.family != Family::Sqlite {
            return Writer::new(dialect).unsupported("need to make tables anew");
        }
        let mut table = Table::new(name);
        if let Some(other) = self.others.first() {
            return strange(&table, other);
        }
        for described in &self.columns {
            table.columns.push(self.column(described, &table, dialect)?);
        }
        let given = table
            .columns
            .iter()
            .any(|column| column.kind == Kind::Increments);
        if !given {
            table.primary = self.primary.iter().map(|name| Name::exact(name)).collect();
        }
        for (kind, columns) in self.indexes.keys() {
            let keys = match kind.as_str() {
                "unique" => Keys::Unique,
                "index" => Keys::Any,
                _ => return strange(&table, "an index of some rows"),
            };
            if columns.iter().any(String::is_empty) {
                return strange(&table, "an index of an expression");
            }
            table.indexes.push(Index::new(
                columns.iter().map(|name| Name::exact(name)),
                keys,
            ));
        }
        Ok(table)
    }

    fn column(
        &self,
        described: &CatalogColumn,
        table: &Table,
        dialect: &Dialect,
    ) -> Result<Column> {
        let name = &described.name;
        let Some(mut kind) = kind_of(&described.kind) else {
            return strange(
                table,
                &format!("the type {} of the column {name}", described.kind),
            );
        };
        if described.given == "yes" {
            kind = Kind::Increments;
        }
        if let Kind::Enum(of) = &mut kind {
            let texts = self.check(name, "enum");
            of.extend(texts.into_iter().flatten().cloned());
        }
        let mut column = column(Name::exact(name), kind);
        if described.nullable == "yes" {
            column.nulls = Nulls::Taken;
        }
        if self.check(name, "unsigned").is_some() {
            column.sign = Sign::Positive;
        }
        let default = described.default.as_deref();
        column.default = default.map(|text| restored(&column.kind, text, dialect));
        if let Some((other, to, on_delete)) = self.foreign_keys.get(name) {
            let actions = [
                OnDelete::NoAction,
                OnDelete::Restrict,
                OnDelete::Cascade,
                OnDelete::SetNull,
                OnDelete::SetDefault,
            ];
            let action = actions
                .into_iter()
                .find(|action| action.words() == on_delete);
            let (Some(to), Some(on_delete)) = (to, action) else {
                return strange(table, &format!("what the column {name} refers to"));
            };
            column.foreign = Some(Foreign {
                column: Name::exact(to),
                table: Some(Name::exact(other)),
                on_delete,
            });
        }
        Ok(column)
    }

    /// The texts of a column's check, whose name ends in the column and this word.
    fn check(&self, column: &str, word: &str) -> Option<&Vec<String>> {
        let end = format!("_{column}_{word}");
        let mut checks = self.checks.iter();
        checks.find_map(|(name, texts)| name.ends_with(&end).then_some(texts))
    }
}

fn strange<T>(table: &Table, what: &str) -> Result<T> {
    let table = table.name.as_str();
    usage(format!(
        "{table} has something that making it anew would lose, {what}: say what the whole table is now"
    ))
}

/// A default as it was said.
fn restored(kind: &Kind, text: &str, dialect: &Dialect) -> Default {
    if kind.now(dialect).is_ok_and(|(_, shown)| shown == text) {
        return Default::Now;
    }
    let value = match text {
        "true" => Value::Boolean(true),
        "false" => Value::Boolean(false),
        _ if text.starts_with('\'') => match literal::content(text) {
            content if *kind == Kind::Json => Value::Json(content),
            content => Value::Text(content),
        },
        _ => match (text.parse(), text.parse()) {
            (Ok(integer), _) => Value::Integer(integer),
            (_, Ok(real)) => Value::Real(real),
            // Bytes, which need no other form.
            _ => return Default::Raw(text.to_owned()),
        },
    };
    Default::Value(value)
}

//! What the words of `db.create` and `db.alter` collected, as tables and alterations. The shapes are prelude/schema.rb's.
//! Rule: what is no name, number or word of these is refused with what would be.

use tsumugi_db::BindRoom;
use tsumugi_mruby::{Kind as Class, Result, Scope, Value};
use tsumugi_sql::Value as Bind;
use tsumugi_sql::schema::{
    Alteration, Column, Kind, KindName, OnDelete, Table, alter, column, foreign,
};

use super::super::binds::bind;
use crate::natives::arguments::{text, wrong_type};

/// Reads values of one definition.
struct Reader<'c> {
    scope: &'c Scope<'c>,
    /// How deep a default that is JSON may be.
    json_depth_max: usize,
}

/// `[name, columns, primary, indexes, comment]`, of indexes `[:unique or :index, names]`.
pub(super) fn table<'c>(
    scope: &'c Scope<'c>,
    said: Value<'c>,
    json_depth_max: usize,
) -> Result<'c, Table> {
    let reader = Reader {
        scope,
        json_depth_max,
    };
    let mut table = Table::new(reader.name(said, 0)?);
    for one in scope.elements(reader.at(said, 1)) {
        table = table.column(reader.column(one)?);
    }
    let primary = reader.names(reader.at(said, 2))?;
    if !primary.is_empty() {
        table = table.primary(primary);
    }
    for index in scope.elements(reader.at(said, 3)) {
        let names = reader.names(reader.at(index, 1))?;
        table = match reader.name(index, 0)?.as_str() {
            "unique" => table.unique(names),
            _ => table.index(names),
        };
    }
    if let Some(comment) = scope.text(reader.at(said, 4)) {
        table = table.comment(comment);
    }
    Ok(table)
}

/// `[name, steps]`, each step a word and what it is about; with the name of the table.
pub(super) fn alteration<'c>(
    scope: &'c Scope<'c>,
    said: Value<'c>,
    json_depth_max: usize,
) -> Result<'c, Alteration> {
    let reader = Reader {
        scope,
        json_depth_max,
    };
    let name = reader.name(said, 0)?;
    let mut alteration = alter(name);
    for step in scope.elements(reader.at(said, 1)) {
        let about = reader.at(step, 1);
        alteration = match reader.name(step, 0)?.as_str() {
            "add" => alteration.add_column(reader.column(about)?),
            "change" => alteration.change_column(reader.column(about)?),
            "rename_column" => {
                alteration.rename_column(reader.name(step, 1)?, reader.name(step, 2)?)
            }
            "drop_column" => alteration.drop_column(reader.name(step, 1)?),
            "add_index" => alteration.add_index(reader.names(about)?),
            "add_unique" => alteration.add_unique(reader.names(about)?),
            "drop_index" => alteration.drop_index(reader.names(about)?),
            "drop_unique" => alteration.drop_unique(reader.names(about)?),
            "drop_index_named" => alteration.drop_index_named(reader.name(step, 1)?),
            "rename" => alteration.rename(reader.name(step, 1)?),
            other => {
                let message = format!("a table cannot be altered by {other}");
                return Err(scope.error("ArgumentError", message));
            }
        };
    }
    Ok(alteration)
}

impl<'c> Reader<'c> {
    fn at(&self, array: Value<'c>, index: usize) -> Value<'c> {
        self.scope.array_at(array, index)
    }

    fn name(&self, array: Value<'c>, index: usize) -> Result<'c, String> {
        text(self.scope, self.at(array, index), "a name")
    }

    fn names(&self, array: Value<'c>) -> Result<'c, Vec<String>> {
        let names = self.scope.elements(array);
        names.map(|name| text(self.scope, name, "a name")).collect()
    }

    fn number<N: TryFrom<i64>>(&self, value: Value<'c>, what: &str) -> Result<'c, N> {
        let number = value.as_integer().and_then(|number| number.try_into().ok());
        number.ok_or_else(|| {
            let message = format!("{what} of a column must be a whole number that it can have");
            self.scope.error("ArgumentError", message)
        })
    }

    /// `[kind, name, arguments, modifiers]`
    fn column(&self, said: Value<'c>) -> Result<'c, Column> {
        let (kind, name) = (self.name(said, 0)?, self.name(said, 1)?);
        let mut column = match kind.as_str() {
            "foreign" => foreign(name.as_str()),
            kind => column(name.as_str(), self.kind(kind, self.at(said, 2))?),
        };
        for (word, value) in self.scope.entries(self.at(said, 3))? {
            let word = self.scope.text(word).unwrap_or_default();
            column = self.with_modifiers(column, &name, &word, value)?;
        }
        Ok(column)
    }

    fn kind(&self, word: &str, arguments: Value<'c>) -> Result<'c, Kind> {
        let Some(name) = KindName::of(word) else {
            let message = format!("there is no kind of column called {word}");
            return Err(self.scope.error("ArgumentError", message));
        };
        let argument = |index| self.at(arguments, index);
        Ok(match name {
            KindName::Increments => Kind::Increments,
            KindName::SmallInteger => Kind::SmallInteger,
            KindName::MediumInteger => Kind::MediumInteger,
            KindName::Integer => Kind::Integer,
            KindName::BigInteger => Kind::BigInteger,
            KindName::Decimal => Kind::Decimal {
                precision: self.number(argument(0), "the precision")?,
                scale: self.number(argument(1), "the scale")?,
            },
            KindName::Double => Kind::Double,
            KindName::Float => Kind::Float,
            KindName::Uuid => Kind::Uuid,
            KindName::Char => Kind::Char(self.number(argument(0), "the length")?),
            KindName::String => Kind::String(self.number(argument(0), "the length")?),
            KindName::Text => Kind::Text,
            KindName::Date => Kind::Date,
            KindName::DateTime => Kind::DateTime,
            KindName::Time => Kind::Time,
            KindName::Timestamp => Kind::Timestamp,
            KindName::Binary => Kind::Binary,
            KindName::Boolean => Kind::Boolean,
            KindName::Enum => Kind::Enum(self.names(argument(0))?),
            KindName::Json => Kind::Json,
        })
    }

    fn with_modifiers(
        &self,
        column: Column,
        name: &str,
        word: &str,
        value: Value<'c>,
    ) -> Result<'c, Column> {
        // A default may be false; all others are then not said.
        if word != "default" && !value.truthy() {
            return Ok(column);
        }
        let said = |what: &str| text(self.scope, value, what);
        Ok(match word {
            "nullable" => column.nullable(),
            "unsigned" => column.unsigned(),
            "default" => column.default(self.default(value)?),
            "default_now" => column.default_now(),
            "default_raw" => column.default_raw(said("default_raw")?),
            "primary" => column.primary(),
            "unique" => column.unique(),
            "index" => column.index(),
            "comment" => column.comment(said("comment")?),
            "reference" => column.reference(said("reference")?),
            "on" => column.on(said("on")?),
            "on_delete" => column.on_delete(self.on_delete(value)?),
            other => {
                let message = format!(
                    "the column {name} has no {other}: there are nullable, unsigned, default, default_now, default_raw, primary, unique, index, comment, reference, on, on_delete"
                );
                return Err(self.scope.error("ArgumentError", message));
            }
        })
    }

    fn on_delete(&self, value: Value<'c>) -> Result<'c, OnDelete> {
        Ok(match self.scope.text(value).as_deref() {
            Some("no_action") => OnDelete::NoAction,
            Some("restrict") => OnDelete::Restrict,
            Some("cascade") => OnDelete::Cascade,
            Some("set_null") => OnDelete::SetNull,
            Some("set_default") => OnDelete::SetDefault,
            _ => {
                let message =
                    "on_delete is :no_action, :restrict, :cascade, :set_null or :set_default";
                return Err(self.scope.error("ArgumentError", message));
            }
        })
    }

    fn default(&self, value: Value<'c>) -> Result<'c, Bind> {
        if value.kind() == Class::Array {
            return Err(wrong_type(self.scope, value, "a default", "one value"));
        }
        let mut room = BindRoom::default();
        let default = bind(self.scope, value, self.json_depth_max, &mut room)?;
        Ok(match default {
            Bind::Decimal(text) => Bind::Text(text),
            other => other,
        })
    }
}

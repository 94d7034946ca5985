//! The kinds of columns in each database: the type that is written, the one its catalog shows, now, and what must be checked because
//! the type does not. Rule: a type of SQLite names what the column holds, so that whoever reads the table can tell a decimal from
//! a text; its affinity is the one that keeps what is stored as it is.

use super::column::{Column, Kind, Sign};
use super::literal;
use crate::dialect::{Dialect, Family};
use crate::error::{Error, Result, usage};
use crate::limits::DECIMAL_DIGITS_MAX;
use crate::write::Writer;

/// The size of segments that a JSON column of Firebird is declared with. Others have 80 unless somebody says another.
pub const JSON_SEGMENT_BYTES: u16 = 74;

/// Most characters of a `char` or `string`: what PostgreSQL allows.
const CHARACTERS_MAX: u32 = 10_485_760;

impl Kind {
    /// The type as it is written in a statement.
    pub(crate) fn written(&self, dialect: &Dialect) -> Result<String> {
        self.check(dialect)?;
        Ok(match dialect.family {
            Family::Sqlite => self.sqlite(),
            Family::Postgres => self.postgres(),
            Family::Firebird => self.firebird(),
        })
    }

    /// The type as the catalog shows it.
    pub(crate) fn shown(&self, dialect: &Dialect) -> Result<String> {
        Ok(match (dialect.family, self) {
            (Family::Sqlite, Kind::Decimal { precision, scale }) => {
                format!("decimal_text({precision},{scale})")
            }
            (Family::Postgres, Kind::Char(n)) => format!("character({n})"),
            (Family::Postgres, Kind::String(n)) => format!("character varying({n})"),
            (Family::Postgres, Kind::DateTime) => "timestamp without time zone".to_owned(),
            (Family::Postgres, Kind::Time) => "time without time zone".to_owned(),
            (Family::Postgres, Kind::Timestamp) => "timestamp with time zone".to_owned(),
            _ => self.written(dialect)?,
        })
    }

    fn sqlite(&self) -> String {
        match self {
            Kind::Increments | Kind::Integer => "integer".to_owned(),
            Kind::SmallInteger => "smallint".to_owned(),
            Kind::MediumInteger => "mediumint".to_owned(),
            Kind::BigInteger => "bigint".to_owned(),
            // A decimal column would be REAL and lose digits; as text with its own order it is exact.
            Kind::Decimal { precision, scale } => {
                format!("decimal_text({precision},{scale}) collate decimal")
            }
            Kind::Double => "double".to_owned(),
            Kind::Float => "float".to_owned(),
            Kind::Uuid => "uuid_text".to_owned(),
            Kind::Char(n) => format!("char({n})"),
            Kind::String(n) => format!("varchar({n})"),
            Kind::Text => "text".to_owned(),
            Kind::Date => "date_text".to_owned(),
            Kind::DateTime => "datetime_text".to_owned(),
            Kind::Time => "time_text".to_owned(),
            Kind::Timestamp => "timestamp_text".to_owned(),
            Kind::Binary => "blob".to_owned(),
            Kind::Boolean => "boolean".to_owned(),
            Kind::Enum(_) => "enum_text".to_owned(),
            Kind::Json => "json_text".to_owned(),
        }
    }

    fn postgres(&self) -> String {
        match self {
            Kind::Increments | Kind::BigInteger => "bigint".to_owned(),
            Kind::SmallInteger => "smallint".to_owned(),
            Kind::MediumInteger | Kind::Integer => "integer".to_owned(),
            Kind::Decimal { precision, scale } => format!("numeric({precision},{scale})"),
            Kind::Double => "double precision".to_owned(),
            Kind::Float => "real".to_owned(),
            Kind::Uuid => "uuid".to_owned(),
            Kind::Char(n) => format!("char({n})"),
            Kind::String(n) => format!("varchar({n})"),
            Kind::Text | Kind::Enum(_) => "text".to_owned(),
            Kind::Date => "date".to_owned(),
            Kind::DateTime => "timestamp".to_owned(),
            Kind::Time => "time".to_owned(),
            Kind::Timestamp => "timestamptz".to_owned(),
            Kind::Binary => "bytea".to_owned(),
            Kind::Boolean => "boolean".to_owned(),
            Kind::Json => "jsonb".to_owned(),
        }
    }

    fn firebird(&self) -> String {
        match self {
            Kind::Increments | Kind::BigInteger => "bigint".to_owned(),
            Kind::SmallInteger => "smallint".to_owned(),
            Kind::MediumInteger | Kind::Integer => "integer".to_owned(),
            Kind::Decimal { precision, scale } => format!("decimal({precision},{scale})"),
            Kind::Double => "double precision".to_owned(),
            Kind::Float => "float".to_owned(),
            Kind::Uuid => "char(36)".to_owned(),
            Kind::Char(n) => format!("char({n})"),
            Kind::String(n) => format!("varchar({n})"),
            Kind::Text => "blob sub_type text".to_owned(),
            // The size of segments means nothing to the server, and tells this from a text.
            Kind::Json => format!("blob sub_type text segment size {JSON_SEGMENT_BYTES}"),
            Kind::Date => "date".to_owned(),
            Kind::DateTime | Kind::Timestamp => "timestamp".to_owned(),
            Kind::Time => "time".to_owned(),
            Kind::Binary => "blob sub_type binary".to_owned(),
            Kind::Boolean => "boolean".to_owned(),
            Kind::Enum(of) => {
                let longest = of.iter().map(|text| text.chars().count()).max();
                format!("varchar({})", longest.unwrap_or(1).max(1))
            }
        }
    }

    /// Refuses a size that the type cannot have.
    fn check(&self, dialect: &Dialect) -> Result<()> {
        match *self {
            Kind::Decimal { precision, scale } => {
                if precision == 0 || precision > DECIMAL_DIGITS_MAX || scale > precision {
                    return usage(format!(
                        "decimal({precision}, {scale}) is no number: it has 1 to DECIMAL_DIGITS_MAX ({DECIMAL_DIGITS_MAX}) digits, some of them after the point"
                    ));
                }
                if precision > dialect.decimal_digits_max {
                    let max = usize::from(dialect.decimal_digits_max);
                    let limit = "decimal_digits_max";
                    return Err(Error::Limit { limit, max });
                }
            }
            Kind::Char(n) | Kind::String(n) if n == 0 || n > CHARACTERS_MAX => {
                return usage(format!(
                    "text of a column has 1 to {CHARACTERS_MAX} characters, not {n}: longer text is of kind text"
                ));
            }
            Kind::Enum(ref of) if of.is_empty() => return usage("an enum has at least one value"),
            _ => {}
        }
        Ok(())
    }

    /// The time of the insert, as an expression and as the catalog shows it.
    pub(crate) fn now(&self, dialect: &Dialect) -> Result<(&'static str, &'static str)> {
        // As wide as a time that is bound, so that texts compare as times do.
        let utc = "strftime('%Y-%m-%dT%H:%M:%f000Z', 'now')";
        Ok(match (dialect.family, self) {
            (Family::Sqlite, Kind::DateTime | Kind::Timestamp) => (utc, utc),
            (Family::Sqlite, Kind::Date) => ("date('now')", "date('now')"),
            (Family::Sqlite, Kind::Time) => ("time('now')", "time('now')"),
            (Family::Postgres, Kind::Timestamp) => ("current_timestamp", "CURRENT_TIMESTAMP"),
            (Family::Postgres, Kind::DateTime) => {
                ("timezone('utc', now())", "timezone('utc'::text, now())")
            }
            (Family::Postgres, Kind::Date) => (
                "timezone('utc', now())::date",
                "(timezone('utc'::text, now()))::date",
            ),
            (Family::Postgres, Kind::Time) => (
                "timezone('utc', now())::time",
                "(timezone('utc'::text, now()))::time without time zone",
            ),
            (Family::Firebird, Kind::DateTime | Kind::Timestamp) => {
                ("current_timestamp", "current_timestamp")
            }
            (Family::Firebird, Kind::Date) => ("current_date", "current_date"),
            (Family::Firebird, Kind::Time) => ("current_time", "current_time"),
            _ => return usage("now is a default of dates and times"),
        })
    }
}

/// Whether the table that this statement creates has a check of this name which keeps a text from being longer than its column takes: SQLite's
/// types have no length.
pub fn limits_length(create: &str, constraint: &str) -> bool {
    let begin = format!(
        "constraint `{}` check (length(",
        constraint.replace('`', "``")
    );
    create
        .split(&begin)
        .skip(1)
        .filter_map(|rest| rest.split_once(") <= ")?.1.split_once(')'))
        .any(|(most, _)| most.bytes().all(|byte| byte.is_ascii_digit()))
}

/// A condition on a column, by the word that its name ends in.
pub(crate) struct Check {
    pub(crate) word: &'static str,
    pub(crate) condition: String,
}

impl Column {
    /// What must be checked because the type does not.
    pub(crate) fn checks(&self, dialect: &Dialect) -> Result<Vec<Check>> {
        let mut name = Writer::new(dialect);
        name.bare_name(&self.name)?;
        let name = name.finish()?.sql;
        let mut checks = Vec::new();
        let mut check = |word, condition| checks.push(Check { word, condition });
        if self.sign == Sign::Positive {
            check("unsigned", format!("{name} >= 0"));
        }
        if let Kind::Enum(of) = &self.kind {
            let of: Result<Vec<String>> = of.iter().map(|text| literal::text(text)).collect();
            check("enum", format!("{name} in ({})", of?.join(", ")));
        }
        if dialect.family == Family::Sqlite {
            match self.kind {
                Kind::Char(n) | Kind::String(n) => {
                    check("length", format!("length({name}) <= {n}"));
                }
                Kind::Boolean => check("boolean", format!("{name} in (0, 1)")),
                _ => {}
            }
        }
        Ok(checks)
    }
}

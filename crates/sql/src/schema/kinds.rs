//! The kinds of columns: one table of what each is called, here, in Ruby and in each database. Beside it what its size says, its now, and what
//! must be checked because the type does not. Rule: a type of SQLite names what the column holds, so that a reader of the table can tell a
//! decimal from a text; its affinity is the one that keeps what is stored as it is. What depends on the kind matches all of them.

use super::column::{Column, Kind, Sign};
use super::literal;
use crate::dialect::{Dialect, Family};
use crate::error::{Result, exceeded, usage};
use crate::limits::DECIMAL_DIGITS_MAX;
use crate::write::one;

/// Most characters of a `char` or `string`: what PostgreSQL allows.
const CHARACTERS_MAX: u32 = 10_485_760;

/// What a kind is called in the databases, without its size.
struct Types {
    sqlite: &'static str,
    postgres: &'static str,
    /// As PostgreSQL's catalog shows it.
    shown: &'static str,
    firebird: &'static str,
}

macro_rules! kinds {
    ($($name:ident: $word:literal, $sqlite:literal, $postgres:literal, $shown:literal, $firebird:literal;)*) => {
        /// The kinds of columns without their sizes. Exhaustive, so that the compiler names each place that depends on the kind.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum KindName {
            $(
                #[doc = concat!("See [`Kind::", stringify!($name), "`].")]
                $name,
            )*
        }

        impl KindName {
            /// All of them.
            pub const ALL: &[KindName] = &[$(KindName::$name),*];

            /// The word for it in Ruby, and the name of its method in Rust.
            pub const fn word(self) -> &'static str {
                match self {
                    $(KindName::$name => $word,)*
                }
            }

            const fn types(self) -> Types {
                match self {
                    $(KindName::$name => Types {
                        sqlite: $sqlite,
                        postgres: $postgres,
                        shown: $shown,
                        firebird: $firebird,
                    },)*
                }
            }
        }

        impl Kind {
            /// The kind without its size.
            pub fn name(&self) -> KindName {
                match self {
                    $(Kind::$name { .. } => KindName::$name,)*
                }
            }
        }
    };
}

// A decimal of SQLite would be REAL and lose digits; as text with its own order it is exact. The size of segments means nothing to Firebird, and
// tells JSON from a text: others have 80 unless the column gives another.
kinds! {
    //             word              SQLite            PostgreSQL          its catalog                    Firebird
    Increments:    "increments",     "integer",        "bigint",           "bigint",                      "bigint";
    SmallInteger:  "small_integer",  "smallint",       "smallint",         "smallint",                    "smallint";
    MediumInteger: "medium_integer", "mediumint",      "integer",          "integer",                     "integer";
    Integer:       "integer",        "integer",        "integer",          "integer",                     "integer";
    BigInteger:    "big_integer",    "bigint",         "bigint",           "bigint",                      "bigint";
    Decimal:       "decimal",        "decimal_text",   "numeric",          "numeric",                     "decimal";
    Double:        "double",         "double",         "double precision", "double precision",            "double precision";
    Float:         "float",          "float",          "real",             "real",                        "float";
    Uuid:          "uuid",           "uuid_text",      "uuid",             "uuid",                        "char(36)";
    Char:          "char",           "char",           "char",             "character",                   "char";
    String:        "string",         "varchar",        "varchar",          "character varying",           "varchar";
    Text:          "text",           "text",           "text",             "text",                        "blob sub_type text";
    Date:          "date",           "date_text",      "date",             "date",                        "date";
    DateTime:      "datetime",       "datetime_text",  "timestamp",        "timestamp without time zone", "timestamp";
    Time:          "time",           "time_text",      "time",             "time without time zone",      "time";
    Timestamp:     "timestamp",      "timestamp_text", "timestamptz",      "timestamp with time zone",    "timestamp";
    Binary:        "binary",         "blob",           "bytea",            "bytea",                       "blob sub_type binary";
    Boolean:       "boolean",        "boolean",        "boolean",          "boolean",                     "boolean";
    Enum:          "enum",           "enum_text",      "text",             "text",                        "varchar";
    Json:          "json",           "json_text",      "jsonb",            "jsonb",                       "blob sub_type text segment size 74";
}

impl KindName {
    /// The kind that is called so.
    pub fn of(word: &str) -> Option<KindName> {
        let mut all = KindName::ALL.iter().copied();
        all.find(|name| name.word() == word)
    }

    /// The kind whose columns SQLite declares with this type, which is without its size. Of two with one type the one whose numbers nobody gives.
    pub fn declared(sqlite: &str) -> Option<KindName> {
        let is_type = |name: &KindName| name.types().sqlite.eq_ignore_ascii_case(sqlite);
        let is_given = |name: &KindName| *name == KindName::Increments;
        let mut all = KindName::ALL.iter().copied();
        all.find(|name| is_type(name) && !is_given(name))
    }
}

impl Kind {
    /// The type as it is written in a statement.
    pub(crate) fn written(&self, dialect: &Dialect) -> Result<String> {
        self.check(dialect)?;
        let types = self.name().types();
        let size = self.size(dialect.family);
        Ok(match dialect.family {
            Family::Sqlite => format!("{}{size}{}", types.sqlite, self.collation()),
            Family::Postgres => format!("{}{size}", types.postgres),
            Family::Firebird => format!("{}{size}", types.firebird),
        })
    }

    /// The type as the catalog shows it.
    pub(crate) fn shown(&self, dialect: &Dialect) -> Result<String> {
        let types = self.name().types();
        let size = self.size(dialect.family);
        match dialect.family {
            Family::Sqlite => Ok(format!("{}{size}", types.sqlite)),
            Family::Postgres => Ok(format!("{}{size}", types.shown)),
            Family::Firebird => self.written(dialect),
        }
    }

    /// What stands behind the type's name.
    fn size(&self, family: Family) -> String {
        match self {
            Kind::Decimal { precision, scale } => format!("({precision},{scale})"),
            Kind::Char(n) | Kind::String(n) => format!("({n})"),
            Kind::Enum(of) if family == Family::Firebird => {
                let longest = of.iter().map(|text| text.chars().count()).max();
                format!("({})", longest.unwrap_or(1).max(1))
            }
            Kind::Increments
            | Kind::SmallInteger
            | Kind::MediumInteger
            | Kind::Integer
            | Kind::BigInteger
            | Kind::Double
            | Kind::Float
            | Kind::Uuid
            | Kind::Text
            | Kind::Date
            | Kind::DateTime
            | Kind::Time
            | Kind::Timestamp
            | Kind::Binary
            | Kind::Boolean
            | Kind::Enum(_)
            | Kind::Json => String::new(),
        }
    }

    /// The order that SQLite needs in the statement.
    fn collation(&self) -> &'static str {
        if self.name() == KindName::Decimal {
            " collate decimal"
        } else {
            ""
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
                    return exceeded("decimal_digits_max", max);
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
        let [sqlite, postgres, firebird] = match self.name() {
            KindName::DateTime => [
                (utc, utc),
                ("timezone('utc', now())", "timezone('utc'::text, now())"),
                ("current_timestamp", "current_timestamp"),
            ],
            KindName::Timestamp => [
                (utc, utc),
                ("current_timestamp", "CURRENT_TIMESTAMP"),
                ("current_timestamp", "current_timestamp"),
            ],
            KindName::Date => [
                ("date('now')", "date('now')"),
                (
                    "timezone('utc', now())::date",
                    "(timezone('utc'::text, now()))::date",
                ),
                ("current_date", "current_date"),
            ],
            KindName::Time => [
                ("time('now')", "time('now')"),
                (
                    "timezone('utc', now())::time",
                    "(timezone('utc'::text, now()))::time without time zone",
                ),
                ("current_time", "current_time"),
            ],
            KindName::Increments
            | KindName::SmallInteger
            | KindName::MediumInteger
            | KindName::Integer
            | KindName::BigInteger
            | KindName::Decimal
            | KindName::Double
            | KindName::Float
            | KindName::Uuid
            | KindName::Char
            | KindName::String
            | KindName::Text
            | KindName::Binary
            | KindName::Boolean
            | KindName::Enum
            | KindName::Json => return usage("now is a default of dates and times"),
        };
        Ok(match dialect.family {
            Family::Sqlite => sqlite,
            Family::Postgres => postgres,
            Family::Firebird => firebird,
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
        let name = one(dialect, |writer| writer.bare_name(&self.name))?;
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
                Kind::Increments
                | Kind::SmallInteger
                | Kind::MediumInteger
                | Kind::Integer
                | Kind::BigInteger
                | Kind::Decimal { .. }
                | Kind::Double
                | Kind::Float
                | Kind::Uuid
                | Kind::Text
                | Kind::Date
                | Kind::DateTime
                | Kind::Time
                | Kind::Timestamp
                | Kind::Binary
                | Kind::Enum(_)
                | Kind::Json => {}
            }
        }
        Ok(checks)
    }
}

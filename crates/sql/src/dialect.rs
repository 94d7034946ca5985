//! The databases as data: how names are quoted, placeholders written, rows limited, and what is missing.
//! Not the differences in kind, which are forks in `write/` on a field of this. Rule: a field says what is so, not what to do.

use crate::firebird_words;
use crate::scan::Lexicon;

/// A database's SQL.
#[derive(Debug)]
pub struct Dialect {
    /// The name of the database in messages.
    pub name: &'static str,
    /// What its SQL has beside the standard's quotes and comments.
    pub lexicon: Lexicon,
    /// Most values that one statement can bind.
    pub binds_max: usize,
    /// Most bytes of a name.
    pub name_bytes_max: usize,
    /// Most digits of a decimal.
    pub decimal_digits_max: u16,
    /// Whose types and whose catalog it has.
    pub family: Family,
    pub(crate) placeholder: Placeholder,
    pub(crate) names: Names,
    pub(crate) limit: Limit,
    pub(crate) nulls: Nulls,
    pub(crate) like: Like,
    pub(crate) remainder: Remainder,
    pub(crate) average: Average,
    pub(crate) decimals: Decimals,
    pub(crate) locks: Locks,
    pub(crate) upsert: Upsert,
    pub(crate) inserts: Inserts,
    pub(crate) returning: Returning,
    /// Whether `(a, b) > (?, ?)` is in the grammar.
    pub(crate) row_values: Support,
    pub(crate) parameter_types: ParameterTypes,
    pub(crate) empty_source: EmptySource,
    /// Whether tables are in schemas whose names may qualify theirs.
    pub(crate) schemas: Support,
}

/// Two dialects are the same if they have the same name.
impl PartialEq for Dialect {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Dialect {}

/// Whose types and whose catalog a database has. A new one has to be thought of wherever one is told from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// SQLite.
    Sqlite,
    /// PostgreSQL.
    Postgres,
    /// Firebird.
    Firebird,
}

/// What stands where a value is bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Placeholder {
    /// `?`
    Question,
    /// `$1`
    Numbered,
}

/// How names are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Names {
    /// Each in these quotes.
    Quoted(char),
    /// Plain lower-case ones as they are, which the database folds to upper case; reserved words, listed here, in quotes and
    /// folded here; others in quotes.
    Folded(&'static [&'static str]),
}

/// How rows are limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    /// `limit … offset …`; the offset also alone.
    Plain,
    /// The same, but the offset needs a limit, of which -1 is none.
    Negative,
    /// `offset … rows fetch next … rows only`.
    Fetch,
}

/// Where NULL comes if nothing is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nulls {
    /// As if greater than everything.
    Great,
    /// As if smaller.
    Small,
}

/// How patterns are matched in which case matters, and in which it does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Like {
    /// `like` and `ilike`, with `\` as the escape already.
    Ilike,
    /// `glob` and `like … escape`.
    Glob,
    /// `like … escape`, and the same of both in upper case.
    Upper,
}

/// The remainder of a division.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Remainder {
    Sign,
    Mod,
}

/// What type an average has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Average {
    /// A double, of whatever numbers.
    Double,
    /// That of what it is an average of, which may be a whole or an exact number.
    Argument,
}

/// What an exact number is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decimals {
    /// A number.
    Numbers,
    /// Text: in a column of a type with the right order and affinity, but a sum of such a column has neither.
    Text,
}

/// How rows are locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Locks {
    /// `for update`, `skip locked`, `nowait`.
    Rows,
    /// A transaction that writes has the whole database to itself: no clause is needed.
    Database,
    /// `for update with lock`; how to wait is said when the transaction begins.
    WithLock,
}

/// An insert that meets a row with the same key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Upsert {
    /// `on conflict (…) do …`
    OnConflict,
    /// `update or insert … matching (…)`, which sets all that was to be inserted.
    Matching,
}

/// How many rows one insert can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inserts {
    Many,
    One,
}

/// What can answer with rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Returning {
    /// Inserts, updates and deletes, however many rows they change.
    Rows,
    /// An insert of one row.
    One,
}

/// Whether the database has something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Support {
    Supported,
    Unsupported,
}

/// Whether the database infers the type of a bound value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ParameterTypes {
    Inferred,
    /// Only where it is compared, stored in a column or counts rows; elsewhere it is written in a cast.
    Cast,
}

/// What stands after `from` in a select without a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EmptySource {
    /// No `from`.
    None,
    /// A table of one row.
    Table(&'static str),
}

/// SQLite, from 3.39 on.
pub static SQLITE: Dialect = Dialect {
    name: "SQLite",
    lexicon: Lexicon {
        postgres_strings: false,
        nested_comments: false,
        foreign_quotes: true,
        alternative_strings: false,
    },
    binds_max: 32_766,
    name_bytes_max: 1_000,
    decimal_digits_max: 1_000,
    family: Family::Sqlite,
    placeholder: Placeholder::Question,
    // SQLite takes "x" for a text where there is no column x; in backticks a name is a name.
    names: Names::Quoted('`'),
    limit: Limit::Negative,
    nulls: Nulls::Small,
    like: Like::Glob,
    remainder: Remainder::Sign,
    average: Average::Double,
    decimals: Decimals::Text,
    locks: Locks::Database,
    upsert: Upsert::OnConflict,
    inserts: Inserts::Many,
    returning: Returning::Rows,
    row_values: Support::Supported,
    parameter_types: ParameterTypes::Inferred,
    empty_source: EmptySource::None,
    schemas: Support::Supported,
};

/// PostgreSQL, from 12 on.
pub static POSTGRES: Dialect = Dialect {
    name: "PostgreSQL",
    lexicon: Lexicon {
        postgres_strings: true,
        nested_comments: true,
        foreign_quotes: false,
        alternative_strings: false,
    },
    binds_max: 65_535,
    // It would cut a longer one without an error.
    name_bytes_max: 63,
    decimal_digits_max: 1_000,
    family: Family::Postgres,
    placeholder: Placeholder::Numbered,
    names: Names::Quoted('"'),
    limit: Limit::Plain,
    nulls: Nulls::Great,
    like: Like::Ilike,
    remainder: Remainder::Sign,
    average: Average::Argument,
    decimals: Decimals::Numbers,
    locks: Locks::Rows,
    upsert: Upsert::OnConflict,
    inserts: Inserts::Many,
    returning: Returning::Rows,
    row_values: Support::Supported,
    parameter_types: ParameterTypes::Inferred,
    empty_source: EmptySource::None,
    schemas: Support::Supported,
};

/// Firebird, from 3.0 on.
pub static FIREBIRD: Dialect = Dialect {
    name: "Firebird",
    lexicon: Lexicon {
        postgres_strings: false,
        nested_comments: false,
        foreign_quotes: false,
        alternative_strings: true,
    },
    // The bytes of all parameters together are bounded too, by 64 KiB.
    binds_max: 1_500,
    name_bytes_max: 31,
    decimal_digits_max: 18,
    family: Family::Firebird,
    placeholder: Placeholder::Question,
    names: Names::Folded(firebird_words::WORDS),
    limit: Limit::Fetch,
    nulls: Nulls::Small,
    like: Like::Upper,
    remainder: Remainder::Mod,
    average: Average::Argument,
    decimals: Decimals::Numbers,
    locks: Locks::WithLock,
    upsert: Upsert::Matching,
    inserts: Inserts::One,
    returning: Returning::One,
    row_values: Support::Unsupported,
    parameter_types: ParameterTypes::Cast,
    empty_source: EmptySource::Table("rdb$database"),
    schemas: Support::Unsupported,
};

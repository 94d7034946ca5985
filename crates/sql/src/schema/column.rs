//! Columns: what they hold, whether it may be missing, what else is said of them. Rule: a column holds something in every row
//! unless it is nullable.

use super::{Index, Keys};
use crate::dialect::{Dialect, Family};
use crate::name::Name;
use crate::value::Value;

/// A column that is wanted.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    pub(crate) name: Name,
    pub(crate) kind: Kind,
    pub(crate) nulls: Nulls,
    pub(crate) sign: Sign,
    pub(crate) default: Option<Default>,
    pub(crate) key: Option<Key>,
    pub(crate) foreign: Option<Foreign>,
    pub(crate) comment: Option<String>,
}

/// What a column holds. Each has a row in the table of `kinds.rs`.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// 64-bit numbers that the database gives, each once.
    Increments,
    /// 16 bits.
    SmallInteger,
    /// 32 bits where the database has nothing between 16 and 32.
    MediumInteger,
    /// 32 bits.
    Integer,
    /// 64 bits.
    BigInteger,
    /// Exact numbers of so many digits, of which so many are after the point.
    Decimal {
        /// All digits.
        precision: u16,
        /// Those after the point.
        scale: u16,
    },
    /// 64-bit floating point.
    Double,
    /// 32-bit floating point.
    Float,
    /// 128 bits, as text with hyphens.
    Uuid,
    /// Text of exactly so many characters; shorter text may be filled with blanks.
    Char(u32),
    /// Text of at most so many characters.
    String(u32),
    /// Text of any length.
    Text,
    /// A calendar date.
    Date,
    /// A date and time of day, in UTC, without saying so.
    DateTime,
    /// A time of day.
    Time,
    /// A point in time.
    Timestamp,
    /// Bytes.
    Binary,
    /// True or false.
    Boolean,
    /// One of these texts.
    Enum(Vec<String>),
    /// JSON.
    Json,
}

/// Whether a row may have nothing there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nulls {
    Refused,
    Taken,
}

/// Whether a number may be negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sign {
    Any,
    Positive,
}

/// What a row has there if nothing is said.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Default {
    Value(Value),
    Now,
    Raw(String),
}

/// What rows are looked up by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    Primary,
    Unique,
    Index,
}

/// The row of another table that a row belongs to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Foreign {
    pub(crate) column: Name,
    pub(crate) table: Option<Name>,
    pub(crate) on_delete: OnDelete,
}

/// What happens to a row when the row that it refers to is deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnDelete {
    /// Deleting is refused when the statement or the transaction ends.
    #[default]
    NoAction,
    /// Deleting is refused at once. Firebird knows [`OnDelete::NoAction`] only, which is the same there.
    Restrict,
    /// It is deleted too.
    Cascade,
    /// It refers to nothing.
    SetNull,
    /// It refers to the default.
    SetDefault,
}

/// A column of any kind.
pub fn column(name: impl Into<Name>, kind: Kind) -> Column {
    Column {
        name: name.into(),
        kind,
        nulls: Nulls::Refused,
        sign: Sign::Any,
        default: None,
        key: None,
        foreign: None,
        comment: None,
    }
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident $kind:ident;)*) => {
        $($(#[$doc])*
        pub fn $name(name: impl Into<Name>) -> Column {
            column(name, Kind::$kind)
        })*
    };
}

kinds! {
    /// The primary key: 64-bit numbers that the database gives, each once.
    increments Increments;
    /// 16 bits.
    small_integer SmallInteger;
    /// 32 bits.
    medium_integer MediumInteger;
    /// 32 bits.
    integer Integer;
    /// 64 bits.
    big_integer BigInteger;
    /// 64-bit floating point.
    double Double;
    /// 32-bit floating point.
    float Float;
    /// A UUID.
    uuid Uuid;
    /// Text of any length.
    text Text;
    /// A calendar date.
    date Date;
    /// A date and time of day.
    datetime DateTime;
    /// A time of day.
    time Time;
    /// A point in time.
    timestamp Timestamp;
    /// Bytes.
    binary Binary;
    /// True or false.
    boolean Boolean;
    /// JSON.
    json Json;
}

/// Exact numbers: `decimal("price", 10, 2)` goes to 99,999,999.99.
pub fn decimal(name: impl Into<Name>, precision: u16, scale: u16) -> Column {
    column(name, Kind::Decimal { precision, scale })
}

/// Text of exactly so many characters.
pub fn char(name: impl Into<Name>, characters: u32) -> Column {
    column(name, Kind::Char(characters))
}

/// Text of at most so many characters.
pub fn string(name: impl Into<Name>, characters: u32) -> Column {
    column(name, Kind::String(characters))
}

/// One of these texts.
pub fn enumeration<S: Into<String>>(
    name: impl Into<Name>,
    of: impl IntoIterator<Item = S>,
) -> Column {
    column(name, Kind::Enum(of.into_iter().map(Into::into).collect()))
}

/// The number of a row of another table: say of which with [`Column::on`].
pub fn foreign(name: impl Into<Name>) -> Column {
    column(name, Kind::BigInteger).reference("id")
}

impl Column {
    /// A row may have NULL there.
    #[must_use]
    pub fn nullable(mut self) -> Self {
        self.nulls = Nulls::Taken;
        self
    }

    /// Numbers below 0 are refused.
    #[must_use]
    pub fn unsigned(mut self) -> Self {
        self.sign = Sign::Positive;
        self
    }

    /// What a row has there if nothing is said.
    #[must_use]
    pub fn default(mut self, value: impl Into<Value>) -> Self {
        self.default = Some(Default::Value(value.into()));
        self
    }

    /// The time of the insert, in UTC where the database can say so. For dates and times.
    #[must_use]
    pub fn default_now(mut self) -> Self {
        self.default = Some(Default::Now);
        self
    }

    /// An expression as it stands.
    #[must_use]
    pub fn default_raw(mut self, sql: impl Into<String>) -> Self {
        self.default = Some(Default::Raw(sql.into()));
        self
    }

    /// It is the primary key.
    #[must_use]
    pub fn primary(mut self) -> Self {
        self.key = Some(Key::Primary);
        self
    }

    /// No two rows have the same there.
    #[must_use]
    pub fn unique(mut self) -> Self {
        self.key = Some(Key::Unique);
        self
    }

    /// Rows are looked up by it.
    #[must_use]
    pub fn index(mut self) -> Self {
        self.key = Some(Key::Index);
        self
    }

    /// A comment for readers of the schema. SQLite keeps none.
    #[must_use]
    pub fn comment(mut self, text: impl Into<String>) -> Self {
        self.comment = Some(text.into());
        self
    }

    /// The column of the other table that it refers to.
    #[must_use]
    pub fn reference(mut self, column: impl Into<Name>) -> Self {
        self.foreign_mut().column = column.into();
        self
    }

    /// The table that it refers to.
    #[must_use]
    pub fn on(mut self, table: impl Into<Name>) -> Self {
        self.foreign_mut().table = Some(table.into());
        self
    }

    /// What happens to a row when the one that it refers to is deleted.
    #[must_use]
    pub fn on_delete(mut self, action: OnDelete) -> Self {
        self.foreign_mut().on_delete = action;
        self
    }

    fn foreign_mut(&mut self) -> &mut Foreign {
        self.foreign.get_or_insert_with(|| Foreign {
            column: "id".into(),
            table: None,
            on_delete: OnDelete::NoAction,
        })
    }

    pub(crate) fn is_primary(&self) -> bool {
        self.kind == Kind::Increments || self.key == Some(Key::Primary)
    }

    pub(crate) fn own_index(&self) -> Option<Index> {
        let keys = match self.key? {
            Key::Primary => return None,
            Key::Unique => Keys::Unique,
            Key::Index => Keys::Any,
        };
        Some(Index::new([self.name.clone()], keys))
    }
}

impl OnDelete {
    pub(crate) fn words(self) -> &'static str {
        match self {
            OnDelete::NoAction => "no action",
            OnDelete::Restrict => "restrict",
            OnDelete::Cascade => "cascade",
            OnDelete::SetNull => "set null",
            OnDelete::SetDefault => "set default",
        }
    }

    /// The words for it in a database.
    pub(super) fn written(self, dialect: &Dialect) -> &'static str {
        match (dialect.family, self) {
            (Family::Firebird, OnDelete::Restrict) => OnDelete::NoAction.words(),
            (_, action) => action.words(),
        }
    }
}

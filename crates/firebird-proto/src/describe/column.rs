//! One column or parameter as the server describes it. Its bytes are described by `row`, its meaning by `values`.
//! Rule: a type that is not known here is refused: the length of its values would be guessed.

use crate::Violation;
use crate::limits::COLUMN_BYTES_MAX;
use crate::values::CharacterSet;

/// What a value is on the wire.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// CHAR.
    Text,
    /// VARCHAR.
    Varying,
    /// SMALLINT, or a NUMERIC in 16 bits.
    Short,
    /// INTEGER, or a NUMERIC in 32 bits.
    Long,
    /// BIGINT, or a NUMERIC in 64 bits.
    Int64,
    /// INT128, or a NUMERIC in 128 bits. Firebird 4.
    Int128,
    /// FLOAT.
    Float,
    /// DOUBLE PRECISION.
    Double,
    /// DECFLOAT(16). Firebird 4.
    Dec16,
    /// DECFLOAT(34). Firebird 4.
    Dec34,
    /// DATE.
    Date,
    /// TIME.
    Time,
    /// TIMESTAMP.
    Timestamp,
    /// TIME WITH TIME ZONE. Firebird 4.
    TimeTz,
    /// TIMESTAMP WITH TIME ZONE. Firebird 4.
    TimestampTz,
    /// BOOLEAN.
    Boolean,
    /// BLOB: the value is an id.
    Blob,
    /// An array: the value is an id.
    Array,
    /// A parameter of which only matters whether it is NULL: `? is null`.
    Null,
}

impl Kind {
    /// By the server's number, whose lowest bit says whether it may be NULL.
    fn of(number: u32) -> Option<Self> {
        Some(match number & !1 {
            448 => Self::Varying,
            452 => Self::Text,
            480 | 530 => Self::Double,
            482 => Self::Float,
            496 => Self::Long,
            500 => Self::Short,
            510 => Self::Timestamp,
            520 => Self::Blob,
            540 => Self::Array,
            560 => Self::Time,
            570 => Self::Date,
            580 => Self::Int64,
            32_752 => Self::Int128,
            32_754 => Self::TimestampTz,
            32_756 => Self::TimeTz,
            32_760 => Self::Dec16,
            32_762 => Self::Dec34,
            32_764 => Self::Boolean,
            32_766 => Self::Null,
            _ => return None,
        })
    }
}

/// A column or a parameter.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// What its values are.
    pub kind: Kind,
    /// Whether it may be NULL.
    pub nullable: bool,
    /// Of a number 1 NUMERIC, 2 DECIMAL; of a blob what it holds, 1 is text; of a text its character set and collation.
    pub sub_type: i32,
    /// Of a number how many digits stand behind the point, negated; of a text blob its character set.
    pub scale: i8,
    /// The longest value in bytes.
    pub length: u16,
    /// The column's name in its table, or empty.
    pub field: Box<str>,
    /// Its table's name, or empty.
    pub relation: Box<str>,
    /// The name of the table's owner, or empty.
    pub owner: Box<str>,
    /// What it is called in the result. Empty of parameters.
    pub alias: Box<str>,
}

impl Column {
    /// The id of the character set of a text, also of one in a blob.
    pub fn character_set(&self) -> Option<u8> {
        match self.kind {
            Kind::Text | Kind::Varying => self.sub_type.to_le_bytes().first().copied(),
            Kind::Blob if self.sub_type == 1 => Some(self.scale.cast_unsigned()),
            _ => None,
        }
    }

    /// Whether a CHAR is asked for as a VARCHAR: of a character set whose characters take several bytes. The server then sends as many
    /// characters as the column has, and not as many bytes as the longest of them could take: a third of a catalogue's rows.
    pub(crate) fn travels_as_varying(&self) -> bool {
        let set = self.character_set().and_then(CharacterSet::by_id);
        self.kind == Kind::Text && set.is_some_and(|set| set.bytes_per_character() > 1)
    }

    /// A column about which nothing is known but its type.
    pub(crate) fn of(number: i64) -> Result<Self, Violation> {
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        let kind = Kind::of(number).ok_or(Violation::value("the type of a column", number))?;
        Ok(Self {
            kind,
            nullable: number & 1 == 1,
            sub_type: 0,
            scale: 0,
            length: 0,
            field: Box::default(),
            relation: Box::default(),
            owner: Box::default(),
            alias: Box::default(),
        })
    }

    pub(crate) fn measured(mut self, length: i64) -> Result<Self, Violation> {
        self.length = u16::try_from(length)
            .ok()
            .filter(|length| usize::from(*length) <= COLUMN_BYTES_MAX)
            .ok_or(Violation::value("the length of a column", length))?;
        Ok(self)
    }
}

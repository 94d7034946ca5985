//! Reading a description, also out of several answers. Sends nothing: it says what to ask next.
//! Rule: a column counts when its end was read; half of one is read again.

use crate::Violation;
use crate::info::{number, value};
use crate::limits::{COLUMNS_MAX, DESCRIPTION_BYTES_MAX};

use super::Column;

/// Tags of a description, by their names in the server's interface.
mod tag {
    pub const END: u8 = 1;
    pub const TRUNCATED: u8 = 2;
    pub const SELECT: u8 = 4;
    pub const BIND: u8 = 5;
    pub const DESCRIBE_VARS: u8 = 7;
    pub const DESCRIBE_END: u8 = 8;
    pub const SQLDA_SEQ: u8 = 9;
    pub const TYPE: u8 = 11;
    pub const SUB_TYPE: u8 = 12;
    pub const SCALE: u8 = 13;
    pub const LENGTH: u8 = 14;
    pub const FIELD: u8 = 16;
    pub const RELATION: u8 = 17;
    pub const OWNER: u8 = 18;
    pub const ALIAS: u8 = 19;
    pub const SQLDA_START: u8 = 20;
    pub const STATEMENT_TYPE: u8 = 21;
}

/// Items by the names of their tags.
macro_rules! items {
    ($($tag:ident)*) => {
        [$(tag::$tag),*]
    };
}

const COLUMN_ITEMS: [u8; 11] = items! {
    DESCRIBE_VARS SQLDA_SEQ TYPE SUB_TYPE SCALE LENGTH FIELD RELATION OWNER ALIAS DESCRIBE_END
};

/// What to ask for when a statement is prepared: everything [`Describe`] reads.
pub const ITEMS: [u8; 21] = items! {
    STATEMENT_TYPE
    SELECT DESCRIBE_VARS SQLDA_SEQ TYPE SUB_TYPE SCALE LENGTH FIELD RELATION OWNER ALIAS DESCRIBE_END
    BIND DESCRIBE_VARS SQLDA_SEQ TYPE SUB_TYPE SCALE LENGTH DESCRIBE_END
};

/// What a statement does, which decides how it is executed.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatementKind {
    /// Has a cursor: execute, then fetch.
    Select,
    /// Has a cursor whose rows are locked.
    SelectForUpdate,
    /// INSERT.
    Insert,
    /// UPDATE.
    Update,
    /// DELETE.
    Delete,
    /// Changes the schema.
    Ddl,
    /// Returns at most one row without a cursor: EXECUTE PROCEDURE, and whatever has RETURNING for one row.
    ExecuteProcedure,
    /// SET TRANSACTION.
    StartTransaction,
    /// COMMIT.
    Commit,
    /// ROLLBACK.
    Rollback,
    /// SET GENERATOR.
    SetGenerator,
    /// SAVEPOINT and what belongs to it.
    Savepoint,
}

impl StatementKind {
    fn of(number: i64) -> Option<Self> {
        Some(match number {
            1 => Self::Select,
            2 => Self::Insert,
            3 => Self::Update,
            4 => Self::Delete,
            5 => Self::Ddl,
            8 => Self::ExecuteProcedure,
            9 => Self::StartTransaction,
            10 => Self::Commit,
            11 => Self::Rollback,
            12 => Self::SelectForUpdate,
            13 => Self::SetGenerator,
            14 => Self::Savepoint,
            _ => return None,
        })
    }

    /// Whether its rows are fetched from a cursor.
    pub fn has_cursor(self) -> bool {
        matches!(self, Self::Select | Self::SelectForUpdate)
    }
}

/// A statement as it was prepared.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// What it does.
    pub kind: StatementKind,
    /// What it returns.
    pub columns: Vec<Column>,
    /// What it takes.
    pub parameters: Vec<Column>,
}

/// How far a description is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// All of it.
    Done(Statement),
    /// Ask for these items by op_info_sql and read its answer.
    More(Vec<u8>),
}

/// A description being read.
#[derive(Debug, Clone, Default)]
pub struct Describe {
    kind: Option<StatementKind>,
    columns: Section,
    parameters: Section,
    /// Bytes of all answers.
    bytes: usize,
}

/// The columns, or the parameters.
#[derive(Debug, Clone, Default)]
struct Section {
    /// By the server.
    count: Option<usize>,
    read: Vec<Column>,
}

impl Section {
    fn is_whole(&self) -> bool {
        self.count == Some(self.read.len())
    }

    /// The items that ask for what is missing.
    fn ask(&self, section: u8, items: &mut Vec<u8>) {
        let next = u16::try_from(self.read.len() + 1).unwrap_or(u16::MAX);
        let [low, high] = next.to_le_bytes();
        items.extend_from_slice(&[section, tag::SQLDA_START, 2, low, high]);
        items.extend_from_slice(&COLUMN_ITEMS);
    }
}

impl Describe {
    /// A statement of which nothing is known.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads the data of a response: to the request that prepared the statement with [`ITEMS`], or to one for what [`Progress::More`] said.
    ///
    /// # Errors
    /// A [`Violation`] if it is not sound, or brings nothing new.
    pub fn read(&mut self, data: &[u8]) -> Result<Progress, Violation> {
        self.bytes = self.bytes.saturating_add(data.len());
        if self.bytes > DESCRIPTION_BYTES_MAX {
            return Err(Violation::too_many(
                "bytes to describe a statement",
                DESCRIPTION_BYTES_MAX,
            ));
        }
        let before = self.columns.read.len() + self.parameters.read.len();
        let first = self.kind.is_none();
        self.walk(data)?;
        let Some(kind) = self.kind else {
            return Err(Violation::Truncated("description of a statement"));
        };
        if self.columns.is_whole() && self.parameters.is_whole() {
            let statement = Statement {
                kind,
                columns: std::mem::take(&mut self.columns.read),
                parameters: std::mem::take(&mut self.parameters.read),
            };
            return Ok(Progress::Done(statement));
        }
        let after = self.columns.read.len() + self.parameters.read.len();
        if after == before && !first {
            return Err(Violation::Truncated("description of a statement"));
        }
        let mut items = Vec::new();
        if !self.columns.is_whole() {
            self.columns.ask(tag::SELECT, &mut items);
        }
        if !self.parameters.is_whole() {
            self.parameters.ask(tag::BIND, &mut items);
        }
        Ok(Progress::More(items))
    }

    fn walk(&mut self, mut data: &[u8]) -> Result<(), Violation> {
        const CUT: Violation = Violation::Truncated("description of a statement");
        let mut in_parameters = false;
        let mut column: Option<Column> = None;
        while let Some((&item, after)) = data.split_first() {
            data = after;
            match item {
                tag::END | tag::TRUNCATED => return Ok(()),
                tag::SELECT | tag::BIND => {
                    in_parameters = item == tag::BIND;
                    continue;
                }
                _ => {}
            }
            let section = if in_parameters {
                &mut self.parameters
            } else {
                &mut self.columns
            };
            if item == tag::DESCRIBE_END {
                section.read.extend(column.take());
                continue;
            }
            let (bytes, after) = value(data).ok_or(CUT)?;
            data = after;
            let integer = || number(bytes).ok_or(CUT);
            match item {
                tag::STATEMENT_TYPE => {
                    let value = integer()?;
                    self.kind = Some(
                        StatementKind::of(value)
                            .ok_or(Violation::value("the kind of a statement", value))?,
                    );
                }
                tag::DESCRIBE_VARS => section.expect(integer()?)?,
                tag::SQLDA_SEQ => section.begin(integer()?)?,
                tag::TYPE => column = Some(Column::of(integer()?)?),
                _ => {
                    column = column
                        .map(|column| detail(column, item, bytes))
                        .transpose()?
                }
            }
        }
        Ok(())
    }
}

impl Section {
    /// How many there are, which never changes.
    fn expect(&mut self, count: i64) -> Result<(), Violation> {
        let count = usize::try_from(count)
            .ok()
            .filter(|count| *count <= COLUMNS_MAX)
            .ok_or(Violation::too_many("columns", COLUMNS_MAX))?;
        match self.count.replace(count) {
            Some(before) if before != count => Err(Violation::Truncated("list of columns")),
            _ => Ok(()),
        }
    }

    /// The next one comes, which must be that.
    fn begin(&self, number: i64) -> Result<(), Violation> {
        let next = self.read.len() + 1;
        let expected = usize::try_from(number) == Ok(next);
        if expected && self.count.is_some_and(|count| next <= count) {
            return Ok(());
        }
        Err(Violation::value("the number of a column", number))
    }
}

/// The column with one more thing known about it.
fn detail(mut column: Column, item: u8, bytes: &[u8]) -> Result<Column, Violation> {
    const CUT: Violation = Violation::Truncated("description of a column");
    let integer = || number(bytes).ok_or(CUT);
    let small = |number: i64| i32::try_from(number).map_err(|_| CUT);
    let text = || String::from_utf8_lossy(bytes).into_owned().into_boxed_str();
    match item {
        tag::SUB_TYPE => column.sub_type = small(integer()?)?,
        // The character set of a text blob may be written without its sign.
        tag::SCALE => column.scale = i8::from_le_bytes([integer()?.to_le_bytes()[0]]),
        tag::LENGTH => column = column.measured(integer()?)?,
        tag::FIELD => column.field = text(),
        tag::RELATION => column.relation = text(),
        tag::OWNER => column.owner = text(),
        tag::ALIAS => column.alias = text(),
        _ => {}
    }
    Ok(column)
}
